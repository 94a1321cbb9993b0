"""Cut the text of a YAML stream into pieces that hold one document each.

A line that starts with `---` or `...` and a blank ends whatever stands before it, in
every context, so a stream can be cut without reading it. That way a mistake in one
document hides nothing in the next, and positions in a piece are off by whole lines.
"""

from __future__ import annotations

import re

from mcptest.core.record import Record
from mcptest.formats.full_problems import split_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Piece", "cut"]

_MARKER = re.compile(r"(?:\A|(?<=[\n\r]))(?:---(?=[ \t\r\n]|\Z)|\.\.\.(?=[ \t\r\n]|\Z)[^\r\n]*)")
_LINE_BREAK = re.compile(r"\r\n|\n|\r")
# Comments and directives may stand before the `---` of their document.
_CONTENT = re.compile(r"(?:\A|(?<=[\n\r]))(?![#%])[ \t]*[^ \t\r\n#]")


class Piece(Record):
    """One document with all that belongs to it; its first line counts from 0 in the stream."""

    text: str
    first_line: int


def cut(text: str) -> Iterator[Piece]:
    """The pieces of a stream; one that is blank or has only comments holds no document."""
    line = start = 0
    is_begun = False  # whether the piece has its `---` already
    for marker in _MARKER.finditer(text):
        has_content = is_begun or bool(_CONTENT.search(text, start, marker.start()))
        if marker[0] == "---":
            is_begun = True
            if not has_content:
                continue
            end = marker.start()
        else:
            is_begun = False
            end = _next_line(text, marker.end())
        piece = Piece(text=text[start:end], first_line=line)
        # Whoever ends a document twice has not begun another one in between.
        if has_content or not start:
            yield piece
        start, line = end, line + len(split_lines(piece.text)) - 1
    yield Piece(text=text[start:], first_line=line)


def _next_line(text: str, end: int) -> int:
    found = _LINE_BREAK.match(text, end)
    return found.end() if found else end
