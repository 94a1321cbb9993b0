"""Run a plan: suites in order, cases in order, each event told as it happens.

Nothing is printed here. How one case is performed is in `mcptest.runner.performing`.
"""

from __future__ import annotations

import time
from itertools import zip_longest

from mcptest.core.coverage import merge_coverage, percent_of
from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.events import (
    CaseFinished,
    CaseStarted,
    RunFinished,
    RunStarted,
    SuiteFinished,
    SuiteStarted,
)
from mcptest.core.kinds import FATAL, STRICT
from mcptest.core.outcome import STATUSES, CaseResult, Summary
from mcptest.core.record import Record
from mcptest.runner.conforming import conformance_of, told_findings
from mcptest.runner.keeper import Keeper
from mcptest.runner.merging import Counted, measured
from mcptest.runner.performing import Performer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from mcptest.core.capture import SessionCapture
    from mcptest.core.conformance import CaptureScore
    from mcptest.core.coverage import CoveredOffer, ServerCoverage, Use
    from mcptest.core.events import Event, Listener
    from mcptest.core.outcome import Status
    from mcptest.core.plan import Case, ServerSpec, Suite
    from mcptest.runner.gates import GateWatch
    from mcptest.runner.launcher import Launcher
    from mcptest.runner.loading import Plan
    from mcptest.runner.snapshot_watch import SnapshotWatch

__all__ = [
    "Run",
    "RunOptions",
    "Tally",
    "conformance_of",
    "gated",
    "heard_by",
    "options_for",
    "run_plan",
    "run_started",
    "suite_started",
]


class RunOptions(Record):
    """How a plan is run."""

    started_at: str
    bail: bool = False
    retries: int = 0
    min_coverage: float | None = None
    strict_invariants: bool = False
    gates: GateWatch | None = None
    snapshots: SnapshotWatch | None = None
    allow_not_run: bool = False
    # Whether a first server that cannot be started ends the whole run.
    may_give_up: bool = True


def options_for(plan: Plan, *, strict_invariants: bool = False, **more: Any) -> RunOptions:
    """How this plan is run: with its gates, its snapshots, and as strictly as it asks for."""
    gates = snapshots = None
    if any(suite.gates for suite, _ in plan.suites):
        from mcptest.runner.gates import GateWatch  # noqa: PLC0415  # for those who have some

        gates = GateWatch(plan.suites, plan.gated_files, is_filtered=not plan.is_whole)
    if plan.snapshots is not None:
        from mcptest.runner.snapshot_watch import SnapshotWatch  # noqa: PLC0415  # as above

        snapshots = SnapshotWatch(plan.snapshots, is_whole=plan.is_whole)
    return RunOptions(
        started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        strict_invariants=strict_invariants
        or any(spec.strict_invariants for _, spec in plan.suites),
        gates=gates,
        snapshots=snapshots,
        **more,
    )


def run_plan(
    plan: Plan, options: RunOptions, launcher: Launcher, tell: Listener
) -> tuple[RunFinished, list[SessionCapture]]:
    """Run everything; the last event told is also returned."""
    run = Run(plan, options, launcher, tell)
    finished = run.run()
    return finished, run.keeper.captures


def heard_by(tell: Listener, options: RunOptions) -> Listener:
    """A listener that lets gates and snapshots hear everything first."""
    first = [watch.hear for watch in (options.gates, options.snapshots) if watch]
    if not first:
        return tell

    def all_of_them(event: Event) -> None:
        for hear in first:
            hear(event)
        tell(event)

    return all_of_them


