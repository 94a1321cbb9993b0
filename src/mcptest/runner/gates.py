"""What suites ask of a whole run: coverage by kind of offer, and how long calls may take.

Pure but for being told: it hears the events of a run, and says at the end what was missed.
"""

from __future__ import annotations

import math

from mcptest.core.events import CaseFinished, SuiteStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.core.coverage import ServerCoverage
    from mcptest.core.events import Event, RunFinished
    from mcptest.core.plan import Gates, ServerSpec, Suite

__all__ = ["GateWatch", "quantile"]

_UNITS = {
    "tools": ("tool",),
    "resources": ("resource", "resourceTemplate"),
    "prompts": ("prompt",),
}


class GateWatch:
    """Hears a run, and knows what its suites ask of it."""

    def __init__(self, suites: Sequence[tuple[Suite, ServerSpec]]) -> None:
        self._gates: dict[str, Gates] = {}
        self._servers: dict[str, set[str]] = {}
        for suite, spec in suites:
            if suite.gates:
                self._gates[suite.file] = suite.gates
                self._servers.setdefault(suite.file, set()).add(spec.name)
        self._file = ""
        self._took_ms: dict[str, list[float]] = {}

    def hear(self, event: Event) -> None:
        if isinstance(event, SuiteStarted):
            self._file = event.file
        elif isinstance(event, CaseFinished) and self._file in self._gates:
            took_ms = [took_s * 1000 for took_s in event.result.times_s]
            self._took_ms.setdefault(self._file, []).extend(took_ms)

    def missed(self, finished: RunFinished) -> Iterator[str]:
        """A sentence for each gate that was not reached."""
        for file, gates in self._gates.items():
            servers = [each for each in finished.coverage if each.server in self._servers[file]]
            for key, wanted in (gates.coverage or {}).items():
                yield from _missed_coverage(key, wanted, servers)
            for key, most_ms in (gates.performance or {}).items():
                yield from _missed_time(key, most_ms, self._took_ms.get(file, []))


def _missed_coverage(key: str, wanted: float, servers: Sequence[ServerCoverage]) -> Iterator[str]:
    offers = [offer for server in servers for offer in server.offers]
    if key != "total":
        offers = [offer for offer in offers if offer.kind in _UNITS[key]]
    if not offers:
        yield f"coverage of {key} is not known: no server says that it offers any"
        return
    percent = 100 * sum(1 for offer in offers if offer.calls) / len(offers)
    if percent < wanted:
        # Cut, not rounded: what is not reached must not look as if it were.
        seen = f"{int(percent * 10) / 10:.1f} %"
        unused = ", ".join(offer.name for offer in offers if not offer.calls)
        noun = "all offers" if key == "total" else key
        yield f"coverage of {noun} is {seen}, and the suite asks for {wanted:g} %; unused: {unused}"


def _missed_time(key: str, most_ms: float, took_ms: Sequence[float]) -> Iterator[str]:
    if not took_ms:
        yield f"{key} is not known: no call was timed"
        return
    seen = _measure(key, took_ms)
    if seen > most_ms:
        over = f"{seen:.1f} ms over {len(took_ms)} calls"
        yield f"{key} is {over}, and the suite asks for {most_ms:g} ms"


def _measure(key: str, took_ms: Sequence[float]) -> float:
    if key == "max_ms":
        return max(took_ms)
    if key == "mean_ms":
        return math.fsum(took_ms) / len(took_ms)
    return quantile(took_ms, int(key.removeprefix("p").removesuffix("_ms")))


def quantile(values: Sequence[float], percent: int) -> float:
    """The smallest value that at least so much of all values do not exceed."""
    ordered = sorted(values)
    rank = max(1, math.ceil(percent * len(ordered) / 100))
    return ordered[rank - 1]
