"""JSON as RFC 8259 has it, and nothing more.

Python's `json` is lenient where a tester must not be: it takes NaN and
Infinity, turns 1e400 into infinity, lets the last of two equal keys win and
guesses encodings. Which `id` or `result` a server meant must never be a guess,
so all of that is refused here, with the reason and the place.
"""

from __future__ import annotations

import json
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn, TypeVar

    Value = TypeVar("Value")

__all__ = [
    "MAX_DEPTH",
    "BrokenStreamError",
    "JsonStream",
    "NotJsonError",
    "dump_json",
    "is_deeper_than",
    "parse_json",
]


MAX_DEPTH = 200


class NotJsonError(ValueError):
    """Text that is not strict JSON; `column` counts characters from 1, 0 when unknown."""

    def __init__(self, reason: str, column: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column


def parse_json(text: str, max_depth: int = MAX_DEPTH) -> object:
    """The value of a JSON text, or `NotJsonError` with the reason."""
    try:
        value = _decode(text)
    except json.JSONDecodeError as error:
        raise _explain(error) from None
    except RecursionError:
        raise NotJsonError(f"nested deeper than {max_depth} levels") from None
    except NotJsonError:
        raise
    except ValueError:
        # CPython refuses to convert integers of more than 4,300 digits.
        raise NotJsonError("a number with more digits than can be read (limit 4,300)") from None
    # Each level takes two brackets, so most messages are too short to be too deep.
    if len(text) > 2 * max_depth and _may_be_deep(text) and is_deeper_than(value, max_depth):
        raise NotJsonError(f"nested deeper than {max_depth} levels")
    return value


def _decode(text: str) -> object:
    # Nearly every message is one value without white space around it, and looking for white space
    # takes a third of the time of parsing.
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        end = -1
    return value if end == len(text) else _DECODER.decode(text)


def dump_json(value: object) -> str:
    """One line of compact JSON; characters that are not ASCII are not escaped."""
    if type(value) is str:
        # Half of all values are ids, keys and names.
        return encode_basestring(value)
    return "".join(_ENCODE(value, 0)) if _ENCODE else _ENCODER.encode(value)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotJsonError(f"the key {json.dumps(key)} occurs twice in one object")
            seen.add(key)
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise NotJsonError(f"{name} is not JSON")


def _finite_float(digits: str) -> float:
    """The number with these digits; NotJsonError if it is too large for a float."""
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise NotJsonError(f"the number {digits[:40]} is too large")
    return number


def _explain(error: json.JSONDecodeError) -> NotJsonError:
    text, at = error.doc, error.pos
    if error.msg == "Extra data":
        return NotJsonError("something follows the end of the JSON value", at + 1)
    # Older versions of Python report the place after the comma.
    before = text[:at].rstrip()
    if text[at : at + 1] in ("]", "}") and before.endswith(","):
        return NotJsonError("a comma with nothing after it", len(before))
    if error.msg.startswith("Illegal trailing comma"):
        return NotJsonError("a comma with nothing after it", at + 1)
    # Some reasons end with "at": Python writes the place after them.
    reason = error.msg.removesuffix(" starting at").removesuffix(" at")
    return NotJsonError(reason[:1].lower() + reason[1:], at + 1)


def _may_be_deep(text: str) -> bool:
    """True if there are enough brackets: searching the text is faster than walking the value."""
    found = 0
    for bracket in "[{":
        at = text.find(bracket)
        while at >= 0:
            found += 1
            if found > MAX_DEPTH:
                return True
            at = text.find(bracket, at + 1)
    return False


def is_deeper_than(value: object, limit: int) -> bool:
    """True if a value has more levels of objects and arrays than this."""
    level = [value]
    for _ in range(limit):
        inner: list[object] = []
        for node in level:
            if isinstance(node, dict):
                inner += node.values()
            elif isinstance(node, list):
                inner += node
        level = inner
    return any(isinstance(node, (dict, list)) for node in level)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite_float
)
_SCAN = _DECODER.scan_once  # type: ignore[attr-defined]  # the stubs leave it out
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))

# Made once: `encode` makes it for every value, which takes as long as a small message.
_ENCODE = c_make_encoder and c_make_encoder(
    None, _ENCODER.default, encode_basestring, None, ":", ",", False, False, False
)


# Long JSON texts, read piece by piece. Only the current value and a piece of text after it are in
# memory. Invalid JSON raises `BrokenStreamError` with the place.


_SPACE = " \t\n\r"

# A larger value is not part of a capture: it must be another kind of file.
_MAX_VALUE_CHARS = 512 * 1024 * 1024

# A mistake this close to the end of the text read so far may be the end itself: `nul`, `\\u12`.
_CUT_CHARS = 12

# How much of a number may follow what was read of it.
_NUMBER_CHARS = 3


class BrokenStreamError(ValueError):
    """Invalid JSON. Lines and columns count from 1."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


class JsonStream:
    """One JSON text. `read` returns the next piece of it, "" at the end."""

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self._text = ""
        self._at = 0
        self._has_ended = False
        # The place where the text in memory begins.
        self._line, self._column = 1, 1
        self._decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite_float)

    def error(self, reason: str) -> BrokenStreamError:
        """An error at the current place."""
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
        """Skip this character, which must be next."""
        found = self.peek()
        if found != char:
            seen = f"not {json.dumps(found)}" if found else "and the file ends here"
            raise self.error(f"expected {json.dumps(char)}, {seen}")
        self._at += 1

    def takes(self, char: str) -> bool:
        """Skip this character if it is next."""
        if self.peek() != char:
            return False
        self._at += 1
        return True

    def value(self) -> object:
        """The next value."""
        if not self.peek():
            raise self.error("expected a value, and the file ends here")
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                is_cut = error.pos >= len(self._text) - _CUT_CHARS
                is_cut = is_cut or error.msg.startswith("Unterminated string")
                if not is_cut or not self._more():
                    raise self._error_at(error.msg[:1].lower() + error.msg[1:], error.pos) from None
            except RecursionError:
                raise self.error("nested too deep") from None
            except NotJsonError as error:
                raise self.error(error.reason) from None
            except ValueError:
                raise self.error("a number with more digits than can be read") from None
            else:
                # The end of what has been read may be in the middle of a number: `1.`, `2e-`.
                if end + _NUMBER_CHARS < len(self._text) or not self._more():
                    self._at = end
                    return value

    def _more(self) -> bool:
        """Read at least as much again as is in memory; False at the end."""
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
        # What has been read is dropped.
        here = self._error_at("", self._at)
        self._line, self._column = here.line, here.column
        self._text, self._at = self._text[self._at :] + "".join(pieces), 0
        return True
