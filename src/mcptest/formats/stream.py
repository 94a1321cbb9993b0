"""The reader of YAML streams: files that hold several documents, as MCP case files do.

Text and a name to blame go in; a `Stream` of plain values comes out, or a FormatError
that carries every mistake of every document. Each document is read by itself, in one
pass that keeps all places. Which keys there are and what tags mean is the caller's
business; a file of one document is `mcptest.formats.document`'s.
"""

from __future__ import annotations

import re

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.core.record import Record
from mcptest.formats.document import Places
from mcptest.formats.full_builder import Builder
from mcptest.formats.full_dialect import Dialect, Tagged
from mcptest.formats.full_outline import Outline
from mcptest.formats.full_pieces import count_starts, cut
from mcptest.formats.full_problems import Source, split_lines
from mcptest.formats.full_shield import Shield
from mcptest.formats.full_yaml import forbidden_in, run, ways_to_read, with_spaces
from mcptest.formats.json_text import NOT_JSON, read_json
from mcptest.formats.limits import (
    MAX_DIAGNOSTICS,
    MAX_DOCUMENTS,
    MAX_NODES,
    MAX_TEXT_BYTES,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from mcptest.formats.full_pieces import Piece
    from mcptest.formats.full_spots import Spots, ValueSpot

__all__ = ["Stream", "StreamDocument", "Tagged", "read_stream"]

# Also where a file was joined to another one.
_BYTE_ORDER_MARK = re.compile("\\A\ufeff|(?<=[\r\n])\ufeff(?=---[ \t\r\n])")


class StreamDocument(Record):
    """One document: plain values, and `Tagged` where a tag of the caller's stood on a scalar.

    `index` counts all documents of the stream, empty ones too, from 0; the steps of its
    places begin with it. Lines count from 1. `comments` are the comment lines above the
    keys of the root that have any.
    """

    value: object
    index: int
    line: int
    key_lines: dict[str, int]
    comments: dict[str, str]


class Stream(Record):
    """The documents of a file that are not empty."""

    file: str
    text: str
    documents: tuple[StreamDocument, ...]
    # The text that was read, a list whose first item is that of all values, their spots.
    located: tuple[str, list[Any], Spots] = ("", [()], {})

    def places(self) -> Places:
        """Where keys and values stand; steps begin with the index of their document."""
        return Places(*self.located)


def read_stream(
    text: str, file: str, *, tags: Iterable[str], may_repeat: Callable[[str], bool]
) -> Stream:
    """The documents in `text`; FormatError with all mistakes when there are any.

    A key of a root mapping that is written again, when it `may_repeat`, is kept as `KEY#2`.
    """
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT_BYTES:
        message = f"the file has {size:,} bytes (limit {MAX_TEXT_BYTES:,})"
        raise FormatError([Diagnostic(code="F004", file=file, message=message)])
    if (count := count_starts(text)) > MAX_DOCUMENTS:
        message = f"the file has {count:,} documents (limit {MAX_DOCUMENTS:,})"
        help = "write several files"
        raise FormatError([Diagnostic(code="F004", file=file, message=message, help=help)])
    reader = _Reader(file, Dialect(tags=tuple(tags), may_repeat=may_repeat))
    bare = _BYTE_ORDER_MARK.sub("", text)
    for piece in cut(bare):
        reader.read(piece)
        if reader.is_full:
            break
    if reader.diagnostics:
        reader.try_as_json(text)
    if reader.diagnostics:
        mistakes = sorted(reader.diagnostics, key=lambda found: (found.line, found.column))
        raise FormatError(mistakes[:MAX_DIAGNOSTICS])
    return Stream(
        file=file,
        text=text,
        documents=tuple(reader.documents),
        located=(bare, [reader.values, *reader.leftovers], reader.spots),
    )


class _Reader:
    """Reads piece after piece; what is found adds up."""

    def __init__(self, file: str, dialect: Dialect) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.documents: list[StreamDocument] = []
        self.values: list[Any] = []
        self.leftovers: list[Any] = []
        self.spots: Spots = {id(self.values): {}}
        self._file = file
        self._dialect = dialect
        self._nodes = 0

    @property
    def is_full(self) -> bool:
        """Whether reading on makes no sense."""
        return self._nodes > MAX_NODES or len(self.diagnostics) >= MAX_DIAGNOSTICS

    def read(self, piece: Piece) -> None:
        source = Source(piece.text, self._file, piece.first_line)
        if forbidden := forbidden_in(piece.text, source):
            self.diagnostics += forbidden
            return
        shield = Shield(with_spaces(piece.text))
        for next_event in ways_to_read(shield.text):
            outline = Outline(next_event)
            builder = Builder(
                source, shield, with_spots=True, dialect=self._dialect, nodes=self._nodes
            )
            mistakes = run(builder, outline.next_event, source)
            if len(mistakes) == len(builder.diagnostics):
                break  # it had no syntax error, so there is nothing to try again
        self._nodes = builder.nodes
        self.diagnostics += mistakes
        if builder.holder:
            self._keep(builder, outline, piece)

    def _keep(self, builder: Builder, outline: Outline, piece: Piece) -> None:
        assert builder.spots is not None, "asked for"
        value, *leftovers = builder.holder
        root = builder.spots.pop(id(builder.holder))[0]
        self.spots[id(self.values)][len(self.values)] = root
        self.spots.update(builder.spots)
        self.values.append(value)
        self.leftovers += leftovers
        if value is not None or not _is_nothing(root[1]):
            first = outline.keys[0][0] + piece.first_line if outline.keys else root[1][0]
            self._add(value, first + 1, _comments(outline, piece))

    def _add(self, value: object, line: int, comments: dict[tuple[int, int], str]) -> None:
        key_lines: dict[str, int] = {}
        named: dict[str, str] = {}
        spots = self.spots.get(id(value), {})
        for key in value if isinstance(value, dict) else ():
            at = spots[key][0] or (line - 1, 0, 0)
            key_lines[key] = at[0] + 1
            if comment := comments.get(at[:2]):
                named[key] = comment
        self.documents.append(
            StreamDocument(
                value=value,
                index=len(self.values) - 1,
                line=line,
                key_lines=key_lines,
                comments=named,
            )
        )

    def try_as_json(self, text: str) -> None:
        """A file that is JSON is right, whatever YAML says about the length of its keys."""
        value = read_json(text.removeprefix("\ufeff"))
        if value is NOT_JSON:
            return
        known = self.documents[0].key_lines if self.documents else {}
        line = self.documents[0].line if self.documents else 1
        key_lines = {key: known.get(key, line) for key in value} if isinstance(value, dict) else {}
        self.diagnostics.clear()
        self.documents = [
            StreamDocument(value=value, index=0, line=line, key_lines=key_lines, comments={})
        ]


def _is_nothing(spot: ValueSpot) -> bool:
    """Whether a value is where it is only because something had to be there."""
    line, column, last_line, end, style = spot
    return (line, column) == (last_line, end) and style == ""


def _comments(outline: Outline, piece: Piece) -> dict[tuple[int, int], str]:
    found = outline.comments(split_lines(piece.text))
    return {(line + piece.first_line, column): text for (line, column), text in found.items()}
