"""Read a text that is JSON as JSON.

Text goes in; its value comes out, or `NOT_JSON`. YAML is said to contain JSON, but its
parsers stumble over tabs, surrogate pairs and long keys, so a text that is JSON is read
by the JSON parser. A key written twice, a number that does not fit and half a surrogate
pair are left to the YAML reader, which can say where they are.
"""

from __future__ import annotations

from mcptest.core.strict_json import NotJsonError, dump_json, parse_json
from mcptest.formats.limits import is_within_limits

__all__ = ["NOT_JSON", "read_json"]

NOT_JSON = object()


def read_json(text: str) -> object:
    """The value of a JSON object or array; `NOT_JSON` for anything else or when in doubt."""
    if not text.lstrip(" \t\r\n").startswith(("[", "{")):
        return NOT_JSON
    try:
        value = parse_json(text)
    except NotJsonError:
        return NOT_JSON
    if not is_within_limits(value) or not _is_encodable(text, value):
        return NOT_JSON
    return value


def _is_encodable(text: str, value: object) -> bool:
    """Whether no text in it has half a surrogate pair."""
    has_escapes = "\\ud" in text or "\\uD" in text
    try:
        (dump_json(value) if has_escapes else text).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
