"""Regular expressions as authors of test files write them, and strings that match them.

Suites come from the JavaScript world. Syntax that Python spells differently is translated, and
syntax that means something else in Python gets its JavaScript meaning: `\\d`, `\\w` and `\\b` are
ASCII only, and `$` is the very end of the text.
"""

from __future__ import annotations

import re
import warnings

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "VERY_END",
    "Expression",
    "compile_expression",
    "compile_regex",
    "python_regex",
    "sample_match",
]

VERY_END = r"\Z"

_OUTSIDE = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": "[A-Za-z0-9_]",
    "W": "[^A-Za-z0-9_]",
    "b": r"(?a:\b)",
    "B": r"(?a:\B)",
}
_INSIDE = {"d": "0-9", "w": "A-Za-z0-9_"}
_SETS = frozenset("dDwWsS")


class Expression(Record):
    """A regular expression as it was written, and as it is searched with."""

    source: str
    compiled: re.Pattern[str]


def compile_expression(source: str) -> Expression:
    """The compiled expression. ValueError says what is wrong with it."""
    return Expression(source=source, compiled=compile_regex(source, end=VERY_END))


def compile_regex(source: str, flags: int = 0, *, end: str = "$") -> re.Pattern[str]:
    """The same, without its source; `end` is the meaning of `$`.

    In text that is still growing, such as stderr, a line break may follow the end.
    """
    with warnings.catch_warnings():
        # Python warns of syntax it may give another meaning one day; the author cannot care.
        warnings.simplefilter("ignore")
        spelt = python_regex(source, end)
        try:
            return re.compile(spelt, flags)
        except (re.error, OverflowError) as error:
            # A place in our spelling would mean nothing to the author.
            reason = str(error) if spelt == source else getattr(error, "msg", error)
            raise ValueError(f"is not a regular expression: {reason}") from None
        except RecursionError:
            raise ValueError("is not a regular expression: nested too deeply") from None


def python_regex(source: str, end: str = VERY_END) -> str:
    """The same expression in Python's spelling."""
    if not any(sign in source for sign in ("\\", "$", "(?<", "[^]", "[]")):
        return source
    # With (?m) every line has an end, in Python's words.
    end = "$" if re.search(r"\(\?[a-zA-Z]*m", source) else end
    written: list[str] = []
    at = 0
    while at < len(source):
        step = _SPELLINGS.get(source[at])
        piece, at = step(source, at, end) if step else (source[at], at + 1)
        written.append(piece)
    return "".join(written)


def _escape(source: str, at: int, _: str) -> tuple[str, int]:
    letter = source[at + 1 : at + 2]
    if letter in _OUTSIDE:
        return _OUTSIDE[letter], at + 2
    if letter == "k":
        name = re.compile(r"<(\w+)>").match(source, at + 2)
        if name:
            return f"(?P={name[1]})", name.end()
    return _code_point(source, at)


def _code_point(source: str, at: int) -> tuple[str, int]:
    """``\\u{1F600}`` and ``\\cJ``, which Python does not know; any other escape as it is."""
    found = re.compile(r"\\u\{([0-9a-fA-F]{1,6})\}").match(source, at)
    if found and int(found[1], 16) <= 0x10FFFF:
        return f"\\U{int(found[1], 16):08x}", found.end()
    found = re.compile(r"\\c([A-Za-z])").match(source, at)
    if found:
        return f"\\x{ord(found[1]) % 32:02x}", found.end()
    return source[at : at + 2], at + 2


def _group(source: str, at: int, _: str) -> tuple[str, int]:
    name = re.compile(r"\(\?<([^\W\d]\w*)>").match(source, at)
    return (f"(?P<{name[1]}>", name.end()) if name else ("(", at + 1)


def _dollar(_: str, at: int, end: str) -> tuple[str, int]:
    return end, at + 1


def _character_class(source: str, at: int, _: str) -> tuple[str, int]:
    """One `[…]`: `[^]` is any character, `[]` is none, and a set cannot end a range."""
    lead = "[^" if source.startswith("[^", at) else "["
    at += len(lead)
    if source.startswith("]", at):
        return (r"[\s\S]" if lead == "[^" else r"(?!)"), at + 1
    written = [lead]
    is_after_set = False
    while at < len(source) and source[at] != "]":
        if source[at] == "-" and (is_after_set or _is_before_set(source, at)):
            written.append(r"\-")
            at, is_after_set = at + 1, False
        elif source[at] == "\\":
            letter = source[at + 1 : at + 2]
            is_after_set = letter in _SETS
            piece, at = (_INSIDE[letter], at + 2) if letter in _INSIDE else _code_point(source, at)
            written.append(piece)
        else:
            written.append(source[at])
            at, is_after_set = at + 1, False
    # A class that is never closed is left for Python to complain about.
    return "".join(written) + source[at : at + 1], at + 1


def _is_before_set(source: str, at: int) -> bool:
    return source[at + 1 : at + 2] == "\\" and source[at + 2 : at + 3] in _SETS


_SPELLINGS: dict[str, Callable[[str, int, str], tuple[str, int]]] = {
    "\\": _escape,
    "$": _dollar,
    "(": _group,
    "[": _character_class,
}


_MAX_CHARS = 500
_CLASSES = {"d": "1", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a"}
_LITERALS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_ANCHORS = frozenset("bBAZz")


def sample_match(pattern: str) -> str | None:
    """A short string that the pattern matches, None if this walk cannot find one."""
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
        # Ranges and classes are not analysed.
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
