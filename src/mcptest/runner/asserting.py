"""Judge the assertions of a suite: what stands at each target, against its matcher. Pure."""

from __future__ import annotations

import math

from mcptest.core.outcome import Mismatch
from mcptest.core.record import ABSENT
from mcptest.core.strict_json import dump_json
from mcptest.core.text import EVERY, trail_of
from mcptest.matching.compare import (
    AllOf,
    AnyOf,
    Group,
    Not,
    compare,
    idle_denial,
    pull,
    source_of,
    without_denials,
)
from mcptest.matching.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.plan import Assertion, Expectation
    from mcptest.runner.launcher import Reply

__all__ = ["judge_assertions", "may_still_hold", "missed_but_allowed", "tokens_in"]

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
    if most is not None and (count := tokens_in(reply.message)) > most:
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


def missed_but_allowed(expectation: Expectation, reply: Reply) -> Iterator[str]:
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


def tokens_in(message: object) -> int:
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
