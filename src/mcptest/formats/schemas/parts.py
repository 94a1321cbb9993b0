"""Values that mean the same in every format: times, tags, names, paths, references."""

from __future__ import annotations

import re

from mcptest.formats.keys import _SWITCHES, _WRITTEN, MAX_DURATION_S
from mcptest.formats.templates import NAME
from mcptest.formats.yaml.document import read_document
from mcptest.matching.matchers.values import _TYPE_NAMES
from mcptest.matching.patterns import _CAMEL_CASE, HABITS, PREFIX
from mcptest.matching.snapshots import _KEYS, _REPLACEMENT_KEYS
from mcptest.matching.suite_matchers import _SCALAR_ROOTS, EXAMPLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from mcptest.matching.registry import Directive, Matcher, Registry

    Schema = dict[str, Any]

__all__ = [
    "ARGUMENTS",
    "EXPECTED",
    "FLAG",
    "MATCHER",
    "NAME_PATTERN",
    "NON_EMPTY",
    "TEXT",
    "TEXTS",
    "closed",
    "document",
    "duration",
    "expected_definitions",
    "field_path",
    "filled_text",
    "filled_value",
    "matcher",
    "number",
    "only",
    "pattern_of",
    "ref",
    "said",
    "skip",
    "tags",
    "target",
    "told",
    "whole_number",
    "words",
]


TEXT: Schema = {"type": "string"}
NON_EMPTY: Schema = {"type": "string", "minLength": 1}
TEXTS: Schema = {"type": "array", "items": TEXT}
NOT_BLANK: Schema = {"pattern": r"\S", "patternErrorMessage": "it must not be blank"}
FLAG: Schema = {"type": "boolean"}
ARGUMENTS: Schema = {"type": "object"}

NAME_PATTERN = f"^{NAME}$"

# `${name}` as all of a text, and anywhere in one; `$${name}` is no reference.
_WHOLE = r"^\$\{[^}]*\}$"
_SOMEWHERE = r"(?:^|[^$])\$\{[^}]*\}"


def filled_value(schema: Schema) -> Schema:
    """The same where `${name}` may stand for the whole value, whatever its type is."""
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert "string" not in types, "a text has its own way to be filled"
    wrong = told("a text can only stand here as a reference, such as ${name}")
    return {**schema, "type": [*types, "string"], "pattern": _WHOLE, **wrong}


def filled_text(schema: Schema) -> Schema:
    """The same where `${name}` may stand in the text, so that nobody knows it before the run."""
    if "pattern" in schema:
        return {**schema, "pattern": f"{schema['pattern']}|{_SOMEWHERE}"}
    if "enum" in schema:
        wrong = told(f"one of {', '.join(schema['enum'])}")
        return {"anyOf": [schema, {"type": "string", "pattern": _SOMEWHERE, **wrong}]}
    return schema


def told(sentence: str) -> Schema:
    """What editors that know this word say instead of showing the regular expression."""
    return {"patternErrorMessage": sentence}


def duration(description: str, *examples: object) -> Schema:
    """A length of time."""
    return {
        "description": f'{description} Milliseconds, or a text such as "500ms", "2s" or "1m".',
        "type": ["number", "string"],
        "exclusiveMinimum": 0,
        "maximum": int(MAX_DURATION_S * 1000),
        # Some digit of it is not 0.
        "pattern": f"^(?=[^1-9]*[1-9]){_grouped(_WRITTEN)}$",
        **told('a time is a number of milliseconds, or a text such as "500ms", "2s" or "1m"'),
        "examples": list(examples or ("2s",)),
    }


def number(least: float, most: float, *, is_open: bool = False) -> Schema:
    """A number between two others; `is_open` says that the least is not among them."""
    low = "exclusiveMinimum" if is_open else "minimum"
    # A whole number is written as one.
    high = int(most) if float(most).is_integer() else most
    return {"type": "number", low: least, "maximum": high}


def whole_number(least: int, most: int) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most}


def tags() -> Schema:
    return {
        "description": "Words to choose tests by: mcptest run --tag and --skip-tag.",
        "type": ["string", "array"],
        "items": TEXT,
        "examples": [["quick"]],
    }


def skip() -> Schema:
    switches = "|".join(map(in_any_case, sorted(_SWITCHES)))
    return {
        "description": "true, or the reason why this test is not run.",
        "type": ["boolean", "string"],
        # Other versions of YAML take these words for booleans; none of them is a reason.
        "pattern": rf"^(?!(?:{switches})$)[\s\S]*\S",
        **told("true, false or a reason; in YAML 1.2 only true and false are booleans"),
        "examples": [True, "the server has no clock yet"],
    }


