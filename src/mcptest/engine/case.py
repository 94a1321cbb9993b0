"""Perform one case against its server, retry it if allowed, and judge it.

`Performer._attempt` tries a case once and is the only place where the faults of a server become an
errored case; `Performer._perform_step` sends one step and judges its reply.
"""

from __future__ import annotations

import os
import time
from contextlib import nullcontext

from mcptest.core.errors import CheckError, InterruptedRunError, PatternTimeoutError, ServerError
from mcptest.core.results import CaseResult, FailedAttempt, Fault, Finding, Mismatch
from mcptest.core.strict_json import dump_json
from mcptest.core.text import visible
from mcptest.core.value_class import ABSENT
from mcptest.engine import faults
from mcptest.engine.judge import (
    MAX_MISMATCHES,
    describe_allowed_mismatches,
    expects_error,
    judge_reply,
    quote_server_errors,
)
from mcptest.matching.compare import source_of
from mcptest.matching.json_values import pull
from mcptest.protocol.jsonrpc import can_replace_id
from mcptest.transport.process.signals import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.coverage import OfferKind, Use
    from mcptest.core.plan import Case, Expectation, ServerSpec, Step, Suite
    from mcptest.engine.dialogue import DialogueRunner
    from mcptest.engine.output_schemas import OutputSchemas
    from mcptest.engine.pool import ServerPool
    from mcptest.engine.server import Reply, Server
    from mcptest.engine.snapshots import Snapshots

    Name = tuple[OfferKind, str]

__all__ = [
    "Performer",
    "UnsentError",
    "describe_failure",
    "describe_restart_reason",
    "time_limit_s",
]


# How long the teardown of an interrupted test may take.
_LAST_S = 5.0

# Extra time for each attempt at a test: judging, stopping the server, a slow machine.
_MARGIN_S = 60.0

# How often a scan may start a server or wait for an answer, at most.
_SCAN_TURNS = 20

# How many repetitions in which a test failed are listed.
_MAX_SHOWN = 10

# How long it may take to put captured values into a step.
_FILL_LIMIT = CpuLimit(2.0)


