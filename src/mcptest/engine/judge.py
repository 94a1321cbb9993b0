"""Judge the reply of a server against the expectation of a step.

`judge_reply` waits for late stderr and notifications and bounds the time of patterns; `judge` and
what it calls are pure.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from functools import partial
from itertools import islice

from mcptest.core.errors import EndedError, PatternTimeoutError
from mcptest.core.results import Mismatch
from mcptest.core.strict_json import dump_json
from mcptest.core.text import EVERY, trail_of, visible
from mcptest.core.value_class import ABSENT
from mcptest.matching.compare import (
    AllOf,
    AnyOf,
    Group,
    Not,
    compare,
    idle_negation,
    is_met,
    is_same,
    map_patterns,
    source_of,
    without_negations,
)
from mcptest.matching.json_values import pull
from mcptest.matching.patterns import Pattern
from mcptest.matching.registry import Miss
from mcptest.protocol.jsonrpc import tool_failure
from mcptest.transport.process.signals import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from mcptest.core.plan import Assertion, Expectation, Performance
    from mcptest.core.text import Trail
    from mcptest.engine.server import Launcher, Reply, Server

__all__ = [
    "MAX_MISMATCHES",
    "can_more_stderr_help",
    "count_tokens",
    "describe_allowed_mismatches",
    "describes_error",
    "expects_error",
    "find_read_failure",
    "find_read_failure_alone",
    "has_unmet_assertion",
    "is_plainly_met",
    "judge",
    "judge_assertions",
    "judge_notifications",
    "judge_reply",
    "judge_unexpected_error",
    "quote_server_errors",
]


_ANSWER_ROOTS = ("result", "error")


def is_plainly_met(expectation: Expectation, reply: Reply) -> bool:
    """Whether only an answer is expected, and it is literally equal.

    This is the quick path for most tests; False only means that `judge` must decide. A test holds
    that it respects every field of `Expectation`.
    """
    if expectation.exit_code is not None or expectation.performance or expectation.notifications:
        return False
    if expectation.assertions or expectation.max_tokens:
        return False
    if expectation.stderr is not ABSENT and (expectation.stderr != "" or reply.stderr):
        return False
    return expectation.response is not ABSENT and is_same(expectation.response, reply.message)


def judge(expectation: Expectation, reply: Reply, trail: Trail = None) -> Iterator[Mismatch]:
    """A mismatch for every expectation that is not met; `trail` is the path of the answer."""
    if expectation.response is not ABSENT:
        yield from compare(
            expectation.response, reply.message, trail, leniency=expectation.leniency
        )
    elif not any(assertion.steps[0] in _ANSWER_ROOTS for assertion in expectation.assertions):
        yield from judge_unexpected_error(reply.message)
    if expectation.stderr is not ABSENT:
        yield from _judge_stderr(expectation.stderr, reply.stderr)
    if expectation.exit_code is not None and expectation.exit_code != reply.exit_code:
        has_exited = reply.exit_code is not None
        yield Mismatch(
            path="exitCode",
            expected=expectation.exit_code,
            actual=reply.exit_code if has_exited else ABSENT,
            message="differs"
            if has_exited
            else "the server was still running when the time was up",
        )
    if expectation.performance:
        key = "max_duration_ms" if expectation.assertions else "performance.maxResponseTime"
        yield from _judge_performance(expectation.performance, reply.elapsed_s, key)
    if expectation.notifications:
        yield from judge_notifications(expectation.notifications, reply.notifications)
    if expectation.assertions or expectation.max_tokens:
        yield from judge_assertions(expectation, reply)


def expects_error(expectation: Expectation) -> bool:
    """Whether a test describes an error: `error`, or `isError: true`."""
    for assertion in expectation.assertions:
        check = assertion.check
        checks = check.checks if isinstance(check, Group) else (check,)
        is_negated = any(isinstance(each, Not) or _is_negated(source_of(each)) for each in checks)
        if assertion.steps[0] == "error" and not is_negated:
            return True
        if assertion.steps == ("result", "isError") and is_met(check, True):
            return not is_met(check, False)
    return describes_error(source_of(expectation.response))


def describes_error(expected: object, member: str = "error") -> bool:
    """Whether an expected answer, as it is written, is an error or has `isError: true`."""
    if isinstance(expected, list):
        return any(describes_error(each, member) for each in expected)
    if not isinstance(expected, dict):
        return False
    for key, value in expected.items():
        if key == member:
            is_described = value is True if member == "isError" else not _is_negated(value)
        elif key == "result" and member == "error":
            is_described = describes_error(value, "isError")
        else:
            # What a pattern such as match:partial has inside is part of this object.
            is_pattern = str(key).startswith("match:") and not _is_negated(key)
            is_described = is_pattern and describes_error(value, member)
        if is_described:
            return True
    return False


def _is_negated(pattern: object) -> bool:
    return isinstance(pattern, str) and pattern.startswith("match:not")


def judge_unexpected_error(message: object, key: str = "") -> Iterator[Mismatch]:
    """Mismatches of an answer that the test does not describe: it must not be an error.

    `key` is the prefix of their paths.
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
        yield Mismatch(
            path=path, expected="true or false", actual=value, message=why, is_described=True
        )


