"""Run a plan: suites in order, cases in order, each event told as it happens.

Nothing is printed here. What can go wrong with a server is turned into an errored
case in exactly one place, `_Run._perform`.
"""

from __future__ import annotations

import time
from itertools import islice, zip_longest

from mcptest.core.errors import InterruptedRunError, PatternTimeoutError, ServerError
from mcptest.core.events import (
    CaseFinished,
    CaseStarted,
    RunFinished,
    RunStarted,
    SuiteFinished,
    SuiteStarted,
)
from mcptest.core.outcome import ABSENT, STATUSES, CaseResult, Fault, Summary
from mcptest.core.record import Record
from mcptest.matching.expectation import written
from mcptest.matching.notes import checked_nothing
from mcptest.runner import faults
from mcptest.runner.apart import judge_apart
from mcptest.runner.judging import judge, server_words, stderr_may_still_come
from mcptest.runner.keeper import Keeper
from mcptest.wire.cpu_limit import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.core.capture import SessionCapture
    from mcptest.core.events import Listener
    from mcptest.core.outcome import Mismatch, Status
    from mcptest.core.plan import Case, Expectation, ServerSpec, Step, Suite
    from mcptest.runner.loading import Plan
    from mcptest.runner.server import Launcher, Reply, Server

__all__ = ["RunOptions", "run_plan"]

# How long stderr is waited for, and only where waiting could help.
_STDERR_PATIENCE_S = 0.25

_MAX_MISMATCHES = 1000

# Above this an answer is judged in a process of its own, and may take a little longer.
_LARGE_BYTES = 256 * 1024
_SLOWEST_BYTES_PER_S = 4_000_000

# How long all patterns of one test may compute.
_PATTERN_LIMIT = CpuLimit(2.0)


class RunOptions(Record):
    """How a plan is run."""

    started_at: str
    bail: bool = False


def run_plan(
    plan: Plan, options: RunOptions, launcher: Launcher, tell: Listener
) -> tuple[RunFinished, list[SessionCapture]]:
    """Run everything; the last event told is also returned."""
    run = _Run(plan, options, launcher, tell)
    finished = run.run()
    return finished, run.keeper.captures


