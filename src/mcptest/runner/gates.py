"""What suites ask of a whole run: coverage by kind of offer, and how long calls may take.

Pure but for being told: it hears the events of a run, and says at the end what was missed.
"""

from __future__ import annotations

import math

from mcptest.core.events import CaseFinished, SuiteStarted
from mcptest.core.record import Record
from mcptest.core.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.core.coverage import ServerCoverage
    from mcptest.core.events import Event, RunFinished
    from mcptest.core.plan import Gates, ServerSpec, Suite

__all__ = ["GateWatch", "quantile"]

# So many names are listed; nobody reads more.
_MAX_LISTED = 5

_UNITS = {
    "tools": ("tool",),
    "resources": ("resource", "resourceTemplate"),
    "prompts": ("prompt",),
}


class _Gated(Record):
    """What the files of one suite ask for, of which servers, and how long their calls took."""

    gates: Gates
    servers: set[str]
    took_ms: list[float]


class GateWatch:
    """Hears a run, and knows what its suites ask of it.

    A suite and what it imports have one and the same gates, and are measured together.
    """

    def __init__(self, suites: Sequence[tuple[Suite, ServerSpec]]) -> None:
        by_gates: dict[int, _Gated] = {}
        self._by_file: dict[str, _Gated] = {}
        for suite, spec in suites:
            if suite.gates is None:
                continue
            empty = _Gated(gates=suite.gates, servers=set(), took_ms=[])
            gated = by_gates.setdefault(id(suite.gates), empty)
            self._by_file[suite.file] = gated
            # One whose tests are all left out is never started.
            if any(case.skip is None for case in suite.cases):
                gated.servers.add(spec.name)
        self._all = tuple(by_gates.values())
        self._file = ""

    def hear(self, event: Event) -> None:
        if isinstance(event, SuiteStarted):
            self._file = event.file
        elif isinstance(event, CaseFinished) and self._file in self._by_file:
            took_ms = (took_s * 1000 for took_s in event.result.times_s)
            self._by_file[self._file].took_ms.extend(took_ms)

    def missed(self, finished: RunFinished) -> Iterator[str]:
        """A sentence for each gate that was not reached."""
        for gated in self._all:
            known = [each for each in finished.coverage if each.server in gated.servers]
            silent = gated.servers.difference(each.server for each in known)
            for key, wanted in (gated.gates.coverage or {}).items():
                yield from _missed_coverage(key, wanted, known, sorted(silent))
            for key, most_ms in (gated.gates.performance or {}).items():
                yield from _missed_time(key, most_ms, gated.took_ms)


def _missed_coverage(
    key: str, wanted: float, servers: Sequence[ServerCoverage], silent: Sequence[str]
) -> Iterator[str]:
    noun = "all offers" if key == "total" else key
    offers = [offer for server in servers for offer in server.offers]
    if key != "total":
        offers = [offer for offer in offers if offer.kind in _UNITS[key]]
    if silent:
        names = visible(", ".join(silent))
        yield f"coverage of {noun} is not known: {names} could not say what there is"
    elif not offers:
        yield f"coverage of {noun} is not known: no server says that it offers any"
    elif (percent := 100 * sum(1 for offer in offers if offer.calls) / len(offers)) < wanted:
        # Cut, not rounded: what is not reached must not look as if it were.
        seen = f"{int(percent * 10) / 10:.1f} %"
        unused = [offer.name for offer in offers if not offer.calls]
        listed = visible(", ".join(unused[:_MAX_LISTED]))
        more = f" and {len(unused) - _MAX_LISTED} more" if len(unused) > _MAX_LISTED else ""
        yield (
            f"coverage of {noun} is {seen}, and the suite asks for {wanted:g} %; "
            f"unused: {listed}{more}"
        )


def _missed_time(key: str, most_ms: float, took_ms: Sequence[float]) -> Iterator[str]:
    if not took_ms:
        yield f"{key} is not known: no call was timed"
        return
    seen = _measure(key, took_ms)
    if seen > most_ms:
        over = f"{seen:.3f} ms over {len(took_ms)} call{'s' if len(took_ms) != 1 else ''}"
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
