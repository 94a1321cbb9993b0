"""What suites ask of a whole run: coverage by kind of offer, and how long calls may take.

It hears the events of a run, and says at the end what was missed, or that it could not be asked.
"""

from __future__ import annotations

from mcptest.core.events import CaseFinished, SuiteStarted
from mcptest.core.measured_gates import MeasuredGates, missed_gates, not_asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest.core.coverage import ServerCoverage
    from mcptest.core.events import Event, RunFinished
    from mcptest.core.plan import Gates, ServerSpec, Suite

__all__ = ["GateWatch"]

_FILTERED = "-k, --tag or --skip-tag left tests out"
_SHARD = (
    "this shard has only some of its files; "
    "mcptest report merge asks them when it has the JSON reports of all shards"
)


class _Gated:
    """What one suite asks for, of which servers, and how long their calls took."""

    def __init__(self, home: str, gates: Gates) -> None:
        self.home = home
        self.gates = gates
        self.files: list[str] = []
        # Whether anything is asked of each of its servers.
        self.servers: dict[str, bool] = {}
        self.took_ms: list[float] = []

    def add(self, suite: Suite, spec: ServerSpec) -> None:
        self.files.append(suite.file)
        is_started = any(case.skip is None for case in suite.cases)
        self.servers[spec.name] = self.servers.get(spec.name, False) or is_started


class GateWatch:
    """Hears a run, and knows what its suites ask of it.

    A suite and what it imports have one and the same gates, and are measured together; two
    suites are not, even if they call their servers the same. `files` are all files of each
    suite: a shard may have some of them only. Where a filter left tests out, `is_filtered`,
    nothing can be said.
    """

    def __init__(
        self,
        suites: Sequence[tuple[Suite, ServerSpec]],
        files: Mapping[str, tuple[str, ...]] | None = None,
        *,
        is_filtered: bool = False,
    ) -> None:
        self._by_home: dict[str, _Gated] = {}
        # A file that several suites import runs several times, in this order.
        self._by_file: dict[str, list[_Gated]] = {}
        for suite, spec in suites:
            if suite.gates is None:
                continue
            home = suite.home or suite.file
            gated = self._by_home.setdefault(home, _Gated(home, suite.gates))
            gated.add(suite, spec)
            self._by_file.setdefault(suite.file, []).append(gated)
        self._files = files or {}
        # Why nothing can be said of this run; "" where it can.
        self._left_out = _FILTERED if is_filtered else ""
        self._now: _Gated | None = None

    def leave_out(self, why: str) -> None:
        """Some tests were not run: the gates are not asked, and this is why."""
        self._left_out = why

    def hear(self, event: Event) -> None:
        if isinstance(event, SuiteStarted):
            waiting = self._by_file.get(event.file, [])
            self._now = waiting[0] if waiting else None
            if len(waiting) > 1:
                waiting.pop(0)
        elif isinstance(event, CaseFinished) and self._now:
            self._now.took_ms += [took_s * 1000 for took_s in event.result.times_s]

    def asked(self, finished: RunFinished, coverage: Iterable[ServerCoverage]) -> RunFinished:
        """The end of the run with what was missed; `coverage` is that of each suite's servers.

        What cannot be asked of this run alone goes along with it, to be asked of all shards.
        """
        # A run that stopped early says nothing about what all of it would have reached.
        if finished.bailed:
            return finished
        if self._left_out:
            finding = not_asked(self._by_home, self._left_out)
            return finished.but(findings=(*finished.findings, finding))
        known = list(coverage)
        measured = [self._measured(gated, known) for gated in self._by_home.values()]
        whole = [each for each in measured if not each.missing]
        parts = tuple(each for each in measured if each.missing)
        # Those of other shards count as well: all will stand side by side.
        is_named = len({*self._by_home, *self._files}) > 1
        findings = (not_asked([each.home for each in parts], _SHARD),) if parts else ()
        return finished.but(
            missed_gates=(*finished.missed_gates, *missed_gates(whole, is_named=is_named)),
            findings=(*finished.findings, *findings),
            unasked_gates=parts,
        )

    def _measured(self, gated: _Gated, coverage: Iterable[ServerCoverage]) -> MeasuredGates:
        mine = [each for each in coverage if each.home == gated.home]
        known = {each.name for each in mine}
        unknown = {name: on for name, on in gated.servers.items() if name not in known}
        ran = tuple(dict.fromkeys(gated.files))
        return MeasuredGates(
            home=gated.home,
            coverage=gated.gates.coverage or {},
            performance=gated.gates.performance or {},
            files=self._files.get(gated.home, ran),
            ran=ran,
            servers=tuple(each for each in mine if each.name in gated.servers),
            silent=tuple(name for name, is_started in unknown.items() if is_started),
            idle=tuple(name for name, is_started in unknown.items() if not is_started),
            took_ms=tuple(gated.took_ms),
        )
