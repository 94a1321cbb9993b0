"""Matchers on how many there are: a family of six for each thing that has a length."""

from __future__ import annotations

import operator

from mcptest.matching.parameters import a_count, two_counts
from mcptest.matching.registry import CannotHoldError, Interval, Matcher, Miss
from mcptest.matching.values import a_type, json_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["length_check", "lengths"]


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


def lengths(
    name: str,
    family: str,
    subject: str,
    unit: str,
    kinds: tuple[str, ...],
    values: tuple[object, object, object],
) -> Iterator[Matcher]:
    """The six of them; the values have three, four and two of the unit."""
    three, four, two = values

    def entry(
        suffix: str,
        words: str,
        test: Callable[[int, Any], bool],
        passes: object,
        fails: object,
        interval: Callable[[int], Interval],
        parse: Callable[[str], int] = a_count,
    ) -> Matcher:
        return Matcher(
            name=name + suffix,
            family=family,
            parameters=("N",),
            summary=f"{subject} of {words + ' ' if words else ''}N {unit}.",
            example=f"match:{name}{suffix}:3",
            passes=(passes,),
            fails=(fails, None),
            parse=parse,
            wants=lambda count: (
                f"{subject.lower()} of {words + ' ' if words else ''}{count} "
                f"{unit if count != 1 else unit[:-1]}"
            ),
            check=length_check(kinds, test),
            kinds=kinds,
            interval=interval,
        )

    yield entry("", "", operator.eq, three, two, lambda n: _from(n, n))
    yield entry("GreaterThan", "more than", operator.gt, four, three, lambda n: _from(n + 1))
    yield entry("GreaterThanOrEqual", "at least", operator.ge, three, two, lambda n: _from(n))
    yield entry(
        "LessThan", "less than", operator.lt, two, three, lambda n: _from(0, n - 1), _a_limit
    )
    yield entry("LessThanOrEqual", "at most", operator.le, three, four, lambda n: _from(0, n))
    yield Matcher(
        name=f"{name}Between",
        family=family,
        parameters=("A", "B"),
        summary=f"{subject} of A to B {unit}, both included.",
        example=f"match:{name}Between:3:9",
        passes=(three, four),
        fails=(two, None),
        parse=two_counts,
        wants=lambda bounds: f"{subject.lower()} of {bounds[0]} to {bounds[1]} {unit}",
        check=length_check(kinds, _is_between),
        kinds=kinds,
        interval=lambda bounds: _from(*bounds),
    )


def _from(low: int, high: int | None = None) -> Interval:
    return Interval(quantity="length", low=(low, 0), high=None if high is None else (high, 0))
