"""Read `[...]` and `{...}` for the quick YAML reader.

The rest of a line, from its bracket on, goes in; the collection and the next unread
line come out, or None when anything is doubtful. Scalars must fit on one line, keys
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

__all__ = ["MAX_KEY", "NOTHING_MORE", "read_flow", "unescape"]

MAX_KEY = 1000  # libyaml takes no more than 1,024 characters as a key

NOTHING_MORE = re.compile(r" *(?: #.*)?")
_TOKEN = re.compile(
    r"""\ *(?:
        (?P<mark>[\[\]{},:])
      | "(?P<double>[^"\\]*)"
      | (?P<escaped>"(?:[^"\\]|\\.)*+")
      | '(?P<single>(?:[^']|'')*+)'
      | (?P<plain>(?:[\w$/~(]|[-+.](?=\w))[^,\[\]{}:\#"'?\\&*!|>%@`]*+)
    )""",
    re.VERBOSE,
)

# What must come next: an item (or the end), a colon, a value, a comma (or the end).
_ITEM, _COLON, _VALUE, _COMMA = range(4)


def read_flow(
    text: str, lines: list[str], after: int, starts: dict[int, list[int]], room: int
) -> tuple[object, int] | None:
    """The collection that starts `text`, and the index of the line after it.

    `after` is the index of the line after `text`; `starts` gets the lines of the items;
    `room` is how deep it may nest.
    """
    flow = _Flow(starts, room)
    try:
        while (at := flow.read_line(text, after)) is None:
            # Padded, so that a comment at the start of a line has its space before it.
            text = " " + lines[after]
            after += 1
    except (IndexError, ValueError):
        return None
    return (flow.root, after) if NOTHING_MORE.fullmatch(text, at) else None


class _Flow:
    """A collection while it is being read; ValueError is doubt of any kind."""

    def __init__(self, starts: dict[int, list[int]], room: int) -> None:
        self.root: Any = None
        self._starts = starts
        self._room = room
        self._open: list[tuple[Any, str]] = []
        self._node: Any = None
        self._key = ""
        self._is_key_plain = False
        self._next = _VALUE

    def read_line(self, text: str, line: int) -> int | None:
        """Where the collection ends in `text`, or None when it goes on in the next line."""
        at = key_at = 0
        while match := _TOKEN.match(text, at):
            start, at = at, match.end()
            kind = str(match.lastgroup)
            if kind == "mark":
                mark = match["mark"]
                if mark == ":":
                    self._colon(text[at : at + 1], at - key_at)
                elif self._punctuation(mark, line):
                    return at
                continue
            if isinstance(self._node, dict) and self._next == _ITEM:
                key_at = start
                self._start_entry(_text_of(match, kind), kind)
            elif kind == "plain":
                self._add(resolve_plain(match["plain"].rstrip(" ")), line)
            else:
                self._add(_text_of(match, kind), line)
        if self._next == _COLON or not NOTHING_MORE.fullmatch(text, at):
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

    def _start_entry(self, key: str, kind: str) -> None:
        if key in self._node:
            raise ValueError
        self._key, self._next = key, _COLON
        self._is_key_plain = kind == "plain"

    def _colon(self, following: str, width: int) -> None:
        # `{a:1}` is the one word "a:1", while `{"a":1}` is an entry.
        is_word = self._is_key_plain and following not in ("", " ")
        if self._next != _COLON or width > MAX_KEY or is_word:
            raise ValueError
        self._next = _VALUE

    def _add(self, value: object, line: int) -> None:
        if isinstance(self._node, list) and self._next == _ITEM:
            self._node.append(value)
            self._starts[id(self._node)].append(line)
        elif isinstance(self._node, dict) and self._next == _VALUE:
            self._node[self._key] = value
        else:
            raise ValueError
        self._next = _COMMA


def _text_of(match: re.Match[str], kind: str) -> str:
    if kind == "escaped":
        return unescape(match["escaped"])[0]
    if kind == "single":
        return match["single"].replace("''", "'")
    return match[kind].rstrip(" ") if kind == "plain" else match[kind]


def unescape(text: str) -> tuple[str, int]:
    """The string that starts `text` with its quote, and where it ends; ValueError if in doubt.

    JSON's escapes mean the same in YAML, save for surrogates; YAML has more of them.
    """
    if "\\ud" in text or "\\uD" in text:
        raise ValueError
    value, end = scanstring(text, 1)
    return str(value), int(end)
