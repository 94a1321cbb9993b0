"""A value from a file or a server as a JSON report holds it: valid, and not too long."""

from __future__ import annotations

from mcptest.core.record import ABSENT
from mcptest.core.text import show_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Members = dict[str, object]

__all__ = ["MAX_VALUE_CHARS", "is_long", "reported", "side_members"]

MAX_VALUE_CHARS = 20_000


def side_members(sides: Mapping[str, object]) -> Members:
    """Values by name; `missing` lists those that are not there, `cut` those shown in part."""
    members: Members = {name: reported(value) for name, value in sides.items()}
    missing = [name for name, value in sides.items() if value is ABSENT]
    cut = [name for name, value in sides.items() if is_long(value)]
    if missing:
        members["missing"] = missing
    if cut:
        members["cut"] = cut
    return members


def reported(value: object) -> object:
    """A value as JSON can hold it: absence as null, what is too long as the start of its text."""
    if value is ABSENT:
        return None
    if isinstance(value, bool | int | None):
        return value
    return show_json(value, MAX_VALUE_CHARS) if is_long(value) else _plain(value)


def is_long(value: object) -> bool:
    size = 0
    for length in _lengths(value):
        size += length
        if size > MAX_VALUE_CHARS:
            return True
    return False


def _lengths(value: object) -> Iterator[int]:
    """About how many characters each part of a value takes as JSON, lazily."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield len(str(key)) + 4
            yield from _lengths(member)
    elif isinstance(value, list | tuple):
        for item in value:
            yield 2
            yield from _lengths(item)
    else:
        yield len(value) + 2 if isinstance(value, str) else 8


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str | int | None):
        return value
    # A file may hold what JSON has no word for: .nan, .inf, a date.
    is_number = isinstance(value, float) and value - value == 0
    return value if is_number else str(value)
