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

__all__ = ["Piece", "count_starts", "cut"]

_MARKER = re.compile(r"(?:\A|(?<=[\n\r]))(?:---|\.\.\.)(?=[ \t\r\n]|\Z)")
_REST_OF_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_ANYTHING = re.compile(r"(?:\A|(?<=[\n\r]))[ \t]*[^ \t\r\n#]")
# Comments and directives may stand before the `---` of their document.
_CONTENT = re.compile(r"(?:\A|(?<=[\n\r]))(?!%)[ \t]*[^ \t\r\n#]")


class Piece(Record):
    """One document with all that belongs to it; its first line counts from 0 in the stream."""

    text: str
    first_line: int


def count_starts(text: str) -> int:
    """How many documents begin with a `---`, empty ones too."""
    return sum(marker[0] == "---" for marker in _MARKER.finditer(text))


def cut(text: str) -> Iterator[Piece]:
    """The pieces of a stream; one that is blank or has only comments holds no document."""
    line = start = 0
    is_begun = False  # whether the piece has its `---` already
    for marker in _MARKER.finditer(text):
        is_start = marker[0] == "---"
        end = marker.start() if is_start else _next_line(text, marker.end())
        has_document = is_begun or _has_document(text, start, marker)
        is_begun = is_start
        if is_start and not has_document:
            continue
        piece = Piece(text=text[start:end], first_line=line)
        # Whoever ends a document twice has not begun another one in between.
        if has_document:
            yield piece
        start, line = end, line + len(split_lines(piece.text)) - 1
    yield Piece(text=text[start:], first_line=line)


def _has_document(text: str, start: int, marker: re.Match[str]) -> bool:
    """Whether anything but comments stands from `start` to a marker, or after `...`."""
    if marker[0] == "---":
        return bool(_CONTENT.search(text, start, marker.start()))
    rest = text[marker.end() : _next_line(text, marker.end())].strip()
    return bool(_ANYTHING.search(text, start, marker.start())) or rest[:1] not in ("", "#")


def _next_line(text: str, at: int) -> int:
    rest = _REST_OF_LINE.match(text, at)
    return rest.end() if rest else at