def only() -> Schema:
    description = "true: no other test of this file is run. Take it out before committing."
    return {"description": description, **FLAG}


def field_path() -> Schema:
    """A path into an answer, as `matching.values.read_path` reads it."""
    wrong = told("a path into the answer, such as result.content[0].text")
    return {"type": "string", "pattern": f"^(?:{_STEP}|{_WORD}){_FURTHER}$", **wrong}


_ESCAPE = r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})'
_QUOTED = rf"""(?:"(?:[^"\\]|{_ESCAPE})*"|'[^']*')"""
_WORD = r"""[^.\[\]"'][^.\[\]"]*"""
_STEP = rf"(?:\[(?:[0-9]{{1,9}}|\*|{_QUOTED})\]|{_QUOTED})"
_FURTHER = rf"(?:\.?{_STEP}|\.{_WORD})*"


def target(roots: Sequence[str]) -> Schema:
    """A path of a suite: it begins with one of these, and nothing is in some of them."""
    flat = [root for root in roots if root in _SCALAR_ROOTS]
    deep = [root for root in roots if root not in flat]
    ways = [_first(deep) + _FURTHER, *([_first(flat)] if flat else [])]
    wrong = told(f'a path that begins with {", ".join(roots)}; keys, dots, [0], [*], ["a key"]')
    return {"type": "string", "pattern": f"^(?:{'|'.join(ways)})$", **wrong}


def _first(roots: Sequence[str]) -> str:
    """The first step, in any of the ways in which a step can be written."""
    choice = f"(?:{'|'.join(roots)})"
    quoted = [mark + choice + mark for mark in ('"', "'")]
    in_brackets = [rf"\[{each}\]" for each in quoted]
    return f"(?:{'|'.join((choice, *quoted, *in_brackets))})"


def _grouped(expression: str) -> str:
    """A regular expression of ours without names and captures, as every language reads it."""
    return re.sub(r"(?<!\\)\((?:\?P<\w+>|(?!\?))", "(?:", expression)


def in_any_case(text: str) -> str:
    """A regular expression for a text in small and large letters."""
    return "".join(f"[{each.upper()}{each}]" if each.isalpha() else each for each in text)


# The pieces that every schema is made of.
#
# A schema says several things of one value at once: what it says of texts, lists and mappings
# does not get in each other's way, so few choices between whole schemas are needed, and an
# editor can tell what is wrong in one sentence.


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def document(
    name: str, title: str, description: str, body: Schema, definitions: Mapping[str, Schema]
) -> Schema:
    """The schema of a whole file."""
    head = {
        "$schema": DIALECT,
        "$id": f"urn:mcptest:schema:{name}",
        "title": title,
        "description": description,
    }
    tail = {"$defs": dict(definitions)} if definitions else {}
    return {**head, **body, **tail}


def closed(
    keys: Sequence[str], members: Mapping[str, Schema], required: Sequence[str] = ()
) -> Schema:
    """A mapping with the keys of a loader's table, and no others.

    A key of the table that nobody describes is a mistake of ours, and so is one that no loader
    reads: neither can go unnoticed.
    """
    silent = [key for key in keys if key not in members]
    surplus = [key for key in members if key not in keys]
    if silent or surplus:
        raise LookupError(f"keys without a schema: {silent}; keys without a loader: {surplus}")
    needed = {"required": list(required)} if required else {}
    properties = {key: members[key] for key in keys}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def said(description: str, schema: Schema, *examples: object) -> Schema:
    """The schema with what an editor shows beside it."""
    shown = {"examples": list(examples)} if examples else {}
    return {"description": description, **schema, **shown}


def ref(name: str) -> Schema:
    """Whatever the definition of this name allows."""
    return {"$ref": f"#/$defs/{name}"}


def words(choices: Iterable[str]) -> Schema:
    """One of these texts."""
    return {"enum": list(choices)}


# The matchers of a suite, `{contains: A-17}`: what may stand under each word.


# The definition that holds a matcher.
MATCHER = "matcher"

# As many digits as a length may have.
_MOST = 10**18 - 1

_NUMBER: Schema = {"type": "number"}
_ANYTHING: Schema = {}


def matcher(registry: Registry) -> Schema:
    """A mapping of words, all of which must hold."""
    members = {
        # One that brings examples of its own needs no other.
        word: said(_MEANINGS[word], {"examples": [_example(word)], **schema})
        for word, schema in _schemas(registry).items()
    }
    found = filled_value({**closed(tuple(EXAMPLES), members), "minProperties": 1})
    description = "What must hold of the value, such as {contains: sunny}; of several words, all."
    return said(description, found, {"contains": "sunny"})


