"""A message as lines of readable JSON, with tags as a case file writes them.

A line consists of pieces, each with its kind, so that a page can colour it. What is short stays
on one line; long strings and long messages are cut, and say by how much.
"""

from __future__ import annotations

import json

from mcptest.core.text import plural, shorten, visible
from mcptest.matching.compare import Group
from mcptest.matching.patterns import PREFIX, Pattern
from mcptest.protocol.dialogue import Ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    PieceKind = Literal["", "key", "text", "tag", "cut"]
    Piece = tuple[PieceKind, str]
    # The depth of indentation, and the pieces.
    Line = tuple[int, tuple[Piece, ...]]

__all__ = ["INDENT", "is_tag", "json_lines", "line_text", "one_line", "split_tag"]

INDENT = "  "

WIDTH = 80
MAX_LINES = 2_000
MAX_TEXT_CHARS = 1_000
# Deeper than anything that is read from a file or a server.
MAX_DEPTH = 250


def json_lines(value: object) -> tuple[Line, ...]:
    """A compiled or plain value over as many lines as it takes to read it well."""
    lines = _lines(value, 0)
    rest = len(lines) - MAX_LINES
    if rest <= 0:
        return tuple(lines)
    more: Line = (0, (("cut", f"… {plural(rest, 'more line')}"),))
    return (*lines[:MAX_LINES], more)


def line_text(line: Line) -> str:
    """One line as text, indented."""
    depth, pieces = line
    return INDENT * depth + "".join(text for _, text in pieces)


def one_line(value: object, limit: int) -> str:
    """The value on one line of about `limit` characters."""
    flat = " ".join(line_text((0, pieces)) for _, pieces in _lines(value, 0)[:limit])
    return shorten(flat, limit)


def is_tag(value: object) -> bool:
    """True if this is a tag of case files, which is not JSON."""
    return isinstance(value, Ref) or (isinstance(value, Pattern) and value.source[:2] == "!!")


def split_tag(value: object) -> tuple[str, str]:
    """The name of a tag and its text, "" if it has none."""
    source = f"!!ref {value.name}" if isinstance(value, Ref) else getattr(value, "source", "!!")
    name, _, text = source[2:].partition(" ")
    return name, text


def _lines(value: object, depth: int, lead: int = 0) -> list[Line]:
    """The value from this depth on; a container that fits on a line is on one line.

    `lead` is the number of characters before it on its first line.
    """
    if isinstance(value, Group):
        value = value.source
    if not isinstance(value, (dict, list)) or not value or depth > MAX_DEPTH:
        return [(depth, tuple(_scalar(value, depth)))]
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    if isinstance(value, dict):
        inner = [_member(key, member, depth + 1) for key, member in value.items()]
    else:
        inner = [_lines(item, depth + 1) for item in value]
    if all(len(each) == 1 for each in inner):
        flat = _flat(opening, [each[0][1] for each in inner], closing)
        if len(INDENT) * depth + lead + sum(len(text) for _, text in flat) <= WIDTH:
            return [(depth, flat)]
    lines: list[Line] = [(depth, (("", opening),))]
    for number, each in enumerate(inner, 1):
        at, last = each[-1]
        each[-1] = (at, (*last, ("", ","))) if number < len(inner) else each[-1]
        lines += each
    return [*lines, (depth, (("", closing),))]


def _member(key: str, value: object, depth: int) -> list[Line]:
    kind: PieceKind = "tag" if key.startswith(PREFIX) else "key"
    name = _quoted(key)
    lines = _lines(value, depth, len(name) + 2)
    at, first = lines[0]
    lines[0] = (at, ((kind, name), ("", ": "), *first))
    return lines


def _flat(opening: str, inner: list[tuple[Piece, ...]], closing: str) -> tuple[Piece, ...]:
    room = " " if opening == "{" else ""
    pieces: list[Piece] = [("", f"{opening}{room}")]
    for number, each in enumerate(inner):
        pieces += [("", ", ")] if number else []
        pieces += each
    return (*pieces, ("", f"{room}{closing}"))


def _scalar(value: object, depth: int) -> Iterator[Piece]:
    if depth > MAX_DEPTH:
        yield "cut", "…"
    elif is_tag(value):
        name, text = split_tag(value)
        yield "tag", f"!!{visible(name)}"
        # A name needs no quotes; a regular expression may contain anything.
        if text:
            yield "", " "
            yield "tag", text if text.isidentifier() else _quoted_tag(text)
    elif isinstance(value, Pattern):
        yield "tag", _quoted(value.source)
    elif isinstance(value, str):
        yield "text", _quoted(value)
    else:
        # A file may hold what JSON has no type for, a date for example.
        yield "", visible(json.dumps(value, default=str))


def _quoted_tag(text: str) -> str:
    """The text of a tag; between single quotes a backslash is a plain character."""
    if "\\" in text and "'" not in text and visible(text) == text:
        return f"'{shorten(text, MAX_TEXT_CHARS)}'"
    return _quoted(text)


def _quoted(text: str) -> str:
    """A JSON string in which every character is visible, cut if it is very long."""
    rest = len(text) - MAX_TEXT_CHARS
    tail = f" … {plural(rest, 'more character')}" if rest > 0 else ""
    quoted = json.dumps(text[:MAX_TEXT_CHARS] + tail, ensure_ascii=False)
    if visible(quoted) == quoted:
        return quoted
    # JSON's own escapes, so that it stays JSON.
    return "".join(
        char if visible(char) == char else json.dumps(char).strip('"') for char in quoted
    )
