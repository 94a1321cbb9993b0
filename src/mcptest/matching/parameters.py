"""Parameters as they are written in a pattern, turned into what a check wants."""

from __future__ import annotations

import re

from mcptest.core.strict_json import dump_json
from mcptest.matching.exact import exact_text, is_less
from mcptest.matching.registry import CannotHoldError, ParameterError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.matching.exact import Exact

__all__ = ["a_count", "a_number", "a_text", "any_text", "nothing", "two_counts", "two_numbers"]


def a_text(raw: str) -> str:
    if not raw:
        raise ParameterError("needs a text after the colon: without one it would always hold")
    return raw


def any_text(raw: str) -> str:
    return raw


def nothing() -> None:
    return None


def a_count(raw: str) -> int:
    """How many of something there are."""
    if re.fullmatch(r"[0-9]{1,18}", raw.strip()):
        return int(raw)
    if re.fullmatch(r"-[0-9]+", raw.strip()):
        raise CannotHoldError(f"counts from 0, and nothing is {raw.strip()} long")
    raise ParameterError(f"needs a whole number, not {dump_json(raw)}")


def two_counts(low: str, high: str) -> tuple[int, int]:
    counts = a_count(low), a_count(high)
    if counts[0] > counts[1]:
        raise CannotHoldError(_reversed(low, high))
    return counts


def a_number(raw: str) -> Exact:
    number = exact_text(raw)
    if number is None:
        raise ParameterError(f"needs a number, not {dump_json(raw)}")
    return number


def two_numbers(low: str, high: str) -> tuple[Exact, Exact]:
    numbers = a_number(low), a_number(high)
    if is_less(numbers[1], numbers[0]):
        raise CannotHoldError(_reversed(low, high))
    return numbers


def _reversed(low: str, high: str) -> str:
    low, high = low.strip(), high.strip()
    return f"goes from {low} down to {high}, where nothing lies; write {high}:{low}"
