"""JSON inside a text, with the places of its values: also behind words, cut off or in pieces."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Leaf", "json_in", "unescaped"]

# What has a backslash before it is no quote that begins a text, else a text of such quotes
# would be gone through once for each.
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)"|\\.|([{}\[\],:])|([\w.+-]++)', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_MEANT = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
# Deeper ones are read as if they stood side by side.
_MAX_DEPTH = 200


class Leaf(str):
    """A text or a number inside JSON, as it is meant; it knows where it is written."""

    __slots__ = ("_offsets", "end", "is_bare", "start")

    start: int
    end: int
    is_bare: bool
    _offsets: list[int] | None

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of it is written."""
        if self._offsets is None:
            return self.start + start, self.start + end
        return self.start + self._offsets[start], self.start + self._offsets[end]


def _leaf(written: str, start: int, *, is_bare: bool) -> Leaf:
    text, offsets = (written, None) if is_bare else unescaped(written)
    leaf = Leaf(text)
    leaf.start, leaf.end = start, start + len(written)
    leaf.is_bare, leaf._offsets = is_bare, offsets
    return leaf


def unescaped(written: str) -> tuple[str, list[int] | None]:
    """What a text in JSON means, and where each of its characters is written."""
    if "\\" not in written:
        return written, None
    pieces: list[str] = []
    offsets: list[int] = []
    done = 0
    for found in _ESCAPE.finditer(written):
        pieces.append(written[done : found.start()])
        offsets += range(done, found.start() + 1)
        pieces.append(chr(int(found[1], 16)) if found[1] else _MEANT.get(found[2], found[2]))
        done = found.end()
    pieces.append(written[done:])
    return "".join(pieces), [*offsets, *range(done, len(written) + 1)]


def json_in(text: str) -> list[Any]:
    """The objects and lists in a text, with leaves in them; what is no JSON is passed over."""
    reader = _Reader()
    for found in _TOKEN.finditer(text):
        if found[1] is not None:
            reader.take(_leaf(found[1], found.start(1), is_bare=False))
        elif found[3] is not None:
            reader.take(_leaf(found[3], found.start(3), is_bare=True))
        elif found[2] is not None:
            reader.mark(found[2])
    return reader.roots


class _Reader:
    """Puts tokens together."""

    def __init__(self) -> None:
        self.roots: list[Any] = []
        self._open: list[dict[str, Any] | list[Any]] = []
        self._key: list[str | None] = []
        self._last: Leaf | None = None

    def mark(self, mark: str) -> None:
        """A mark between values."""
        if mark in "{[":
            opened: dict[str, Any] | list[Any] = {} if mark == "{" else []
            if len(self._open) < _MAX_DEPTH:
                self._put(opened)
                self._open.append(opened)
                self._key.append(None)
        elif mark in "}]":
            if self._open:
                self._open.pop()
                self._key.pop()
        elif mark == ":" and self._open and self._last is not None:
            self._key[-1] = self._last
        elif mark == "," and self._open:
            self._key[-1] = None
        self._last = None

    def take(self, leaf: Leaf) -> None:
        """A text or a number: a value, unless a colon follows."""
        self._last = leaf
        if self._open and (isinstance(self._open[-1], list) or self._key[-1] is not None):
            self._put(leaf)

    def _put(self, value: Any) -> None:
        if not self._open:
            self.roots.append(value)
            return
        holder = self._open[-1]
        if isinstance(holder, list):
            holder.append(value)
            return
        key = self._key[-1] or ""
        # None is lost, also when a key stands twice; a number in a key means nothing.
        holder[f"{key} {len(holder)}" if key in holder else key] = value