class Run:
    """One run of a plan, file by file. `keeper` may be shared with other runs."""

    def __init__(
        self,
        plan: Plan,
        options: RunOptions,
        launcher: Launcher,
        tell: Listener,
        keeper: Keeper | None = None,
    ) -> None:
        self._plan = plan
        self._options = options
        self._tell = heard_by(tell, options)
        self.keeper = keeper or Keeper(launcher)
        self.performer = Performer(self.keeper, plan.snapshots)
        self._offers: dict[str, dict[str, tuple[CoveredOffer, ...]]] = {}
        self._uses: dict[str, dict[str, dict[Use, int]]] = {}
        self._tally = Tally()
        self._current = ""

    def run(self) -> RunFinished:
        began = time.monotonic()
        plan = self._plan
        self._tell(run_started(plan, self._options.started_at))
        interrupted = False
        try:
            self._run_suites(plan.suites)
        except InterruptedRunError:
            interrupted = True
        finally:
            self.keeper.retire()
            if plan.plugins:
                # What they leave behind is told with the rest.
                plan.plugins.close()
                self.keeper.findings += plan.plugins.findings
        finished = self._finish(time.monotonic() - began, interrupted)
        self._tell(finished)
        return finished

    def _finish(self, duration_s: float, interrupted: bool) -> RunFinished:
        fault = self.performer.start_fault
        no_server = fault is not None and not self.keeper.has_started_one
        no_server = no_server and self._options.may_give_up
        summary = Summary() if no_server else self._tally.summary
        conformance = conformance_of(self.keeper.scores)
        coverage = measured([self.counted()])
        finished = RunFinished(
            summary=summary,
            duration_s=duration_s,
            findings=told_findings(self.keeper.findings, conformance),
            conformance=conformance,
            fault=fault if no_server and not interrupted else None,
            interrupted=interrupted,
            interrupted_in=self._current if interrupted else "",
            bailed=self._is_over() and summary.total < self._plan.total,
            not_run=self._tally.not_run,
            coverage=merge_coverage([coverage]),
            spoken=tuple(self.keeper.spoken),
        )
        return gated(finished, self._options, coverage)

    def count_for(self, suite: Suite) -> None:
        """What is offered and used is counted by suite: two may call their servers the same."""
        self.keeper.inventories = self._offers.setdefault(suite.home, {})
        self.performer.uses = self._uses.setdefault(suite.home, {})

    def counted(self) -> Counted:
        """What was offered and used, by suite and server."""
        return Counted(
            offers={
                (home, name): mine[name] for home, mine in self._offers.items() for name in mine
            },
            uses={(home, name): mine[name] for home, mine in self._uses.items() for name in mine},
        )

    def _is_over(self) -> bool:
        return self._options.bail and self._tally.has_failed

    def _run_suites(self, suites: Sequence[tuple[Suite, ServerSpec]]) -> None:
        if not self._can_start(suites):
            return
        for suite, spec in suites:
            self._tell(suite_started(suite, spec))
            self.count_for(suite)
            self._run_cases(suite, spec)
            self._tell(SuiteFinished(name=suite.name, file=suite.file))
            if self._is_over():
                break
            self.keeper.take_inventory(spec)
            if spec.isolation == "file":
                self.keeper.retire()

    def _run_cases(self, suite: Suite, spec: ServerSpec) -> None:
        self.performer.start_suite(suite)
        for case, following in zip_longest(suite.cases, suite.cases[1:]):
            self.run_case(case, spec, following)
            if self._is_over():
                break
            if spec.isolation == "test" and following:
                self.keeper.retire()

    def _can_start(self, suites: Sequence[tuple[Suite, ServerSpec]]) -> bool:
        """When all suites share a server that cannot be started, no test runs at all."""
        if not self._options.may_give_up:
            return True
        spec = suites[0][1]
        cases = [case for suite, _ in suites for case in suite.cases if case.skip is None]
        if not cases or any(other != spec for _, other in suites) or _has_hooks(cases[0]):
            return True
        try:
            self.performer.prepare(cases[0], spec)
        except ServerError as error:
            self.performer.start_fault = error.fault
            return False
        return True

    def run_case(self, case: Case, spec: ServerSpec, following: Case | None) -> CaseResult:
        """Perform one case and tell its events; `following` may be sent ahead."""
        self._tell(CaseStarted.made_of({"name": case.name, "line": case.line}))
        self._current = case.name
        if case.skip is not None:
            result = CaseResult(
                name=case.name,
                status="skipped",
                line=case.line,
                reason=case.skip,
                tags=case.tags,
                not_run=case.not_run,
            )
        else:
            retries = self._options.retries if case.retries is None else case.retries
            may_follow = following and following.skip is None and spec.isolation != "test"
            next_case = following if may_follow else None
            result = self.performer.perform(case, spec, retries, next_case)
        if self._plan.snapshots and (taken := self._plan.snapshots.taken()):
            # Only suites have snapshots.
            from mcptest.core.snapshots import with_snapshots  # noqa: PLC0415

            result = with_snapshots(result, taken)
        self._current = ""
        self._tally.add(result)
        self._tell(CaseFinished.made_of({"result": result}))
        return result