def quote_server_errors(message: object, mismatches: tuple[Mismatch, ...]) -> Iterator[str]:
    """The error messages of the server, where the mismatches do not show them."""
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


def can_more_stderr_help(expectation: Expectation, stderr: str) -> bool:
    """Whether more output on stderr could turn a failure into a pass."""
    wanted = expectation.stderr
    if wanted is ABSENT or wanted == "" or not any(_judge_stderr(wanted, stderr)):
        return False
    if isinstance(wanted, Pattern):
        return not wanted.negated
    return isinstance(wanted, str) and wanted.startswith(stderr.lstrip())


def _judge_stderr(wanted: object, stderr: str) -> Iterator[Mismatch]:
    if wanted == "" and stderr.strip():
        yield Mismatch(
            path="stderr", expected="", actual=stderr.strip(), message="expected nothing on stderr"
        )
    else:
        yield from compare(wanted, stderr.strip(), (None, "stderr"))


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


# Judging in bounded time, with what arrives a little late

# How long to wait for stderr and notifications, if that could help.
_STDERR_PATIENCE_S = 0.25
_NOTIFICATION_PATIENCE_S = 2.0

MAX_MISMATCHES = 1000

# Larger answers are judged in a process of their own, and may take longer.
_LARGE_BYTES = 256 * 1024
_SLOWEST_BYTES_PER_S = 4_000_000

# How long all patterns of one test may compute.
_PATTERN_LIMIT = CpuLimit(2.0)


def judge_reply(
    server: Server, expectation: Expectation, reply: Reply, trail: Trail = None
) -> tuple[Reply, tuple[Mismatch, ...]]:
    """The reply, with what arrived a little late, and its mismatches.

    The kinds of checks decide where the reply is judged, and what limits the time:

    | kind of check                 | judged in                         | limited by       |
    |-------------------------------|-----------------------------------|------------------|
    | plain value                   | this process                      | nothing          |
    | regex                         | this process                      | a timer          |
    | regex, large answer           | a child                           | the child's time |
    | foreign: package, JSON Schema | a child, which can be killed      | the child's time |
    | remote: plugin, snapshot      | this process: a child cannot      | a timer          |
    | remote and foreign            | this process, foreign in children | both             |

    Foreign checks and snapshots also count as regex.
    """
    if is_plainly_met(expectation, reply):
        return reply, ()
    has_remote, has_foreign = expectation.has_remote_check, expectation.has_foreign_check
    bounded = expectation
    if has_foreign:
        bounded = _bound_checks(expectation, _PATTERN_LIMIT.seconds, server.launcher)
    if has_remote:
        expectation = bounded
    is_large = expectation.has_regex and reply.size > _LARGE_BYTES
    needs_child = (has_foreign or is_large) and not has_remote
    with _PATTERN_LIMIT if expectation.has_regex else nullcontext():
        reply = _wait_for_late_output(server, bounded, reply)
        if not needs_child:
            return reply, _find_mismatches(expectation, reply, trail)
    limit_s = max(_PATTERN_LIMIT.seconds, reply.size / _SLOWEST_BYTES_PER_S)
    # Few answers are that large.
    from mcptest.transport.process.isolated import judge_in_child  # noqa: PLC0415

    find_mismatches = partial(_find_mismatches, expectation, reply, trail)
    return reply, judge_in_child(find_mismatches, limit_s, server.launcher)


