"""A text that a simple regular expression matches, made by walking through it.

Patterns come from servers, so none is ever searched for here: a hostile one could compute for
ever. What the walk does not know (look-around, back references) gives None.
"""

from __future__ import annotations

__all__ = ["sample_of"]

_MAX_CHARS = 500
_CLASSES = {"d": "1", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a"}
_LITERALS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_ANCHORS = frozenset("bBAZz")


def sample_of(pattern: str) -> str | None:
    """A short text that the pattern matches, or None when it is beyond this walk."""
    walk = _Walk(pattern)
    try:
        text = walk.alternatives()
    except (_BeyondError, IndexError, ValueError):
        return None
    return text if walk.at == len(pattern) and len(text) <= _MAX_CHARS else None


class _BeyondError(Exception):
    """Something that this walk does not know."""


class _Walk:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.at = 0
        self._depth = 0

    def _peek(self) -> str:
        return self._pattern[self.at : self.at + 1]

    def _next(self) -> str:
        char = self._pattern[self.at]
        self.at += 1
        return char

    def alternatives(self) -> str:
        """The sample of the first alternative; the others are walked through all the same."""
        self._depth += 1
        if self._depth > 50:
            raise _BeyondError
        first = self._sequence()
        while self._peek() == "|":
            self.at += 1
            self._sequence()
        self._depth -= 1
        return first

    def _sequence(self) -> str:
        text = ""
        while self._peek() and self._peek() not in "|)":
            atom = self._atom()
            text += atom * self._repeats()
            if len(text) > _MAX_CHARS:
                raise _BeyondError
        return text

    def _atom(self) -> str:
        char = self._next()
        if char in "^$":
            return ""
        if char == ".":
            return "a"
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        if char in "*+?{":
            raise _BeyondError
        return char

    def _group(self) -> str:
        if self._peek() == "?":
            self.at += 1
            kind = self._next()
            if kind in "P<" and self._peek() not in "=!":
                self.at = self._pattern.index(">", self.at) + 1
            elif kind != ":":
                raise _BeyondError
        text = self.alternatives()
        if self._next() != ")":
            raise _BeyondError
        return text

    def _escape(self) -> str:
        char = self._next()
        if char in _ANCHORS:
            return ""
        if char in _CLASSES:
            return _CLASSES[char]
        if char in _LITERALS:
            return _LITERALS[char]
        if char.isalnum():
            raise _BeyondError
        return char

    def _class(self) -> str:
        """One member of a character class."""
        if self._peek() == "^":
            return self._outside_class()
        first = ""
        while True:
            char = self._next()
            if char == "]" and first:
                return first
            if char == "[" and self._peek() == ":":
                raise _BeyondError
            first = first or (self._escape() if char == "\\" else char)

    def _outside_class(self) -> str:
        start = self.at
        self.at = self._pattern.index("]", start + 2) + 1
        refused = self._pattern[start : self.at]
        # Ranges and classes are not taken apart: a letter that is none of them is rare enough.
        if "\\w" in refused or "a-z" in refused or "\\S" in refused:
            raise _BeyondError
        return next((char for char in "a1-" if char not in refused), "_")

    def _repeats(self) -> int:
        mark = self._peek()
        count = 1
        if mark and mark in "*+?":
            self.at += 1
        elif mark == "{":
            end = self._pattern.index("}", self.at)
            count = int(self._pattern[self.at + 1 : end].split(",")[0] or "0")
            self.at = end + 1
        if self._peek() and self._peek() in "?+" and mark and mark in "*+?{":
            self.at += 1
        return min(count, _MAX_CHARS + 1)
