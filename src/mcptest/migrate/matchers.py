"""`match:…` patterns as matchers of a suite, and expectations for elements as JSON Schemas."""

from __future__ import annotations

import re

from mcptest.core.record import Record
from mcptest.core.strict_json import dump_json
from mcptest.formats.yaml.full import Tagged
from mcptest.formats.yaml.quick import resolve_plain
from mcptest.matching.matchers.values import values_equal_to
from mcptest.matching.patterns import PREFIX
from mcptest.matching.values import exact_number, is_same_number, parse_exact
from mcptest.migrate.drafts import LeftBehindError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeGuard

    from mcptest.core.plan import Leniency
    from mcptest.matching.registry import Registry

    Matcher = dict[str, object]
    Schema = dict[str, object]

__all__ = [
    "ABSENT_PATTERN",
    "NEGATION",
    "Setting",
    "convert_pattern",
    "convert_to_schema",
    "escape_regex",
    "has_directives",
    "is_pattern",
    "is_plain",
    "may_be_absent",
]

NEGATION = "not:"
ABSENT_PATTERN = f"{PREFIX}{NEGATION}exists"

# Patterns with one string as their argument, and numeric comparisons: what a suite calls them.
_STRING_MATCHERS = {
    "contains": "contains",
    "containsIgnoreCase": "icontains",
    "startsWith": "starts-with",
    "endsWith": "ends-with",
    "regex": "regex",
    "type": "type",
}
_NUMBER_MATCHERS = {
    "greaterThan": "gt",
    "greaterThanOrEqual": "gte",
    "lessThan": "lt",
    "lessThanOrEqual": "lte",
}


class Setting(Record):
    """What the conversion of a file depends on.

    `has_references` says that `${name}` is a reference in this file. `relocate` turns the name
    of a file beside the source into its name as seen from the new suite.
    """

    registry: Registry
    has_references: bool
    relocate: Callable[[str], str]


# Expected values


def is_pattern(value: object) -> bool:
    return isinstance(value, str) and value.startswith(PREFIX)


def has_directives(value: object) -> TypeGuard[dict[str, object]]:
    """True for a mapping with at least one `match:` key."""
    return isinstance(value, dict) and any(key.startswith(PREFIX) for key in value)


def is_plain(value: object) -> bool:
    """True if a value contains no pattern, no directive and no tag."""
    if isinstance(value, dict):
        return not has_directives(value) and all(map(is_plain, value.values()))
    if isinstance(value, list):
        return all(map(is_plain, value))
    return not is_pattern(value) and not isinstance(value, Tagged)


def may_be_absent(value: object) -> bool:
    """True if a missing key meets this expectation."""
    if not has_directives(value):
        return value == ABSENT_PATTERN
    choices = {f"{PREFIX}any": any, f"{PREFIX}all": all}
    return all(
        key in choices and isinstance(inner, list) and choices[key](map(may_be_absent, inner))
        for key, inner in value.items()
    )


def escape_regex(text: str) -> str:
    """Return a regular expression for exactly this string."""
    return re.sub(r"[\\^$.|?*+()\[\]{}]", r"\\\g<0>", text)


# Patterns


def convert_pattern(source: str, setting: Setting) -> Matcher:
    """Return the matcher that makes the same check as a `match:…` pattern."""
    body = source.removeprefix(PREFIX)
    # A captured value is inserted as a string in a pattern, and with its own type elsewhere.
    if not (setting.has_references and "${" in body):
        matcher = _suite_matcher(body.removeprefix(NEGATION), setting)
        if matcher and not body.startswith(NEGATION):
            return matcher
        if matcher:
            return {"exists": False} if "exists" in matcher else {"not": matcher}
    # A suite removes one prefix, so a prefix that belongs to the pattern needs another one.
    return {"pattern": PREFIX + body if body.startswith(PREFIX) else body}


def _suite_matcher(body: str, setting: Setting) -> Matcher | None:
    """Return the suite's own matcher for a pattern, None if there is none."""
    name, colon, rest = body.partition(":")
    known = re.fullmatch("[A-Za-z][A-Za-z0-9]*", name) and setting.registry.find(name)
    if not known:
        return {"regex": body}
    if name in _STRING_MATCHERS:
        return {_STRING_MATCHERS[name]: rest}
    if name == "jsonSchema":
        return {"schema": setting.relocate(rest.strip())}
    if name in ("equals", "oneOf"):
        values = values_equal_to((rest,) if name == "equals" else known.parse(rest))
        if not values or not all(isinstance(value, str) for value in values):
            return None
        return {"exact": values[0]} if name == "equals" else {"one-of": list(values)}
    if colon:
        return _numeric_matcher(name, rest)
    simple: dict[str, Matcher] = {"exists": {"exists": True}, "stringEmpty": {"exact": ""}}
    return simple.get(name)


