"""Run a plan: suites in order, cases in order, each event told as it happens.

Nothing is printed here. How one case is performed is in `mcptest.engine.case`.
"""

from __future__ import annotations

import time
from itertools import zip_longest

from mcptest.core.coverage import (
    MeasuredGates,
    coverage_percent,
    measure_coverage,
    merge_coverage,
    missed_gates,
    report_unchecked_gates,
)
from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.events import (
    CaseFinished,
    CaseStarted,
    RunFinished,
    RunStarted,
    SuiteFinished,
    SuiteStarted,
)
from mcptest.core.record import Record
from mcptest.core.results import (
    FATAL,
    STATUSES,
    STRICT,
    CaptureScore,
    CaseResult,
    Finding,
    Summary,
    merge_findings,
    merge_sessions,
)
from mcptest.engine.case import Performer
from mcptest.engine.pool import Keeper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from mcptest.core.coverage import CoveredOffer, ServerCoverage, Use
    from mcptest.core.events import Event, Listener, RunFinished
    from mcptest.core.plan import Case, Gates, ServerSpec, Suite
    from mcptest.core.results import CaptureScore, SessionScore, Status
    from mcptest.engine.loading import Plan
    from mcptest.engine.server import Launcher
    from mcptest.engine.snapshots import SnapshotWatch
    from mcptest.protocol.capture import SessionCapture
    from mcptest.rules.composition import Member

    Scored = tuple[SessionScore, Member]
    # The file of the suite that has a server, "" for one that belongs to none, and its name.
    Owned = tuple[str, str]

