"""Whether a JSON Schema is one: the keywords of each dialect and what their values must be.

Only the schema is looked at. Nothing it refers to is fetched or resolved, and what a keyword
means for a value is of no interest here. A dialect that is not known is not judged.
"""

from __future__ import annotations

from functools import cache

from mcptest.invariants.shape_checks import MAX_FAULTS, is_whole, rows_at, told
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.core.text import Trail

    Placed = tuple[Trail, Any]

__all__ = ["inner_schemas", "schema_faults"]

# The mark of each dialect in the table below. Without `$schema` it is the first.
_USUAL = "https://json-schema.org/draft/2020-12/schema"
_MARKS = {
    _USUAL: "0",
    "https://json-schema.org/draft/2019-09/schema": "9",
    "http://json-schema.org/draft-07/schema": "7",
    "http://json-schema.org/draft-06/schema": "6",
    "http://json-schema.org/draft-04/schema": "4",
}

# Keyword, what it holds, and the dialects that have it; those without a mark are in all.
_KEYWORDS = (
    "$schema text",
    "$id text @6790",
    "id text @4",
    "$ref text @6790",
    "$anchor text @90",
    "$dynamicRef text @0",
    "$dynamicAnchor text @0",
    "$comment text @790",
    "title text",
    "description text",
    "format text",
    "pattern text",
    "contentEncoding text @790",
    "contentMediaType text @790",
    "uniqueItems boolean",
    "readOnly boolean @790",
    "writeOnly boolean @790",
    "deprecated boolean @90",
    "maximum number",
    "minimum number",
    "exclusiveMaximum boolean @4",
    "exclusiveMinimum boolean @4",
    "exclusiveMaximum number @6790",
    "exclusiveMinimum number @6790",
    "multipleOf positive",
    "maxLength count",
    "minLength count",
    "maxItems count",
    "minItems count",
    "maxProperties count",
    "minProperties count",
    "maxContains count @90",
    "minContains count @90",
    "enum array",
    "examples array @6790",
    "type types",
    "required texts",
    "dependentRequired {texts} @90",
    "properties {schema}",
    "patternProperties {schema}",
    "definitions {schema}",
    "$defs {schema} @90",
    "dependentSchemas {schema} @90",
    "dependencies {schema|texts}",
    "additionalProperties flag|schema",
    "additionalItems flag|schema @4679",
    "items schema|[schema] @4679",
    "items schema @0",
    "prefixItems [schema] @0",
    "allOf [schema]",
    "anyOf [schema]",
    "oneOf [schema]",
    "not schema",
    "contains schema @6790",
    "propertyNames schema @6790",
    "if schema @790",
    "then schema @790",
    "else schema @790",
    "contentSchema schema @90",
    "unevaluatedItems schema @90",
    "unevaluatedProperties schema @90",
)

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")


def _are_texts(value: Any) -> bool:
    if type(value) is not list or not all(type(each) is str for each in value):
        return False
    return len(set(value)) == len(value)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


# What a keyword without schemas inside must hold, in words and as a test.
_PLAIN: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "text": ("text", lambda value: type(value) is str),
    "boolean": ("a boolean", lambda value: type(value) is bool),
    "array": ("an array", lambda value: type(value) is list),
    "number": ("a number", _is_number),
    "positive": ("a number above 0", lambda value: _is_number(value) and value > 0),
    "count": ("an integer of 0 or more", lambda value: is_whole(value) and value >= 0),
    "texts": ("an array of different texts", _are_texts),
    "{texts}": (
        "an object with arrays of different texts",
        lambda value: type(value) is dict and all(map(_are_texts, value.values())),
    ),
    "types": (
        f"one of {', '.join(_TYPES)}, or an array of different ones of them",
        lambda value: (
            value in _TYPES
            if type(value) is str
            else _are_texts(value) and bool(value) and all(each in _TYPES for each in value)
        ),
    ),
}


def schema_faults(schema: dict[str, Any], path: Trail) -> list[str] | None:
    """What makes this no schema of its dialect; None when the dialect is not known."""
    named = schema.get("$schema", _USUAL)
    if type(named) is not str:
        return [told((path, "$schema"), "text", shown(named))]
    mark = _MARKS.get(named.removesuffix("#"))
    if mark is None:
        return None
    faults: list[str] = []
    waiting: list[Placed] = [(path, schema)]
    for place, each in waiting:
        if type(each) is dict:
            waiting += _judged(each, place, mark, faults)
        elif type(each) is not bool or mark == "4":
            faults.append(told(place, "a schema", shown(each)))
        if len(faults) >= MAX_FAULTS:
            break
    return faults[:MAX_FAULTS]


@cache
def _holds(mark: str) -> dict[str, str]:
    return dict(rows_at(_KEYWORDS, mark))


def _judged(schema: dict[str, Any], path: Trail, mark: str, faults: list[str]) -> list[Placed]:
    """The schemas inside this one; what is wrong with its own keywords is noted."""
    inner: list[Placed] = []
    holds = _holds(mark)
    for keyword, value in schema.items():
        kind = holds.get(keyword)
        if kind is None:
            continue
        if kind in _PLAIN:
            wanted, test = _PLAIN[kind]
            if not test(value):
                faults.append(told((path, keyword), wanted, shown(value)))
        elif _holder(kind, value):
            inner += _inside(kind, value, (path, keyword), faults)
        else:
            wanted = "an object of schemas" if kind[0] == "{" else "an array of schemas, not empty"
            faults.append(told((path, keyword), wanted, shown(value)))
    return inner


def _holder(kind: str, value: Any) -> bool:
    """Whether a value is what the schemas of a keyword come in."""
    if kind[0] == "{":
        return type(value) is dict
    return bool(value) if type(value) is list and "[" in kind else kind[0] != "["


def _inside(kind: str, value: Any, path: Trail, faults: list[str]) -> Iterator[Placed]:
    if kind[0] == "{":
        for name, each in value.items():
            if type(each) is not list or kind == "{schema}":
                yield (path, name), each
            elif len(faults) < MAX_FAULTS and not _are_texts(each):
                faults.append(told((path, name), _PLAIN["texts"][0], shown(each)))
    elif type(value) is list and "[" in kind:
        for index, each in enumerate(value):
            yield (path, index), each
    elif type(value) is not bool or "flag" not in kind:
        yield path, value


def inner_schemas(schema: dict[str, Any], path: Trail) -> Iterator[tuple[str, Trail, Any]]:
    """The schemas right inside one, by the keywords of any dialect; the keyword comes first."""
    kinds = _inner_keywords()
    for keyword, value in schema.items():
        kind = kinds.get(keyword)
        if kind and _holder(kind, value):
            for place, each in _inside(kind, value, (path, keyword), []):
                yield keyword, place, each


@cache
def _inner_keywords() -> dict[str, str]:
    """Every keyword that holds schemas in some dialect, and how."""
    newest_first = [kinds for mark in "0974" for kinds in _holds(mark).items()]
    # What older dialects allow is more: they come last and win.
    return {keyword: kind for keyword, kind in newest_first if "schema" in kind}