def _find_mismatches(expectation: Expectation, reply: Reply, trail: Trail) -> tuple[Mismatch, ...]:
    """The first mismatches: an answer can differ in a million places."""
    return tuple(islice(judge(expectation, reply, trail), MAX_MISMATCHES))


def _wait_for_late_output(server: Server, expectation: Expectation, reply: Reply) -> Reply:
    """The reply with later stderr and notifications, waited for if that could help."""
    if expectation.stderr is ABSENT and not (expectation.assertions or expectation.notifications):
        return reply

    def lacks_notifications() -> bool:
        return has_unmet_assertion(expectation, reply, "notifications") or any(
            judge_notifications(expectation.notifications, reply.notifications)
        )

    def lacks_stderr() -> bool:
        return has_unmet_assertion(expectation, reply, "stderr") or can_more_stderr_help(
            expectation, reply.stderr
        )

    deadline = time.monotonic() + _STDERR_PATIENCE_S
    while lacks_stderr() and server.wait_for_stderr(deadline):
        reply = reply.but(stderr=server.connection.stderr_since(reply.stderr_mark))
    deadline = time.monotonic() + _NOTIFICATION_PATIENCE_S
    while lacks_notifications() and server.wait_for_notification(deadline):
        reply = reply.but(notifications=server.notifications)
    return reply


# Notifications

_SHOWN_METHODS = 5


def judge_notifications(wanted: Sequence[object], got: Sequence[object]) -> Iterator[Mismatch]:
    """A mismatch for every expected notification that did not arrive, in the expected order."""
    at = 0
    for index, each in enumerate(wanted):
        place = _find(each, got, at)
        if place is not None:
            at = place + 1
            continue
        methods = [str(one.get("method")) for one in got if isinstance(one, dict)]
        shown = ", ".join(dict.fromkeys(visible(method) for method in methods[:_SHOWN_METHODS]))
        more = ", …" if len(methods) > _SHOWN_METHODS else ""
        arrived = f"{len(got):,} came: {shown}{more}" if got else "none came at all"
        hint, message = "", f"expected notification did not arrive; {arrived}"
        if _find(each, got[:at], 0) is not None:
            message = "expected notification did not arrive after the previous expected one"
            hint = "one came earlier; the order matters"
        elif nearest := _find_first_difference(each, got[at:]):
            hint = f"one with this method came, but {nearest.path}: {nearest.message}"
        yield Mismatch(
            path=f"notifications[{index}]",
            expected=_shorten_source(each),
            actual=ABSENT,
            message=message,
            hint=hint,
        )


def _find(wanted: object, got: Sequence[object], start: int) -> int | None:
    places = range(start, len(got))
    return next((place for place in places if is_met(wanted, got[place])), None)


def _shorten_source(wanted: object) -> object:
    """The expectation as the file has it, where a method alone may be short for a message."""
    source = source_of(wanted)
    inner = source.get("match:partial") if isinstance(source, dict) and len(source) == 1 else None
    return inner["method"] if isinstance(inner, dict) and list(inner) == ["method"] else source


def _find_first_difference(wanted: object, got: Sequence[object]) -> Mismatch | None:
    """The first difference to a notification whose method is right."""
    for each in got:
        differences = list(compare(wanted, each))
        if all(difference.path != "method" for difference in differences):
            return differences[0]
    return None


# The assertions of a suite

# An estimate of what tokenizers make of JSON.
_BYTES_PER_TOKEN = 4


