"""JSON as RFC 8259 has it, and nothing more.

Python's `json` is lenient where a tester must not be: it takes NaN and
Infinity, turns 1e400 into infinity, lets the last of two equal keys win and
guesses encodings. Which `id` or `result` a server meant must never be a guess,
so all of that is refused here, with the reason and the place.
"""

from __future__ import annotations

import json

# The type stubs leave them out.
from json.encoder import (  # type: ignore[attr-defined]
    c_make_encoder,
    encode_basestring,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

__all__ = [
    "MAX_DEPTH",
    "NotJsonError",
    "dump_json",
    "finite_float",
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
        value = _decoded(text)
    except json.JSONDecodeError as error:
        raise _explained(error) from None
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


def _decoded(text: str) -> object:
    # What nearly every message is: one value from the first character to the last. Looking
    # for white space around it takes a third of the time of reading it.
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        end = -1
    return value if end == len(text) else _DECODER.decode(text)


def dump_json(value: object) -> str:
    """One line of JSON, as short as it gets, non-ASCII text as itself."""
    if type(value) is str:
        # An id, a key, a name: half of all that is asked for, and no more than its quotes.
        return encode_basestring(value)
    return "".join(_ENCODE(value, 0)) if _ENCODE else _ENCODER.encode(value)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotJsonError(f"the key {json.dumps(key)} stands twice in one object")
            seen.add(key)
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise NotJsonError(f"{name} is not JSON")


def finite_float(digits: str) -> float:
    """The number that these digits are; NotJsonError when no float is as large."""
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise NotJsonError(f"the number {digits[:40]} is too large")
    return number


def _explained(error: json.JSONDecodeError) -> NotJsonError:
    text, at = error.doc, error.pos
    if error.msg == "Extra data":
        return NotJsonError("something follows the end of the JSON value", at + 1)
    # Older Pythons point behind the comma and complain about what they find there.
    before = text[:at].rstrip()
    if text[at : at + 1] in ("]", "}") and before.endswith(","):
        return NotJsonError("a comma with nothing after it", len(before))
    if error.msg.startswith("Illegal trailing comma"):
        return NotJsonError("a comma with nothing after it", at + 1)
    return NotJsonError(error.msg[:1].lower() + error.msg[1:], at + 1)


def _may_be_deep(text: str) -> bool:
    """Are there enough brackets for it? Looking at the text is quicker than at the value."""
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
    """Whether a value has more levels of objects and arrays than this."""
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
    object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=finite_float
)
_SCAN = _DECODER.scan_once  # type: ignore[attr-defined]  # the stubs leave it out
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))

# What `encode` makes anew for every value, which takes as long as a small message.
_ENCODE = c_make_encoder and c_make_encoder(
    None, _ENCODER.default, encode_basestring, None, ":", ",", False, False, False
)
