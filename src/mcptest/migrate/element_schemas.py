"""What must hold of the elements of an array, as a JSON Schema.

A suite has no word for "every element" but a schema. Only what a schema says with the very same
meaning becomes one: values, kinds, sizes, and how they are nested.
"""

from __future__ import annotations

from mcptest.matching.patterns import PREFIX
from mcptest.migrate.pattern_words import NEGATION, is_pattern
from mcptest.migrate.remarks import LeftBehindError
from mcptest.migrate.shapes import ABSENT_PATTERN, directives_in, is_plain, may_be_absent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.plan import Leniency

    Schema = dict[str, object]

__all__ = ["expectation_of", "schema_of"]

_SIMPLE: dict[str, Schema] = {
    "exists": {"not": {"type": "null"}},
    "not:exists": {"type": "null"},
    "stringEmpty": {"const": ""},
    "stringNotEmpty": {"type": "string", "minLength": 1},
    "integer": {"type": "integer"},
}
_SIZES = {"stringLength": ("string", "Length"), "arrayLength": ("array", "Items")}


def schema_of(value: object, leniency: Leniency = "") -> Schema:
    """The schema that the same values meet. LeftBehindError when there is none."""
    if directives_in(value):
        return _of_directives(value)
    if is_pattern(value):
        return _of_pattern(str(value).removeprefix(PREFIX))
    if is_plain(value) and (not leniency or not isinstance(value, (dict, list))):
        return {"const": value}
    if isinstance(value, dict):
        return _of_object(value, leniency)
    if isinstance(value, list):
        return _of_array(value, leniency)
    raise LeftBehindError("a tag inside of what must hold of every element has no other form")


def _of_object(value: dict[str, object], leniency: Leniency) -> Schema:
    required = [key for key, inner in value.items() if not may_be_absent(inner)]
    schema: Schema = {
        "type": "object",
        "properties": {key: schema_of(inner, leniency) for key, inner in value.items()},
    }
    if required:
        schema["required"] = required
    if not leniency:
        schema["additionalProperties"] = False
    return schema


def _of_array(value: list[object], leniency: Leniency) -> Schema:
    schema: Schema = {"type": "array", "minItems": len(value)}
    if value:
        schema["prefixItems"] = [schema_of(inner, leniency) for inner in value]
    if leniency != "all":
        schema["maxItems"] = len(value)
    return schema


def _of_directives(value: dict[str, object]) -> Schema:
    parts = list(_parts(value))
    return parts[0] if len(parts) == 1 else {"allOf": parts}


def _parts(value: dict[str, object]) -> Iterator[Schema]:
    siblings = {key: inner for key, inner in value.items() if not key.startswith(PREFIX)}
    for key, inner in value.items():
        name = key.removeprefix(PREFIX)
        members = inner if isinstance(inner, list) else []
        if name == "partial":
            yield schema_of(inner, "all")
        elif name == "arrayElements":
            yield {"type": "array", "items": schema_of(inner)}
        elif name == "anyElement":
            yield {"type": "array", "contains": schema_of(inner)}
        elif name in ("all", "any"):
            yield {f"{name}Of": [schema_of(member) for member in members]}
        elif key.startswith(PREFIX):
            raise LeftBehindError(f"{key} inside of what must hold of elements has no other form")
    if siblings:
        yield schema_of(siblings, "all")


def _of_pattern(body: str) -> Schema:
    if body in _SIMPLE:
        return dict(_SIMPLE[body])
    name, _, rest = body.partition(":")
    if name == "type":
        kinds = [kind.strip() for kind in rest.split("|")]
        return {"type": kinds[0] if len(kinds) == 1 else kinds}
    if name in _SIZES and rest.strip().isdecimal():
        kind, unit = _SIZES[name]
        return {"type": kind, f"min{unit}": int(rest), f"max{unit}": int(rest)}
    if body.startswith(NEGATION):
        return {"not": _of_pattern(body.removeprefix(NEGATION))}
    reason = f'"{name}" must hold of elements, and a schema does not say quite the same'
    raise LeftBehindError(reason)


# The way back


def expectation_of(schema: object) -> object:
    """What a schema of ours was made from. LeftBehindError when it is another one."""
    try:
        found = _read(schema)
        is_ours = schema_of(found) == schema
    except (LeftBehindError, KeyError, TypeError, AttributeError):
        is_ours = False
    if not is_ours:
        raise LeftBehindError("a schema must stand in a file of its own to be a pattern")
    return found


def _read(schema: Any) -> Any:
    if "const" in schema:
        return schema["const"]
    for key, name in (("allOf", "all"), ("anyOf", "any")):
        if key in schema:
            return {f"{PREFIX}{name}": [_read(each) for each in schema[key]]}
    if "properties" in schema:
        return _read_object(schema)
    if schema.get("type") == "array" and len(schema) > 1:
        return _read_array(schema)
    return PREFIX + _pattern_of(schema)


def _read_object(schema: Any) -> Any:
    required = schema.get("required", [])
    value = {
        key: ABSENT_PATTERN if key not in required and inner == {"type": "null"} else _read(inner)
        for key, inner in schema["properties"].items()
    }
    return {f"{PREFIX}partial": value} if "additionalProperties" not in schema else value


def _read_array(schema: Any) -> Any:
    if "items" in schema:
        return {f"{PREFIX}arrayElements": _read(schema["items"])}
    if "contains" in schema:
        return {f"{PREFIX}anyElement": _read(schema["contains"])}
    if "prefixItems" in schema:
        value = [_read(each) for each in schema["prefixItems"]]
        return value if "maxItems" in schema else {f"{PREFIX}partial": value}
    return f"{PREFIX}arrayLength:{schema['minItems']}"


def _pattern_of(schema: Any) -> str:
    for body, known in _SIMPLE.items():
        if schema == known and body != "not:exists":
            return body
    if "not" in schema:
        return NEGATION + _pattern_of(schema["not"])
    if "minLength" in schema:
        return f"stringLength:{schema['minLength']}"
    kinds = schema["type"]
    return f"type:{kinds if isinstance(kinds, str) else '|'.join(kinds)}"
