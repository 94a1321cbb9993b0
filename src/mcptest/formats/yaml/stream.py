"""Read YAML streams: files that hold several documents, as MCP case files do.

`read_stream` returns a `Stream` of plain values, or raises a FormatError with every mistake of
every document. Each document is read by itself, in one pass that keeps all places. Which keys there
are and what tags mean is up to the caller.
"""

from __future__ import annotations

import re
from contextlib import suppress

from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.core.value_class import Record
from mcptest.formats.yaml import NOT_JSON, Places, check_size, read_json
from mcptest.formats.yaml.full import (
    Builder,
    Dialect,
    events_of,
    forbidden_in,
    run,
    ways_to_read,
    with_spaces,
)
from mcptest.formats.yaml.pyyaml import Shield, Source, split_lines
from mcptest.formats.yaml.quick import MAX_DIAGNOSTICS, MAX_DOCUMENTS, MAX_NODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from mcptest.formats.yaml.full import Spots

    # The first and the last line, from 1.
    Span = tuple[int, int]

__all__ = ["Piece", "Stream", "StreamDocument", "cut", "find_spans", "read_stream"]


# Also where a file was joined to another one.
_BYTE_ORDER_MARK = re.compile("\\A\ufeff|(?<=[\r\n])\ufeff(?=---[ \t\r\n])")