def _numeric_matcher(name: str, rest: str) -> Matcher | None:
    if name == "length" and re.fullmatch("0|[1-9][0-9]{0,17}", rest):
        return {"length": int(rest)}
    if name in _NUMBER_MATCHERS:
        number = _number(rest)
        return None if number is None else {_NUMBER_MATCHERS[name]: number}
    if name in ("between", "range"):
        low, high = (_number(text) for text in rest.split(":", 1))
        return None if low is None or high is None else {"between": [low, high]}
    return None


def _number(text: str) -> float | None:
    """Return a number, None if writing it in YAML would change it."""
    try:
        value = resolve_plain(text.strip())
    except ValueError:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    written, read = parse_exact(text), exact_number(value)
    is_kept = written and read and parse_exact(dump_json(value)) and is_same_number(written, read)
    return value if is_kept else None


# JSON Schemas

_PATTERN_SCHEMAS: dict[str, Schema] = {
    "exists": {"not": {"type": "null"}},
    "not:exists": {"type": "null"},
    "stringEmpty": {"const": ""},
    "stringNotEmpty": {"type": "string", "minLength": 1},
    "integer": {"type": "integer"},
}
_SIZES = {"stringLength": ("string", "Length"), "arrayLength": ("array", "Items")}


def convert_to_schema(value: object, leniency: Leniency = "") -> Schema:
    """Return the JSON Schema that exactly the same values meet.

    Only a schema can say something about every element of an array in a suite.
    """
    if has_directives(value):
        parts = _directive_schemas(value)
        return parts[0] if len(parts) == 1 else {"allOf": parts}
    if is_pattern(value):
        return _pattern_schema(str(value).removeprefix(PREFIX))
    if is_plain(value) and (not leniency or not isinstance(value, (dict, list))):
        return {"const": value}
    if isinstance(value, dict):
        properties = {key: convert_to_schema(inner, leniency) for key, inner in value.items()}
        schema: Schema = {"type": "object", "properties": properties}
        required = [key for key, inner in value.items() if not may_be_absent(inner)]
        if required:
            schema["required"] = required
        if not leniency:
            schema["additionalProperties"] = False
        return schema
    if isinstance(value, list):
        schema = {"type": "array", "minItems": len(value)}
        if value:
            schema["prefixItems"] = [convert_to_schema(inner, leniency) for inner in value]
        if leniency != "all":
            schema["maxItems"] = len(value)
        return schema
    raise LeftBehindError("a tag is expected of elements, and a JSON Schema cannot express it")


def _directive_schemas(value: dict[str, object]) -> list[Schema]:
    found: list[Schema] = []
    for key, inner in value.items():
        name = key.removeprefix(PREFIX)
        if not key.startswith(PREFIX):
            continue
        if name == "partial":
            found.append(convert_to_schema(inner, "all"))
        elif name == "arrayElements":
            found.append({"type": "array", "items": convert_to_schema(inner)})
        elif name == "anyElement":
            found.append({"type": "array", "contains": convert_to_schema(inner)})
        elif name in ("all", "any") and isinstance(inner, list):
            found.append({f"{name}Of": [convert_to_schema(member) for member in inner]})
        else:
            reason = f"{key} is expected of elements, and a JSON Schema cannot express it"
            raise LeftBehindError(reason)
    siblings = {key: inner for key, inner in value.items() if not key.startswith(PREFIX)}
    return [*found, convert_to_schema(siblings, "all")] if siblings else found


def _pattern_schema(body: str) -> Schema:
    if body in _PATTERN_SCHEMAS:
        return dict(_PATTERN_SCHEMAS[body])
    name, _, rest = body.partition(":")
    if name == "type":
        kinds = [kind.strip() for kind in rest.split("|")]
        return {"type": kinds[0] if len(kinds) == 1 else kinds}
    if name in _SIZES and rest.strip().isdecimal():
        kind, unit = _SIZES[name]
        return {"type": kind, f"min{unit}": int(rest), f"max{unit}": int(rest)}
    if body.startswith(NEGATION):
        return {"not": _pattern_schema(body.removeprefix(NEGATION))}
    reason = f'"{name}" is expected of elements, and a JSON Schema cannot express it exactly'
    raise LeftBehindError(reason)