def judge_assertions(expectation: Expectation, reply: Reply) -> Iterator[Mismatch]:
    """Mismatches of the assertions, unless the threshold is reached, and of the token budget."""
    unmet = _find_unmet(expectation, reply)
    wanted = expectation.threshold
    weights = [assertion.weight for assertion in expectation.assertions]
    held = math.fsum(weight for index, weight in enumerate(weights) if index not in unmet)
    share = held / math.fsum(weights) if unmet else 1.0
    # Floats are not exact: 11 of 20 must reach a threshold of 0.55.
    is_reached = wanted < 1.0 and (share >= wanted or math.isclose(share, wanted, rel_tol=1e-9))
    if unmet and not is_reached:
        for mismatches in unmet.values():
            yield from mismatches
        if wanted < 1.0:
            share = round(share, 4)
            message = f"{share:g} of the weight holds; {wanted:g} is needed"
            yield Mismatch(path="threshold", expected=wanted, actual=share, message=message)
    most = expectation.max_tokens
    if most is not None and (count := count_tokens(reply.message)) > most:
        message = f"the answer has about {count:,} tokens; at most {most:,} are allowed"
        yield Mismatch(path="max_response_tokens", expected=most, actual=count, message=message)


def describe_allowed_mismatches(expectation: Expectation, reply: Reply) -> Iterator[str]:
    """The assertions that do not hold of an answer that reaches the threshold."""
    for mismatches in _find_unmet(expectation, reply).values():
        first = mismatches[0]
        yield f"allowed by the threshold: {first.path}: {first.message}"


def has_unmet_assertion(expectation: Expectation, reply: Reply, root: str) -> bool:
    """Whether an assertion about `root` does not hold (yet)."""
    return any(
        next(_judge_assertion(assertion, reply), None)
        for assertion in expectation.assertions
        if assertion.steps[0] == root
    )