class Performer:
    """Performs the cases of a run, and keeps the values that the tests of a file save."""

    def __init__(self, pool: ServerPool, snapshots: Snapshots | None = None) -> None:
        self._pool = pool
        self._snapshots = snapshots
        # Saved by tests of the current file for later ones.
        self.values: dict[str, object] = {}
        self._dialogue_runner: DialogueRunner | None = None
        self._schemas: OutputSchemas | None = None
        self._file = ""
        self._folder = ""
        self._keeps_times = False
        self._is_suite_file = False
        self._times: list[float] = []
        # The step during which the run was interrupted, as written and as sent.
        self._interrupted: tuple[Server, Step, Step] | None = None
        self.start_fault: Fault | None = None
        # By the name of the server, how often each of its offers was used.
        self.uses: dict[str, dict[Use, int]] = {}
        # What the last attempt was refused, by kind and name.
        self.refused: dict[Name, None] = {}
        # What a server gave to some test of this file, by the name of the server.
        self.answered: set[tuple[str, Name]] = set()
        # What the current attempt has used, and the answers.
        self._used: list[tuple[Server, Use, object]] = []

    def start_suite(self, suite: Suite) -> None:
        """Forget the saved values of the last file."""
        self.values = {}
        self.answered = set()
        self._dialogue_runner = None
        self._file = suite.file
        self._folder = os.path.dirname(suite.file)
        self._keeps_times = bool(suite.gates and suite.gates.performance)
        self._is_suite_file = suite.format == "suite"

    def prepare(self, case: Case, spec: ServerSpec) -> None:
        """Start the server that the case needs; ServerError when that is impossible."""
        if case.dialogue:
            self._dialogues().server_for(spec, case.dialogue)
        else:
            self._pool.server_for(spec, case.steps[0] if case.steps else None)

    def perform(
        self, case: Case, spec: ServerSpec, retries: int, following: Case | None
    ) -> CaseResult:
        """The verdict on a case, after at most `retries` retries.

        The first request of `following` is sent as soon as the case has passed, if possible.
        """
        if case.teardown:
            following = None
        failures = self._pool.failures
        result = self._attempt_with_teardown(case, spec, following)
        earlier: list[FailedAttempt] = []
        while result.status in ("failed", "error") and len(earlier) < retries:
            earlier.append(
                FailedAttempt(
                    kind=result.fault.kind if result.fault else "",
                    message=describe_failure(result),
                    duration_s=result.duration_s,
                )
            )
            if self._snapshots:
                self._snapshots.try_again()
            why = describe_restart_reason(case, result.fault.kind if result.fault else "")
            if why:
                self._pool.replace(why)
            self._pool.restore_failures(failures)
            result = self._attempt_with_teardown(case, spec, None)
        if (result.status == "failed" or earlier) and self._pool.keeps_log and not result.fault:
            result = result.but(log=self._pool.log())
        if self._pool.launcher.traces:
            result = result.but(trace_id=self._pool.trace_id())
        if self._times:
            result, self._times = result.but(times_s=tuple(self._times)), []
        if earlier:
            notes = [f"attempt {at}: {each.message}" for at, each in enumerate(earlier, 1)]
            result = result.but(
                attempts=len(earlier) + 1, notes=(*result.notes, *notes), earlier=tuple(earlier)
            )
        if case.row and result.status != "passed" and case.row != f"{self._file}:{result.line}":
            result = result.but(notes=(*result.notes, f"its row is at {case.row}"))
        return result.but(tags=case.tags) if case.tags else result

    def perform_repeatedly(self, case: Case, spec: ServerSpec, count: int) -> CaseResult:
        """The verdict on a case that is run `count` times and must pass each time.

        The verdict is that of the first failure, if there is one, with the time of all repetitions.
        """
        failures = self._pool.failures
        results: list[CaseResult] = []
        for _ in range(count):
            if results:
                last = results[-1].fault
                if self._snapshots:
                    self._snapshots.try_again()
                is_alone = spec.isolation == "test"
                if is_alone or describe_restart_reason(case, last.kind if last else ""):
                    self._pool.retire()
                self._pool.restore_failures(failures)
            results.append(self.perform(case, spec, 0, None))
        failed = [at for at, each in enumerate(results) if each.status != "passed"]
        result = results[failed[0] if failed else -1]
        result = result.but(
            repeats=count,
            duration_s=sum(each.duration_s for each in results),
            times_s=tuple(took_s for each in results for took_s in each.times_s),
        )
        if not failed:
            return result
        note = f"it failed all {count:,} times"
        if len(failed) < count:
            shown = ", ".join(f"{at + 1:,}" for at in failed[:_MAX_SHOWN])
            shown += ", …" if len(failed) > _MAX_SHOWN else ""
            which = "repetition" if len(failed) == 1 else "repetitions"
            passed = f"it passed {count - len(failed):,} of {count:,} times"
            note = f"{passed}; it failed in {which} {shown}"
        return result.but(notes=(*result.notes, note))

    def _attempt_with_teardown(
        self, case: Case, spec: ServerSpec, following: Case | None
    ) -> CaseResult:
        """One try, followed by its teardown."""
        self._pool.start_test()
        self.refused = {}
        self._interrupted = None
        if self._is_suite_file:
            # Suites save values within one test only.
            self.values = {}
        try:
            result = self._attempt(case, spec, following)
            if not case.teardown:
                return result
            if self._pool.launcher.interrupts.count:
                raise InterruptedRunError
            after = self._attempt(case.but(steps=case.teardown, teardown=()), spec, None)
        except InterruptedRunError:
            if case.teardown:
                self._tear_down_last(case, spec)
            raise
        finally:
            # Not before: the next request goes out sooner.
            used, self._used = self._used, []
            for server, use, answer in used:
                counts = self.uses.setdefault(server.spec.name, {})
                counts[use] = counts.get(use, 0) + 1
                self._record_use(server, use, answer)
        if after.status == "passed":
            return result
        if result.status == "passed":
            return after.but(notes=("it passed, but its teardown did not", *after.notes))
        note = f"its teardown did not pass either: {describe_failure(after)}"
        return result.but(notes=(*result.notes, note))

    def _tear_down_last(self, case: Case, spec: ServerSpec) -> None:
        """Do the teardown of an interrupted test, in limited time.

        Another signal ends it. A server that has exited is not started again.
        """
        steps = case.teardown
        if self._interrupted:
            server, written_step, sent_step = self._interrupted
            places = [at for at, step in enumerate(steps) if step is written_step]
            if places:
                # The teardown had begun, and this step of it has been sent.
                steps = steps[places[0] + 1 :]
            else:
                server.give_up(sent_step)
        interrupts, why = self._pool.launcher.interrupts, "it was interrupted again"
        # Without a signal, it was the SDK that left.
        if interrupts.count <= 1:
            with interrupts.respite(_LAST_S) if interrupts.count else nullcontext():
                why = self._why_not_torn_down(case.but(steps=steps, teardown=()), spec)
        if why:
            what = f"the teardown of {visible(case.name)} was not done when it was interrupted"
            finding = Finding(kind="teardown_failed", server=spec.name, message=f"{what}: {why}")
            self._pool.findings.append(finding)

    def _why_not_torn_down(self, case: Case, spec: ServerSpec) -> str:
        deadline = time.monotonic() + _LAST_S
        try:
            for step in case.steps:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return f"it took more than {_LAST_S:g} s"
                if not self._pool.is_ready:
                    return "there was no server to ask"
                limit_s = min(left_s, case.timeout_s or spec.timeout_s)
                result = self._attempt(case.but(steps=(step,), timeout_s=limit_s), spec, None)
                if result.status != "passed":
                    return describe_failure(result)
        except InterruptedRunError:
            return "it was interrupted again"
        return ""

    def _attempt(self, case: Case, spec: ServerSpec, following: Case | None) -> CaseResult:
        """One try at the steps of a case, or at its dialogue, check or scan."""
        # Chosen now, so that it can be sent as soon as the case has passed.
        ahead = None if self._keeps_times else _find_step_to_send_ahead(following)
        began, line = time.monotonic(), case.line
        notes: tuple[str, ...] = ()
        try:
            if not case.steps:
                return self._perform_other(case, spec, following)
            for index, written_step in enumerate(case.steps):
                # A failure is reported at the line of its step.
                line = written_step.at or case.line
                step = self._fill(written_step)
                server, note = self._pool.server_for(spec, step)
                notes += (note,) if note else ()
                if self._is_suite_file and not server.has_sent_ahead:
                    # Sends a tools/list, unless the schemas of the tools are known.
                    self._output_schemas().read_tools_of(server)
                if index == 0:
                    # The start of a server does not count as time of the test.
                    began = time.monotonic()
                timeout_s = case.timeout_s or spec.timeout_s
                reply, mismatches = self._perform_step(server, written_step, step, timeout_s)
                if mismatches:
                    self._pool.record_failure()
                    notes += (f"in {written_step.label}",) if written_step.label else ()
                    duration_s = time.monotonic() - began
                    failed = _make_failed(case, step, reply, mismatches, duration_s, notes)
                    return failed.but(line=line, stderr=self._pool.stderr_of_test())
                notes += _describe_passed_step(step.expectation, reply)
        except (UnsentError, CheckError) as error:
            # The server did nothing wrong, and is kept unless a dialogue was broken off.
            errored = _make_errored(case, error.fault, time.monotonic() - began, notes)
            errored = errored.but(line=line, stderr=self._pool.stderr_of_test())
            has_begun = isinstance(error, CheckError) or error.has_begun
            self._leave_dialogue(case, error.fault, has_begun=has_begun)
            return errored
        except ServerError as error:
            duration_s = time.monotonic() - began
            return self._record_fault(case, error.fault, duration_s, notes).but(line=line)
        except PatternTimeoutError as error:
            fault, duration_s = faults.slow_pattern_fault(error), time.monotonic() - began
            return self._record_fault(case, fault, duration_s, notes).but(line=line)
        duration_s = time.monotonic() - began
        self._pool.record_pass()
        # The log is taken before the next request is sent.
        log = self._pool.log() if self._pool.keeps_log == "all" else ()
        if ahead:
            self._pool.send_ahead(ahead)
        return CaseResult.made_of(
            {
                "name": case.name,
                "status": "passed",
                "line": case.line,
                "duration_s": duration_s,
                "notes": notes,
                "log": log,
            }
        )

    def _perform_step(
        self, server: Server, written_step: Step, step: Step, timeout_s: float
    ) -> tuple[Reply, tuple[Mismatch, ...]]:
        """Send a step and judge the reply; if there are no mismatches, its captures are saved.

        `written_step` is the step as the file has it, `step` the same with saved values filled in.
        """
        try:
            if step.expectation.exit_code is not None:
                # The server cannot be asked after it has exited.
                self._pool.take_inventory()
            reply = server.perform(step, timeout_s)
        except InterruptedRunError:
            self._interrupted = (server, written_step, step)
            raise
        if step.use:
            self._used.append((server, step.use, reply.message))
        reply, mismatches = judge_reply(server, step.expectation, reply)
        is_error = type(reply.message) is dict and "error" in reply.message
        if is_error and (not mismatches or expects_error(step.expectation)):
            # An error that a test expects does not count against the server (INV-004).
            server.connection.recording.note_expected_error(step.method)
        if self._keeps_times:
            self._times.append(reply.elapsed_s)
        if step.tool:
            mismatches += self._output_schemas().judge(server, step.tool, reply)
        if written_step.captures and not mismatches:
            mismatches = self._capture(written_step, reply)
        return reply, mismatches

    def _perform_other(self, case: Case, spec: ServerSpec, following: Case | None) -> CaseResult:
        """Perform a dialogue, a compliance check or a security scan."""
        if case.dialogue:
            return self._dialogues().perform(case, spec, following)
        if case.scan:
            from mcptest.engine.security_lane import scan_server  # noqa: PLC0415  # only suites scan

            return scan_server(case, case.scan, spec, self._pool)
        assert case.check, "a case without steps is a dialogue or a check"
        from mcptest.engine.compliance_lane import check_compliance  # noqa: PLC0415  # only suites have checks

        return check_compliance(case, spec, self._pool)

    def _output_schemas(self) -> OutputSchemas:
        if self._schemas is None:
            from mcptest.engine.output_schemas import OutputSchemas  # noqa: PLC0415  # only suites check them

            self._schemas = OutputSchemas()
        return self._schemas

    def _dialogues(self) -> DialogueRunner:
        if self._dialogue_runner is None:
            # Most files have no dialogue.
            from mcptest.engine.dialogue import DialogueRunner  # noqa: PLC0415

            self._dialogue_runner = DialogueRunner(
                self._pool, self._folder, self.uses, self.values, self._record_use
            )
        return self._dialogue_runner

    def _record_use(self, server: Server, use: Use, answer: object) -> None:
        """Record whether the server refused what a request asked for."""
        if not isinstance(answer, dict):
            return
        result = answer.get("result")
        has_failed = isinstance(result, dict) and result.get("isError", False) is not False
        if "error" in answer or has_failed:
            self.refused[use[:2]] = None
        else:
            self.answered.add((server.spec.name, use[:2]))

    # Values from earlier tests

    def _fill(self, step: Step) -> Step:
        template = step.template
        if template is None:
            return step
        missing = [name for name in template.needs if name not in self.values]
        if missing:
            raise UnsentError(faults.missing_value_fault(missing))
        try:
            # The values come from the server, and may be made so that this takes forever.
            with _FILL_LIMIT:
                filled = template.fill(self.values)
                return filled.but(keeps_id=True) if step.keeps_id else filled
        except (ValueError, PatternTimeoutError) as error:
            values = {name: self.values[name] for name in template.needs}
            raise UnsentError(faults.unusable_value_fault(values, str(error))) from None

    def _capture(self, step: Step, reply: Reply) -> tuple[Mismatch, ...]:
        missing = []
        for capture in step.captures:
            value, why = pull(reply.message, capture.steps)
            if value is ABSENT:
                message = f"nothing to capture as {capture.name!r} at {capture.path}: {why}"
                missing.append(
                    Mismatch(
                        path=capture.path, expected="match:exists", actual=ABSENT, message=message
                    )
                )
            else:
                self.values[capture.name] = value
        return tuple(missing)

    # What broke

    def _record_fault(
        self, case: Case, fault: Fault, duration_s: float, notes: tuple[str, ...]
    ) -> CaseResult:
        if not self._pool.has_started_one and self.start_fault is None:
            self.start_fault = fault
        log = self._pool.log()
        # The evidence of a fault has the last lines of the process, also from before the test.
        stderr = "" if fault.evidence.stderr_tail else self._pool.stderr_of_test()
        self._pool.record_fault(fault)
        self._leave_dialogue(case, fault)
        return _make_errored(case, fault, duration_s, notes).but(log=log, stderr=stderr)

    def _leave_dialogue(self, case: Case, fault: Fault, *, has_begun: bool = True) -> None:
        """Replace a server whose dialogue was broken off: it could answer in the next one."""
        if case.dialogue and has_begun:
            self._pool.replace(f"the case before ended in {fault.kind}")


