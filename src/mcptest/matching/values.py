"""JSON values: their types, their texts, and when two of them are equal."""

from __future__ import annotations

from mcptest.core.outcome import ABSENT
from mcptest.core.strict_json import dump_json

__all__ = ["a_type", "equal", "hashable", "is_whole", "json_type", "none_of", "printed"]

_TYPES = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}
_WORDS = {
    "string": "text",
    "boolean": "a boolean",
    "number": "a number",
    "object": "an object",
    "array": "an array",
    "null": "null",
}


def json_type(value: object) -> str:
    """The JSON type of a value; an integer is a number and null is not an object."""
    return _TYPES[type(value)]


def a_type(value: object) -> str:
    """The type of a value, as it reads in a sentence."""
    return "nothing" if value is ABSENT else _WORDS[json_type(value)]


def is_whole(value: object) -> bool:
    """Whether a value is a number without a fraction; true is none."""
    return type(value) is int or (isinstance(value, float) and value.is_integer())


def printed(value: object) -> str:
    """The text of a value: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else dump_json(value)


def none_of(elements: list[object], does: str) -> str:
    """That no element of an array does it, in words."""
    if not elements:
        return "it is empty"
    count = len(elements)
    return f"it has {count:,} element{'s' if count != 1 else ''} and none {does}"


def equal(left: object, right: object) -> bool:
    """Equality as JSON has it: 1 equals 1.0, and neither equals true."""
    if json_type(left) != json_type(right):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return left == right


def hashable(value: object) -> object:
    """Something to look a value up by: the same for two values exactly when they are equal."""
    if isinstance(value, dict):
        return "object", frozenset((key, hashable(member)) for key, member in value.items())
    if isinstance(value, list):
        return "array", tuple(map(hashable, value))
    return json_type(value), value
