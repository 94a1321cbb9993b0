"""Matchers on numbers."""

from __future__ import annotations

from mcptest.matching.registry import CannotHoldError, Interval, Matcher, Miss
from mcptest.matching.values import (
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.matching.values import Exact

__all__ = ["NUMBER_MATCHERS"]

_KINDS = ("number", "string")


def _numeric(
    test: Callable[[Exact, Any], bool], why: Callable[[Exact, Any], str] | None = None
) -> Callable[[Any, object], Miss | None]:
    """A check on a number, or on text that is one."""

    def check(wanted: Any, actual: object) -> Miss | None:
        number = exact_number(actual)
        if number is None:
            text = isinstance(actual, str)
            return Miss(
                why="it is text that is no number" if text else f"it is {type_name(actual)}"
            )
        if test(number, wanted):
            return None
        return Miss(why=why(number, wanted) if why else f"it is {render_exact(number)}")

    return check


def _is_within(number: Exact, bounds: tuple[Exact, Exact]) -> bool:
    return not is_less(number, bounds[0]) and not is_less(bounds[1], number)


def _is_near(number: Exact, wanted: tuple[Exact, Exact]) -> bool:
    away, places = subtract(number, wanted[0])
    return not is_less(wanted[1], (abs(away), places))


def _how_far(number: Exact, wanted: tuple[Exact, Exact]) -> str:
    away, places = subtract(number, wanted[0])
    return f"it is {render_exact(number)}, which is {render_exact((abs(away), places))} away"


def _what_is_left(number: Exact, unit: Exact) -> str:
    return f"it is {render_exact(number)}, which leaves {render_exact(remainder(number, unit))}"


def _a_tolerance(value: str, tolerance: str) -> tuple[Exact, Exact]:
    numbers = parse_number(value), parse_number(tolerance)
    if numbers[1][0] < 0:
        raise CannotHoldError(f"needs a tolerance of 0 or more, not {tolerance.strip()}")
    return numbers


def _a_unit(raw: str) -> Exact:
    number = parse_number(raw)
    if not number[0]:
        raise CannotHoldError("cannot divide by 0")
    return number


def _has_places(wanted: int, actual: object) -> Miss | None:
    number = exact_number(actual)
    if number is None:
        return Miss(why=f"it is {type_name(actual)}")
    mantissa, places = number
    # 24.0 and 24 are one JSON number; in a text every digit was meant.
    while not isinstance(actual, str) and places and mantissa % 10 == 0:
        mantissa, places = mantissa // 10, places - 1
    return None if places == wanted else Miss(why=f"it has {places}")


# Kinds of numbers


def _is_integer(_: None, actual: object) -> Miss | None:
    if json_type(actual) != "number":
        number = exact_number(actual)
        is_number = number is not None
        return Miss(
            why=f"it is {type_name(actual)}",
            hint=(lambda: "it is a number written as text") if is_number else None,
        )
    return None if is_whole(actual) else Miss(why=f"it is {to_text(actual)}")


def _upward(words: str, *, is_open: bool) -> dict[str, Any]:
    return {
        "wants": lambda number: f"a number {words} {render_exact(number)}",
        "interval": lambda low: Interval(quantity="number", low=low, is_low_open=is_open),
        "parse": parse_number,
        "kinds": _KINDS,
        "family": "Numbers",
        "parameters": ("N",),
    }


def _downward(words: str, *, is_open: bool) -> dict[str, Any]:
    return {
        **_upward(words, is_open=is_open),
        "interval": lambda high: Interval(quantity="number", high=high, is_high_open=is_open),
    }


def _within(name: str, summary: str) -> Matcher:
    return Matcher(
        name=name,
        family="Numbers",
        parameters=("A", "B"),
        summary=summary,
        example=f"match:{name}:1:5",
        passes=(1, 4.2, "5"),
        fails=(5.1, "five", None),
        parse=parse_numbers,
        wants=lambda bounds: (
            f"a number from {render_exact(bounds[0])} to {render_exact(bounds[1])}"
        ),
        check=_numeric(_is_within),
        kinds=_KINDS,
        interval=lambda bounds: Interval(quantity="number", low=bounds[0], high=bounds[1]),
    )


def _dividing(name: str, summary: str) -> Matcher:
    return Matcher(
        name=name,
        family="Numbers",
        parameters=("N",),
        summary=summary,
        example=f"match:{name}:0.1",
        passes=(0.3, 2, "0.7"),
        fails=(0.25, "x", None),
        parse=_a_unit,
        wants=lambda unit: f"a multiple of {render_exact(unit)}",
        check=_numeric(is_multiple, _what_is_left),
        kinds=_KINDS,
    )


def _signed(name: str, word: str, sign: int) -> Matcher:
    is_positive = sign > 0
    return Matcher(
        name=name,
        family="Numbers",
        summary=f"A number {word} than 0.",
        example=f"match:{name}",
        passes=(sign * 0.5, f"{sign * 3}"),
        fails=(0, sign * -1, None),
        parse=no_parameter,
        wants=lambda _: f"a {name} number",
        check=_numeric(lambda number, _: number[0] * sign > 0),
        kinds=_KINDS,
        interval=lambda _: Interval(
            quantity="number",
            low=(0, 0) if is_positive else None,
            high=None if is_positive else (0, 0),
            is_low_open=is_positive,
            is_high_open=not is_positive,
        ),
    )


NUMBER_MATCHERS = (
    Matcher(
        name="greaterThan",
        summary="A number that is more than N.",
        example="match:greaterThan:5",
        passes=(5.1, "6"),
        fails=(5, "six", None),
        check=_numeric(lambda number, low: is_less(low, number)),
        **_upward("greater than", is_open=True),
    ),
    Matcher(
        name="greaterThanOrEqual",
        summary="A number that is N or more.",
        example="match:greaterThanOrEqual:5",
        passes=(5, "6"),
        fails=(4.9, "six", None),
        check=_numeric(lambda number, low: not is_less(number, low)),
        **_upward("of at least", is_open=False),
    ),
    Matcher(
        name="lessThan",
        summary="A number that is less than N.",
        example="match:lessThan:5",
        passes=(4.9, "-6"),
        fails=(5, "four", None),
        check=_numeric(is_less),
        **_downward("less than", is_open=True),
    ),
    Matcher(
        name="lessThanOrEqual",
        summary="A number that is N or less.",
        example="match:lessThanOrEqual:5",
        passes=(5, "-6"),
        fails=(5.1, "four", None),
        check=_numeric(lambda number, high: not is_less(high, number)),
        **_downward("of at most", is_open=False),
    ),
    _within("between", "A number from A to B, both included."),
    _within("range", "The same as `between`."),
    Matcher(
        name="approximately",
        family="Numbers",
        parameters=("V", "T"),
        summary="A number that is at most T away from V.",
        example="match:approximately:95.5:0.1",
        passes=(95.6, "95.4"),
        fails=(95.61, None),
        parse=_a_tolerance,
        wants=lambda wanted: (
            f"a number within {render_exact(wanted[1])} of {render_exact(wanted[0])}"
        ),
        check=_numeric(_is_near, _how_far),
        kinds=_KINDS,
    ),
    _dividing("multipleOf", "A number that N divides, in decimal arithmetic."),
    _dividing("divisibleBy", "The same as `multipleOf`."),
    Matcher(
        name="decimalPlaces",
        family="Numbers",
        parameters=("N",),
        summary="A number with N digits behind the point; in a text, as they are written.",
        example="match:decimalPlaces:2",
        passes=(24.99, "24.90"),
        fails=(24.9, 24, None),
        parse=parse_count,
        wants=lambda count: f"a number with {count} decimal place{'s' if count != 1 else ''}",
        check=_has_places,
        kinds=_KINDS,
    ),
    _signed("positive", "more", 1),
    _signed("negative", "less", -1),
    Matcher(
        name="integer",
        family="Numbers",
        summary="A number without a fraction; 5.0 is one, text is not.",
        example="match:integer",
        passes=(5, -5.0),
        fails=(5.5, "5", True),
        parse=no_parameter,
        wants=lambda _: "a whole number",
        check=_is_integer,
        kinds=("number",),
    ),
)