def _find_step_to_send_ahead(following: Case | None) -> Step | None:
    """The first step of a case, unless it depends on this one or its time is measured."""
    if following is None or not following.steps:
        return None
    step = following.steps[0]
    return None if step.template or step.expectation.is_timed else step


def describe_restart_reason(case: Case, kind: str) -> str:
    """Why a retry needs a fresh server, "" when it does not; `kind` is that of the last fault."""
    if kind == "timeout":
        return "the try before was never answered"
    steps = (*case.steps, *case.teardown)
    has_fixed_id = any(
        step.id is not ABSENT and (step.keeps_id or not can_replace_id(step.id)) for step in steps
    )
    if case.dialogue or has_fixed_id:
        return "the test is tried again, and its ids may be used once in a session"
    return ""


def time_limit_s(case: Case, spec: ServerSpec, retries: int = 0) -> float:
    """Longer than a case can take with its retries and teardown: a time limit for its caller.

    `retries` are those of a case that says nothing itself. Each message may need a new server.
    """
    turns = len(case.dialogue.turns) if case.dialogue else len(case.steps) + len(case.teardown)
    if case.scan:
        # It starts servers several times, and calls their tools.
        turns = _SCAN_TURNS * (1 + len(case.scan.others))
    per_turn_s = (case.timeout_s or spec.timeout_s) + spec.startup_timeout_s
    attempts = 1 + (retries if case.retries is None else case.retries)
    return attempts * (max(1, turns) * per_turn_s + _MARGIN_S)


