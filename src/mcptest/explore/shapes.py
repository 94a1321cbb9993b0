"""From an answer that was seen to an expectation of its shape.

What kind of thing came is kept; what it said is not, because that changes from call to call
and may hold what nobody wants in a file.
"""

from __future__ import annotations

from mcptest.matching.patterns import PREFIX
from mcptest.matching.values import json_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["answer_shape", "exactly"]

# Members that say what a thing is rather than what it holds.
_TELLING = frozenset(["type", "role", "mimeType", "uri", "isError"])
_MAX_TEXT = 300
_MAX_ITEMS = 20
_MAX_MEMBERS = 50
_MAX_DEPTH = 3

# The arrays in a result that hold the same kind of thing again and again.
_LISTS = frozenset(["content", "contents", "messages"])


def answer_shape(answer: dict[str, Any]) -> dict[str, object]:
    """What to expect of an answer like this one, beside its envelope."""
    error = answer.get("error")
    if isinstance(error, dict):
        return {"error": _written({key: _error_member(key, error[key]) for key in error})}
    return {"result": _result(answer.get("result"))}


def exactly(text: str) -> str:
    """An expectation of this very text, where there is one: `match:` means a pattern."""
    is_pattern = text[: len(PREFIX)].lower() == PREFIX or "${" in text
    if is_pattern or len(text) > _MAX_TEXT or _has_half_a_pair(text):
        return f"{PREFIX}type:string"
    return text


def _has_half_a_pair(text: str) -> bool:
    """JSON can hold half a surrogate pair, a file cannot."""
    return any("\ud800" <= char <= "\udfff" for char in text)


def _error_member(key: str, value: object) -> object:
    return value if key == "code" and type(value) is int else _type(value)


def _result(result: object) -> object:
    if not isinstance(result, dict):
        return _type(result)
    shape = {key: _member(key, value) for key, value in result.items()}
    return _written(shape)


def _member(key: str, value: object) -> object:
    if key in _LISTS and isinstance(value, list) and value:
        return _items(value)
    if key == "structuredContent" and isinstance(value, dict):
        return _structured(value, 0)
    return _telling(key, value)


def _telling(key: str, value: object) -> object:
    if key in _TELLING and isinstance(value, (str, bool)):
        return exactly(value) if isinstance(value, str) else value
    return _type(value)


def _items(items: list[Any]) -> object:
    """One item, or different ones, by position; many of a kind, however many there are."""
    shapes = [_item(item) for item in items[:_MAX_ITEMS]]
    if len(items) == 1 or (len(items) <= _MAX_ITEMS and len({str(each) for each in shapes}) > 1):
        return shapes
    if any(shape != shapes[0] for shape in shapes) or not isinstance(shapes[0], dict):
        return f"{PREFIX}type:array"
    return {f"{PREFIX}arrayElements": shapes[0]}


def _item(item: object) -> object:
    """A piece of content, a message or a resource: what it is, and the types of the rest."""
    if not isinstance(item, dict):
        return _type(item)
    shape: dict[str, object] = {}
    for key, value in item.items():
        is_inner = key in ("content", "resource") and isinstance(value, dict)
        shape[key] = _item(value) if is_inner else _telling(key, value)
    return _written(shape)


def _structured(value: dict[str, Any], depth: int) -> object:
    """The members of an object by type; what is null now may be something tomorrow."""
    shape: dict[str, object] = {}
    for key, inner in list(value.items())[:_MAX_MEMBERS]:
        if inner is None or not _is_sayable(key):
            continue
        is_deep = isinstance(inner, dict) and inner and depth < _MAX_DEPTH
        shape[key] = _structured(inner, depth + 1) if is_deep else _type(inner)
    # Inside one `match:partial` everything is partial; a second one would say nothing new.
    if not shape:
        return f"{PREFIX}type:object"
    return {f"{PREFIX}partial": shape} if depth == 0 else shape


def _written(shape: dict[str, object]) -> object:
    """An object with these members and no others, where its keys can be written."""
    if all(map(_is_sayable, shape)):
        return shape or {}
    sayable = {key: value for key, value in shape.items() if _is_sayable(key)}
    return {f"{PREFIX}partial": sayable} if sayable else f"{PREFIX}type:object"


def _is_sayable(key: str) -> bool:
    """Can a key be expected? One that begins like a directive would be taken for it."""
    return exactly(key) == key


def _type(value: object) -> str:
    return f"{PREFIX}type:{json_type(value)}"
