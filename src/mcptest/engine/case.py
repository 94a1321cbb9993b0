"""Perform one case against its server, as often as it may be tried, and judge it.

What can go wrong with a server is turned into an errored case in exactly one place,
`Performer._attempt`.
"""

from __future__ import annotations

import os
import time

from mcptest.core.errors import CheckError, InterruptedRunError, PatternTimeoutError, ServerError
from mcptest.core.record import ABSENT
from mcptest.core.results import CaseResult, Fault, Finding, Mismatch
from mcptest.core.strict_json import dump_json
from mcptest.core.text import visible
from mcptest.engine import faults
from mcptest.engine.judge import MAX_MISMATCHES, judge_reply, quote_server_errors
from mcptest.matching.compare import source_of
from mcptest.matching.values import pull
from mcptest.protocol.jsonrpc import can_replace_id
from mcptest.transport.process.limits import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.coverage import Use
    from mcptest.core.plan import Case, Expectation, ServerSpec, Step, Suite
    from mcptest.core.results import Fault, Mismatch
    from mcptest.engine.dialogue import DialogueRunner
    from mcptest.engine.pool import ServerPool
    from mcptest.engine.server import Reply, Server
    from mcptest.engine.snapshots import Snapshots
    from mcptest.engine.tool_outputs import Outputs

__all__ = [
    "Performer",
    "UnsentError",
    "failed",
    "missing_values",
    "reason",
    "reason_to_start_afresh",
    "remarks",
]


# How long the teardown of an interrupted test may take.
_LAST_S = 5.0

# How long it may take to put captured values into a step.
_FILL_LIMIT = CpuLimit(2.0)