class StreamDocument(Record):
    """One document: plain values, and `Tagged` for scalars with one of the caller's tags.

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
    # The text that was read, a list whose first item is the list of all values, their places.
    located: tuple[str, list[Any], Spots] = ("", [()], {})

    def places(self) -> Places:
        """The places of keys and values; steps begin with the index of the document."""
        return Places(*self.located)


def read_stream(
    text: str, file: str, *, tags: Iterable[str], may_repeat: Callable[[str], bool]
) -> Stream:
    """Return the documents in `text`; FormatError with all mistakes if there are any.

    A key of a root mapping that is written again, when it `may_repeat`, is kept as `KEY#2`.
    """
    check_size(text, file)
    if (count := _count_starts(text)) > MAX_DOCUMENTS:
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
    """Reads one piece after the other, and collects documents and mistakes."""

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
        """True if reading must stop."""
        return self._nodes > MAX_NODES or len(self.diagnostics) >= MAX_DIAGNOSTICS

    def read(self, piece: Piece) -> None:
        source = Source(piece.text, self._file, piece.first_line)
        if forbidden := forbidden_in(piece.text, source):
            self.diagnostics += forbidden
            return
        shield = Shield(with_spaces(piece.text))
        for next_event in ways_to_read(shield.text):
            outline = _Outline(next_event)
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

    def _keep(self, builder: Builder, outline: _Outline, piece: Piece) -> None:
        assert builder.spots is not None, "asked for"
        value, *leftovers = builder.holder
        root = builder.spots.pop(id(builder.holder))[0]
        self.spots[id(self.values)][len(self.values)] = root
        self.spots.update(builder.spots)
        self.values.append(value)
        self.leftovers += leftovers
        line, column, last_line, end, style = root[1]
        if value is None and (line, column) == (last_line, end) and not style:
            # An empty value that is not written at all.
            return
        first = outline.keys[0][0] + piece.first_line if outline.keys else line
        comments = outline.comments(split_lines(piece.text))
        key_lines: dict[str, int] = {}
        named: dict[str, str] = {}
        spots = self.spots.get(id(value), {})
        for key in value if isinstance(value, dict) else ():
            at = spots[key][0] or (first, 0, 0)
            key_lines[key] = at[0] + 1
            if comment := comments.get((at[0] - piece.first_line, at[1])):
                named[key] = comment
        self.documents.append(
            StreamDocument(
                value=value,
                index=len(self.values) - 1,
                line=first + 1,
                key_lines=key_lines,
                comments=named,
            )
        )

    def try_as_json(self, text: str) -> None:
        """Accept a file that is JSON, even if its keys are too long for YAML."""
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


# The root keys of a document and the comments above them. Parsers have no events for comments,
# but a line that begins with `#` between two events is one.


class _Outline:
    """The root keys of a document, in written order; lines and columns count from 0."""

    def __init__(self, next_event: Callable[[], Any]) -> None:
        self._next_event = next_event
        # Line and column of each key, and the line from which on comments belong to it.
        self.keys: list[tuple[int, int, int]] = []
        self._depth = 0
        self._has_keys = False
        self._is_key_next = True
        self._free_from = 0  # nothing but comments and blank lines from this line on

    def next_event(self) -> Any:
        event = self._next_event()
        kind = type(event)
        if kind is ScalarEvent or kind is AliasEvent:
            self._note_entry(event)
            self._free_from = _line_after(event) or self._free_from
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            self._note_entry(event)
            if self._depth == 0:
                self._has_keys = kind is MappingStartEvent
            self._depth += 1
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            self._depth -= 1
            self._free_from = _line_after(event) or self._free_from
        elif kind is DocumentStartEvent and event.explicit:
            self._free_from = event.end_mark.line + 1
        return event

    def _note_entry(self, event: Any) -> None:
        if self._depth != 1 or not self._has_keys:
            return
        if self._is_key_next:
            mark = event.start_mark
            self.keys.append((mark.line, mark.column, self._free_from))
        self._is_key_next = not self._is_key_next

    def comments(self, lines: Sequence[str]) -> dict[tuple[int, int], str]:
        """Return the comments above keys, by line and column of the key."""
        found = {
            (line, column): _comment(lines[free_from:line])
            for line, column, free_from in self.keys
            if free_from < line
        }
        return {place: text for place, text in found.items() if text is not None}


def _line_after(event: Any) -> int:
    """Return the first line after this event, 0 if it has no text."""
    start, end = event.start_mark, event.end_mark
    if (start.line, start.column) == (end.line, end.column):
        # An empty value, or the end of a block: it is anywhere up to the next key.
        return 0
    # A block scalar ends where the next line begins.
    return int(end.line if end.column == 0 else end.line + 1)


def _comment(lines: Sequence[str]) -> str | None:
    """Return the text of the comment lines among these, None if there are none."""
    found: list[str] = []
    is_after_blank = False
    for written in lines:
        # Other blanks than these are ordinary characters to YAML.
        line = written.strip(" \t")
        if not line.startswith("#"):
            is_after_blank = True
            continue
        if found and is_after_blank:
            found.append("")
        is_after_blank = False
        found.append(line.removeprefix("#").removeprefix(" "))
    return "\n".join(found) if found else None


# A stream is cut into pieces with one document each. A line that starts with `---` or `...` and a
# blank ends a document in every context, so a stream can be cut without parsing it. A mistake in
# one document then hides nothing in the next, and positions in a piece are off by whole lines.

_MARKER = re.compile(r"(?:\A|(?<=[\n\r]))(?:---|\.\.\.)(?=[ \t\r\n]|\Z)")
_REST_OF_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_ANYTHING = re.compile(r"(?:\A|(?<=[\n\r]))[ \t]*[^ \t\r\n#]")
# Comments and directives may precede the `---` of their document.
_CONTENT = re.compile(r"(?:\A|(?<=[\n\r]))(?!%)[ \t]*[^ \t\r\n#]")


class Piece(Record):
    """The text of one document; its first line counts from 0 in the stream."""

    text: str
    first_line: int


def _count_starts(text: str) -> int:
    """Count the documents that begin with `---`, including empty ones."""
    return sum(marker[0] == "---" for marker in _MARKER.finditer(text))


def cut(text: str) -> Iterator[Piece]:
    """Yield the pieces of a stream, without those that are blank or have only comments."""
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
        # Between two ends of a document there is no other document.
        if has_document:
            yield piece
        start, line = end, line + len(split_lines(piece.text)) - 1
    yield Piece(text=text[start:], first_line=line)


def _has_document(text: str, start: int, marker: re.Match[str]) -> bool:
    """True if there is anything except comments from `start` to a marker, or after `...`."""
    if marker[0] == "---":
        return bool(_CONTENT.search(text, start, marker.start()))
    rest = text[marker.end() : _next_line(text, marker.end())].strip()
    return bool(_ANYTHING.search(text, start, marker.start())) or rest[:1] not in ("", "#")


def _next_line(text: str, at: int) -> int:
    rest = _REST_OF_LINE.match(text, at)
    return rest.end() if rest else at


# The lines of the parts of a file that can be tests


def find_spans(text: str, *, is_stream: bool) -> list[Span]:
    """The lines of everything that can be a test: documents of a stream, else items of lists."""
    rows = split_lines(text)
    if is_stream:
        found = [
            (piece.first_line, piece.first_line + len(split_lines(piece.text)) - 1)
            for piece in cut(text)
        ]
    else:
        found = list(_item_spans(text))
    spans = []
    for first, last in found:
        last = min(last, len(rows) - 1)
        # Without blank lines and comments at the end.
        while last > first and rows[last].strip()[:1] in ("", "#"):
            last -= 1
        spans.append((first + 1, last + 1))
    return spans


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