def count_tokens(message: object) -> int:
    """An estimate of the tokens of an answer."""
    body = message.get("result", message.get("error")) if isinstance(message, dict) else message
    size = len(dump_json(body).encode("utf-8", "backslashreplace"))
    return -(-size // _BYTES_PER_TOKEN)


def _find_unmet(expectation: Expectation, reply: Reply) -> dict[int, list[Mismatch]]:
    """The mismatches of each assertion that does not hold, by its index."""
    return {
        index: mismatches
        for index, assertion in enumerate(expectation.assertions)
        if (mismatches := list(_judge_assertion(assertion, reply)))
    }


def _judge_assertion(assertion: Assertion, reply: Reply) -> Iterator[Mismatch]:
    if assertion.is_implied and reply.unfinished:
        steps = ("result", "resultType")
        yield Mismatch(
            path=".".join(steps),
            expected="complete",
            actual=_pull_value(steps, reply)[0],
            message=f"the call was not completed: {reply.unfinished}",
        )
        return
    value, why = _pull_value(assertion.steps, reply)
    if value is ABSENT:
        if not _accepts_missing(assertion.check):
            is_negation = assertion.check != without_negations(assertion.check)
            seen = "no such path" if is_negation else "is missing"
            yield _make_absence_mismatch(assertion, f"{seen}: {why}" if why else seen)
        return
    is_met = True
    for mismatch in compare(assertion.check, value, trail_of(assertion.steps)):
        is_met = False
        yield _prefix_message(assertion, mismatch)
    if is_met and (why := _why_idle(assertion, value, reply)):
        yield _make_absence_mismatch(assertion, f"no such path: {why}")


def _why_idle(assertion: Assertion, value: object, reply: Reply) -> str:
    """Why an assertion that holds checked nothing, "" when it did."""
    root, *rest = assertion.steps
    if EVERY not in rest:
        return ""
    # An assertion may say that no notification arrived.
    whole = list(reply.notifications) if root == "notifications" else _pull_value((root,), reply)[0]
    if root == "notifications" and not whole:
        return ""
    return idle_negation(assertion.check, value, whole, tuple(rest))


def _make_absence_mismatch(assertion: Assertion, message: str) -> Mismatch:
    found = Mismatch(
        path=assertion.target,
        expected=source_of(assertion.check),
        actual=ABSENT,
        message=message,
        is_described=isinstance(assertion.check, Pattern) and assertion.check.is_description,
    )
    return _prefix_message(assertion, found)


def _pull_value(steps: tuple[str | int, ...], reply: Reply) -> tuple[object, str]:
    root = steps[0]
    if root == "stderr":
        return reply.stderr.strip(), ""
    if root == "duration_ms":
        return round(reply.elapsed_s * 1000, 3), ""
    if root == "notifications":
        return pull(list(reply.notifications), steps[1:])
    message = reply.message if isinstance(reply.message, dict) else {}
    if root not in message:
        return ABSENT, f"the answer has no {root}"
    return pull(message[str(root)], steps[1:])


def _accepts_missing(check: object) -> bool | None:
    """Whether a check holds of a missing value; None if it is only about values."""
    if isinstance(check, Pattern):
        return check.negated if check.matcher.name == "exists" else None
    if not isinstance(check, Group) or len(check.checks) != 1:
        return None
    inner = check.checks[0]
    if isinstance(inner, Not):
        said = _accepts_missing(inner.value)
        return None if said is None else not said
    if isinstance(inner, (AllOf, AnyOf)):
        # One that fails decides `all`, one that holds decides `any`.
        decides = isinstance(inner, AnyOf)
        all_said = [_accepts_missing(each) for each in inner.values]
        if decides in all_said:
            return decides
        return None if None in all_said else not decides
    return None


def _prefix_message(assertion: Assertion, mismatch: Mismatch) -> Mismatch:
    if not assertion.message:
        return mismatch
    return mismatch.but(message=f"{assertion.message}: {mismatch.message}")


# Work that a timer cannot interrupt, done in a process that can be killed.
#
# Two kinds of work need this: matchers from Python packages (`_bound_checks`), and JSON Schemas
# that refer to themselves, which may take forever or all memory to read (`find_read_failure`).


def _bound_checks(expectation: Expectation, limit_s: float, launcher: Launcher) -> Expectation:
    """The expectation with each foreign check limited to this time, in a process of its own.

    For what is judged in this process although it has foreign checks: what may still arrive, and
    answers with plugins or snapshots, which a forked copy of this process could not use.
    """

    def change(pattern: Pattern) -> Pattern:
        matcher = pattern.matcher
        if not matcher.is_foreign:
            return pattern
        check = partial(_check_isolated, matcher.check, limit_s, launcher)
        return pattern.but(matcher=matcher.but(check=check))

    return expectation.but(
        response=map_patterns(expectation.response, change),
        stderr=map_patterns(expectation.stderr, change),
        notifications=tuple(map_patterns(each, change) for each in expectation.notifications),
        assertions=tuple(
            each.but(check=map_patterns(each.check, change)) for each in expectation.assertions
        ),
    )


def _check_isolated(
    check: Callable[..., Miss | None],
    limit_s: float,
    launcher: Launcher,
    parameter: Any,
    actual: object,
) -> Miss | None:
    def run_check() -> tuple[tuple[str, str], ...]:
        miss = check(parameter, actual)
        return ((miss.why, miss.hint() if miss.hint else ""),) if miss else ()

    from mcptest.transport.process.isolated import judge_in_child  # noqa: PLC0415  # rare

    found = judge_in_child(run_check, limit_s, launcher)
    if not found:
        return None
    why, hint = found[0]
    return Miss(why=why, hint=(lambda: hint) if hint else None)


_LIMIT_S = 1.0
# For schemas in test files, which are read before anything runs.
_ALONE_LIMIT_S = 2.0


def find_read_failure(
    launcher: Launcher, work: Callable[[], object], _text: str = "", limit_s: float = _LIMIT_S
) -> str:
    """Why this work cannot be done in this process, "" when it can.

    Exceptions that the work raises are not failures here: they occur again when it is done.
    """
    from mcptest.transport.process.isolated import judge_in_child  # noqa: PLC0415  # rare

    def describe_crash() -> tuple[str, ...]:
        try:
            work()
        except Exception:  # noqa: BLE001  # it is raised again when the schema is read
            return ()
        except BaseException as error:  # noqa: BLE001  # SystemExit and the like
            return (f"ends the program that reads it: {type(error).__name__}",)
        return ()

    try:
        return "".join(judge_in_child(describe_crash, limit_s, launcher))
    except PatternTimeoutError:
        return f"takes over {limit_s:g} s to read"
    except EndedError as error:
        return f"ends the program that reads it: {error.how}"


def find_read_failure_alone(work: Callable[[], object]) -> str:
    """`find_read_failure` before a run has begun."""
    from mcptest.engine.server import make_bare_launcher  # noqa: PLC0415  # rare

    return find_read_failure(make_bare_launcher(), work, limit_s=_ALONE_LIMIT_S)