def _has_hooks(case: Case) -> bool:
    """Whether something must happen before its server is started."""
    return case.dialogue is not None and case.dialogue.before is not None


class Tally:
    """Counts verdicts."""

    def __init__(self) -> None:
        self._counts: dict[Status, int] = dict.fromkeys(STATUSES, 0)
        self._flaky = 0
        self.not_run = 0

    def add(self, result: CaseResult) -> None:
        self._counts[result.status] += 1
        self._flaky += result.is_flaky
        self.not_run += result.not_run

    @property
    def has_failed(self) -> bool:
        return bool(self._counts["failed"] or self._counts["error"])

    @property
    def summary(self) -> Summary:
        return Summary.of(self._counts, self._flaky)


def run_started(plan: Plan, started_at: str) -> RunStarted:
    """The first event of a run of this plan."""
    names = dict.fromkeys(spec.name for _, spec in plan.suites)
    return RunStarted(
        started_at=started_at,
        server=", ".join(names),
        suites=len(plan.suites),
        total=plan.total,
        warnings=plan.warnings,
        shard=plan.shard,
    )


def suite_started(suite: Suite, spec: ServerSpec) -> SuiteStarted:
    return SuiteStarted(
        name=suite.name,
        file=suite.file,
        format=suite.format,
        server=spec.name,
        total=len(suite.cases),
    )


def gated(
    finished: RunFinished, options: RunOptions, coverage: Sequence[ServerCoverage] = ()
) -> RunFinished:
    """The end of a run with the gates that it missed; one that never began misses none.

    `coverage` is that of each suite's own servers.
    """
    if finished.fault or finished.interrupted:
        return finished
    missed = tuple(_missed_coverage(finished, options))
    finished = finished.but(missed_gates=(*finished.missed_gates, *missed)) if missed else finished
    if options.gates:
        finished = options.gates.asked(finished, coverage)
    if options.snapshots:
        finished = options.snapshots.settled(finished)
    if options.allow_not_run:
        finished = finished.but(may_leave_out=True)
    kinds = FATAL | STRICT if options.strict_invariants else FATAL
    fatal = tuple(dict.fromkeys(each.kind for each in finished.findings if each.kind in kinds))
    if fatal:
        finished = finished.but(broken_rules=fatal)
    return (
        finished.but(broken_rules=(*finished.broken_rules, *_broken_rules(finished.conformance)))
        if (options.strict_invariants)
        else finished
    )


def _broken_rules(score: CaptureScore) -> tuple[str, ...]:
    """What is broken, by id; nothing is when only recommendations are not followed."""
    verdicts = (verdict for session in score.sessions for verdict in session.verdicts)
    ids = [verdict.id for verdict in verdicts if verdict.status == "fail"]
    return tuple(dict.fromkeys((*ids, *(hazard.kind for hazard in score.hazards))))


def _missed_coverage(finished: RunFinished, options: RunOptions) -> Iterator[str]:
    wanted = options.min_coverage
    if wanted is None:
        return
    percent = percent_of(finished.coverage)
    if percent is not None and percent >= wanted:
        return
    # Cut, not rounded: what is not reached must not look as if it were.
    unknown = "not known (the server could not say what it offers)"
    seen = unknown if percent is None else f"{int(percent * 10) / 10:.1f} %"
    yield f"coverage is {seen}, and --min-coverage asks for {wanted:g} %"
