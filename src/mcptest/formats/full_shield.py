"""Carry through PyYAML what it would change or refuse: surrogate escapes, three line breaks.

The text of a file goes in; text of the same length comes out, in which every such
character or escape is another one that the file does not use. `restore` turns the
scalars that were read back. Since no length changes, every position stays true.

- `"\\ud83d\\ude00"` is one character to JSON. libyaml refuses each half, and the parser
  written in Python keeps two halves that nobody can encode.
- U+0085, U+2028 and U+2029 end a line in YAML 1.1 and are ordinary text in YAML 1.2.
"""

from __future__ import annotations

import re

__all__ = ["LONE_SURROGATE", "Shield"]

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
    """One text in disguise: `text` is for the parser, `restore` for what it reads."""

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
        """What a scalar really says; a half without its other half stays a surrogate."""
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
