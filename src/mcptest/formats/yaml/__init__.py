"""Read YAML and JSON documents, whatever the file is for.

`read_document` returns a `Document` of plain values, or raises a FormatError with every mistake.
Reading is fast and keeps no positions; `locate` reads the text again when there is something to
point at. What a document should contain is checked by its loader.
"""

from __future__ import annotations

import re

from mcptest.core.diagnostics import Diagnostic
from mcptest.core.errors import FormatError
from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.core.value_class import Record
from mcptest.formats.yaml.quick import MAX_TEXT_BYTES, is_within_limits, read_quickly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.formats.yaml.full import KeySpot, Spots, ValueSpot

    Step = str | int

__all__ = [
    "NOT_JSON",
    "Document",
    "Place",
    "Places",
    "check_size",
    "locate",
    "read_document",
    "read_json",
]


_LINE_BREAK = r"\r\n|\n|\r"
_JSON_TOKEN = rf'{_LINE_BREAK}|"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{{}},]|[^\s"\[\]{{}},:]+'
_NOWHERE: tuple[None, ValueSpot] = (None, (0, 0, 0, 1, "collection"))


class Document(Record):
    """The content of a file, as dicts with string keys, lists, strings, numbers, bools and None.

    `starts` has the lines of the items of each list, by the list's `id`; it is valid as
    long as `value` is not changed.
    """

    file: str
    text: str
    value: object
    starts: dict[int, list[int]]

    def item_line(self, sequence: list[object], index: int) -> int:
        """The line, from 1, where an item of a list of this document starts."""
        lines = self._known_lines(sequence)
        return lines[index] if -len(lines) <= index < len(lines) else 1

    def item_lines(self, sequence: list[object]) -> list[int]:
        """The lines where the items of a list of this document start."""
        return self._known_lines(sequence) or [1] * len(sequence)

    def _known_lines(self, sequence: list[object]) -> list[int]:
        if not self.starts:
            self.starts.update(_item_lines(self))
        return self.starts.get(id(sequence), [])


def read_document(text: str, file: str) -> Document:
    """Return the document in `text`; FormatError with all its mistakes if there are any."""
    check_size(text, file)
    value = read_json(text.removeprefix("\ufeff"))
    if value is not NOT_JSON:
        return Document(file=file, text=text, value=value, starts={})
    found = read_quickly(text)
    if found is None:
        # PyYAML takes longer to import than the rest of a run of one test.
        from mcptest.formats.yaml.full import read_fully  # noqa: PLC0415

        found = read_fully(text, file)
    return Document(file=file, text=text, value=found[0], starts=found[1])


