"""Read a long JSON text piece by piece: step into it, take whole values out of it.

Only the value that is being read, and a piece of text after it, are in memory. What is no JSON
raises `BrokenStreamError` with its place.
"""

from __future__ import annotations

import json

from mcptest.core.strict_json import NotJsonError, finite_float

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

__all__ = ["BrokenStreamError", "JsonStream"]

_SPACE = " \t\n\r"

# No single value of a capture is larger; whoever has one has given us another file.
_MAX_VALUE_CHARS = 512 * 1024 * 1024

# How far from the end of what has been read a mistake may be the end itself: `nul`, `\\u12`.
_CUT_CHARS = 12


# So much may follow a number that is not all of it.
_NUMBER_CHARS = 3


class BrokenStreamError(ValueError):
    """Text that is not the JSON it should be. Lines and columns count from 1."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


class JsonStream:
    """One JSON text. `read` gives the next piece of it, "" at the end."""

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self._text = ""
        self._at = 0
        self._has_ended = False
        # Where the text that is in memory begins.
        self._line, self._column = 1, 1
        self._decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=finite_float)

    def error(self, reason: str) -> BrokenStreamError:
        """A mistake at the place that has been reached."""
        return self._error_at(reason, self._at)

    def _error_at(self, reason: str, at: int) -> BrokenStreamError:
        lines = self._text.count("\n", 0, at)
        if lines:
            return BrokenStreamError(reason, self._line + lines, at - self._text.rfind("\n", 0, at))
        return BrokenStreamError(reason, self._line, self._column + at)

    def peek(self) -> str:
        """The next character that is not white space, "" at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, char: str) -> None:
        """Step over this character, which must come next."""
        found = self.peek()
        if found != char:
            seen = f"not {json.dumps(found)}" if found else "and the file ends here"
            raise self.error(f"expected {json.dumps(char)}, {seen}")
        self._at += 1

    def takes(self, char: str) -> bool:
        """Step over this character if it comes next."""
        if self.peek() != char:
            return False
        self._at += 1
        return True

    def value(self) -> object:
        """The whole value that comes next."""
        if not self.peek():
            raise self.error("expected a value, and the file ends here")
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._is_cut(error) or not self._more():
                    raise self._error_at(_lower(error.msg), error.pos) from None
            except RecursionError:
                raise self.error("nested too deep") from None
            except NotJsonError as error:
                raise self.error(error.reason) from None
            except ValueError:
                raise self.error("a number with more digits than can be read") from None
            else:
                # The end of what has been read may stand in the middle of a number: `1.`, `2e-`.
                if end + _NUMBER_CHARS < len(self._text) or not self._more():
                    self._at = end
                    return value

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        is_text = error.msg.startswith("Unterminated string")
        return is_text or error.pos >= len(self._text) - _CUT_CHARS

    def _more(self) -> bool:
        """Read on, at least as much as is being looked at; False when nothing is left."""
        if self._has_ended:
            return False
        wanted = len(self._text) - self._at
        if wanted > _MAX_VALUE_CHARS:
            raise self.error(f"a value of more than {_MAX_VALUE_CHARS:,} characters")
        pieces = []
        while wanted >= 0 and (piece := self._read()):
            pieces.append(piece)
            wanted -= len(piece)
        self._has_ended = wanted >= 0
        if not pieces:
            return False
        self._drop_read()
        self._text += "".join(pieces)
        return True

    def _drop_read(self) -> None:
        here = self._error_at("", self._at)
        self._line, self._column = here.line, here.column
        self._text, self._at = self._text[self._at :], 0


def _refuse_constant(name: str) -> NoReturn:
    raise NotJsonError(f"{name} is not JSON")


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
