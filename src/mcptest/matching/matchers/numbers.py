"""Matchers on numbers; a string that is a number counts as one."""

from __future__ import annotations

from mcptest.core.text import plural
from mcptest.matching.json_values import (
    exact_number,
    is_less,
    is_multiple,
    is_whole,
    json_type,
    no_parameter,
    parse_count,
    parse_number,
    parse_numbers,
    remainder,
    render_exact,
    subtract,
    to_text,
    type_name,
)
from mcptest.matching.registry import CannotHoldError, Matcher, Miss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.matching.json_values import Exact

__all__ = ["MATCHERS"]

_KINDS = ("number", "string")


def _check_number(
    test: Callable[[Exact, Any], bool], why: Callable[[Exact, Any], str] | None = None
) -> Callable[[Any, object], Miss | None]:
    """A check on a number, or on a string that is one."""

    def check(wanted: Any, actual: object) -> Miss | None:
        number = exact_number(actual)
        if number is None:
            seen = "a string that is not a number" if isinstance(actual, str) else type_name(actual)
            return Miss(why=f"it is {seen}")
        if test(number, wanted):
            return None
        return Miss(why=why(number, wanted) if why else f"it is {render_exact(number)}")

    return check


def _parse_tolerance(value: str, tolerance: str) -> tuple[Exact, Exact]:
    numbers = parse_number(value), parse_number(tolerance)
    if numbers[1][0] < 0:
        raise CannotHoldError(f"needs a tolerance of 0 or more, not {tolerance.strip()}")
    return numbers


def _distance(number: Exact, wanted: Exact) -> Exact:
    away, places = subtract(number, wanted)
    return abs(away), places


def _parse_divisor(raw: str) -> Exact:
    number = parse_number(raw)
    if not number[0]:
        raise CannotHoldError("cannot divide by 0")
    return number


def _check_places(wanted: int, actual: object) -> Miss | None:
    number = exact_number(actual)
    if number is None:
        return Miss(why=f"it is {type_name(actual)}")
    mantissa, places = number
    # 24.0 and 24 are one JSON number; in a string every digit counts.
    while not isinstance(actual, str) and places and mantissa % 10 == 0:
        mantissa, places = mantissa // 10, places - 1
    return None if places == wanted else Miss(why=f"it has {places}")


def _check_integer(_: None, actual: object) -> Miss | None:
    if json_type(actual) != "number":
        is_number = exact_number(actual) is not None
        return Miss(
            why=f"it is {type_name(actual)}",
            hint=(lambda: "it is a number written as a string") if is_number else None,
        )
    return None if is_whole(actual) else Miss(why=f"it is {to_text(actual)}")


def _limit(name: str, words: str, test: Callable[[Exact, Exact], bool], **fields: Any) -> Matcher:
    return Matcher(
        name=name,
        family="Numbers",
        parameters=("N",),
        example=f"match:{name}:5",
        parse=parse_number,
        wants=lambda number: f"a number {words} {render_exact(number)}",
        check=_check_number(test),
        kinds=_KINDS,
        **fields,
    )


def _sign(name: str, word: str, sign: int) -> Matcher:
    return Matcher(
        name=name,
        family="Numbers",
        summary=f"A number {word} than 0.",
        example=f"match:{name}",
        passes=(sign * 0.5, f"{sign * 3}"),
        fails=(0, sign * -1, None),
        parse=no_parameter,
        wants=lambda _: f"a {name} number",
        check=_check_number(lambda number, _: number[0] * sign > 0),
        kinds=_KINDS,
    )


_BETWEEN = Matcher(
    name="between",
    family="Numbers",
    parameters=("A", "B"),
    summary="A number from A to B, both included.",
    example="match:between:1:5",
    passes=(1, 4.2, "5"),
    fails=(5.1, "five", None),
    parse=parse_numbers,
    wants=lambda bounds: f"a number from {' to '.join(map(render_exact, bounds))}",
    check=_check_number(
        lambda number, bounds: not is_less(number, bounds[0]) and not is_less(bounds[1], number)
    ),
    kinds=_KINDS,
)

_MULTIPLE_OF = Matcher(
    name="multipleOf",
    family="Numbers",
    parameters=("N",),
    summary="A number that N divides, in decimal arithmetic.",
    example="match:multipleOf:0.1",
    passes=(0.3, 2, "0.7"),
    fails=(0.25, "x", None),
    parse=_parse_divisor,
    wants=lambda unit: f"a multiple of {render_exact(unit)}",
    check=_check_number(
        is_multiple,
        lambda number, unit: (
            f"it is {render_exact(number)}, which leaves {render_exact(remainder(number, unit))}"
        ),
    ),
    kinds=_KINDS,
)

MATCHERS = (
    _limit(
        "greaterThan",
        "greater than",
        lambda number, low: is_less(low, number),
        summary="A number that is more than N.",
        passes=(5.1, "6"),
        fails=(5, "six", None),
    ),
    _limit(
        "greaterThanOrEqual",
        "of at least",
        lambda number, low: not is_less(number, low),
        summary="A number that is N or more.",
        passes=(5, "6"),
        fails=(4.9, "six", None),
    ),
    _limit(
        "lessThan",
        "less than",
        is_less,
        summary="A number that is less than N.",
        passes=(4.9, "-6"),
        fails=(5, "four", None),
    ),
    _limit(
        "lessThanOrEqual",
        "of at most",
        lambda number, high: not is_less(high, number),
        summary="A number that is N or less.",
        passes=(5, "-6"),
        fails=(5.1, "four", None),
    ),
    _BETWEEN,
    _BETWEEN.but(name="range", summary="The same as `between`.", example="match:range:1:5"),
    Matcher(
        name="approximately",
        family="Numbers",
        parameters=("V", "T"),
        summary="A number that is at most T away from V.",
        example="match:approximately:95.5:0.1",
        passes=(95.6, "95.4"),
        fails=(95.61, None),
        parse=_parse_tolerance,
        wants=lambda both: f"a number within {render_exact(both[1])} of {render_exact(both[0])}",
        check=_check_number(
            lambda number, both: not is_less(both[1], _distance(number, both[0])),
            lambda number, both: (
                f"it is {render_exact(number)}, "
                f"which is {render_exact(_distance(number, both[0]))} away"
            ),
        ),
        kinds=_KINDS,
    ),
    _MULTIPLE_OF,
    _MULTIPLE_OF.but(
        name="divisibleBy", summary="The same as `multipleOf`.", example="match:divisibleBy:0.1"
    ),
    Matcher(
        name="decimalPlaces",
        family="Numbers",
        parameters=("N",),
        summary="A number with N digits behind the point; in a string, as they are written.",
        example="match:decimalPlaces:2",
        passes=(24.99, "24.90"),
        fails=(24.9, 24, None),
        parse=parse_count,
        wants=lambda count: f"a number with {plural(count, 'decimal place')}",
        check=_check_places,
        kinds=_KINDS,
    ),
    _sign("positive", "more", 1),
    _sign("negative", "less", -1),
    Matcher(
        name="integer",
        family="Numbers",
        summary="A number without a fraction; 5.0 is one, a string is not.",
        example="match:integer",
        passes=(5, -5.0),
        fails=(5.5, "5", True),
        parse=no_parameter,
        wants=lambda _: "a whole number",
        check=_check_integer,
        kinds=("number",),
    ),
)
