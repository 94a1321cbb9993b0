"""Run a plan: suites in order, cases in order, each event emitted as it happens.

`mcptest.engine.case` performs one case, `mcptest.engine.parallel` runs files side by side. Nothing
is printed here.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import zip_longest

from mcptest.core.coverage import (
    MeasuredGates,
    coverage_percent,
    measure_coverage,
    merge_coverage,
    missed_gates,
    report_unchecked_gates,
)
from mcptest.core.diagnostics import suggest
from mcptest.core.errors import InterruptedRunError, ServerError
from mcptest.core.events import (
    CaseFinished,
    CaseStarted,
    RunFinished,
    RunStarted,
    ServerNamed,
    SuiteFinished,
    SuiteStarted,
)
from mcptest.core.plan import ISOLATE_FILES
from mcptest.core.results import (
    FATAL,
    STATUSES,
    STRICT,
    CaptureScore,
    CaseResult,
    Finding,
    Mismatch,
    Summary,
    merge_findings,
    merge_sessions,
)
from mcptest.core.text import plural, visible
from mcptest.core.value_class import Record
from mcptest.engine.case import Performer
from mcptest.engine.faults import REPORTED_RULES
from mcptest.engine.pool import ServerPool
from mcptest.transport import utc_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from mcptest.core.coverage import CoveredOffer, OfferKind, ServerCoverage, Use
    from mcptest.core.events import Event, Listener
    from mcptest.core.plan import Case, Gates, ServerSpec, Suite
    from mcptest.core.results import SessionScore, Status
    from mcptest.engine.loading import Plan
    from mcptest.engine.pool import Inventory
    from mcptest.engine.server import Launcher
    from mcptest.engine.snapshots import SnapshotWatch
    from mcptest.protocol.capture import SessionCapture
    from mcptest.rules.scorer import SessionNames

    Scored = tuple[SessionScore, SessionNames]
    # The file of the suite that has a server ("" if none does), and the name of the server.
    Owned = tuple[str, str]

__all__ = [
    "Ending",
    "GateWatch",
    "Run",
    "RunOptions",
    "Tally",
    "add_summaries",
    "add_watchers",
    "apply_gates",
    "collect_findings",
    "combine_coverage",
    "make_options",
    "make_run_started",
    "make_suite_started",
    "merge_endings",
    "run_plan",
    "score_sessions",
]


class RunOptions(Record):
    """How a plan is run."""

    started_at: str
    # The run stops after this many tests that did not pass; 0: it does not.
    max_failures: int = 0
    retries: int = 0
    # How often each test is run, without retries; 0: once.
    repeat: int = 0
    min_coverage: float | None = None
    strict_invariants: bool = False
    gates: GateWatch | None = None
    snapshots: SnapshotWatch | None = None
    allow_not_run: bool = False
    # Whether a first server that cannot be started ends the whole run.
    may_give_up: bool = True
    # How many processes run files side by side (0: one per core); None runs them here.
    workers: int | None = None
    # Whether events may be held back until the lists of the server are read.
    may_hold: bool = True
    # Called for each event that is held back.
    on_hold: Callable[[], None] | None = None
    # Whether the start of each test is reported.
    reports_starts: bool = True


def make_options(plan: Plan, *, strict_invariants: bool = False, **more: Any) -> RunOptions:
    """The options for this plan: with its gates, its snapshots, and as strict as it demands."""
    gates = snapshots = None
    if any(suite.gates for suite, _ in plan.suites):
        gates = GateWatch(plan.suites, plan.gated_files, is_filtered=not plan.is_whole)
    if plan.snapshots is not None:
        from mcptest.engine.snapshots import SnapshotWatch  # noqa: PLC0415  # only suites have some

        snapshots = SnapshotWatch(plan.snapshots, is_whole=plan.is_whole)
    return RunOptions(
        started_at=utc_now(),
        strict_invariants=strict_invariants
        or any(spec.strict_invariants for _, spec in plan.suites),
        gates=gates,
        snapshots=snapshots,
        **more,
    )


def run_plan(
    plan: Plan, options: RunOptions, launcher: Launcher, emit: Listener
) -> tuple[RunFinished, list[SessionCapture]]:
    """Run everything; returns the last event, which is emitted as well, and the captures."""
    suites, shown = _tell_servers_apart(plan.suites)
    naming = None
    if shown:
        from mcptest.engine.server_names import ServerNaming  # noqa: PLC0415  # most servers are named

        unnamed = {spec.name for _, spec in suites if not spec.is_named}
        emit = naming = ServerNaming(emit, shown, unnamed)
        plan = plan.but(suites=suites)
    if options.workers is not None:
        from mcptest.engine.parallel import run_parallel  # noqa: PLC0415  # few runs are parallel

        finished, captures = run_parallel(plan, options, launcher, emit, options.workers)
    else:
        run = Run(plan, options, launcher, emit)
        finished, captures = run.run(), run.pool.captures
    if naming:
        return naming.rename_end(finished), [*map(naming.rename_capture, captures)]
    return finished, captures


def _tell_servers_apart(
    suites: tuple[tuple[Suite, ServerSpec], ...],
) -> tuple[tuple[tuple[Suite, ServerSpec], ...], dict[str, str]]:
    """The suites with a different name for each server outside of suite files.

    Lists, uses and coverage are kept by name. Also returns what to call each server whose name is
    not final, by that name.
    """
    programs: dict[str, list[object]] = {}
    shown: dict[str, str] = {}
    apart = []
    for suite, spec in suites:
        if not suite.home:
            known = programs.setdefault(spec.name, [])
            program = (spec.command, spec.cwd, spec.env, spec.http)
            if program not in known:
                known.append(program)
            number = known.index(program) + 1
            name = spec.name if number == 1 else f"{spec.name} #{number}"
            if number > 1 or not spec.is_named:
                shown[name] = spec.name
                spec = spec.but(name=name)
        apart.append((suite, spec))
    return tuple(apart), shown


class Run:
    """One run of a plan, file by file. `pool` may be shared with other runs."""

    def __init__(
        self,
        plan: Plan,
        options: RunOptions,
        launcher: Launcher,
        emit: Listener,
        pool: ServerPool | None = None,
    ) -> None:
        self._plan = plan
        self._options = options
        self._events = _HeldEvents(add_watchers(emit, options), options.on_hold)
        self._emit = self._events.emit
        # Where nothing may be held back, the results whose verdict depends on the lists.
        self.open_doubts: list[tuple[CaseResult, _Doubt]] = []
        self.pool = pool or ServerPool(launcher)
        self.performer = Performer(self.pool, plan.snapshots)
        self._offers: dict[str, dict[str, Inventory]] = {}
        self._uses: dict[str, dict[str, dict[Use, int]]] = {}
        self._tally = Tally()
        self._current = ""
        self._named: set[str] = set()
        self._file = ""

    def run(self) -> RunFinished:
        began = time.monotonic()
        plan = self._plan
        self._emit(make_run_started(plan, self._options.started_at))
        interrupted = False
        try:
            self._run_suites(plan.suites)
        except InterruptedRunError:
            interrupted = True
        finally:
            self._events.release()
            self.pool.retire()
            if plan.plugins:
                # Their findings are reported with those of the servers.
                plan.plugins.close()
                self.pool.findings += plan.plugins.findings
        # A signal that arrived while the last server was being stopped counts, too.
        interrupted = interrupted or self.pool.launcher.interrupts.count > 0
        duration_s = time.monotonic() - began
        fault = self.performer.start_fault
        no_server = fault and not self.pool.has_started_one and self._options.may_give_up
        summary = Summary() if no_server else self._tally.summary
        score = score_sessions(self.pool.scores)
        coverage = combine_coverage([self.count_coverage()])
        finished = RunFinished(
            summary=summary,
            duration_s=duration_s,
            findings=collect_findings(self.pool.findings, score),
            conformance=score,
            fault=fault if no_server and not interrupted else None,
            interrupted=interrupted,
            interrupted_in=self._current if interrupted else "",
            bailed=self._is_over() and summary.total < self._plan.total,
            not_run=self._tally.not_run,
            coverage=merge_coverage([coverage]),
            server_revisions=tuple(self.pool.server_revisions),
        )
        finished = apply_gates(finished, self._options, coverage)
        self._emit(finished)
        return finished

    def start_counting(self, suite: Suite) -> None:
        """Count offers and uses for this suite: two suites may name their servers the same.

        Where there are only checks of sessions, which use nothing, offers are not counted.
        """
        self._file = suite.file
        is_counted = not all(case.check for case in suite.cases)
        self.pool.inventories = self._offers.setdefault(suite.home, {}) if is_counted else {}
        self.performer.uses = self._uses.setdefault(suite.home, {})

    def count_coverage(self) -> CoverageCounts:
        """What was offered and used, by suite and server."""
        return CoverageCounts(
            offers={
                (home, name): mine[name].offers
                for home, mine in self._offers.items()
                for name in mine
            },
            uses={(home, name): mine[name] for home, mine in self._uses.items() for name in mine},
        )

    def _is_over(self) -> bool:
        limit = self._options.max_failures
        return 0 < limit <= self._tally.failures

    def _run_suites(self, suites: Sequence[tuple[Suite, ServerSpec]]) -> None:
        if not self._can_start(suites):
            return
        if not suites[0][1].is_named:
            self._report_own_name(suites[0][1])
        for suite, spec in suites:
            self._emit(make_suite_started(suite, spec))
            self.start_counting(suite)
            self.performer.start_suite(suite)
            for case, following in zip_longest(suite.cases, suite.cases[1:]):
                self.run_case(case, spec, following)
                if self._is_over():
                    break
                if spec.isolation == "test" and following:
                    self.pool.retire()
            self._emit(SuiteFinished(name=suite.name, file=suite.file))
            if self._events.is_holding or not self._is_over():
                self.pool.take_inventory(spec)
                # The lists may turn held results into failures.
                self._events.release()
            if self._is_over():
                break
            if spec.isolation != "run":
                self.pool.end_file()

    def _can_start(self, suites: Sequence[tuple[Suite, ServerSpec]]) -> bool:
        """False if all suites share a server that cannot be started: then no test runs."""
        if not self._options.may_give_up:
            return True
        spec = suites[0][1]
        cases = [case for suite, _ in suites for case in suite.cases if case.skip is None]
        if not cases or any(other != spec for _, other in suites):
            return True
        if cases[0].dialogue is not None and cases[0].dialogue.before is not None:
            # Its hook must run before the server is started.
            return True
        try:
            self.performer.prepare(cases[0], spec)
        except ServerError as error:
            self.performer.start_fault = error.fault
            return False
        return True

    def _report_own_name(self, spec: ServerSpec) -> None:
        """Report what an unnamed server calls itself, as soon as it has said so."""
        if spec.name in self._named:
            return
        own_name = self.pool.own_name_of(spec)
        if own_name:
            self._named.add(spec.name)
            self._emit(ServerNamed(server=spec.name, name=own_name))

    def run_case(self, case: Case, spec: ServerSpec, following: Case | None) -> CaseResult:
        """Perform one case and emit its events; `following` may be sent ahead.

        If its verdict depends on what the server lists, which is not known yet, the result is
        preliminary, and its event is held back.
        """
        if self._options.reports_starts:
            self._emit(CaseStarted.made_of({"name": case.name, "line": case.line}))
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
            result = self._perform(case, spec, following)
        if self._plan.snapshots and (taken := self._plan.snapshots.pop_taken()):
            from mcptest.core.results import with_snapshots  # noqa: PLC0415  # as above

            result = with_snapshots(result, taken)
        self._current = ""
        if not spec.is_named:
            self._report_own_name(spec)
        if self.performer.refused and (doubt := self._find_doubt(case, spec, result)):
            settled = self._settle_now(doubt, spec, result)
            if settled:
                result = settled
            elif self._options.may_hold:
                self._tally.add(result)
                self._events.hold(partial(self._settle_held, doubt, spec, result))
                return result
            else:
                self.open_doubts.append((result, doubt))
        self._tally.add(result)
        self._emit(CaseFinished.made_of({"result": result}))
        return result

    def _perform(self, case: Case, spec: ServerSpec, following: Case | None) -> CaseResult:
        options = self._options
        if options.repeat > 1:
            result = self.performer.perform_repeatedly(case, spec, options.repeat)
        else:
            retries = options.retries if case.retries is None else case.retries
            retries = 0 if options.repeat else retries
            can_follow = following and following.skip is None and spec.isolation != "test"
            # `_settle_now` may have to ask the server before the next request.
            can_follow = can_follow and (options.may_hold or not spec.is_strict)
            result = self.performer.perform(case, spec, retries, following if can_follow else None)
        files = self.pool.files_run
        files.add(self._file)
        # A server that we do not start cannot be started anew either.
        if result.status == "passed" or len(files) == 1 or not spec.command:
            return result
        note = (
            f"this server had run {plural(len(files) - 1, 'other file')} before: if their tests "
            f"left something behind, {ISOLATE_FILES} gives each file its own"
        )
        return result.but(notes=(*result.notes, note))

    def _find_doubt(self, case: Case, spec: ServerSpec, result: CaseResult) -> _Doubt | None:
        """The names that the server refused to this test, except those it gave to other tests."""
        if result.status not in ("passed", "failed"):
            return None
        names = [name for name in self.performer.refused if name[0] in ("tool", "prompt")]
        if not case.is_unlisted:
            answered = self.performer.answered
            names = [name for name in names if (spec.name, name) not in answered]
        if not names:
            return None
        key = "_unlisted" if case.dialogue else "unlisted"
        return _Doubt(names=tuple(names), is_unlisted=case.is_unlisted, key=key)

    def _settle_now(self, doubt: _Doubt, spec: ServerSpec, result: CaseResult) -> CaseResult | None:
        """The verdict according to the lists of the server; None if they will be read later."""
        may_wait = self._options.may_hold or not spec.is_strict or result.status != "passed"
        if not may_wait:
            self.pool.take_inventory(spec)
        found = self.pool.inventories.get(spec.name)
        if found is None and may_wait:
            return None
        return doubt.settle(result, found, is_strict=spec.is_strict)

    def _settle_held(self, doubt: _Doubt, spec: ServerSpec, result: CaseResult) -> CaseFinished:
        """The event of a result that was held back, with its final verdict."""
        found = self.pool.inventories.get(spec.name)
        settled = doubt.settle(result, found, is_strict=spec.is_strict)
        self._tally.add(result, -1)
        self._tally.add(settled)
        return CaseFinished(result=settled)


class _HeldEvents:
    """Passes events on; from the first whose verdict is still open, holds all of them back."""

    def __init__(self, emit: Listener, on_hold: Callable[[], None] | None) -> None:
        self._emit = emit
        self._on_hold = on_hold
        # Functions that return the events.
        self._held: list[Callable[[], Event]] = []

    @property
    def is_holding(self) -> bool:
        return bool(self._held)

    def emit(self, event: Event) -> None:
        if self._held:
            self.hold(lambda: event)
        else:
            self._emit(event)

    def hold(self, make_event: Callable[[], Event]) -> None:
        """Hold back an event that can only be made when all are released."""
        self._held.append(make_event)
        if self._on_hold:
            self._on_hold()

    def release(self) -> None:
        """Emit what was held back."""
        held, self._held = self._held, []
        for make_event in held:
            self._emit(make_event())


class Tally:
    """Counts verdicts."""

    def __init__(self) -> None:
        self._counts: dict[Status, int] = dict.fromkeys(STATUSES, 0)
        self._flaky = 0
        self.not_run = 0

    def add(self, result: CaseResult, count: int = 1) -> None:
        self._counts[result.status] += count
        if result.is_flaky:
            self._flaky += count
        self.not_run += result.not_run * count

    @property
    def failures(self) -> int:
        return self._counts["failed"] + self._counts["error"]

    @property
    def summary(self) -> Summary:
        return Summary.of(self._counts, self._flaky)


class _Doubt(Record):
    """The tools and prompts that a server refused to a test.

    Either the test is about that, or their names are wrong: the list of the server decides.
    """

    names: tuple[tuple[OfferKind, str], ...]
    is_unlisted: bool = False
    # How the key that says so is spelt in the file.
    key: str = "unlisted"

    def judge(self, found: Inventory | None) -> Mismatch | None:
        """What is wrong with the names, given what the server lists; None if nothing is.

        A kind whose list could not be read is not judged.
        """
        whole = found.whole if found else frozenset()
        listed: dict[OfferKind, list[str]] = {kind: [] for kind, _ in self.names}
        for offer in found.offers if found else ():
            listed.setdefault(offer.kind, []).append(visible(offer.name))
        names = [(kind, visible(name)) for kind, name in self.names]
        present = [(kind, name) for kind, name in names if name in listed[kind]]
        missing = [each for each in names if each not in present and each[0] in whole]
        if self.is_unlisted and present and not missing:
            kind, name = present[0]
            expected, hint = f"a {kind} that the server does not list", ""
            message = f'the test says "{self.key}", and the server lists the {kind} "{name}"'
        elif missing and not self.is_unlisted:
            kind, name = missing[0]
            expected = f"a {kind} that the server lists"
            question = suggest(name, listed[kind], '"{}"')
            message = f'the server lists no {kind} "{name}"{question}'
            hint = f'a test that calls an unknown name on purpose says "{self.key}: true"'
        else:
            return None
        return Mismatch(
            path="params.name",
            expected=expected,
            actual=name,
            message=message,
            hint=hint,
            is_described=True,
        )

    def describe_unknown(self, found: Inventory | None) -> str:
        """A sentence about a name that cannot be judged, because the server did not list any."""
        for kind, name in () if self.is_unlisted else self.names:
            if found is None or kind not in found.whole:
                return (
                    f"strict: the server did not list all its {kind}s, "
                    f'so "{visible(name)}" could not be checked'
                )
        return ""

    def settle(self, result: CaseResult, found: Inventory | None, *, is_strict: bool) -> CaseResult:
        """The result with what is wrong as a note or, if that is strict, as its failure."""
        mismatch = self.judge(found)
        # What has failed has its own mismatches.
        is_strict = is_strict and result.status == "passed"
        if mismatch and is_strict:
            return result.but(status="failed", mismatches=(mismatch,))
        note = mismatch.message if mismatch else is_strict and self.describe_unknown(found)
        return result.but(notes=(*result.notes, note)) if note else result


# Events


def add_watchers(emit: Listener, options: RunOptions) -> Listener:
    """A listener that passes each event to gates and snapshots first."""
    watchers = [watch.observe for watch in (options.gates, options.snapshots) if watch]
    if not watchers:
        return emit

    def emit_to_all(event: Event) -> None:
        for observe in watchers:
            observe(event)
        emit(event)

    return emit_to_all


def make_run_started(plan: Plan, started_at: str) -> RunStarted:
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


def make_suite_started(suite: Suite, spec: ServerSpec) -> SuiteStarted:
    return SuiteStarted(
        name=suite.name,
        file=suite.file,
        format=suite.format,
        server=spec.name,
        total=len(suite.cases),
        started_at=utc_now(),
    )


# The end of a run


def apply_gates(
    finished: RunFinished, options: RunOptions, coverage: Sequence[ServerCoverage] = ()
) -> RunFinished:
    """The end of a run with the gates that it missed, unless it was not run to its end.

    `coverage` is that of each suite's own servers.
    """
    if finished.fault or finished.interrupted:
        return finished
    if missed := _describe_missed_coverage(finished, options.min_coverage):
        finished = finished.but(missed_gates=(*finished.missed_gates, missed))
    if options.gates:
        finished = options.gates.check(finished, coverage)
    if options.snapshots:
        finished = options.snapshots.finish(finished)
    if options.allow_not_run:
        finished = finished.but(may_leave_out=True)
    kinds = FATAL | STRICT if options.strict_invariants else FATAL
    fatal = tuple(dict.fromkeys(each.kind for each in finished.findings if each.kind in kinds))
    if fatal:
        finished = finished.but(broken_rules=fatal)
    if options.strict_invariants:
        score = finished.conformance
        verdicts = (verdict for session in score.sessions for verdict in session.verdicts)
        ids = [verdict.id for verdict in verdicts if verdict.status == "fail"]
        ids += (conflict.kind for conflict in score.conflicts)
        finished = finished.but(broken_rules=(*finished.broken_rules, *dict.fromkeys(ids)))
    return finished


def _describe_missed_coverage(finished: RunFinished, wanted: float | None) -> str:
    percent = coverage_percent(finished.coverage)
    if wanted is None or (percent is not None and percent >= wanted):
        return ""
    # Cut, not rounded: 79.96 % must not be shown as the 80 % that were demanded.
    unknown = "not known (the server could not say what it offers)"
    seen = unknown if percent is None else f"{int(percent * 10) / 10:.1f} %"
    return f"coverage is {seen}, and --min-coverage asks for {wanted:g} %"


def score_sessions(scores: Sequence[Scored]) -> CaptureScore:
    """The verdicts of the rules on each server, and on all of them together."""
    if not scores:
        return CaptureScore()
    # Already loaded: it made the scores.
    from mcptest.rules.scorer import find_conflicts  # noqa: PLC0415

    return CaptureScore(
        sessions=merge_sessions(score for score, _ in scores),
        conflicts=tuple(find_conflicts([member for _, member in scores])),
    )


def collect_findings(findings: Iterable[Finding], score: CaptureScore) -> tuple[Finding, ...]:
    """All findings, each once, with one for each broken rule that no other finding reports."""
    merged = merge_findings(findings)
    reported = {(finding.server, finding.kind) for finding in merged}
    broken = []
    for session in score.sessions:
        server = session.server_label.partition("://")[2] or session.server_label
        kinds = [kind for name, kind in reported if name == server]
        known = frozenset(id for kind in kinds for id in REPORTED_RULES.get(kind, ()))
        for verdict in session.verdicts:
            is_reported = verdict.id in known or verdict.reported_by
            if verdict.status == "fail" and not is_reported:
                message = f"{verdict.id}: {verdict.message}"
                broken.append(
                    Finding(kind=verdict.id, server=server, message=message, count=verdict.count)
                )
    for conflict in score.conflicts:
        servers = ", ".join(conflict.servers)
        broken.append(Finding(kind=conflict.kind, server=servers, message=conflict.message))
    return (*merged, *broken)


class CoverageCounts(Record):
    """What each server offers, as far as it could be listed, and how often tests used it."""

    offers: dict[Owned, tuple[CoveredOffer, ...]] = {}  # noqa: RUF012  # records are not changed
    uses: dict[Owned, dict[Use, int]] = {}  # noqa: RUF012  # as above


class Ending(Record):
    """How the run of one file ended, and what was captured in it."""

    finished: RunFinished
    captures: tuple[SessionCapture, ...] = ()
    scores: tuple[Scored, ...] = ()
    coverage: CoverageCounts = CoverageCounts()


def combine_coverage(parts: Iterable[CoverageCounts]) -> tuple[ServerCoverage, ...]:
    """The coverage of each server of each suite; one part may use what another one lists."""
    uses: dict[Owned, dict[Use, int]] = {}
    offers: dict[Owned, tuple[CoveredOffer, ...]] = {}
    for part in parts:
        # The first list counts, in the order of the files.
        offers |= {owned: found for owned, found in part.offers.items() if owned not in offers}
        for server, used in part.uses.items():
            known = uses.setdefault(server, {})
            for use, count in used.items():
                known[use] = known.get(use, 0) + count
    return tuple(
        measure_coverage(name, offers[home, name], uses.get((home, name), {}), home)
        for home, name in offers
    )


def add_summaries(summaries: Iterable[Summary]) -> Summary:
    """The sum of all counts."""
    total = dict(Summary().fields())
    for summary in summaries:
        for name, count in summary.fields():
            total[name] += count
    return Summary(**total)


def merge_endings(endings: Sequence[Ending]) -> RunFinished:
    """The sum of the endings, in their order; a finding that several have is reported once."""
    finished = [ending.finished for ending in endings]
    return RunFinished(
        summary=add_summaries(each.summary for each in finished),
        duration_s=0.0,
        findings=merge_findings(finding for each in finished for finding in each.findings),
        fault=next((each.fault for each in finished if each.fault), None),
        interrupted_in=next((each.interrupted_in for each in finished if each.interrupted_in), ""),
        coverage=merge_coverage([combine_coverage(ending.coverage for ending in endings)]),
        not_run=sum(each.not_run for each in finished),
        server_revisions=tuple(
            dict.fromkeys(spoken for each in finished for spoken in each.server_revisions)
        ),
    )


# Measure what suites demand of a whole run: coverage by kind of offer, and response times.


_FILTERED = "-k, --tag, --skip-tag, FILE:LINE, --last-failed or --from-suite left tests out"
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
