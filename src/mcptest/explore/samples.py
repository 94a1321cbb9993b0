"""Arguments made up from a schema: what its author gave as an example, else something fitting.

Nothing is random, so the same schema always gives the same arguments.
"""

from __future__ import annotations

from mcptest.core.strict_json import dump_json
from mcptest.explore.schema import branches, properties_of, required_of, resolved
from mcptest.matching.regex import sample_match

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.explore.schema import Schema

__all__ = ["is_fit_to_write", "sample_arguments", "sample_text"]

_MAX_DEPTH = 8
_MAX_VALUE_CHARS = 2_000
_MAX_ITEMS = 20

_FORMATS = {
    "date-time": "2025-01-01T12:00:00Z",
    "date": "2025-01-01",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "email": "someone@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uri-reference": "/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "regex": "a",
    "json-pointer": "/a",
}

# What a property is often called, and a value that such properties often take.
_NAMES = (
    ("timezone", "UTC"),
    ("time_zone", "UTC"),
    ("email", "someone@example.com"),
    ("url", "https://example.com/"),
    ("uri", "https://example.com/"),
    ("path", "."),
    ("directory", "."),
    ("folder", "."),
    ("date", "2025-01-01"),
    ("time", "12:00"),
    ("language", "en"),
    ("locale", "en"),
    ("currency", "EUR"),
    ("country", "DE"),
    ("city", "Berlin"),
)
_COUNTS = frozenset(["count", "index", "limit", "number", "offset", "page", "size", "year"])


def sample_arguments(schema: object) -> dict[str, Any]:
    """Arguments for a tool with this input schema: those that are required."""
    root = schema if isinstance(schema, dict) else {}
    return _object(resolved(root, root), root, 0)


def sample_text(name: str) -> str:
    """A text for something of this name, of which nothing else is known."""
    folded = name.casefold()
    if folded == "id" or name.endswith(("Id", "ID", "_id", "-id")) or folded in _COUNTS:
        return "1"
    return next((value for word, value in _NAMES if word in folded), "example")


def is_fit_to_write(value: object) -> bool:
    """Is a value from a server small and plain enough to stand in a test file?"""
    try:
        text = dump_json(value)
        # Half a surrogate pair cannot be written to any file.
        text.encode()
    except (RecursionError, ValueError):
        return False
    # `${` would be taken for a value that another test has captured.
    return len(text) <= _MAX_VALUE_CHARS and _depth(value) <= _MAX_DEPTH and "${" not in text


def _depth(value: object) -> int:
    inner: list[object] = []
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, list):
        inner = value
    return 1 + max(map(_depth, inner), default=0) if inner else 0


def _sample(schema: object, root: Schema, name: str, depth: int) -> object:
    outer = resolved(schema, root)
    given = _given(outer)
    if given is not None:
        return given[0]
    found = list(branches(outer, root))
    # Null is allowed by many and meant by few.
    branch = next((each for each in found if each.get("type") != "null"), None)
    if branch is None:
        return None
    given = _given(branch)
    return given[0] if given is not None else _typed(branch, root, name, depth)


def _given(schema: Schema) -> tuple[object] | None:
    """A value that the schema itself brings, in a tuple: it may be null."""
    candidates = [schema[key] for key in ("const", "default") if key in schema]
    for key in ("examples", "enum"):
        if isinstance(schema.get(key), list):
            candidates += schema[key][:1]
    if "example" in schema:
        candidates.append(schema["example"])
    return next(((value,) for value in candidates if is_fit_to_write(value)), None)


def _typed(schema: Schema, root: Schema, name: str, depth: int) -> object:
    kind = schema.get("type")
    if kind == "object" or (not isinstance(kind, str) and properties_of(schema)):
        return _object(schema, root, depth)
    if kind == "array":
        return _array(schema, root, name, depth)
    if kind in ("integer", "number"):
        return _number(schema, whole=kind == "integer")
    if kind == "boolean":
        return False
    return _text(schema, name)


def _object(schema: Schema, root: Schema, depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        return {}
    known = properties_of(schema)
    return {
        name: _sample(known.get(name), root, name, depth + 1)
        for name in required_of(schema)[:_MAX_ITEMS]
        if is_fit_to_write(name)
    }


def _array(schema: Schema, root: Schema, name: str, depth: int) -> list[object]:
    least, most = _whole(schema, "minItems", 1), _whole(schema, "maxItems", _MAX_ITEMS)
    if depth > _MAX_DEPTH:
        return []
    count = min(max(least, 1), most, _MAX_ITEMS)
    return [_sample(schema.get("items"), root, name, depth + 1) for _ in range(count)]


def _number(schema: Schema, *, whole: bool) -> int | float:
    """1, or the nearest number that the bounds allow."""
    value: int | float = 1
    for key, step in (("minimum", 0), ("exclusiveMinimum", 1)):
        if (bound := _bound(schema, key)) is not None and value < bound + step:
            value = bound + step
    for key, step in (("maximum", 0), ("exclusiveMaximum", 1)):
        if (bound := _bound(schema, key)) is not None and value > bound - step:
            value = bound - step if whole or not step else _between(schema, bound)
    factor = _bound(schema, "multipleOf")
    if factor:
        value = factor * -(-value // factor)
    is_whole = whole or (isinstance(value, float) and value.is_integer())
    return int(-(-value // 1)) if is_whole else value


def _between(schema: Schema, most: float) -> float:
    """A number just below an exclusive maximum, above whatever the minimum is."""
    least = _bound(schema, "minimum")
    if least is None:
        least = _bound(schema, "exclusiveMinimum")
    return (least + most) / 2 if least is not None else most - 1


def _bound(schema: Schema, key: str) -> int | float | None:
    value = schema.get(key)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return value if abs(value) < 1e15 else None


def _whole(schema: Schema, key: str, default: int) -> int:
    value = schema.get(key)
    return value if type(value) is int and value >= 0 else default


def _text(schema: Schema, name: str) -> str:
    pattern, form = schema.get("pattern"), schema.get("format")
    if isinstance(form, str) and form in _FORMATS:
        return _FORMATS[form]
    made = sample_match(pattern) if isinstance(pattern, str) else None
    text = made if made is not None else sample_text(name)
    if made is None:
        most = _whole(schema, "maxLength", _MAX_VALUE_CHARS)
        least = min(_whole(schema, "minLength", 0), _MAX_VALUE_CHARS)
        text = text.ljust(least, "a")[:most]
    return text if is_fit_to_write(text) else "example"