class UnsentError(Exception):
    """A message cannot be built or sent, through no fault of the server.

    `has_begun` says that earlier messages of the case were sent, which may still be answered.
    """

    def __init__(self, fault: Fault, *, has_begun: bool = False) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.has_begun = has_begun


# Results

_RESULT_TYPE = "resultType"


def _describe_passed_step(expectation: Expectation, reply: Reply) -> tuple[str, ...]:
    """Notes on a step that passed."""
    notes: tuple[str, ...] = ()
    if reply.unfinished and not _names_result_type(expectation):
        notes = (_unfinished(reply),)
    if expectation.may_check_nothing:
        from mcptest.matching.diff import find_idle_checks  # noqa: PLC0415  # rarely needed

        return (*notes, *find_idle_checks(expectation.response, reply.message))
    if expectation.threshold < 1.0:
        return (*notes, *describe_allowed_mismatches(expectation, reply))
    return notes


def _unfinished(reply: Reply) -> str:
    return f"the call was not completed: {reply.unfinished}"


def _names_result_type(expectation: Expectation) -> bool:
    """Whether a test expects a certain type of result."""
    if any(_RESULT_TYPE in assertion.steps for assertion in expectation.assertions):
        return True
    response = expectation.response
    return response is not ABSENT and dump_json(_RESULT_TYPE) in dump_json(source_of(response))