def check_size(text: str, file: str) -> None:
    """FormatError if a file is too large to be read."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT_BYTES:
        message = f"the file has {size:,} bytes (limit {MAX_TEXT_BYTES:,})"
        raise FormatError([Diagnostic(code="F004", file=file, message=message)])


class Place(Record):
    """A place in a file; lines and columns count from 1."""

    line: int
    column: int
    width: int
    source: str


class Places:
    """The places of the keys and values of a document.

    A path that leads nowhere is answered with the nearest place on the way to it.
    """

    def __init__(self, text: str, holder: list[Any], spots: Spots) -> None:
        self._lines = re.split(_LINE_BREAK, text.removeprefix("\ufeff"))
        self._holder = holder
        self._spots = spots

    def key(self, steps: tuple[Step, ...]) -> Place:
        """The key at the end of a path, or the item if it is one of a list."""
        key, value, _ = self._find(steps)
        if key is None:
            return self._span(value)
        line, column, width = key
        return self._place(line, column, width)

    def value(self, steps: tuple[Step, ...], offset: int = 0, width: int = 0) -> Place:
        """The value at the end of a path, or `width` characters of its text from `offset` on.

        Text with escapes or on several lines is only pointed at as a whole.
        """
        _, value, is_found = self._find(steps)
        if not is_found:
            return self.key(steps)
        line, column, last_line, end, style = value
        quotes = 1 if style in ("'", '"') else 0
        raw = self._line(line)[column + quotes : end - quotes]
        # With escapes, and in blocks, positions in the string differ from those in the file.
        is_opaque = "\\" in raw if style == '"' else "''" in raw if style == "'" else style != ""
        if not (offset or width) or line != last_line or is_opaque:
            return self._span(value)
        offset = max(0, min(offset, len(raw)))
        return self._place(line, column + quotes + offset, width or len(raw) - offset)

    def _find(self, steps: tuple[Step, ...]) -> tuple[KeySpot | None, ValueSpot, bool]:
        node: Any = self._holder
        key, value = self._spots.get(id(node), {}).get(0, _NOWHERE)
        node = node[0] if node else None
        for step in steps:
            if isinstance(step, int) and step < 0 and isinstance(node, list):
                step += len(node)
            spot = self._spots.get(id(node), {}).get(step)
            if spot is None:
                return key, value, False
            key, value = spot
            node = node[step]
        return key, value, True

    def _span(self, value: ValueSpot) -> Place:
        line, column, last_line, end, style = value
        if style == "collection":
            return self._place(line, column, 1)
        if last_line > line:
            end = len(self._line(line).rstrip())
        return self._place(line, column, end - column)

    def _place(self, line: int, column: int, width: int) -> Place:
        if line >= len(self._lines):
            line, column = len(self._lines) - 1, len(self._lines[-1])
        return Place(
            line=line + 1, column=column + 1, width=max(1, width), source=self._lines[line]
        )

    def _line(self, number: int) -> str:
        # libyaml puts a value that is missing at the end on a line after the last.
        return self._lines[number] if number < len(self._lines) else ""


def locate(document: Document) -> Places:
    """The places of a document's keys and values; reads its text again."""
    # Only called when there is a mistake or a failure to show; see read_document.
    from mcptest.formats.yaml.full import spots_of  # noqa: PLC0415

    return Places(document.text, *spots_of(document.text))


def _item_lines(document: Document) -> dict[int, list[int]]:
    """The lines of all items of a document that was read as JSON, without PyYAML."""
    lines: list[list[int]] = []  # of the items of each list, in the order of opening brackets
    within: list[list[int] | None] = []  # None for an object
    line, starts_item = 1, False
    for token in re.finditer(_JSON_TOKEN, document.text):
        first = token[0][0]
        if first in "\r\n":
            line += 1
        elif first == ",":
            starts_item = within[-1] is not None
        elif first in "]}":
            within.pop()
            starts_item = False
        else:
            if starts_item and within[-1] is not None:
                within[-1].append(line)
            starts_item = first == "["
            if first == "[":
                lines.append([])
            if first in "[{":
                within.append(lines[-1] if first == "[" else None)
    return dict(zip(map(id, _lists_within(document.value)), lines, strict=True))


def _lists_within(value: object) -> Iterator[list[object]]:
    """All lists in a value, in the order in which they are written."""
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            yield node
            pending += reversed(node)
        elif isinstance(node, dict):
            pending += reversed(node.values())


# JSON is read by the JSON parser: YAML parsers have problems with tabs, surrogate pairs and long
# keys. Duplicate keys, numbers out of range and lone surrogates are left to the YAML reader, which
# reports their place.

NOT_JSON = object()


def read_json(text: str) -> object:
    """Return the value of a JSON object or array; `NOT_JSON` for anything else."""
    if not text.lstrip(" \t\r\n").startswith(("[", "{")):
        return NOT_JSON
    try:
        value = parse_json(text)
    except NotJsonError:
        return NOT_JSON
    if not is_within_limits(value):
        return NOT_JSON
    has_escapes = "\\ud" in text or "\\uD" in text
    try:
        # Only a lone surrogate cannot be encoded.
        (dump_json(value) if has_escapes else text).encode("utf-8")
    except UnicodeEncodeError:
        return NOT_JSON
    return value
