"""Read `[...]` and `{...}` for the quick YAML reader.

The rest of a line, from its bracket on, goes in; the collection and the next unread
line come out; ValueError is doubt of any kind. Scalars must fit on one line, keys
must be scalars with their colon on the same line, every key needs a value. Anything
else is YAML too, and left to `mcptest.formats.full_yaml`.
"""

from __future__ import annotations

import re

# What the json module reads strings with; the type stubs leave it out.
from json.decoder import scanstring  # type: ignore[attr-defined]

from mcptest.formats.scalars import resolve_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["MAX_KEY", "is_nothing_more", "read_flow", "unescape"]

MAX_KEY = 1000  # libyaml takes no more than 1,024 characters as a key

# Compiled by `re` on first use: many files have no such collection, and start-up counts.
_TOKEN = r"""(?x)\ *(?:
    (?P<mark>[\[\]{},])
  | (?:
        "(?P<double>[^"\\]*)"
      | (?P<plain>(?:[\w$/~(]|[-+.](?=\w))[^,\[\]{}:\#"'?\\&*!|>%@`]*+)
      | (?P<other>"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+')
    )(?P<colon>\ *:)?
)"""

# What must come next: an item (or the end), a value, a comma (or the end).
_ITEM, _VALUE, _COMMA = range(3)


def read_flow(
    text: str, lines: list[str], after: int, starts: dict[int, list[int]], room: int
) -> tuple[object, int]:
    """The collection that starts `text`, and the index of the line after it.

    `after` is the index of the line after `text`; `starts` gets the lines of the items;
    `room` is how deep it may nest.
    """
    if text == "{}" and room > 0:  # by far the most frequent one
        return {}, after
    flow = _Flow(starts, room)
    while (at := flow.read_line(text, after)) is None:
        if after >= len(lines):
            raise ValueError
        # Padded, so that a comment at the start of a line has its space before it.
        text = " " + lines[after]
        after += 1
    if not is_nothing_more(text, at):
        raise ValueError
    return flow.root, after


class _Flow:
    """A collection while it is being read."""

    def __init__(self, starts: dict[int, list[int]], room: int) -> None:
        self.root: Any = None
        self._starts = starts
        self._room = room
        self._open: list[tuple[Any, str]] = []
        self._node: Any = None
        self._key = ""
        self._next = _VALUE
        self._token = re.compile(_TOKEN).match

    def read_line(self, text: str, line: int) -> int | None:
        """Where the collection ends in `text`, or None when it goes on in the next line."""
        at = 0
        while match := self._token(text, at):
            start, at = at, match.end()
            mark, double, plain, other, colon = match.groups()
            if mark:
                if self._punctuation(mark, line):
                    return at
            elif colon:
                # `{a:1}` is the one word "a:1", while `{"a":1}` is an entry.
                is_word = plain and text[at : at + 1] not in ("", " ")
                if is_word or at - start > MAX_KEY:
                    raise ValueError
                self._start_entry(_text_of(double, plain, other))
            elif plain:
                self._add(resolve_plain(plain.rstrip(" ")), line)
            else:
                self._add(_text_of(double, plain, other), line)
        if not is_nothing_more(text, at):
            raise ValueError
        return None

    def _punctuation(self, mark: str, line: int) -> bool:
        """Whether this mark ends the whole collection."""
        if mark == ",":
            if self._next != _COMMA:
                raise ValueError
            self._next = _ITEM
        elif mark in "[{":
            child: Any = [] if mark == "[" else {}
            if self._node is None:
                self.root = child
            else:
                self._add(child, line)
            self._enter(child)
        else:
            self._leave(list if mark == "]" else dict)
        return not self._open

    def _enter(self, child: Any) -> None:
        self._open.append((self._node, self._key))
        if len(self._open) > self._room:
            raise ValueError
        if isinstance(child, list):
            self._starts[id(child)] = []
        self._node, self._next = child, _ITEM

    def _leave(self, kind: type) -> None:
        if type(self._node) is not kind or self._next not in (_ITEM, _COMMA):
            raise ValueError
        self._node, self._key = self._open.pop()
        self._next = _COMMA

    def _start_entry(self, key: str) -> None:
        if type(self._node) is not dict or self._next != _ITEM or key in self._node:
            raise ValueError
        self._key, self._next = key, _VALUE

    def _add(self, value: object, line: int) -> None:
        if type(self._node) is dict and self._next == _VALUE:
            self._node[self._key] = value
        elif type(self._node) is list and self._next == _ITEM:
            self._node.append(value)
            self._starts[id(self._node)].append(line)
        else:
            raise ValueError
        self._next = _COMMA


def _text_of(double: str | None, plain: str | None, other: str | None) -> str:
    """The text of a scalar in double quotes without escapes, in none, or in others."""
    if double is not None:
        return double
    if plain is not None:
        return plain.rstrip(" ")
    other = str(other)
    return unescape(other)[0] if other[0] == '"' else other[1:-1].replace("''", "'")


def unescape(text: str) -> tuple[str, int]:
    """The string that starts `text` with its quote, and where it ends; ValueError if in doubt.

    JSON's escapes mean the same in YAML, save for surrogates; YAML has more of them.
    """
    if "\\ud" in text or "\\uD" in text:
        raise ValueError
    value, end = scanstring(text, 1)
    return str(value), int(end)


def is_nothing_more(text: str, at: int) -> bool:
    """Whether only spaces or a comment follow."""
    rest = text[at:].lstrip(" ")
    return not rest or (rest[0] == "#" and text[at] == " ")