class _Run:
    def __init__(self, plan: Plan, options: RunOptions, launcher: Launcher, tell: Listener) -> None:
        self._plan = plan
        self._options = options
        self._tell = tell
        self.keeper = Keeper(launcher)
        self._counts: dict[Status, int] = dict.fromkeys(STATUSES, 0)
        self._start_fault: Fault | None = None
        self._current = ""

    def run(self) -> RunFinished:
        began = time.monotonic()
        plan = self._plan
        names = dict.fromkeys(spec.name for _, spec in plan.suites)
        self._tell(
            RunStarted(
                started_at=self._options.started_at,
                server=", ".join(names),
                suites=len(plan.suites),
                total=plan.total,
                warnings=plan.warnings,
            )
        )
        interrupted = False
        try:
            self._run_suites(plan.suites)
        except InterruptedRunError:
            interrupted = True
        finally:
            self.keeper.retire()
        finished = self._finish(time.monotonic() - began, interrupted)
        self._tell(finished)
        return finished

    def _finish(self, duration_s: float, interrupted: bool) -> RunFinished:
        no_server = self._start_fault is not None and not self.keeper.has_started_one
        summary = Summary() if no_server else Summary.of(self._counts)
        return RunFinished(
            summary=summary,
            duration_s=duration_s,
            findings=tuple(self.keeper.findings),
            fault=self._start_fault if no_server and not interrupted else None,
            interrupted=interrupted,
            interrupted_in=self._current if interrupted else "",
            bailed=self._is_over() and summary.total < self._plan.total,
        )

    def _is_over(self) -> bool:
        return self._options.bail and bool(self._counts["failed"] or self._counts["error"])

    def _run_suites(self, suites: Sequence[tuple[Suite, ServerSpec]]) -> None:
        if not self._can_start(suites):
            return
        for suite, spec in suites:
            self._tell(
                SuiteStarted(
                    name=suite.name,
                    file=suite.file,
                    format=suite.format,
                    server=spec.name,
                    total=len(suite.cases),
                )
            )
            for case, following in zip_longest(suite.cases, suite.cases[1:]):
                self._run_case(case, spec, following)
                if self._is_over():
                    break
                if spec.isolation == "test":
                    self.keeper.retire()
            self._tell(SuiteFinished(name=suite.name, file=suite.file))
            if self._is_over():
                break
            if spec.isolation == "file":
                self.keeper.retire()

    def _can_start(self, suites: Sequence[tuple[Suite, ServerSpec]]) -> bool:
        """When all suites share a server that cannot be started, no test runs at all."""
        spec = suites[0][1]
        steps = [case.steps[0] for suite, _ in suites for case in suite.cases if case.skip is None]
        if not steps or any(other != spec for _, other in suites):
            return True
        try:
            self.keeper.server_for(spec, steps[0])
        except ServerError as error:
            self._start_fault = error.fault
            return False
        return True

    def _run_case(self, case: Case, spec: ServerSpec, following: Case | None) -> None:
        self._tell(CaseStarted(name=case.name, line=case.line))
        self._current = case.name
        if case.skip is not None:
            result = CaseResult(name=case.name, status="skipped", line=case.line, reason=case.skip)
        else:
            result = self._perform(case, spec)
        if result.status == "passed" and following and following.skip is None:
            self._send_ahead(following, spec)
        self._current = ""
        self._counts[result.status] += 1
        self._tell(CaseFinished(result=result))

    def _send_ahead(self, case: Case, spec: ServerSpec) -> None:
        if spec.isolation != "test":
            self.keeper.send_ahead(case.steps[0])

    def _perform(self, case: Case, spec: ServerSpec) -> CaseResult:
        began = time.monotonic()
        notes: tuple[str, ...] = ()
        try:
            for step in case.steps:
                server, note = self.keeper.server_for(spec, step)
                notes += (note,) if note else ()
                began = time.monotonic() if step is case.steps[0] else began
                reply = server.perform(step, case.timeout_s or spec.timeout_s)
                reply, mismatches = _judged(server, step, reply)
                if step.expectation.may_check_nothing and not mismatches:
                    notes += tuple(checked_nothing(step.expectation.response, reply.message))
                if mismatches:
                    notes += tuple(server_words(reply.message, mismatches))
                    if len(mismatches) == _MAX_MISMATCHES:
                        notes += (f"only the first {_MAX_MISMATCHES:,} mismatches were looked for",)
                    return _failed(case, step, reply, mismatches, time.monotonic() - began, notes)
        except ServerError as error:
            return self._errored(case, error.fault, time.monotonic() - began, notes)
        except PatternTimeoutError as error:
            return self._errored(case, faults.slow_pattern(error), time.monotonic() - began, notes)
        self.keeper.passed()
        return CaseResult(
            name=case.name,
            status="passed",
            line=case.line,
            duration_s=time.monotonic() - began,
            notes=notes,
        )

    def _errored(
        self, case: Case, fault: Fault, duration_s: float, notes: tuple[str, ...]
    ) -> CaseResult:
        if not self.keeper.has_started_one and self._start_fault is None:
            self._start_fault = fault
        self.keeper.broke(fault)
        return CaseResult(
            name=case.name,
            status="error",
            line=case.line,
            duration_s=duration_s,
            fault=fault,
            notes=notes,
        )


def _judged(server: Server, step: Step, reply: Reply) -> tuple[Reply, tuple[Mismatch, ...]]:
    """The reply with all of its stderr, and every expectation that it does not meet."""
    expectation = step.expectation
    if not expectation.has_regex:
        reply = _with_stderr(server, expectation, reply)
        return reply, _first(judge(expectation, reply))
    with _PATTERN_LIMIT:
        reply = _with_stderr(server, expectation, reply)
        if reply.size <= _LARGE_BYTES:
            return reply, _first(judge(expectation, reply))
    limit_s = max(_PATTERN_LIMIT.seconds, reply.size / _SLOWEST_BYTES_PER_S)
    whole = reply
    return reply, judge_apart(lambda: _first(judge(expectation, whole)), limit_s, server.launcher)


def _first(mismatches: Iterator[Mismatch]) -> tuple[Mismatch, ...]:
    """As many as anybody can read: an answer can be wrong in a million places."""
    return tuple(islice(mismatches, _MAX_MISMATCHES))


def _with_stderr(server: Server, expectation: Expectation, reply: Reply) -> Reply:
    """The reply with what stderr brings a little later, where that could help."""
    if expectation.stderr is ABSENT:
        return reply
    deadline = time.monotonic() + _STDERR_PATIENCE_S
    while stderr_may_still_come(expectation, reply.stderr):
        if not server.wait_for_stderr(deadline):
            break
        reply = reply.but(stderr=server.stderr_since(reply.stderr_mark))
    return reply


def _failed(
    case: Case,
    step: Step,
    reply: Reply,
    mismatches: tuple[Mismatch, ...],
    duration_s: float,
    notes: tuple[str, ...],
) -> CaseResult:
    response = step.expectation.response
    return CaseResult(
        name=case.name,
        status="failed",
        line=case.line,
        duration_s=duration_s,
        mismatches=mismatches,
        sent=step.line.decode("utf-8").rstrip("\n"),
        expected=ABSENT if response is ABSENT else written(response),
        actual=reply.message,
        stderr=reply.stderr,
        notes=notes,
    )