def describe_failure(result: CaseResult) -> str:
    if result.fault:
        return f"{result.fault.kind}, {result.fault.message}"
    first = result.mismatches[0]
    return f"failed at {first.path or 'the answer'}, {first.message}"


def _make_failed(
    case: Case,
    step: Step,
    reply: Reply,
    mismatches: tuple[Mismatch, ...],
    duration_s: float,
    notes: tuple[str, ...],
) -> CaseResult:
    response = step.expectation.response
    if reply.unfinished and not any(reply.unfinished in each.message for each in mismatches):
        notes += (_unfinished(reply),)
    notes += tuple(quote_server_errors(reply.message, mismatches))
    if len(mismatches) == MAX_MISMATCHES:
        notes += (f"only the first {MAX_MISMATCHES:,} mismatches were looked for",)
    return CaseResult(
        name=case.name,
        status="failed",
        line=case.line,
        duration_s=duration_s,
        mismatches=mismatches,
        sent=step.line.decode("utf-8").rstrip("\n"),
        expected=ABSENT if response is ABSENT else source_of(response),
        actual=reply.message,
        notes=notes,
    )


def _make_errored(
    case: Case, fault: Fault, duration_s: float, notes: tuple[str, ...]
) -> CaseResult:
    return CaseResult(
        name=case.name,
        status="error",
        line=case.line,
        duration_s=duration_s,
        fault=fault,
        notes=notes,
    )