class Performer:
    """Performs the cases of a run; knows what the tests of the current file have captured."""

    def __init__(self, keeper: ServerPool, snapshots: Snapshots | None = None) -> None:
        self._keeper = keeper
        self._snapshots = snapshots
        # What the tests of the current file have saved for later ones.
        self.values: dict[str, object] = {}
        self._conversations: DialogueRunner | None = None
        self._outputs: Outputs | None = None
        self._folder = ""
        self._keeps_times = False
        self._is_suite = False
        self._times: list[float] = []
        # The step whose answer is awaited, as it is written and as it was sent.
        self._at_hand: tuple[Server, Step, Step] | None = None
        self.start_fault: Fault | None = None
        # How often each offer of each server, by its name, was used.
        self.uses: dict[str, dict[Use, int]] = {}

    def start_suite(self, suite: Suite) -> None:
        """What was captured belongs to the file it was captured in."""
        self.values = {}
        self._conversations = None
        self._folder = os.path.dirname(suite.file)
        # Only those who are measured by them want to know.
        self._keeps_times = bool(suite.gates and suite.gates.performance)
        self._is_suite = suite.format == "suite"

    def prepare(self, case: Case, spec: ServerSpec) -> None:
        """Have the server ready that the case needs; ServerError when there is none."""
        if case.dialogue:
            self._talks().server_for(spec, case.dialogue)
        else:
            self._keeper.server_for(spec, case.steps[0] if case.steps else None)

    def perform(
        self, case: Case, spec: ServerSpec, retries: int, following: Case | None
    ) -> CaseResult:
        """The verdict on a case, after as many further tries as it needs and may have.

        What `following` begins with is sent the moment the case has passed, if nothing speaks
        against it.
        """
        if case.teardown:
            following = None
        result = self._whole(case, spec, following)
        earlier: list[str] = []
        while result.status in ("failed", "error") and len(earlier) < retries:
            earlier.append(f"attempt {len(earlier) + 1}: {describe_failure(result)}")
            if self._snapshots:
                self._snapshots.try_again()
            why = describe_restart_reason(case, result.fault.kind if result.fault else "")
            if why:
                self._keeper.replace(why)
            result = self._whole(case, spec, None)
        if (result.status == "failed" or earlier) and self._keeper.keeps_log and not result.fault:
            result = result.but(log=self._keeper.log())
        if self._times:
            result, self._times = result.but(times_s=tuple(self._times)), []
        if earlier:
            notes = (*result.notes, *earlier)
            result = result.but(attempts=len(earlier) + 1, notes=notes)
        return result.but(tags=case.tags) if case.tags else result

    def _whole(self, case: Case, spec: ServerSpec, following: Case | None) -> CaseResult:
        """One try, and whatever must follow it."""
        if self._is_suite:
            # There, what was captured belongs to the test it was captured in.
            self.values = {}
        if not case.teardown:
            return self._attempt(case, spec, following)
        try:
            result = self._attempt(case, spec, following)
            self._heed_interrupt()
            after = self._attempt(case.but(steps=case.teardown, teardown=()), spec, None)
        except InterruptedRunError:
            self._tear_down_last(case, spec)
            raise
        if after.status == "passed":
            return result
        if result.status == "passed":
            return after.but(notes=("it passed, but its teardown did not", *after.notes))
        note = f"its teardown did not pass either: {describe_failure(after)}"
        return result.but(notes=(*result.notes, note))

    def _heed_interrupt(self) -> None:
        """What a signal would end at once is not begun."""
        if self._keeper.launcher.interrupts.count:
            raise InterruptedRunError

    def _tear_down_last(self, case: Case, spec: ServerSpec) -> None:
        """Put away what an interrupted test has made, as far as that takes no long time.

        The next signal ends this, too. A server that is gone is not started again for it.
        """
        begun, self._at_hand = self._at_hand, None
        if begun and not any(begun[1] is step for step in case.teardown):
            begun[0].give_up(begun[2])
        steps = _after(case.teardown, begun[1] if begun else None)
        interrupts, why = self._keeper.launcher.interrupts, "it was interrupted again"
        if interrupts.count == 1:
            with interrupts.respite(_LAST_S):
                why = self._why_not_torn_down(case.but(steps=steps, teardown=()), spec)
        if why:
            told = f"the teardown of {visible(case.name)} was not done when it was interrupted"
            finding = Finding(kind="teardown_failed", server=spec.name, message=f"{told}: {why}")
            self._keeper.findings.append(finding)

    def _why_not_torn_down(self, case: Case, spec: ServerSpec) -> str:
        deadline = time.monotonic() + _LAST_S
        try:
            for step in case.steps:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return f"it took more than {_LAST_S:g} s"
                if not self._keeper.is_ready:
                    return "there was no server to ask"
                limit_s = min(left_s, case.timeout_s or spec.timeout_s)
                result = self._attempt(case.but(steps=(step,), timeout_s=limit_s), spec, None)
                if result.status != "passed":
                    return describe_failure(result)
        except InterruptedRunError:
            return "it was interrupted again"
        return ""

    def _attempt(self, case: Case, spec: ServerSpec, following: Case | None) -> CaseResult:
        began, here = time.monotonic(), case
        # Found out now: once the answer is there, the server waits for us.
        ahead = None if self._keeps_times else _sent_ahead(following)
        notes: tuple[str, ...] = ()
        try:
            if not case.steps:
                return self._unusual(case, spec, following)
            for written_step in case.steps:
                here = at_step(case, written_step)
                step = self._filled(written_step)
                server, note = self._keeper.server_for(spec, step)
                notes += (note,) if note else ()
                if self._is_suite and not server.has_begun:
                    self._known_outputs().learn(server)
                began = time.monotonic() if written_step is case.steps[0] else began
                self._at_hand = (server, written_step, step)
                reply = self._sent(server, step, case.timeout_s or spec.timeout_s)
                self._at_hand = None
                reply, mismatches = judge_reply(server, step.expectation, reply)
                if step.label or step.tool or written_step.captures or self._keeps_times:
                    mismatches += self._further(server, written_step, step, reply, mismatches)
                if mismatches:
                    self._keeper.failed()
                    notes += (f"in {written_step.label}",) if written_step.label else ()
                    duration_s = time.monotonic() - began
                    return failed(here, step, reply, mismatches, duration_s, notes)
                notes += describe_passed_step(step.expectation, reply)
        except (UnsentError, CheckError) as error:
            # The server did nothing wrong, and is kept unless it is left in mid-conversation.
            has_begun = isinstance(error, CheckError) or error.has_begun
            self._leave_dialogue(case, error.fault, has_begun=has_begun)
            return errored(here, error.fault, time.monotonic() - began, notes)
        except ServerError as error:
            return self._broken(here, error.fault, time.monotonic() - began, notes)
        except PatternTimeoutError as error:
            return self._broken(here, faults.slow_pattern(error), time.monotonic() - began, notes)
        return self._passed(case, time.monotonic() - began, notes, ahead)

    def _passed(
        self, case: Case, duration_s: float, notes: tuple[str, ...], ahead: Step | None
    ) -> CaseResult:
        """The verdict on a case that passed; the next request goes out before it is made."""
        self._keeper.passed()
        # A log is taken, here as where something broke, before anything else is said.
        log = self._keeper.log() if self._keeper.keeps_log == "all" else ()
        if ahead:
            self._keeper.send_ahead(ahead)
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

    def _unusual(self, case: Case, spec: ServerSpec, following: Case | None) -> CaseResult:
        """A case that does something else than ask for answers, one by one."""
        if case.dialogue:
            return self._talks().perform(case, spec, following)
        assert case.check, "a case without steps is a dialogue or a check"
        # Only suites have them, and starting is part of the product.
        from mcptest.engine.compliance import comply  # noqa: PLC0415

        return comply(case, spec, self._keeper)

    def _further(
        self,
        server: Server,
        written_step: Step,
        step: Step,
        reply: Reply,
        found: tuple[Mismatch, ...],
    ) -> tuple[Mismatch, ...]:
        """What is wrong beside what was expected; what is to be kept of a right answer is."""
        if self._keeps_times:
            self._times.append(reply.elapsed_s)
        more = self._output_of(server, step.tool, reply) if step.tool else ()
        if not (found or more) and written_step.captures:
            more = self._capture(written_step, reply)
        return more

    def _output_of(self, server: Server, tool: str, reply: Reply) -> tuple[Mismatch, ...]:
        """What is wrong with the structured output of a tool, by its own schema."""
        return self._known_outputs().judge(server, tool, reply)

    def _known_outputs(self) -> Outputs:
        if self._outputs is None:
            from mcptest.engine.tool_outputs import Outputs  # noqa: PLC0415  # as above

            self._outputs = Outputs()
        return self._outputs

    def _talks(self) -> DialogueRunner:
        if self._conversations is None:
            # Most files hold no dialogue, and starting is part of the product.
            from mcptest.engine.dialogue import DialogueRunner  # noqa: PLC0415

            self._conversations = DialogueRunner(self._keeper, self._folder, self.uses, self.values)
        return self._conversations

    def _sent(self, server: Server, step: Step, timeout_s: float) -> Reply:
        if step.expectation.exit_code is not None:
            # Whoever is to end cannot be asked afterwards.
            self._keeper.take_inventory()
        reply = server.perform(step, timeout_s)
        if step.use:
            used = self.uses.setdefault(server.spec.name, {})
            used[step.use] = used.get(step.use, 0) + 1
        return reply

    # Values from earlier tests

    def _filled(self, step: Step) -> Step:
        template = step.template
        if template is None:
            return step
        missing = [name for name in template.needs if name not in self.values]
        if missing:
            raise UnsentError(faults.missing_capture(missing))
        try:
            # What was captured is the server's, and may be made to take for ever.
            with _FILL_LIMIT:
                filled = template.fill(self.values)
                return filled.but(keeps_id=True) if step.keeps_id else filled
        except (ValueError, PatternTimeoutError) as error:
            values = {name: self.values[name] for name in template.needs}
            raise UnsentError(faults.unusable_capture(values, str(error))) from None

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

    def _broken(
        self, case: Case, fault: Fault, duration_s: float, notes: tuple[str, ...]
    ) -> CaseResult:
        if not self._keeper.has_started_one and self.start_fault is None:
            self.start_fault = fault
        log = self._keeper.log()
        self._keeper.broke(fault)
        self._leave_dialogue(case, fault)
        return errored(case, fault, duration_s, notes).but(log=log)

    def _leave_dialogue(self, case: Case, fault: Fault, *, has_begun: bool = True) -> None:
        """What was left in the middle of a dialogue must not answer in the next one."""
        if case.dialogue and has_begun:
            self._keeper.replace(f"the case before ended in {fault.kind}")


