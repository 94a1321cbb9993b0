"""Regular expressions as authors of test files write them, and strings that match them.

Test files come from the JavaScript world, so an expression means here what it means there without
the flag `u`, with these exceptions: a character beyond U+FFFF is one character, `\\u{1F600}` names
one, `(?i)` and Python's other groups work, and `\\p{…}` and look-behinds of varying length
are refused. Python's engine searches, because a search that takes too long can be stopped there.
"""

from __future__ import annotations

import re
import warnings

from mcptest.core.value_class import Record

__all__ = [
    "VERY_END",
    "Expression",
    "compile_expression",
    "compile_regex",
    "sample_match",
]

VERY_END = r"\Z"


class Expression(Record):
    """A regular expression as it was written, and as it is searched with."""

    source: str
    compiled: re.Pattern[str]


def compile_expression(source: str, *, from_go: bool = False) -> Expression:
    """The compiled expression. ValueError says what is wrong with it."""
    compiled = compile_regex(source, end=VERY_END, from_go=from_go)
    return Expression(source=source, compiled=compiled)


def compile_regex(
    source: str, flags: int = 0, *, end: str = "$", from_go: bool = False
) -> re.Pattern[str]:
    """The same, without its source; `end` is the meaning of `$`.

    In text that is still growing, such as stderr, a line break may follow the end. Contracts come
    from a tool written in Go (`from_go`), where `\\A` and `\\z` are the ends of the text.
    """
    with warnings.catch_warnings():
        # Python warns of syntax it may give another meaning one day; the author cannot care.
        warnings.simplefilter("ignore")
        spelt = source
        try:
            if any(sign in source for sign in "\\$.([{^"):
                spelt = _Translation(source, end, from_go).text()
            return re.compile(spelt, flags)
        except (re.error, OverflowError) as error:
            # A place in our spelling would mean nothing to the author.
            reason = str(error) if spelt == source else getattr(error, "msg", str(error))
            if "fixed-width" in reason:
                reason = "what a look-behind looks for must have one length in each alternative"
            raise ValueError(f"is not a regular expression: {reason}") from None
        except RecursionError:
            raise ValueError("is not a regular expression: nested too deeply") from None


_LINE_ENDS = r"\n\r\u2028\u2029"
_SPACES = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SETS = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACES}
_CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11}
_ANY = r"[\s\S]"

_GROUP_NAME = re.compile(r"\(\?P?<([^\s<>=!()][^\s<>()]*)>")
_GROUP_FLAGS = re.compile(r"\(\?([aiLmsux]*)(?:-([imsx]+))?([:)])")
_CONDITION = re.compile(r"\(\?\(\w+\)")
_COMMENT = re.compile(r"\(\?(?:#[^)]*|P=\w+)\)")
_COUNT = re.compile(r"\{\d+(?:,\d*)?\}")
_MAX_COUNT_CHARS = 30
_REFERENCE = re.compile(r"\\k<([^>]+)>")
_HEX = re.compile(r"\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\u\{([0-9a-fA-F]{1,6})\}")
_LOW_SURROGATE = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_OCTAL_OR_CONTROL = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?)|\\c([A-Za-z])")
# Only in a class, a digit or an underscore names one too.
_CLASS_CONTROL = re.compile(r"\\c([0-9_])")
_SKIPPED = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]?", re.DOTALL)


class _Group(Record):
    """A group that is open: where its text begins, and what ends with it."""

    opening: str
    start: int
    number: int
    flags: frozenset[str]
    alternatives: list[int]


