"""Numbers as they are written, without the rounding of floating point.

A number is a pair (mantissa, places): 0.25 is (25, 2). So 0.3 is a multiple of 0.1, and
1 equals 1.0, which binary fractions cannot promise. Text that is a number counts as one.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    Exact = tuple[int, int]

__all__ = [
    "exact",
    "exact_text",
    "is_less",
    "is_multiple",
    "is_same_number",
    "minus",
    "remainder",
    "rendered",
]

_NUMBER = r"\s*([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?\s*"

# Longer texts are no numbers that anybody compares, and converting them takes long.
_MAX_CHARS = 400


def exact(value: object) -> Exact | None:
    """The number that a JSON value is, or that its text says; None when it is none."""
    kind = type(value)
    if kind is int:
        return value, 0  # type: ignore[return-value]  # it is an int
    if kind is float:
        return exact_text(repr(value))
    return exact_text(value) if isinstance(value, str) else None


def exact_text(text: str) -> Exact | None:
    if len(text) > _MAX_CHARS:
        return None
    found = re.fullmatch(_NUMBER, text, re.ASCII)
    if found is None:
        return None
    sign, whole, fraction, power = found.groups("")
    if not whole and not fraction:
        return None
    mantissa = int(f"{sign}{whole}{fraction}")
    places = len(fraction) - int(power or 0)
    return (mantissa, places) if places >= 0 else (mantissa * 10**-places, 0)


def _level(left: Exact, right: Exact) -> tuple[int, int]:
    """Both as whole numbers of the same smallest unit."""
    return left[0] * 10 ** right[1], right[0] * 10 ** left[1]


def is_less(left: Exact, right: Exact) -> bool:
    one, other = _level(left, right)
    return one < other


def is_same_number(left: Exact, right: Exact) -> bool:
    one, other = _level(left, right)
    return one == other


def remainder(number: Exact, unit: Exact) -> Exact:
    """What is left of a number after taking away a unit as often as it goes."""
    one, other = _level(number, unit)
    return one % abs(other), number[1] + unit[1]


def is_multiple(number: Exact, unit: Exact) -> bool:
    return not remainder(number, unit)[0]


def minus(left: Exact, right: Exact) -> Exact:
    one, other = _level(left, right)
    return one - other, left[1] + right[1]


def rendered(number: Exact) -> str:
    """The number as a person writes it."""
    mantissa, places = number
    while places > 0 and mantissa % 10 == 0:
        mantissa, places = mantissa // 10, places - 1
    if abs(mantissa).bit_length() > 1000:
        return "a very large number"
    sign, digits = ("-" if mantissa < 0 else ""), str(abs(mantissa)).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else sign + digits