def _sent_ahead(following: Case | None) -> Step | None:
    """What a case begins with, unless it is not known yet or how long it takes is looked at."""
    if following is None or not following.steps:
        return None
    step = following.steps[0]
    return None if step.template or step.expectation.is_timed else step


def _after(steps: tuple[Step, ...], begun: Step | None) -> tuple[Step, ...]:
    """What is left to be done of these when this one was begun, which may be none of them."""
    at = next((index for index, step in enumerate(steps) if step is begun), -1)
    return steps[at + 1 :]


# When another try of a test needs a fresh server. Pure.


def describe_restart_reason(case: Case, kind: str) -> str:
    """Why another try needs a fresh server, "" when it does not; `kind` is how the last broke."""
    if kind == "timeout":
        return "the try before was never answered"
    steps = (*case.steps, *case.teardown)
    has_fixed_id = any(
        step.id is not ABSENT and (step.keeps_id or not can_replace_id(step.id)) for step in steps
    )
    if case.dialogue or has_fixed_id:
        return "the test is tried again, and its ids may be used once in a session"
    return ""


# Messages that cannot be sent, because of what went before in the same file.


class UnsentError(Exception):
    """A message that cannot be made or sent; the server has no part in it.

    `has_begun` says that others were sent before it, which may still be answered.
    """

    def __init__(self, fault: Fault, *, has_begun: bool = False) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.has_begun = has_begun


