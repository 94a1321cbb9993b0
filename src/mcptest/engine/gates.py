"""Measure what suites demand of a whole run: coverage by kind of offer, and response times."""

from __future__ import annotations

from mcptest.core.coverage import MeasuredGates, missed_gates, report_unchecked_gates
from mcptest.core.events import CaseFinished, SuiteStarted

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


class GateWatch:
    """Observes the events of a run and checks the gates of its suites at the end.

    A suite and its imports share their gates and are measured together; two suites are measured
    separately, even if their servers have the same name. `files` lists all files of each suite,
    of which a shard may run only some. Gates are not checked if `is_filtered` is true.
    """

    def __init__(
        self,
        suites: Sequence[tuple[Suite, ServerSpec]],
        files: Mapping[str, tuple[str, ...]] | None = None,
        *,
        is_filtered: bool = False,
    ) -> None:
        self._by_home: dict[str, _SuiteGates] = {}
        # A file that several suites import runs several times, in this order.
        self._by_file: dict[str, list[_SuiteGates]] = {}
        for suite, spec in suites:
            if suite.gates is None:
                continue
            home = suite.home or suite.file
            mine = self._by_home.setdefault(home, _SuiteGates(home, suite.gates))
            mine.files.append(suite.file)
            is_started = any(case.skip is None for case in suite.cases)
            mine.servers[spec.name] = mine.servers.get(spec.name, False) or is_started
            self._by_file.setdefault(suite.file, []).append(mine)
        self._files = files or {}
        # Why the gates cannot be checked, "" if they can.
        self._left_out = _FILTERED if is_filtered else ""
        self._current: _SuiteGates | None = None

    def leave_out(self, why: str) -> None:
        """Do not check the gates, because some tests were not run."""
        self._left_out = why

    def observe(self, event: Event) -> None:
        if isinstance(event, SuiteStarted):
            waiting = self._by_file.get(event.file, [])
            self._current = waiting[0] if waiting else None
            if len(waiting) > 1:
                waiting.pop(0)
        elif isinstance(event, CaseFinished) and self._current:
            self._current.took_ms += [took_s * 1000 for took_s in event.result.times_s]

    def check(self, finished: RunFinished, coverage: Iterable[ServerCoverage]) -> RunFinished:
        """The end of the run with the missed gates; `coverage` is that of each suite's servers.

        Gates of which this shard has only a part are passed on, for `mcptest report merge`.
        """
        # A run that stopped early says nothing about what all of it would have reached.
        if finished.bailed:
            return finished
        if self._left_out:
            finding = report_unchecked_gates(self._by_home, self._left_out)
            return finished.but(findings=(*finished.findings, finding))
        known = list(coverage)
        measured = [self._measure(gates, known) for gates in self._by_home.values()]
        whole = [each for each in measured if not each.missing]
        parts = tuple(each for each in measured if each.missing)
        # The suites of other shards count as well: a merged report names all of them.
        is_named = len({*self._by_home, *self._files}) > 1
        findings = (report_unchecked_gates([each.home for each in parts], _SHARD),) if parts else ()
        return finished.but(
            missed_gates=(*finished.missed_gates, *missed_gates(whole, is_named=is_named)),
            findings=(*finished.findings, *findings),
            unasked_gates=parts,
        )

    def _measure(self, mine: _SuiteGates, coverage: Iterable[ServerCoverage]) -> MeasuredGates:
        covered = [each for each in coverage if each.home == mine.home]
        known = {each.name for each in covered}
        unknown = {name: on for name, on in mine.servers.items() if name not in known}
        ran = tuple(dict.fromkeys(mine.files))
        return MeasuredGates(
            home=mine.home,
            coverage=mine.gates.coverage or {},
            performance=mine.gates.performance or {},
            files=self._files.get(mine.home, ran),
            ran=ran,
            servers=tuple(each for each in covered if each.name in mine.servers),
            silent=tuple(name for name, is_started in unknown.items() if is_started),
            idle=tuple(name for name, is_started in unknown.items() if not is_started),
            took_ms=tuple(mine.took_ms),
        )


class _SuiteGates:
    """The gates of one suite, its files and servers, and how long its calls took."""

    def __init__(self, home: str, gates: Gates) -> None:
        self.home = home
        self.gates = gates
        self.files: list[str] = []
        # By server name, whether any test uses it.
        self.servers: dict[str, bool] = {}
        self.took_ms: list[float] = []
