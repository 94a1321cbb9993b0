"""Build JSON Schemas from the keys that loaders declare (`formats.keys`).

A schema states several things about one value at once: what it says about strings, lists and
mappings does not interfere, so few `oneOf` are needed and editors can show one clear message.
"""

from __future__ import annotations

import re

from mcptest.formats.keys import (
    _SWITCHES,
    _WRITTEN,
    MAX_DURATION_S,
    STRING,
    Keys,
)
from mcptest.formats.templates import NAME
from mcptest.matching.suite_matchers import _SCALAR_ROOTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcptest.formats.keys import Key, Schema

__all__ = [
    "NAME_PATTERN",
    "NOT_BLANK",
    "Types",
    "describe",
    "document",
    "field_path",
    "filled",
    "in_any_case",
    "list_of",
    "object_with",
    "pattern_message",
    "ref",
    "target",
]


class Types:
    """The types that keys of a format name, and the schema of a mapping with declared keys.

    In a format with references, `${name}` may stand wherever a key is declared with `is_filled`.
    """

    def __init__(self, *, has_references: bool = False) -> None:
        self.has_references = has_references
        self.named: dict[str, Schema] = {"duration": _duration(), "tags": _tags(), "skip": _skip()}

    def mapping(self, keys: Keys, required: Iterable[str] | None = None) -> Schema:
        """A mapping with these keys, and no others."""
        members = {name: self.schema(key) for name, key in keys.items()}
        return object_with(members, keys.required if required is None else required)

    def schema(self, key: Key) -> Schema:
        """The schema of one key's value."""
        if isinstance(key.type, Keys):
            schema = self.mapping(key.type)
        elif isinstance(key.type, str):
            schema = self.named[key.type]
        else:
            schema = key.type
        if key.is_filled and self.has_references:
            schema = filled(schema)
        description = f"{key.description} {schema.get('description', '')}".rstrip()
        examples = key.examples or schema.get("examples", ())
        return describe(description, schema, *examples)


def object_with(members: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """A mapping with these members, and no others."""
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": members, **needed, "additionalProperties": False}


def list_of(items: Schema) -> Schema:
    """A list with at least one item."""
    return {"type": "array", "minItems": 1, "items": items}


def describe(description: str, schema: Schema, *examples: object) -> Schema:
    """The schema with what an editor shows beside it."""
    shown = {"examples": list(examples)} if examples else {}
    return {**schema, "description": description, **shown}


def ref(name: str) -> Schema:
    """A reference to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def document(
    name: str, title: str, description: str, body: Schema, definitions: Mapping[str, Schema]
) -> Schema:
    """The schema of a whole file."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:mcptest:schema:{name}",
        "title": title,
        "description": description,
    }
    tail = {"$defs": dict(definitions)} if definitions else {}
    return {**head, **body, **tail}


def pattern_message(sentence: str) -> Schema:
    """What editors that know this keyword show instead of the regular expression."""
    return {"patternErrorMessage": sentence}


# References: `${name}` as a whole string, and anywhere in one; `$${name}` is not a reference.

_WHOLE = r"^\$\{[^}]*\}$"
_SOMEWHERE = r"(?:^|[^$])\$\{[^}]*\}"


def filled(schema: Schema) -> Schema:
    """The same where `${name}` may stand in a string, or for a whole value of another type."""
    if "enum" in schema:
        wrong = pattern_message(f"one of {', '.join(schema['enum'])}")
        return {"anyOf": [schema, {"type": "string", "pattern": _SOMEWHERE, **wrong}]}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "string" not in types:
        wrong = pattern_message("a text can only stand here as a reference, such as ${name}")
        return {**schema, "type": [*types, "string"], "pattern": _WHOLE, **wrong}
    if "pattern" in schema:
        return {**schema, "pattern": f"{schema['pattern']}|{_SOMEWHERE}"}
    return schema


# Types that several formats have.

NAME_PATTERN = f"^{NAME}$"
NOT_BLANK: Schema = {"pattern": r"\S", "patternErrorMessage": "it must not be blank"}


def _duration() -> Schema:
    return {
        "description": 'Milliseconds, or a text such as "500ms", "2s" or "1m".',
        "type": ["number", "string"],
        "exclusiveMinimum": 0,
        "maximum": int(MAX_DURATION_S * 1000),
        # At least one digit is not 0.
        "pattern": f"^(?=[^1-9]*[1-9]){_without_captures(_WRITTEN)}$",
        **pattern_message(
            'a time is a number of milliseconds, or a text such as "500ms", "2s" or "1m"'
        ),
        "examples": ["2s"],
    }


def _tags() -> Schema:
    return {"type": ["string", "array"], "items": STRING}


def _skip() -> Schema:
    switches = "|".join(map(in_any_case, sorted(_SWITCHES)))
    return {
        "type": ["boolean", "string"],
        # Other versions of YAML take these words for booleans; none of them is a reason.
        "pattern": rf"^(?!(?:{switches})$)[\s\S]*\S",
        **pattern_message("true, false or a reason; in YAML 1.2 only true and false are booleans"),
    }


def field_path() -> Schema:
    """A path into an answer, as `matching.values.read_path` reads it."""
    wrong = pattern_message("a path into the answer, such as result.content[0].text")
    return {"type": "string", "pattern": f"^(?:{_STEP}|{_WORD}){_FURTHER}$", **wrong}


_ESCAPE = r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})'
_QUOTED = rf"""(?:"(?:[^"\\]|{_ESCAPE})*"|'[^']*')"""
_STEP = rf"(?:\[(?:[0-9]{{1,9}}|\*|{_QUOTED})\]|{_QUOTED})"
_WORD = r"""[^.\[\]"'][^.\[\]"]*"""
_FURTHER = rf"(?:\.?{_STEP}|\.{_WORD})*"


def target(roots: Sequence[str]) -> Schema:
    """A path of a suite that begins with one of these roots; some roots have no members."""
    flat = [root for root in roots if root in _SCALAR_ROOTS]
    deep = [root for root in roots if root not in flat]
    ways = [_first(deep) + _FURTHER, *([_first(flat)] if flat else [])]
    wrong = pattern_message(
        f'a path that begins with {", ".join(roots)}; keys, dots, [0], [*], ["a key"]'
    )
    return {"type": "string", "pattern": f"^(?:{'|'.join(ways)})$", **wrong}


def _first(roots: Sequence[str]) -> str:
    """A regular expression for the first step, in any notation."""
    choice = f"(?:{'|'.join(roots)})"
    quoted = [mark + choice + mark for mark in ('"', "'")]
    in_brackets = [rf"\[{each}\]" for each in quoted]
    return f"(?:{'|'.join((choice, *quoted, *in_brackets))})"


def _without_captures(expression: str) -> str:
    """A Python regular expression in the common subset of JSON Schema: no named groups."""
    return re.sub(r"(?<!\\)\((?:\?P<\w+>|(?!\?))", "(?:", expression)


def in_any_case(text: str) -> str:
    """A regular expression for a word in lower and upper case."""
    return "".join(f"[{each.upper()}{each}]" if each.isalpha() else each for each in text)
