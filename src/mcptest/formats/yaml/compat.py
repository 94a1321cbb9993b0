"""PyYAML's parser in Python, extended to accept tabs and tags on empty values.

Text goes in, events come out, as from libyaml. PyYAML knows no blank but the space;
here tabs are blanks wherever they do not indent a block, so between brackets and braces
they are welcome everywhere. libyaml stumbles over one after `1` and a line break, and
over a tag that ends where its empty value does: `[!!any]`.
"""

from __future__ import annotations

import re

from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner, ScannerError
from yaml.tokens import ScalarToken, TagToken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LONE_SURROGATE", "Shield", "TolerantParser"]


_BLANKS = re.compile(r"[ \t]*")
# A colon is part of a word unless a blank or, in flow, a bracket follows.
_WORD = re.compile(r"(?:[^\0 \t\r\n:]|:(?![\0 \t\r\n]))+")
_WORD_IN_FLOW = re.compile(r"(?:[^\0 \t\r\n:,\[\]{}]|:(?![\0 \t\r\n,\[\]{}]))+")
_BLOCK_HEADER = re.compile(r"(?:[+-]?[1-9]?|[1-9][+-])(?=[\0 \t\r\n#])")
_SHORT_TAG = r"(!!?)([0-9A-Za-z;/?:@&=+$_.~*'()-]+)"
_TAG = re.compile(_SHORT_TAG + r"(?=[ \t\r\n\0])")
_TAG_IN_FLOW = re.compile(_SHORT_TAG + r"(?=[ \t\r\n\0,\[\]{}])")


