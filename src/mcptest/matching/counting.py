"""Matchers on how many there are: a family of six for each thing that has a length."""

from __future__ import annotations

import operator

from mcptest.core.record import Record
from mcptest.matching.parameters import a_count, two_counts
from mcptest.matching.registry import CannotHoldError, Interval, Matcher, Miss
from mcptest.matching.values import a_type, json_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["Counted", "length_check", "lengths"]


def length_check(
    kinds: tuple[str, ...], test: Callable[[int, Any], bool]
) -> Callable[[Any, object], Miss | None]:
    """A check on how many there are, for values of these JSON types."""

    def check(wanted: Any, actual: object) -> Miss | None:
        if not isinstance(actual, (str, list, dict)) or json_type(actual) not in kinds:
            return Miss(why=f"it is {a_type(actual)}")
        return None if test(len(actual), wanted) else Miss(why=f"it has {len(actual):,}")

    return check


def _is_between(count: int, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= count <= bounds[1]


def _a_limit(raw: str) -> int:
    count = a_count(raw)
    if count == 0:
        raise CannotHoldError("counts from 0, and nothing has less than that")
    return count


class Counted(Record):
    """Something that has a length: what its matchers are called, and how it is spoken of.

    `examples` have three, four and fewer than three of the unit.
    """

    name: str
    family: str
    subject: str
    unit: str
    kinds: tuple[str, ...]
    examples: tuple[object, object, object]


def lengths(thing: Counted) -> Iterator[Matcher]:
    """The six matchers of a thing."""
    three, four, few = thing.examples
    exact = _entry(thing, "", "", operator.eq, (three, few))
    yield exact.but(interval=lambda n: _from(n, n))
    more = _entry(thing, "GreaterThan", "more than ", operator.gt, (four, three))
    yield more.but(interval=lambda n: _from(n + 1))
    least = _entry(thing, "GreaterThanOrEqual", "at least ", operator.ge, (three, few))
    yield least.but(interval=_from)
    less = _entry(thing, "LessThan", "less than ", operator.lt, (few, three))
    yield less.but(interval=lambda n: _from(0, n - 1), parse=_a_limit)
    most = _entry(thing, "LessThanOrEqual", "at most ", operator.le, (three, four))
    yield most.but(interval=lambda n: _from(0, n))
    yield _between(thing)


def _entry(
    thing: Counted,
    suffix: str,
    words: str,
    test: Callable[[int, int], bool],
    examples: tuple[object, object],
) -> Matcher:
    subject, unit = thing.subject.lower(), thing.unit
    return Matcher(
        name=thing.name + suffix,
        family=thing.family,
        parameters=("N",),
        summary=f"{thing.subject} of {words}N {unit}s.",
        example=f"match:{thing.name}{suffix}:3",
        passes=examples[:1],
        fails=(examples[1], None),
        parse=a_count,
        wants=lambda count: f"{subject} of {words}{count} {unit}{'s' if count != 1 else ''}",
        check=length_check(thing.kinds, test),
        kinds=thing.kinds,
    )


def _between(thing: Counted) -> Matcher:
    subject, unit = thing.subject.lower(), thing.unit
    return Matcher(
        name=f"{thing.name}Between",
        family=thing.family,
        parameters=("A", "B"),
        summary=f"{thing.subject} of A to B {unit}s, both included.",
        example=f"match:{thing.name}Between:3:9",
        passes=thing.examples[:2],
        fails=(thing.examples[2], None),
        parse=two_counts,
        wants=lambda bounds: f"{subject} of {bounds[0]} to {bounds[1]} {unit}s",
        check=length_check(thing.kinds, _is_between),
        kinds=thing.kinds,
        interval=lambda bounds: _from(*bounds),
    )


def _from(low: int, high: int | None = None) -> Interval:
    return Interval(quantity="length", low=(low, 0), high=None if high is None else (high, 0))