def _example(word: str) -> object:
    value = read_document(f"{word}: {EXAMPLES[word]}", "").value
    assert isinstance(value, dict)
    return value[word]


def _list(items: Schema) -> Schema:
    return filled_value({"type": "array", "minItems": 1, "items": items})


def _schemas(registry: Registry) -> dict[str, Schema]:
    kinds = rf"\s*(?:{'|'.join(_TYPE_NAMES)})\s*"
    wrong = told(f"one of {', '.join(_TYPE_NAMES)}, or several with | between them")
    kind: Schema = {"type": "string", "pattern": rf"^{kinds}(?:\|{kinds})*$", **wrong}
    number = filled_value(_NUMBER)
    something: Schema = {"minLength": 1}
    return {
        "exact": _ANYTHING,
        "equals": _ANYTHING,
        "contains": something,
        "icontains": NON_EMPTY,
        "contains-all": _list(something),
        "contains-any": _list(something),
        "starts-with": NON_EMPTY,
        "ends-with": NON_EMPTY,
        "regex": NON_EMPTY,
        "schema": _schema(),
        "type": filled_text(kind),
        "length": filled_value(whole_number(0, _MOST)),
        **dict.fromkeys(("gt", "gte", "lt", "lte"), number),
        "between": filled_value({"type": "array", "items": number, "minItems": 2, "maxItems": 2}),
        "one-of": _list(_ANYTHING),
        "exists": filled_value(FLAG),
        "not": ref(MATCHER),
        "all": _list(ref(MATCHER)),
        "any": _list(ref(MATCHER)),
        "snapshot": _snapshot(),
        "partial": {"minProperties": 1, "minItems": 1},
        "plugin": _plugin(),
        "pattern": {"type": "string", **pattern_of(registry, is_prefix_needed=False)},
    }


def _schema() -> Schema:
    """The name of a file, or a schema; one that every value meets is none."""
    return {
        "type": ["object", "string", "boolean"],
        "minProperties": 1,
        **NOT_BLANK,
        "not": {"const": True},
    }


def _plugin() -> Schema:
    members = {
        "name": said("The plugin, as imports or --plugin names it.", NON_EMPTY, "geo"),
        "method": said("Which of its methods judges the value.", NON_EMPTY, "near"),
        "params": said("What the method is given beside the value.", _ANYTHING),
    }
    return filled_value(closed(tuple(members), members, ("name", "method")))


def _snapshot() -> Schema:
    replacement = closed(
        _REPLACEMENT_KEYS,
        {
            "pattern": said("A regular expression for what varies.", NON_EMPTY, r"v\d+"),
            "as": said("What is put in its place.", TEXT, "v"),
        },
        _REPLACEMENT_KEYS,
    )
    members = {
        "name": said("The name of the snapshot.", {"type": "string", **NOT_BLANK}),
        "ignore": said(
            "Paths into the value that are left out.",
            filled_value({"type": "array", "items": NON_EMPTY}),
            ["meta.took", "items[*].id"],
        ),
        "normalize": said(
            "What varies from run to run, and what is put in its place.",
            filled_value({"type": "array", "items": filled_value(replacement)}),
        ),
    }
    found = closed(_KEYS, members)
    return {
        **found,
        "type": ["boolean", "string", "object"],
        **NOT_BLANK,
        "not": {"const": False},
    }


_MEANINGS = {
    "exact": "The value is this very one, type and all.",
    "equals": "The value is this very one, type and all.",
    "contains": "The text holds this text, or the list this element.",
    "icontains": "The text holds this text, in any case.",
    "contains-all": "The text or the list holds every one of these.",
    "contains-any": "The text or the list holds at least one of these.",
    "starts-with": "The text begins like this.",
    "ends-with": "The text ends like this.",
    "regex": "The regular expression is found in the text.",
    "schema": "The value is valid by this JSON Schema, or by the one in the file of this name. "
    "No $ref is fetched.",
    "type": f"The value has this type: {', '.join(_TYPE_NAMES)}; several with | between them.",
    "length": "The text, list or mapping is as long as this.",
    "gt": "The number is greater than this.",
    "gte": "The number is this or greater.",
    "lt": "The number is less than this.",
    "lte": "The number is this or less.",
    "between": "The number lies between these two, or is one of them.",
    "one-of": "The value is one of these.",
    "exists": "true: there is a value, and it is not null. false: there is none.",
    "not": "The matcher below does not hold.",
    "all": "Every one of these matchers holds.",
    "any": "At least one of these matchers holds.",
    "snapshot": "The value is what it was when it was last accepted.",
    "partial": "What is written here is in the value; more may be.",
    "plugin": "A program of your own finds the value right.",
    "pattern": "Any pattern of a Conductor file, with or without match: in front.",
}


