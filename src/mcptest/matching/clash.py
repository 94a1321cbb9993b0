"""Expectations of one value that cannot hold together.

Compiled expectations go in, sentences come out. Only what is certain is said: what two
patterns allow is seen from their entries in the registry.
"""

from __future__ import annotations

from itertools import islice

from mcptest.core.record import Record
from mcptest.matching.exact import is_less, is_same_number
from mcptest.matching.group import AllOf, AnyOf, Each, Extract, Group, Partial, Some, written
from mcptest.matching.patterns import Pattern
from mcptest.matching.shown import shown
from mcptest.matching.values import equal, json_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.core.paths import Trail
    from mcptest.matching.registry import Interval

__all__ = ["contradictions_in"]

# So many pairs of one group are looked at, and so many claims in each of its members. Nobody
# writes more by hand, and a contradiction that is not looked for shows when the test fails.
MAX_PAIRS = 2_000
_MAX_INNER = 100

_ALL_KINDS = frozenset(["string", "number", "boolean", "object", "array", "null"])


class _Claim(Record):
    """One expectation of a value, and where it is written."""

    value: object
    trail: Trail


def contradictions_in(group: Group, trail: Trail) -> Iterator[tuple[Trail, str]]:
    """Where something in a group cannot hold beside something before it, and why."""
    claims = []
    for check in group.checks:
        if isinstance(check, AllOf):
            at = (trail, "match:all")
            claims += [
                _Claim(value=value, trail=(at, index)) for index, value in enumerate(check.values)
            ]
        elif isinstance(check, Pattern):
            claims.append(_Claim(value=check, trail=trail))
        elif not isinstance(check, (Extract, AnyOf)):
            claims.append(_Claim(value=Group(source={}, checks=(check,)), trail=trail))
    if group.siblings:
        claims.append(_Claim(value=group.siblings, trail=trail))
    return _contradictions(claims, iter(range(MAX_PAIRS)))


def _contradictions(claims: Sequence[_Claim], budget: Iterator[int]) -> Iterator[tuple[Trail, str]]:
    """Where a claim cannot hold beside one before it, and why; the claims are of one value.

    Every pair that is looked at takes one from the budget, until there is none.
    """
    before: list[_Claim] = []
    for claim in claims:
        # What stands in one claim was compared when that claim was read.
        inner = list(islice(_flat(claim.value, claim.trail), _MAX_INNER))
        for one in before:
            for other in inner:
                if next(budget, None) is None:
                    return
                yield from _between(one, other, budget)
        before += inner


def _flat(value: object, trail: Trail) -> Iterator[_Claim]:
    """The same, without the groups in it."""
    if not isinstance(value, Group):
        yield _Claim(value=value, trail=trail)
        return
    for check in value.checks:
        if isinstance(check, Partial):
            yield from _flat(check.value, (trail, "match:partial"))
        elif isinstance(check, AllOf):
            for index, inner in enumerate(check.values):
                yield from _flat(inner, ((trail, "match:all"), index))
        elif isinstance(check, (Each, Some)):
            name = "match:arrayElements" if isinstance(check, Each) else "match:anyElement"
            yield _Claim(value=_Elements(directive=name), trail=(trail, name))
    if value.siblings:
        yield from _flat(value.siblings, trail)


class _Elements(Record):
    """Stands for a directive that wants an array, whatever is in it."""

    directive: str


def _between(one: _Claim, other: _Claim, budget: Iterator[int]) -> Iterator[tuple[Trail, str]]:
    left, right = one.value, other.value
    why = _clash(left, right)
    if why:
        yield other.trail, f"{_named(right)} cannot hold beside {_named(left)}: {why}"
    elif isinstance(left, dict) and isinstance(right, dict):
        for key in left:
            if key in right:
                first = _Claim(value=left[key], trail=(one.trail, key))
                second = _Claim(value=right[key], trail=(other.trail, key))
                yield from _contradictions([first, second], budget)
    elif isinstance(left, list) and isinstance(right, list):
        for index, (mine, theirs) in enumerate(zip(left, right, strict=False)):
            first = _Claim(value=mine, trail=(one.trail, index))
            second = _Claim(value=theirs, trail=(other.trail, index))
            yield from _contradictions([first, second], budget)


def _named(value: object) -> str:
    return value.directive if isinstance(value, _Elements) else shown(written(value), 60)


def _clash(left: object, right: object) -> str:
    """Why no value meets both, "" when one may."""
    kinds = _kinds(left), _kinds(right)
    if not kinds[0] & kinds[1]:
        return f"one wants {_listed(kinds[1])}, the other {_listed(kinds[0])}"
    if _is_scalar(left) and _is_scalar(right):
        return "" if equal(left, right) else "they are two values"
    if isinstance(left, Pattern) and isinstance(right, Pattern):
        return _clash_of_patterns(left, right)
    for pattern, value in ((left, right), (right, left)):
        if isinstance(pattern, Pattern) and _is_scalar(value) and not _may_meet(pattern, [value]):
            return "it does not meet it"
    return ""


def _clash_of_patterns(left: Pattern, right: Pattern) -> str:
    if left.negated != right.negated:
        is_opposite = left.matcher == right.matcher and _body(left) == _body(right)
        if is_opposite:
            return "one is the opposite of the other"
    for pattern, other in ((left, right), (right, left)):
        only = pattern.matcher.only
        values = only(pattern.parameter) if only and not pattern.negated else ()
        if values and not _may_meet(other, values):
            return "nothing meets both"
    intervals = _interval(left), _interval(right)
    if intervals[0] and intervals[1] and _is_apart(intervals[0], intervals[1]):
        noun = "number" if intervals[0].quantity == "number" else "length"
        return f"no {noun} meets both"
    return ""


def _body(pattern: Pattern) -> str:
    return pattern.source.removeprefix("match:").removeprefix("not:")


def _may_meet(pattern: Pattern, values: Sequence[object]) -> bool:
    matcher = pattern.matcher
    if matcher.is_slow or matcher.needs_clock or matcher.is_remote or matcher.is_foreign:
        return True
    return any(map(pattern.is_met, values))


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float))


def _kinds(value: object) -> frozenset[str]:
    if isinstance(value, _Elements):
        return frozenset(["array"])
    if not isinstance(value, Pattern):
        return frozenset([json_type(value)])
    if value.negated:
        return _ALL_KINDS
    matcher = value.matcher
    kinds = matcher.kinds_of(value.parameter) if matcher.kinds_of else matcher.kinds
    return frozenset(kinds) or _ALL_KINDS


def _listed(kinds: frozenset[str]) -> str:
    return " or ".join(sorted(kinds))


def _interval(pattern: Pattern) -> Interval | None:
    if pattern.negated or not pattern.matcher.interval:
        return None
    return pattern.matcher.interval(pattern.parameter)


def _is_apart(left: Interval, right: Interval) -> bool:
    if left.quantity != right.quantity:
        return False
    return _ends_before(left, right) or _ends_before(right, left)


def _ends_before(left: Interval, right: Interval) -> bool:
    if left.high is None or right.low is None:
        return False
    if is_less(left.high, right.low):
        return True
    is_open = left.is_high_open or right.is_low_open
    return is_open and is_same_number(left.high, right.low)