class TolerantParser(Reader, Scanner, Parser):
    """Gives the events of a text; `get_event` is the one to call."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    def scan_to_next_token(self) -> None:
        """Skip what is between tokens, except a tab that would indent a block."""
        while True:
            if self._is_tab_a_blank():
                self.forward(len(self._blanks()))
            super().scan_to_next_token()
            if self.peek() != "\t" or not self._is_tab_a_blank():
                return

    def _is_tab_a_blank(self) -> bool:
        return bool(self.flow_level) or not self.allow_simple_key

    def _blanks(self) -> str:
        found = _BLANKS.match(self.buffer, self.pointer)
        return found[0] if found else ""

    def scan_plain(self) -> ScalarToken:
        """An unquoted text; unlike PyYAML, it may hold `?` between brackets."""
        words: list[str] = []
        between: list[str] = []
        start = end = self.get_mark()
        pattern = _WORD_IN_FLOW if self.flow_level else _WORD
        while word := pattern.match(self.buffer, self.pointer):
            self.allow_simple_key = False
            words += [*between, word[0]]
            self.forward(len(word[0]))
            end = self.get_mark()
            between = self.scan_plain_spaces(self.indent + 1, start)
            is_outdented = not self.flow_level and self.column <= self.indent
            if not between or is_outdented or self.peek() == "#":
                break
        return ScalarToken("".join(words), True, start, end)

    def scan_plain_spaces(self, indent: int, start_mark: Any) -> list[str]:
        """Return what is between two words of a plain scalar: blanks, or folded line breaks."""
        blanks = self._blanks()
        self.forward(len(blanks))
        if self.peek() not in "\r\n":
            return [blanks] if blanks else []
        self._skip_break()
        self.allow_simple_key = True
        breaks: list[str] = []
        while True:
            is_marker = self.prefix(3) in ("---", "...") and self.peek(3) in "\0 \t\r\n"
            if self.column == 0 and is_marker:
                return []
            char = self.peek()
            if char in "\r\n":
                breaks.append("\n")
                self._skip_break()
                continue
            if char not in " \t":
                return breaks or [" "]
            if char == "\t" and not self.flow_level and self.column < indent:
                raise ScannerError(
                    "while scanning a plain scalar",
                    start_mark,
                    "found a tab character that violates indentation",
                    self.get_mark(),
                )
            self.forward()

    def _skip_break(self) -> None:
        self.forward(2 if self.prefix(2) == "\r\n" else 1)

    def scan_block_scalar_indicators(self, start_mark: Any) -> Any:
        found = _BLOCK_HEADER.match(self.buffer, self.pointer)
        if found is None:
            return super().scan_block_scalar_indicators(start_mark)
        self.forward(len(found[0]))
        chomping = {"+": True, "-": False}.get(found[0].strip("123456789"))
        return chomping, int(found[0].strip("+-") or 0) or None

    def scan_block_scalar_ignored_line(self, start_mark: Any) -> None:
        self.forward(len(self._blanks()))
        super().scan_block_scalar_ignored_line(start_mark)

    def scan_directive(self) -> Any:
        token = super().scan_directive()
        if token.name not in ("YAML", "TAG"):
            raise ScannerError(
                "while scanning a directive",
                token.start_mark,
                "found unknown directive name",
                token.end_mark,
            )
        return token

    def scan_tag(self) -> Any:
        pattern = _TAG_IN_FLOW if self.flow_level else _TAG
        short = pattern.match(self.buffer, self.pointer)
        if short is None:
            return super().scan_tag()
        start = self.get_mark()
        self.forward(len(short[0]))
        return TagToken((short[1], short[2]), start, self.get_mark())


# Some characters and escapes PyYAML would change or refuse. They are replaced by others of the
# same length that the file does not use, so that positions stay the same; `restore` reverts this
# in the scalars that were read.
#
# - `"\ud83d\ude00"` is one character to JSON. libyaml refuses each half, and the parser
#   in Python keeps two halves that cannot be encoded.
# - U+0085, U+2028 and U+2029 end a line in YAML 1.1 and are ordinary text in YAML 1.2.


LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("([\ud800-\udbff])([\udc00-\udfff])")
_OLD_BREAKS = "\x85\u2028\u2029"


def _escape_starting(digit: str) -> re.Pattern[str]:
    """The escapes of the code points `digit`800 to `digit`FFF; two backslashes start none."""
    return re.compile(
        rf"(?<!\\)((?:\\\\)*\\(?:u|U0000))([{digit}{digit.upper()}])(?=[89a-fA-F][0-9a-fA-F]{{2}})"
    )


_SURROGATE_ESCAPE = _escape_starting("d")
# Letters, so that upper and lower case survive. E800 to EFFF is for private use.
_STAND_INS = "ecbaf"


class Shield:
    """A text with replacements: `text` is for the parser, `restore` for the scalars it reads."""

    def __init__(self, text: str) -> None:
        self._digit = ""
        self._halves: dict[int, int] = {}
        self._breaks: dict[int, str] = {}
        if _SURROGATE_ESCAPE.search(text):
            self._digit = next((digit for digit in _STAND_INS if _is_unused(digit, text)), "")
        if self._digit:
            text = _swap("d", self._digit, text)
            first = _first_code(self._digit)
            self._halves = {first + offset: 0xD800 + offset for offset in range(0x800)}
        if any(char in text for char in _OLD_BREAKS):
            spare = (code for code in range(0xF0000, 0xFFFFE) if chr(code) not in text)
            self._breaks = {next(spare): char for char in _OLD_BREAKS}
            text = text.translate({ord(char): code for code, char in self._breaks.items()})
        self.text = text
        self.is_needed = bool(self._digit or self._breaks)

    def restore(self, text: str, style: str | None) -> str:
        """Return the scalar as written; a lone surrogate stays one."""
        text = text.translate(self._breaks)
        if not self._digit:
            return text
        if style != '"':
            return _swap(self._digit, "d", text)
        return _PAIR.sub(_joined, text.translate(self._halves))


def _first_code(digit: str) -> int:
    return int(digit, 16) * 0x1000 + 0x800


def _is_unused(digit: str, text: str) -> bool:
    first = _first_code(digit)
    raw = re.compile(f"[{chr(first)}-{chr(first + 0x7FF)}]")
    return not (raw.search(text) or _escape_starting(digit).search(text))


def _swap(old: str, new: str, text: str) -> str:
    return _escape_starting(old).sub(
        lambda match: match[1] + (new if match[2].islower() else new.upper()), text
    )


def _joined(pair: re.Match[str]) -> str:
    high, low = ord(pair[1]), ord(pair[2])
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