# `match:` texts and directives: what may be expected of a value, all the way down.
#
# Names that a matcher has elsewhere, and words that can only have been meant as one, are refused
# as the loader refuses them. What is merely near a name is left to the loader.


# The definitions that hold what may be expected; the second of what is under "properties",
# where a schema names parameters that may be called anything.
EXPECTED, MEMBERS = "expected", "expectedProperties"

_VALUE = "value"


def expected_definitions(registry: Registry) -> dict[str, Schema]:
    """What may be expected of a value: data, with patterns and directives anywhere in it."""
    directives = {PREFIX + name: each for name, each in registry.directives.items()}
    unknown = f"^{PREFIX}(?!(?:{'|'.join(registry.directives)})$)"
    keys = {key: _directive(key, each) for key, each in directives.items()}
    inner: Schema = {
        "patternProperties": {unknown: False},
        "additionalProperties": ref(EXPECTED),
        "dependentRequired": {PREFIX + "extractField": [_VALUE]},
    }
    # Nobody but one who forgot the prefix has keys of these names.
    bare: Schema = {name: False for name in registry.directives if not name.islower()}
    description = "A value, or a pattern: a text that begins with match:, as in match:contains:ok."
    expected = {
        "description": description,
        **pattern_of(registry, is_prefix_needed=True),
        "items": ref(EXPECTED),
        **inner,
        "properties": {**keys, **bare, "properties": ref(MEMBERS)},
    }
    members = {**expected, "properties": {**keys, "properties": ref(MEMBERS)}}
    return {EXPECTED: expected, MEMBERS: members}


def pattern_of(registry: Registry, *, is_prefix_needed: bool) -> Schema:
    """What a text must be like when it may be a pattern, or always is one."""
    plain = rf"(?!{in_any_case(PREFIX)})"
    body = rf"(?:not:)?(?!not:)(?:{_known(registry)}|{_searched(registry)})"
    examples = [matcher.example for matcher in registry]
    wrong = told("no such pattern: a misspelt matcher, or another number of parameters")
    if is_prefix_needed:
        return {"pattern": f"^(?:{plain}|{PREFIX}{body})", **wrong, "examples": examples}
    short = [example.removeprefix(PREFIX) for example in examples]
    return {"pattern": f"^(?:{PREFIX}|(?!{PREFIX})){body}", **wrong, "examples": short}


def _known(registry: Registry) -> str:
    """A matcher of the registry, with as many parameters as it takes."""
    by_tail: dict[str, list[str]] = {}
    for matcher in registry:
        by_tail.setdefault(_tail(matcher), []).append(matcher.name)
    return "|".join(f"(?:{'|'.join(names)}){tail}" for tail, names in by_tail.items())


def _tail(matcher: Matcher) -> str:
    if not matcher.parameters:
        return "$"
    needed = len(matcher.parameters) - matcher.optional
    return ":" + "[^:]*:" * (needed - 1) if needed else "(?::|$)"


def _searched(registry: Registry) -> str:
    """A text that names no matcher, and cannot have been meant to: it is searched for."""
    known = "|".join(registry.names)
    taken = "|".join((*registry.names, *(name for name in HABITS if name not in registry.names)))
    directives = "|".join(name for name in registry.directives if ":" not in name)
    refused = (
        rf"(?:{taken}|[Nn][Oo][Tt])(?::|$)",
        # "all: 3 passed" is prose.
        rf"(?:{directives})(?::(?! )|$)",
        rf"{_CAMEL_CASE}:",
        rf" \s*(?:{known})(?![A-Za-z0-9]|[_-][A-Za-z0-9])",
    )
    return "".join(f"(?!{each})" for each in refused) + r"[\s\S]"


def _directive(key: str, directive: Directive) -> Schema:
    build = _DIRECTIVES[directive.name]
    return said(directive.summary, build(), *_examples(key, directive))


def _examples(key: str, directive: Directive) -> list[object]:
    value = read_document(directive.example, "").value
    return [value[key]] if isinstance(value, dict) and key in value else []


def _anything() -> Schema:
    return ref(EXPECTED)


def _something() -> Schema:
    # What asks for nothing is met by everything.
    return {"minProperties": 1, "minItems": 1, "allOf": [ref(EXPECTED)]}


def _several() -> Schema:
    return {"type": "array", "minItems": 1, "items": ref(EXPECTED)}


def _a_relation() -> Schema:
    return TEXT


_DIRECTIVES: dict[str, Callable[[], Schema]] = {
    "partial": _something,
    "arrayElements": _anything,
    "anyElement": _anything,
    "extractField": field_path,
    "crossField": _a_relation,
    "not:crossField": _a_relation,
    "all": _several,
    "any": _several,
}