__all__ = [
    "Ending",
    "GateWatch",
    "Run",
    "RunOptions",
    "Tally",
    "conformance_of",
    "gated",
    "heard_by",
    "measured",
    "merge_endings",
    "options_for",
    "run_plan",
    "run_started",
    "suite_started",
    "told_findings",
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
        gates = GateWatch(plan.suites, plan.gated_files, is_filtered=not plan.is_whole)
    if plan.snapshots is not None:
        from mcptest.engine.snapshots import SnapshotWatch  # noqa: PLC0415  # as above

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
            server_revisions=tuple(self.keeper.server_revisions),
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
            from mcptest.core.results import with_snapshots  # noqa: PLC0415

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
    return tuple(dict.fromkeys((*ids, *(hazard.kind for hazard in score.conflicts))))


def _missed_coverage(finished: RunFinished, options: RunOptions) -> Iterator[str]:
    wanted = options.min_coverage
    if wanted is None:
        return
    percent = coverage_percent(finished.coverage)
    if percent is not None and percent >= wanted:
        return
    # Cut, not rounded: what is not reached must not look as if it were.
    unknown = "not known (the server could not say what it offers)"
    seen = unknown if percent is None else f"{int(percent * 10) / 10:.1f} %"
    yield f"coverage is {seen}, and --min-coverage asks for {wanted:g} %"


# What suites ask of a whole run: coverage by kind of offer, and how long calls may take.
#
# It hears the events of a run, and says at the end what was missed, or that it could not be asked.


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
            finding = report_unchecked_gates(self._by_home, self._left_out)
            return finished.but(findings=(*finished.findings, finding))
        known = list(coverage)
        measured = [self._measured(gated, known) for gated in self._by_home.values()]
        whole = [each for each in measured if not each.missing]
        parts = tuple(each for each in measured if each.missing)
        # Those of other shards count as well: all will stand side by side.
        is_named = len({*self._by_home, *self._files}) > 1
        findings = (report_unchecked_gates([each.home for each in parts], _SHARD),) if parts else ()
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


# What the rules say of the sessions of a run, and what of it is told like other findings.


# Rules whose breach has been told already, by the kind of finding that told it.
_TOLD_BY = {
    "malformed_line": frozenset(["STDIO-01", "STDIO-02"]),
    "protocol_violation": frozenset(
        ["BASE-01", "BASE-03", "BASE-04", "BASE-09", "BASE-11", "BASE-17", "INV-006"]
    ),
    "unknown_id": frozenset(["BASE-08"]),
    "duplicate_response": frozenset(["BASE-08"]),
    "late_response": frozenset(["BASE-08"]),
}


# Rules that say in general what others say of one thing.
_SAID_BY = {
    "BASE-37": frozenset(["SAMP-01", "ROOT-01", "ELIC-01"]),
    "BASE-11": frozenset(["INV-006"]),
}


def conformance_of(scores: Sequence[Scored]) -> CaptureScore:
    """What the rules say of each server, and of all of them together."""
    if not scores:
        return CaptureScore()
    # Loaded by now: it is what made the scores.
    from mcptest.rules.composition import find_conflicts  # noqa: PLC0415

    return CaptureScore(
        sessions=merge_sessions(score for score, _ in scores),
        conflicts=tuple(find_conflicts([member for _, member in scores])),
    )


def told_findings(findings: Iterable[Finding], score: CaptureScore) -> tuple[Finding, ...]:
    """Findings, those of the rules among them; what several servers have is told once."""
    merged = merge_findings(findings)
    return (*merged, *_breaches(score, merged))


def _breaches(score: CaptureScore, findings: Iterable[Finding]) -> Iterator[Finding]:
    """A finding for each rule that is broken and each clash, unless one says the same."""
    told = {(finding.server, finding.kind) for finding in findings}
    for session in score.sessions:
        server = session.server_label.partition("://")[2] or session.server_label
        kinds = [kind for name, kind in told if name == server]
        known = frozenset(id for kind in kinds for id in _TOLD_BY.get(kind, ()))
        broken = {verdict.id for verdict in session.verdicts if verdict.status == "fail"}
        known |= frozenset(id for id, others in _SAID_BY.items() if broken & others)
        for verdict in session.verdicts:
            if verdict.status == "fail" and verdict.id not in known:
                message = f"{verdict.id}: {verdict.message}"
                yield Finding(kind=verdict.id, server=server, message=message, count=verdict.count)
    for hazard in score.conflicts:
        yield Finding(kind=hazard.kind, server=", ".join(hazard.servers), message=hazard.message)


# Make one ending out of the endings of several files. Pure.


class Counted(Record):
    """What each server offers, as far as it could say so, and what was used of it."""

    offers: dict[Owned, tuple[CoveredOffer, ...]] = {}  # noqa: RUF012  # nothing of it changes
    uses: dict[Owned, dict[Use, int]] = {}  # noqa: RUF012  # as above


class Ending(Record):
    """How the run of one file ended, and what was captured in it."""

    finished: RunFinished
    captures: tuple[SessionCapture, ...] = ()
    scores: tuple[tuple[SessionScore, Member], ...] = ()
    coverage: Counted = Counted()


def measured(parts: Iterable[Counted]) -> tuple[ServerCoverage, ...]:
    """The coverage of each server of each suite.

    What was used in one file may be known to be offered from another one alone.
    """
    uses: dict[Owned, dict[Use, int]] = {}
    offers: dict[Owned, tuple[CoveredOffer, ...]] = {}
    for part in parts:
        # The first word counts, and the order is that of the files.
        offers |= {owned: found for owned, found in part.offers.items() if owned not in offers}
        for server, used in part.uses.items():
            known = uses.setdefault(server, {})
            for use, count in used.items():
                known[use] = known.get(use, 0) + count
    return tuple(
        measure_coverage(name, offers[home, name], uses.get((home, name), {}), home)
        for home, name in offers
    )


def merge_endings(endings: Sequence[Ending]) -> RunFinished:
    """The sum of them, in their order; a finding that several have is told once."""
    finished = [ending.finished for ending in endings]
    summaries = [each.summary for each in finished]
    return RunFinished(
        summary=Summary(
            passed=sum(each.passed for each in summaries),
            failed=sum(each.failed for each in summaries),
            errors=sum(each.errors for each in summaries),
            skipped=sum(each.skipped for each in summaries),
            flaky=sum(each.flaky for each in summaries),
        ),
        duration_s=0.0,
        findings=merge_findings(finding for each in finished for finding in each.findings),
        fault=next((each.fault for each in finished if each.fault), None),
        interrupted_in=next((each.interrupted_in for each in finished if each.interrupted_in), ""),
        coverage=merge_coverage([measured(ending.coverage for ending in endings)]),
        not_run=sum(each.not_run for each in finished),
        server_revisions=tuple(
            dict.fromkeys(spoken for each in finished for spoken in each.server_revisions)
        ),
    )
