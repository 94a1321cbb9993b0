"""Judge what a step brought against what it was expected to bring. Pure."""

from __future__ import annotations

from mcptest.core.jsonrpc import tool_failure
from mcptest.core.outcome import Mismatch
from mcptest.core.record import ABSENT
from mcptest.core.strict_json import dump_json
from mcptest.matching.compare import compare, is_same
from mcptest.matching.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.plan import Expectation, Performance
    from mcptest.core.text import Trail
    from mcptest.runner.server import Reply

__all__ = [
    "is_plainly_met",
    "judge",
    "judge_unread",
    "notifications_may_still_come",
    "server_words",
    "stderr_may_still_come",
]

_ANSWER_ROOTS = ("result", "error")


def is_plainly_met(expectation: Expectation, reply: Reply) -> bool:
    """Whether there is nothing to look at but an answer, and it is right to the letter.

    So is most of what tests expect; False only means that it must be looked at closely.
    """
    if expectation.exit_code is not None or expectation.performance or expectation.notifications:
        return False
    if expectation.assertions or expectation.max_tokens:
        return False
    if expectation.stderr is not ABSENT and (expectation.stderr != "" or reply.stderr):
        return False
    return expectation.response is not ABSENT and is_same(expectation.response, reply.message)


def judge(expectation: Expectation, reply: Reply, trail: Trail = None) -> Iterator[Mismatch]:
    """Every expectation that was not met; all are looked at. The answer stands at `trail`."""
    if expectation.response is not ABSENT:
        yield from compare(
            expectation.response, reply.message, trail, leniency=expectation.leniency
        )
    elif not any(assertion.steps[0] in _ANSWER_ROOTS for assertion in expectation.assertions):
        yield from judge_unread(reply.message)
    if expectation.stderr is not ABSENT:
        yield from _judge_stderr(expectation.stderr, reply.stderr)
    if expectation.exit_code is not None:
        yield from _judge_exit(expectation.exit_code, reply.exit_code)
    if expectation.performance:
        key = "max_duration_ms" if expectation.assertions else "performance.maxResponseTime"
        yield from _judge_performance(expectation.performance, reply.elapsed_s, key)
    if expectation.notifications:
        yield from _judge_notifications(expectation, reply)
    if expectation.assertions or expectation.max_tokens:
        # Only suites have them, and starting is part of the product.
        from mcptest.runner.asserting import judge_assertions  # noqa: PLC0415

        yield from judge_assertions(expectation, reply)


def judge_unread(message: object, key: str = "") -> Iterator[Mismatch]:
    """What is wrong with an answer of which a test says nothing; `key` is the prefix of its paths.

    Who asks only for the time, for stderr or for notifications wants the call to be answered.
    """
    if not isinstance(message, dict):
        return
    if "error" in message:
        error = message["error"]
        code = error.get("code") if isinstance(error, dict) else None
        yield Mismatch(
            path=f"{key}error",
            expected=ABSENT,
            actual=error,
            message=f"the server answered with error {dump_json(code)}, and the test does not "
            "expect one",
            hint="to expect it, say so of the answer",
        )
    result = message.get("result")
    if isinstance(result, dict) and (why := tool_failure(result, "")):
        path, value = f"{key}result.isError", result["isError"]
        yield Mismatch(path=path, expected="true or false", actual=value, message=why)


def server_words(message: object, mismatches: tuple[Mismatch, ...]) -> Iterator[str]:
    """What the server itself says went wrong, where the mismatches do not show it."""
    if not mismatches or not isinstance(message, dict):
        return
    paths = [mismatch.path for mismatch in mismatches]
    error = message.get("error")
    if isinstance(error, dict) and not any(path.startswith("error") for path in paths):
        said = f"code {error.get('code')}, {dump_json(error.get('message'))}"
        yield f"the server answered with an error: {said}"
    result = message.get("result")
    if isinstance(result, dict) and result.get("isError") is True:
        content = result.get("content")
        for block in content if isinstance(content, list) else ():
            text = block.get("text") if isinstance(block, dict) else None
            if isinstance(text, str) and not any("content" in path for path in paths):
                yield f"the tool reported an error: {dump_json(text)}"


def stderr_may_still_come(expectation: Expectation, stderr: str) -> bool:
    """Could waiting turn what stderr holds now from a failure into a pass?"""
    wanted = expectation.stderr
    if wanted is ABSENT or wanted == "" or not any(_judge_stderr(wanted, stderr)):
        return False
    if isinstance(wanted, Pattern):
        return not wanted.negated
    return isinstance(wanted, str) and wanted.startswith(stderr.lstrip())


def notifications_may_still_come(expectation: Expectation, reply: Reply) -> bool:
    """Is one that is wanted still missing? Then waiting could help."""
    return any(True for _ in _judge_notifications(expectation, reply))


def _judge_notifications(expectation: Expectation, reply: Reply) -> Iterator[Mismatch]:
    # Few tests look at them.
    from mcptest.runner.heard import judge_notifications  # noqa: PLC0415

    return judge_notifications(expectation.notifications, reply.notifications)


def _judge_stderr(wanted: object, stderr: str) -> Iterator[Mismatch]:
    if wanted == "" and stderr.strip():
        yield Mismatch(
            path="stderr", expected="", actual=stderr.strip(), message="expected nothing on stderr"
        )
    else:
        yield from compare(wanted, stderr.strip(), (None, "stderr"))


def _judge_exit(wanted: int, code: int | None) -> Iterator[Mismatch]:
    if code is None:
        message = "the server was still running when the time was up"
        yield Mismatch(path="exitCode", expected=wanted, actual=ABSENT, message=message)
    elif code != wanted:
        yield Mismatch(path="exitCode", expected=wanted, actual=code, message="differs")


def _judge_performance(wanted: Performance, elapsed_s: float, key: str) -> Iterator[Mismatch]:
    took_ms = round(elapsed_s * 1000, 3)
    if wanted.max_response_s is not None and elapsed_s > wanted.max_response_s:
        yield Mismatch(
            path=key,
            expected=round(wanted.max_response_s * 1000, 3),
            actual=took_ms,
            message=f"the answer took {took_ms:g} ms; at most "
            f"{wanted.max_response_s * 1000:g} ms are allowed",
        )
    if wanted.min_response_s is not None and elapsed_s < wanted.min_response_s:
        yield Mismatch(
            path="performance.minResponseTime",
            expected=round(wanted.min_response_s * 1000, 3),
            actual=took_ms,
            message=f"the answer took {took_ms:g} ms; at least "
            f"{wanted.min_response_s * 1000:g} ms are wanted",
        )
