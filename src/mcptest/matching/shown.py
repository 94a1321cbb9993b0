"""One JSON value as one line that is safe and short enough to show.

Values from files and servers go in, escaped text comes out. The work is bounded
by the length asked for, not by the size of the value. Where a value stands in an
answer, and what it is compared with, is not known here.
"""

from __future__ import annotations

import json

from mcptest.core.outcome import ABSENT
from mcptest.core.record import Record
from mcptest.core.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    Sign = Literal[" ", "-", "+", "^", "…"]

__all__ = ["DiffLine", "counted", "is_pattern", "quoted", "shown"]

SHOWN_CHARS = 200


class DiffLine(Record):
    """A line as it is shown. `sign` says what it is, for whoever colours it.

    "-" is what was expected, "+" what came, "^" points at a difference, "…"
    is an aside (something left out, a place), " " is everything else.
    """

    sign: Sign
    text: str


def shown(value: object, limit: int = SHOWN_CHARS) -> str:
    """`value` as JSON, a pattern as its text, cut to about `limit` characters."""
    if value is ABSENT:
        return "(nothing)"
    if isinstance(value, str):
        return _shown_text(value, limit)
    text = ""
    for piece in _pieces(value, limit):
        text += visible(piece)
        if len(text) > limit:
            return f"{text[:limit]} (… {_size(value)} in all)"
    return text


def quoted(text: str) -> str:
    """Text as a JSON string in which every character can be seen."""
    return visible(json.dumps(text, ensure_ascii=False))


def is_pattern(value: object) -> bool:
    """Whether an expectation is written as a pattern: `match:…`, or a YAML tag of MCP Cases."""
    return isinstance(value, str) and value.startswith(("match:", "!!"))


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _shown_text(text: str, limit: int) -> str:
    rest = len(text) - limit
    tail = f" (… {counted(rest, 'more character')})" if rest > 0 else ""
    return (visible if is_pattern(text) else quoted)(text[:limit]) + tail


def _pieces(value: object, limit: int) -> Iterator[str]:
    if isinstance(value, dict):
        lead = "{"
        for key, member in value.items():
            yield f"{lead}{json.dumps(str(key)[: limit + 1], ensure_ascii=False)}: "
            yield from _pieces(member, limit)
            lead = ", "
        yield "}" if value else "{}"
    elif isinstance(value, list | tuple):
        lead = "["
        for item in value:
            yield lead
            yield from _pieces(item, limit)
            lead = ", "
        yield "]" if value else "[]"
    elif isinstance(value, str):
        yield json.dumps(value[: limit + 1], ensure_ascii=False)
    else:
        # A file may hold what JSON has no word for, a date for example.
        yield json.dumps(value, default=str)


def _size(value: object) -> str:
    if isinstance(value, dict):
        return counted(len(value), "key")
    return counted(len(value), "item") if isinstance(value, list | tuple) else "1 value"
