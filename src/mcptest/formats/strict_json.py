"""Read a text that is JSON as JSON.

Text goes in; its value comes out, or `NOT_JSON`. YAML is said to contain JSON, but its
parsers stumble over tabs, surrogate pairs and long keys, so a text that is JSON is read
by the JSON parser. A key written twice, a number that does not fit and half a surrogate
pair are left to the YAML reader, which can say where they are.
"""

from __future__ import annotations

import json
import re

from mcptest.formats.limits import is_within_limits
from mcptest.formats.scalars import MAX_DIGITS, resolve_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["NOT_JSON", "read_json"]

NOT_JSON = object()
_COLLECTION = re.compile(r"[ \t\r\n]*[\[{]")


def read_json(text: str) -> object:
    """The value of a JSON object or array; `NOT_JSON` for anything else or when in doubt."""
    if not _COLLECTION.match(text):
        return NOT_JSON
    try:
        value = json.loads(
            text,
            object_pairs_hook=_mapping,
            parse_int=_integer,
            parse_float=resolve_plain,
            parse_constant=_refuse,
        )
    except (ValueError, RecursionError):
        return NOT_JSON
    if not is_within_limits(value) or not _is_encodable(text, value):
        return NOT_JSON
    return value


def _mapping(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("a key is written twice")
    return mapping


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError("too many digits")
    return int(text)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _is_encodable(text: str, value: object) -> bool:
    """Whether no text in it has half a surrogate pair."""
    has_escapes = "\\ud" in text or "\\uD" in text
    try:
        (json.dumps(value, ensure_ascii=False) if has_escapes else text).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
