"""Put what became of a case into its result, with everything a reader of it needs. Pure."""

from __future__ import annotations

from mcptest.core.outcome import CaseResult
from mcptest.core.record import ABSENT
from mcptest.core.strict_json import dump_json
from mcptest.matching.compare import source_of
from mcptest.runner.judging import server_words
from mcptest.runner.weighing import MAX_MISMATCHES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.outcome import Fault, Mismatch
    from mcptest.core.plan import Case, Expectation, Step
    from mcptest.runner.launcher import Reply

__all__ = ["at_step", "errored", "failed", "reason", "remarks"]

_RESULT_TYPE = "resultType"


def remarks(expectation: Expectation, reply: Reply) -> tuple[str, ...]:
    """What there is to say of a step that passed."""
    told: tuple[str, ...] = ()
    if reply.unfinished and not _speaks_of_it(expectation):
        told = (_unfinished(reply),)
    if expectation.may_check_nothing:
        from mcptest.matching.hints import find_idle_checks  # noqa: PLC0415  # as above

        return (*told, *find_idle_checks(expectation.response, reply.message))
    if expectation.threshold < 1.0:
        from mcptest.runner.asserting import missed_but_allowed  # noqa: PLC0415  # as above

        return (*told, *missed_but_allowed(expectation, reply))
    return told


def _unfinished(reply: Reply) -> str:
    return f"the call did not come to its end: {reply.unfinished}"


def _speaks_of_it(expectation: Expectation) -> bool:
    """Whether a test says itself which type of result it wants."""
    if any(_RESULT_TYPE in assertion.steps for assertion in expectation.assertions):
        return True
    response = expectation.response
    return response is not ABSENT and dump_json(_RESULT_TYPE) in dump_json(source_of(response))


def reason(result: CaseResult) -> str:
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
    notes += tuple(server_words(reply.message, mismatches))
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
