"""Where a key or a value stands in a file, taken from the event that told of it.

An event goes in, a spot comes out: a tuple of numbers, since there is one for every key
and value. Lines and columns count from 0.
"""

from __future__ import annotations

from yaml.events import AliasEvent, ScalarEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # Of a key: line, column, width. Of a value: line, column, last line, end column, style.
    KeySpot = tuple[int, int, int]
    ValueSpot = tuple[int, int, int, int, str]
    # By the `id` of the mapping or list, then by key or index.
    Spots = dict[int, dict[Any, tuple[KeySpot | None, ValueSpot]]]

__all__ = ["key_spot", "value_spot"]


def key_spot(event: Any, first_line: int = 0) -> KeySpot:
    """Where an event begins, and how wide it is; `first_line` is that of the parsed text."""
    start, end = event.start_mark, event.end_mark
    width = end.column - start.column if end.line == start.line else 1
    return first_line + start.line, start.column, max(width, 1)


def value_spot(event: Any, first_line: int) -> ValueSpot:
    """Where a value begins and ends, and how it is written."""
    start, end = event.start_mark, event.end_mark
    if type(event) is ScalarEvent and event.tag is None and event.anchor is None:
        style = event.style or ""
    else:
        style = "marked" if type(event) in (ScalarEvent, AliasEvent) else "collection"
    return first_line + start.line, start.column, first_line + end.line, end.column, style