class _Translation:
    """One walk through an expression, which writes it in Python's spelling."""

    def __init__(self, source: str, end: str, from_go: bool) -> None:
        self._source = source
        self._end = end
        self._from_go = from_go
        self._at = 0
        self._written: list[str] = []
        self._open: list[_Group] = []
        self._flags: frozenset[str] = frozenset()
        self._closed: set[int] = set()
        self._opened = 0
        # Escapes and classes hold no groups.
        bare = _SKIPPED.sub(lambda found: "-" * len(found[0]), source)
        groups = [found.start() for found in re.finditer(r"\((?!\?)|\(\?P?<(?![=!])", bare)]
        self._groups = len(groups)
        names = [_GROUP_NAME.match(source, at) for at in groups]
        self._numbers = {name[1]: at for at, name in enumerate(names, 1) if name}

    def text(self) -> str:
        """The expression in Python's spelling; re.error says what is wrong with it."""
        source = self._source
        while self._at < len(source):
            char = source[self._at]
            if char == "(":
                piece = self._group()
            elif char == "[":
                piece = self._character_class()
            elif char == "\\":
                piece = self._escape()
            else:
                piece = self._plain(char)
            self._written.append(piece)
        return "".join(self._written)

    def _plain(self, char: str) -> str:
        is_multiline = "m" in self._flags
        if char == "{" and (count := _COUNT.match(self._source, self._at)):
            self._at = count.end()
            if len(count[0]) > _MAX_COUNT_CHARS:
                raise re.error("the repetition number is too large")
            return count[0]
        self._at += 1
        if char == ")" and self._open:
            return self._close()
        if char == "|" and self._open:
            self._open[-1].alternatives.append(len(self._written))
        elif char == "{":
            return r"\{"
        elif char == ".":
            return _ANY if "s" in self._flags else f"[^{_LINE_ENDS}]"
        elif char == "^" and is_multiline:
            return f"(?<![^{_LINE_ENDS}])"
        elif char == "$":
            return f"(?![^{_LINE_ENDS}])" if is_multiline else self._end
        return char

    # Groups

    def _group(self) -> str:
        """The beginning of a group, or a whole one that holds no expression."""
        source, at = self._source, self._at
        if source.startswith("(?#", at) and source.find(")", at) < 0:
            raise re.error("missing ), unterminated comment")
        if whole := _COMMENT.match(source, at):
            self._at = whole.end()
            return whole[0]
        flags, number, opening = self._flags, 0, "("
        if found := _GROUP_FLAGS.match(source, at):
            opening = found[0]
            self._flags = (flags | set(found[1])) - set(found[2] or "")
            if found[3] == ")":
                self._at = found.end()
                return opening
        elif found := _CONDITION.match(source, at):
            opening = found[0]
        elif found := _GROUP_NAME.match(source, at):
            opening = f"(?P<{found[1]}>" if found[1].isidentifier() else "("
        elif found := re.compile(r"\(\?(?:[:=!>]|<[=!])").match(source, at):
            opening = found[0]
        self._at = found.end() if found else at + 1
        if opening == "(" or opening.startswith("(?P<"):
            self._opened = number = self._opened + 1
        start = len(self._written)
        group = _Group(opening=opening, start=start, number=number, flags=flags, alternatives=[])
        self._open.append(group)
        return opening

    def _close(self) -> str:
        group = self._open.pop()
        self._flags = group.flags
        self._closed.add(group.number)
        if group.opening not in ("(?<=", "(?<!") or not group.alternatives:
            return ")"
        # Python wants one length for the whole look-behind, JavaScript none at all: one
        # look-behind for each alternative is what is between them.
        ends = [*group.alternatives, len(self._written)]
        starts = [group.start + 1, *(at + 1 for at in group.alternatives)]
        parts = ["".join(self._written[a:b]) for a, b in zip(starts, ends, strict=True)]
        del self._written[group.start :]
        glue = "|" if group.opening == "(?<=" else ""
        return "(?:" + glue.join(f"{group.opening}{part})" for part in parts) + ")"

    # Escapes

    def _escape(self) -> str:
        source, at = self._source, self._at
        letter = source[at + 1 : at + 2]
        self._at = at + 2
        if letter.lower() in _SETS and letter:
            return f"[{'^' if letter.isupper() else ''}{_SETS[letter.lower()]}]"
        if letter == "b":
            return r"(?a:\b)"
        if letter == "B":
            # Python's own \B is not found in an empty text.
            return r"(?!(?a:\b))"
        if self._from_go and letter in ("A", "z"):
            return r"\A" if letter == "A" else r"\Z"
        if self._numbers and (name := _REFERENCE.match(source, at)):
            self._at = name.end()
            if name[1] not in self._numbers:
                raise re.error(f"no group has the name {name[1]!r}")
            return self._reference(self._numbers[name[1]])
        digits = re.compile(r"\\([1-9][0-9]{0,5})").match(source, at)
        if digits and int(digits[1]) <= self._groups:
            self._at = digits.end()
            return self._reference(int(digits[1]))
        self._at = at
        return re.escape(chr(self._character()))

    def _reference(self, number: int) -> str:
        """What a group has matched; nothing if it took no part."""
        if number not in self._closed:
            return "(?:)"
        if any(group.opening.startswith("(?<") for group in self._open if not group.number):
            return f"(?:\\{number})"
        return f"(?({number})\\{number}|)"

    def _character(self) -> int:
        """The code point of a character or an escape, outside and inside a class."""
        source, at = self._source, self._at
        char = source[at]
        letter = source[at + 1 : at + 2]
        self._at = at + 1
        if char != "\\":
            return ord(char)
        if not letter:
            raise re.error("bad escape (end of pattern)")
        if letter in "pP" and source[at + 2 : at + 3] == "{":
            raise re.error(
                rf"\{letter}{{…}} is not supported: list the characters, as in [A-Za-zÀ-ÿ]"
            )
        if found := _HEX.match(source, at):
            code = int(found[1] or found[2] or found[3], 16)
            if code > 0x10FFFF:
                raise re.error("there is no character beyond 10FFFF")
            self._at = found.end()
            low = _LOW_SURROGATE.match(source, self._at) if 0xD800 <= code < 0xDC00 else None
            if low:
                self._at = low.end()
                return 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
            return code
        if found := _OCTAL_OR_CONTROL.match(source, at):
            self._at = found.end()
            return int(found[1], 8) if found[1] else ord(found[2]) % 32
        if letter == "c":
            # Not a control character: the backslash is one itself.
            return ord("\\")
        self._at = at + 2
        if self._from_go and letter == "a":
            return 7
        return _CONTROLS.get(letter, ord(letter))

    # Classes

    def _character_class(self) -> str:
        """One `[…]`: `[^]` is any character, `[]` is none, and a set cannot end a range."""
        source = self._source
        is_negated = source.startswith("[^", self._at)
        self._at += 2 if is_negated else 1
        ranges: list[str] = []
        complements: list[str] = []
        while source[self._at : self._at + 1] not in ("]", ""):
            low = self._member(ranges, complements)
            if source[self._at : self._at + 1] != "-" or source[self._at + 1 : self._at + 2] == "]":
                ranges.append(low and _spell(low))
                continue
            self._at += 1
            if self._at >= len(source):
                break
            high = self._member(ranges, complements)
            if low and high:
                if high < low:
                    raise re.error(f"bad character range {low}-{high}")
                ranges.append(f"{_spell(low)}-{_spell(high)}")
            else:
                ranges += [_spell(each) for each in (low, "-", high) if each]
        if self._at >= len(source):
            raise re.error("a character class lacks its ]")
        self._at += 1
        listed = "".join(ranges)
        if not complements:
            if not listed:
                return _ANY if is_negated else "(?!)"
            return f"[{'^' if is_negated else ''}{listed}]"
        every = "|".join([*([f"[{listed}]"] if listed else []), *complements])
        return f"(?:(?!{every}){_ANY})" if is_negated else f"(?:{every})"

    def _member(self, ranges: list[str], complements: list[str]) -> str:
        """One character of a class; "" for a set, which goes to one of the lists."""
        source, at = self._source, self._at
        letter = source[at + 1 : at + 2] if source[at] == "\\" else ""
        if letter and letter in _SETS:
            ranges.append(_SETS[letter])
        elif letter and letter.lower() in _SETS:
            complements.append(f"[^{_SETS[letter.lower()]}]")
        elif letter == "b":
            self._at += 2
            return "\b"
        elif self._from_go and source.startswith("[:", at):
            raise re.error("[:name:] is not supported: list the characters, as in [A-Za-z]")
        elif control := _CLASS_CONTROL.match(source, at):
            self._at = control.end()
            return chr(ord(control[1]) % 32)
        else:
            return chr(self._character())
        self._at += 2
        return ""


def _spell(char: str) -> str:
    """A character inside a class."""
    return char if char.isalnum() else f"\\U{ord(char):08x}"


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
        """The sample of the first alternative; the others are only walked through."""
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
            start = self.at
            self.at = self._pattern.index("]", start + 2) + 1
            refused = self._pattern[start : self.at]
            # Ranges and classes are not analysed.
            if "\\w" in refused or "a-z" in refused or "\\S" in refused:
                raise _BeyondError
            return next((char for char in "a1-" if char not in refused), "_")
        first = ""
        while True:
            char = self._next()
            if char == "]" and first:
                return first
            if char == "[" and self._peek() == ":":
                raise _BeyondError
            first = first or (self._escape() if char == "\\" else char)

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
