"""The lines of the parts of a file that can be tests: documents of a stream, items of lists."""

from __future__ import annotations

import re
from contextlib import suppress

from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from mcptest.formats.yaml.compat import Shield
from mcptest.formats.yaml.full import events_of, with_spaces
from mcptest.formats.yaml.stream import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    # The first and the last line, from 1.
    Span = tuple[int, int]

__all__ = ["find_spans"]

_LINE_BREAK = r"\r\n|\n|\r"


def find_spans(text: str, *, is_stream: bool) -> list[Span]:
    """The lines of everything that can be a test: documents of a stream, else items of lists."""
    rows = re.split(_LINE_BREAK, text)
    if is_stream:
        found = [
            (piece.first_line, piece.first_line + len(re.findall(_LINE_BREAK, piece.text)))
            for piece in cut(text)
        ]
    else:
        found = list(_item_spans(text))
    return [_trimmed(first, last, rows) for first, last in found]


def _trimmed(first: int, last: int, rows: Sequence[str]) -> Span:
    """The span, given from 0, without blank lines and comments at its end."""
    last = min(last, len(rows) - 1)
    while last > first and rows[last].strip()[:1] in ("", "#"):
        last -= 1
    return first + 1, last + 1


def _item_spans(text: str) -> Iterator[Span]:
    """The first and last line, from 0, of each item of a list that is not a scalar."""
    next_event = events_of(Shield(with_spaces(text.removeprefix("\ufeff"))).text)
    # The first line of each open collection, its kind, whether it is in brackets; its last line.
    begun: list[tuple[int, type, bool | None]] = []
    lasts = [0]
    # What libyaml cannot read was read as JSON; then only the first lines of tests are known.
    with suppress(YAMLError):
        while not isinstance(event := next_event(), StreamEndEvent):
            start, end = event.start_mark.line, event.end_mark
            if isinstance(event, (MappingStartEvent, SequenceStartEvent)):
                begun.append((start, type(event), event.flow_style))
                lasts.append(start)
            elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
                (first, _, is_flow), last = begun.pop(), lasts.pop()
                # Without brackets, the end is the beginning of what follows.
                last = max(last, end.line) if is_flow else last
                lasts[-1] = max(lasts[-1], last)
                if begun and begun[-1][1] is SequenceStartEvent:
                    yield first, last
            elif isinstance(event, (ScalarEvent, AliasEvent)):
                is_below = end.column == 0 and end.line > start
                lasts[-1] = max(lasts[-1], end.line - is_below)