def unbound_names_fault(names: Sequence[str]) -> Fault:
    """Names that a dialogue uses and that nothing has bound in this run."""
    listed = ", ".join(visible(name) for name in names)
    return Fault(
        kind="missing_capture",
        message=f"it needs the value of {listed}, which nothing has bound in this run",
        hint="the case that binds it failed, was skipped or was not selected",
    )


# Put what became of a case into its result, with everything a reader of it needs. Pure.


_RESULT_TYPE = "resultType"


def describe_passed_step(expectation: Expectation, reply: Reply) -> tuple[str, ...]:
    """What there is to say of a step that passed."""
    told: tuple[str, ...] = ()
    if reply.unfinished and not _speaks_of_it(expectation):
        told = (_unfinished(reply),)
    if expectation.may_check_nothing:
        from mcptest.matching.hints import find_idle_checks  # noqa: PLC0415  # as above

        return (*told, *find_idle_checks(expectation.response, reply.message))
    if expectation.threshold < 1.0:
        from mcptest.engine.judge import describe_allowed_mismatches  # noqa: PLC0415  # as above

        return (*told, *describe_allowed_mismatches(expectation, reply))
    return told


def _unfinished(reply: Reply) -> str:
    return f"the call did not come to its end: {reply.unfinished}"


def _speaks_of_it(expectation: Expectation) -> bool:
    """Whether a test says itself which type of result it wants."""
    if any(_RESULT_TYPE in assertion.steps for assertion in expectation.assertions):
        return True
    response = expectation.response
    return response is not ABSENT and dump_json(_RESULT_TYPE) in dump_json(source_of(response))


def describe_failure(result: CaseResult) -> str:
    if result.fault:
        return f"{result.fault.kind}, {result.fault.message}"
    first = result.mismatches[0]
    return f"failed at {first.path or 'the answer'}, {first.message}"


def at_step(case: Case, step: Step) -> Case:
    """The case as one whose failure is told at the line of this step."""
    return case.but(line=step.at) if step.at else case


def failed(
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
        stderr=reply.stderr,
        notes=notes,
    )


def errored(case: Case, fault: Fault, duration_s: float, notes: tuple[str, ...]) -> CaseResult:
    return CaseResult(
        name=case.name,
        status="error",
        line=case.line,
        duration_s=duration_s,
        fault=fault,
        notes=notes,
    )
