"""A schema in words: what type a value has, and what else must hold of it."""

from __future__ import annotations

from mcptest.core.visible import shorten
from mcptest.docgen.contents import Code
from mcptest.docgen.schema_reading import listed, members
from mcptest.matching.shown import shown
from mcptest.matching.values import json_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.docgen.contents import Words
    from mcptest.docgen.schema_reading import Opened, Schema, SchemaReader

__all__ = ["CUT", "rules_of", "type_of"]

CUT = "…"

MAX_DEPTH = 4
MAX_TYPE_CHARS = 120
MAX_VALUE_CHARS = 120
MAX_VALUES = 30
MAX_EXAMPLES = 3


def type_of(reader: SchemaReader, opened: Opened, depth: int = 0) -> str:
    """What a value may be: `integer`, `array of string`, `string or null`."""
    if opened.is_cut or depth > MAX_DEPTH:
        return CUT
    branches = reader.branches(opened)
    if branches:
        words = [type_of(reader, each, depth + 1) for each in branches]
    else:
        words = [_one_type(reader, opened, kind, depth) for kind in _kinds(opened.schema)]
    return shorten(" or ".join(dict.fromkeys(words)), MAX_TYPE_CHARS)


def _kinds(schema: Schema) -> list[str]:
    kind = schema.get("type")
    if isinstance(kind, str):
        return [kind]
    kinds = [each for each in listed(schema, "type") if isinstance(each, str)]
    if not kinds and "const" in schema:
        kinds = [json_type(schema["const"])]
    if not kinds:
        kinds = [json_type(value) for value in listed(schema, "enum")[:MAX_VALUES]]
    if not kinds and members(schema, "properties"):
        kinds = ["object"]
    return kinds or ["any"]


def _one_type(reader: SchemaReader, opened: Opened, kind: str, depth: int) -> str:
    schema = opened.schema
    inner = None
    if kind == "array" and "items" in schema:
        inner = schema["items"]
    elif kind == "object" and not members(schema, "properties"):
        inner = members(schema, "additionalProperties") or None
    if inner is None:
        return kind
    words = type_of(reader, reader.open(inner, opened.trail), depth + 1)
    if words == "any":
        return kind
    return f"{kind} of ({words})" if " or " in words else f"{kind} of {words}"


def rules_of(reader: SchemaReader, opened: Opened) -> tuple[Words, ...]:
    """What a value must meet beside its type, and what it is when nobody says."""
    rules = list(_own_rules(opened))
    choices = reader.branches(opened)
    constants = [each.schema["const"] for each in choices if "const" in each.schema]
    if constants and len(constants) == len(choices):
        rules.append(_one_of(constants))
    else:
        rules += _rules_of_choices(reader, choices)
    if "items" in opened.schema:
        items = reader.open(opened.schema["items"], opened.trail)
        rules += [("each: ", *rule) for rule in _own_rules(items)]
    return tuple(dict.fromkeys(rules))


def _rules_of_choices(reader: SchemaReader, choices: list[Opened]) -> Iterator[Words]:
    """The rules of each choice; which of them is meant is said where it could be several."""
    # Null has no rules, and nobody asks which one is meant by them.
    telling = [each for each in choices if each.schema.get("type") != "null"]
    for each in telling:
        lead = (f"{type_of(reader, each)}: ",) if len(telling) > 1 else ()
        for rule in _own_rules(each):
            yield (*lead, *rule)


def _own_rules(opened: Opened) -> Iterator[Words]:
    schema = opened.schema
    if opened.elsewhere:
        yield "as described in ", Code(shorten(opened.elsewhere, MAX_VALUE_CHARS))
    if listed(schema, "enum"):
        yield _one_of(schema["enum"])
    for key, words in _RULES:
        # In old drafts the exclusive bounds are switches beside the others.
        if key in schema and not (key.startswith("exclusive") and isinstance(schema[key], bool)):
            yield words, _code(schema[key], is_name=key in _NAMES)
    for key, words in _SWITCHES:
        if schema.get(key) is True:
            yield (words,)
    if schema.get("additionalProperties") is False and members(schema, "properties"):
        yield ("no other members",)
    examples = listed(schema, "examples")[:MAX_EXAMPLES]
    if examples:
        yield ("for example ", *_in_turn(examples))


def _code(value: object, *, is_name: bool) -> Code:
    """A value as JSON; a name or an expression as it is."""
    if is_name and isinstance(value, str):
        return Code(shorten(value, MAX_VALUE_CHARS))
    return Code(shown(value, MAX_VALUE_CHARS))


def _one_of(values: list[object]) -> Words:
    more = (", …",) if len(values) > MAX_VALUES else ()
    return ("one of ", *_in_turn(values[:MAX_VALUES]), *more)


def _in_turn(values: list[object]) -> Iterator[str]:
    for number, value in enumerate(values):
        if number:
            yield ", "
        yield Code(shown(value, MAX_VALUE_CHARS))


_RULES = (
    ("const", "always "),
    ("default", "default "),
    ("format", "format "),
    ("pattern", "matches "),
    ("minimum", "at least "),
    ("exclusiveMinimum", "more than "),
    ("maximum", "at most "),
    ("exclusiveMaximum", "less than "),
    ("multipleOf", "a multiple of "),
    ("minLength", "length at least "),
    ("maxLength", "length at most "),
    ("minItems", "number of items at least "),
    ("maxItems", "number of items at most "),
    ("minProperties", "number of members at least "),
    ("maxProperties", "number of members at most "),
    ("contentEncoding", "encoded as "),
    ("contentMediaType", "holds "),
)
_NAMES = frozenset(["format", "pattern", "contentEncoding", "contentMediaType"])
_SWITCHES = (
    ("uniqueItems", "no item twice"),
    ("readOnly", "read-only"),
    ("writeOnly", "write-only"),
    ("deprecated", "deprecated"),
)
