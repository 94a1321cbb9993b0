"""Judge what a step brought against what it was expected to bring. Pure."""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from itertools import islice

from mcptest.core.record import ABSENT
from mcptest.core.results import Mismatch
from mcptest.core.strict_json import dump_json
from mcptest.core.text import EVERY, trail_of, visible
from mcptest.matching.compare import (
    AllOf,
    AnyOf,
    Group,
    Not,
    compare,
    idle_denial,
    is_met,
    is_same,
    source_of,
    without_denials,
)
from mcptest.matching.patterns import Pattern
from mcptest.matching.values import pull
from mcptest.protocol.jsonrpc import tool_failure
from mcptest.transport.process.limits import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.core.plan import Assertion, Expectation, Performance
    from mcptest.core.text import Trail
    from mcptest.engine.server import Reply, Server

__all__ = [
    "MAX_MISMATCHES",
    "is_plainly_met",
    "judge",
    "judge_assertions",
    "judge_notifications",
    "judge_unread",
    "may_still_hold",
    "missed_but_allowed",
    "server_words",
    "stderr_may_still_come",
    "tokens_in",
    "weighed",
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
        yield from judge_unexpected_error(reply.message)
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

        yield from judge_assertions(expectation, reply)


def judge_unexpected_error(message: object, key: str = "") -> Iterator[Mismatch]:
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


def quote_server_errors(message: object, mismatches: tuple[Mismatch, ...]) -> Iterator[str]:
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


# Weigh a reply against an expectation, in bounded time and with what comes a little late.


# How long stderr and notifications are waited for, and only where waiting could help.
_STDERR_PATIENCE_S = 0.25
_NOTIFICATION_PATIENCE_S = 2.0

MAX_MISMATCHES = 1000

# Above this an answer is judged in a process of its own, and may take a little longer.
_LARGE_BYTES = 256 * 1024
_SLOWEST_BYTES_PER_S = 4_000_000

# How long all patterns of one test may compute.
_PATTERN_LIMIT = CpuLimit(2.0)


def judge_reply(
    server: Server, expectation: Expectation, reply: Reply, trail: Trail = None
) -> tuple[Reply, tuple[Mismatch, ...]]:
    """The reply with all that came a little late, and every expectation it does not meet."""
    if is_plainly_met(expectation, reply):
        return reply, ()
    if expectation.has_remote_check:
        return _weighed_here(server, expectation, reply, trail)
    if not expectation.has_regex:
        reply = _with_latecomers(server, expectation, reply)
        return reply, _first(judge(expectation, reply, trail))
    with _PATTERN_LIMIT:
        if not expectation.has_foreign_check:
            reply = _with_latecomers(server, expectation, reply)
        if reply.size <= _LARGE_BYTES and not expectation.has_foreign_check:
            return reply, _first(judge(expectation, reply, trail))
    limit_s = max(_PATTERN_LIMIT.seconds, reply.size / _SLOWEST_BYTES_PER_S)
    whole = reply
    # Few answers are that large.
    from mcptest.transport.process.isolated import judge_in_child  # noqa: PLC0415

    return reply, judge_in_child(
        lambda: _first(judge(expectation, whole, trail)), limit_s, server.launcher
    )


def _weighed_here(
    server: Server, expectation: Expectation, reply: Reply, trail: Trail
) -> tuple[Reply, tuple[Mismatch, ...]]:
    """The same where a copy of this process could not speak with the plugins of this one."""
    if expectation.has_foreign_check:
        from mcptest.engine.bounded import bound_checks  # noqa: PLC0415  # few ask both

        expectation = bound_checks(expectation, _PATTERN_LIMIT.seconds, server.launcher)
    with _PATTERN_LIMIT if expectation.has_regex else nullcontext():
        reply = _with_latecomers(server, expectation, reply)
        return reply, _first(judge(expectation, reply, trail))


def _with_late_values(server: Server, expectation: Expectation, reply: Reply) -> Reply:
    """The same for assertions about what the server says beside its answer."""

    deadline = time.monotonic() + _NOTIFICATION_PATIENCE_S
    while may_still_hold(expectation, reply, "notifications"):
        if not server.wait_for_notification(deadline):
            break
        reply = reply.but(notifications=server.notifications)
    deadline = time.monotonic() + _STDERR_PATIENCE_S
    while may_still_hold(expectation, reply, "stderr"):
        if not server.wait_for_stderr(deadline):
            break
        reply = reply.but(stderr=server.connection.stderr_since(reply.stderr_mark))
    return reply


def _first(mismatches: Iterator[Mismatch]) -> tuple[Mismatch, ...]:
    """As many as anybody can read: an answer can be wrong in a million places."""
    return tuple(islice(mismatches, MAX_MISMATCHES))


def _with_latecomers(server: Server, expectation: Expectation, reply: Reply) -> Reply:
    """The reply with what stderr and stdout bring a little later, where that could help."""
    if expectation.stderr is not ABSENT:
        deadline = time.monotonic() + _STDERR_PATIENCE_S
        while stderr_may_still_come(expectation, reply.stderr):
            if not server.wait_for_stderr(deadline):
                break
            reply = reply.but(stderr=server.connection.stderr_since(reply.stderr_mark))
    if expectation.assertions:
        reply = _with_late_values(server, expectation, reply)
    if expectation.notifications:
        deadline = time.monotonic() + _NOTIFICATION_PATIENCE_S
        while notifications_may_still_come(expectation, reply):
            if not server.wait_for_notification(deadline):
                break
            reply = reply.but(notifications=server.notifications)
    return reply


# Judge the notifications of a step: each one that is wanted must have come, in order. Pure.


_SHOWN_METHODS = 5


def judge_notifications(wanted: Sequence[object], got: Sequence[object]) -> Iterator[Mismatch]:
    """A mismatch for every notification that did not come after those wanted before it."""
    at = 0
    for index, each in enumerate(wanted):
        place = _find(each, got, at)
        if place is None:
            yield _missing(each, index, got, at)
        else:
            at = place + 1


def _find(wanted: object, got: Sequence[object], start: int) -> int | None:
    for place in range(start, len(got)):
        if is_met(wanted, got[place]):
            return place
    return None


def _missing(wanted: object, index: int, got: Sequence[object], start: int) -> Mismatch:
    hint, message = "", f"no such notification came; {_arrived(got)}"
    if _find(wanted, got[:start], 0) is not None:
        message = "no such notification came after the one that is wanted before it"
        hint = "one came sooner; the order counts"
    elif nearest := _nearest(wanted, got[start:]):
        hint = f"one with this method came, but {nearest.path}: {nearest.message}"
    return Mismatch(
        path=f"notifications[{index}]",
        expected=_as_written(wanted),
        actual=ABSENT,
        message=message,
        hint=hint,
    )


def _as_written(wanted: object) -> object:
    """A method alone is read as part of a message, and shown as what it was."""
    source = source_of(wanted)
    inner = source.get("match:partial") if isinstance(source, dict) and len(source) == 1 else None
    return inner["method"] if isinstance(inner, dict) and list(inner) == ["method"] else source


def _nearest(wanted: object, got: Sequence[object]) -> Mismatch | None:
    """The first difference to a notification whose method is right."""
    for each in got:
        differences = list(compare(wanted, each))
        if all(difference.path != "method" for difference in differences):
            return differences[0]
    return None


def _arrived(got: Sequence[object]) -> str:
    if not got:
        return "none came at all"
    methods = [str(each.get("method")) for each in got if isinstance(each, dict)]
    shown = ", ".join(dict.fromkeys(visible(method) for method in methods[:_SHOWN_METHODS]))
    return f"{len(got):,} came: {shown}{', …' if len(methods) > _SHOWN_METHODS else ''}"


# Judge the assertions of a suite: what stands at each target, against its matcher. Pure.


# About what the tokenizers of today make of JSON; good enough for a budget.
_BYTES_PER_TOKEN = 4


def judge_assertions(expectation: Expectation, reply: Reply) -> Iterator[Mismatch]:
    """Every assertion that does not hold, unless enough of the others do; and the budget."""
    found = _missed(expectation, reply)
    if not _is_enough(expectation, found):
        for mismatches in found.values():
            yield from mismatches
        if expectation.threshold < 1.0:
            yield _too_little(expectation, found)
    most = expectation.max_tokens
    if most is not None and (count := count_tokens(reply.message)) > most:
        message = f"the answer has about {count:,} tokens; at most {most:,} are allowed"
        yield Mismatch(path="max_response_tokens", expected=most, actual=count, message=message)


def _too_little(expectation: Expectation, missed: dict[int, list[Mismatch]]) -> Mismatch:
    held = round(_share_held(expectation, missed), 4)
    return Mismatch(
        path="threshold",
        expected=expectation.threshold,
        actual=held,
        message=f"{held:g} of the weight holds; {expectation.threshold:g} is needed",
    )


def describe_allowed_mismatches(expectation: Expectation, reply: Reply) -> Iterator[str]:
    """What does not hold of an answer that is good enough all the same, in words."""
    for mismatches in _missed(expectation, reply).values():
        first = mismatches[0]
        yield f"allowed by the threshold: {first.path}: {first.message}"


def may_still_hold(expectation: Expectation, reply: Reply, root: str) -> bool:
    """Is there an assertion about this that does not hold yet? Then waiting could help."""
    return any(
        next(_judge(assertion, reply), None)
        for assertion in expectation.assertions
        if assertion.steps[0] == root
    )


def count_tokens(message: object) -> int:
    """About how many tokens a model would read in an answer."""
    body = message.get("result", message.get("error")) if isinstance(message, dict) else message
    size = len(dump_json(body).encode("utf-8", "backslashreplace"))
    return -(-size // _BYTES_PER_TOKEN)


def _missed(expectation: Expectation, reply: Reply) -> dict[int, list[Mismatch]]:
    judged = {
        index: list(_judge(assertion, reply))
        for index, assertion in enumerate(expectation.assertions)
    }
    return {index: mismatches for index, mismatches in judged.items() if mismatches}


def _is_enough(expectation: Expectation, missed: dict[int, list[Mismatch]]) -> bool:
    if not missed or expectation.threshold >= 1.0:
        return not missed
    held, wanted = _share_held(expectation, missed), expectation.threshold
    # Decimals are not exact: 11 of 20 is 0.55 of them, whatever 0.55 times 20 comes to.
    return held >= wanted or math.isclose(held, wanted, rel_tol=1e-9)


def _share_held(expectation: Expectation, missed: dict[int, list[Mismatch]]) -> float:
    """Which part of all the weight the assertions have that hold."""
    weights = [assertion.weight for assertion in expectation.assertions]
    held = math.fsum(weight for index, weight in enumerate(weights) if index not in missed)
    return held / math.fsum(weights)


def _judge(assertion: Assertion, reply: Reply) -> Iterator[Mismatch]:
    if assertion.is_implied and reply.unfinished:
        yield _unfinished(reply)
        return
    value, why = _at(assertion.steps, reply)
    if value is ABSENT:
        if not _accepts_absence(assertion.check):
            seen = (
                "no such path"
                if assertion.check != without_denials(assertion.check)
                else "is missing"
            )
            yield _nothing_at(assertion, f"{seen}: {why}" if why else seen)
        return
    is_met = True
    for mismatch in compare(assertion.check, value, trail_of(assertion.steps)):
        is_met = False
        yield _in_own_words(assertion, mismatch)
    if is_met and (why := _why_idle(assertion, value, reply)):
        yield _nothing_at(assertion, f"no such path: {why}")


def _why_idle(assertion: Assertion, value: object, reply: Reply) -> str:
    """Why an assertion that holds says nothing, "" when it does."""
    root, *rest = assertion.steps
    if EVERY not in rest:
        return ""
    # That none came at all is something that can be said of notifications.
    whole = list(reply.notifications) if root == "notifications" else _at((root,), reply)[0]
    if root == "notifications" and not whole:
        return ""
    return idle_denial(assertion.check, value, whole, tuple(rest))


def _nothing_at(assertion: Assertion, message: str) -> Mismatch:
    found = Mismatch(
        path=assertion.target,
        expected=source_of(assertion.check),
        actual=ABSENT,
        message=message,
    )
    return _in_own_words(assertion, found)


def _unfinished(reply: Reply) -> Mismatch:
    steps = ("result", "resultType")
    return Mismatch(
        path=".".join(steps),
        expected="complete",
        actual=_at(steps, reply)[0],
        message=f"the call did not come to its end: {reply.unfinished}",
    )


def _at(steps: tuple[str | int, ...], reply: Reply) -> tuple[object, str]:
    root = steps[0]
    if root == "stderr":
        # As everywhere, the white space around it is nobody's concern.
        return reply.stderr.strip(), ""
    if root == "duration_ms":
        return round(reply.elapsed_s * 1000, 3), ""
    if root == "notifications":
        return pull(list(reply.notifications), steps[1:])
    message = reply.message if isinstance(reply.message, dict) else {}
    if root not in message:
        return ABSENT, f"the answer has no {root}"
    return pull(message[str(root)], steps[1:])


def _accepts_absence(check: object) -> bool:
    """Whether a check says that nothing may be there; one that wants a value does not."""
    return _holds_of_nothing(check) is True


def _holds_of_nothing(check: object) -> bool | None:
    """What a check says of a value that is not there; None when it only speaks of values."""
    if isinstance(check, Pattern):
        return check.negated if check.matcher.name == "exists" else None
    if not isinstance(check, Group) or len(check.checks) != 1:
        return None
    inner = check.checks[0]
    if isinstance(inner, Not):
        said = _holds_of_nothing(inner.value)
        return None if said is None else not said
    if isinstance(inner, (AllOf, AnyOf)):
        # One that fails decides for all of them, one that holds for any of them.
        decides = isinstance(inner, AnyOf)
        all_said = [_holds_of_nothing(each) for each in inner.values]
        if decides in all_said:
            return decides
        return None if None in all_said else not decides
    return None


def _in_own_words(assertion: Assertion, mismatch: Mismatch) -> Mismatch:
    if not assertion.message:
        return mismatch
    return mismatch.but(message=f"{assertion.message}: {mismatch.message}")
