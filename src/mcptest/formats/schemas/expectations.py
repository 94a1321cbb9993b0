"""The schema of expectations: matchers of suites, and patterns and directives of Conductor files.

Names that a matcher has in other tools, and words that can only be meant as one, are refused as
the loader refuses them. Mere similarity to a name is left to the loader.
"""

from __future__ import annotations

from mcptest.formats.fields import ANYTHING, FLAG, NON_EMPTY, STRING, Key, Keys, whole_number
from mcptest.formats.schemas.from_keys import (
    NOT_BLANK,
    Types,
    describe,
    field_path,
    filled,
    in_any_case,
    list_of,
    object_with,
    pattern_message,
    ref,
)
from mcptest.formats.yaml import read_document
from mcptest.matching.matchers.values import _TYPE_NAMES
from mcptest.matching.patterns import _CAMEL_CASE, HABITS, PREFIX
from mcptest.matching.suite_matchers import EXAMPLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.fields import Schema
    from mcptest.matching.registry import Directive, Matcher, Registry

__all__ = ["EXPECTED", "MATCHER", "expected_definitions", "matcher", "pattern_of"]


# Matchers of a suite, `{contains: A-17}`.

# The definition of a matcher.
MATCHER = "matcher"


def matcher(registry: Registry) -> Schema:
    """A mapping of matchers, all of which must hold."""
    words = _words(registry)
    assert words.keys() == EXAMPLES.keys(), "every matcher of suites has its schema"
    types = Types(has_references=True)
    members = {}
    for word, example in EXAMPLES.items():
        value = read_document(f"{word}: {example}", "").value
        assert isinstance(value, dict)
        members[word] = {"examples": [value[word]], **types.schema(words[word])}
    description = "What must hold of the value, such as {contains: sunny}; of several words, all."
    found = filled({**object_with(members), "minProperties": 1})
    return describe(description, found, {"contains": "sunny"})


def _words(registry: Registry) -> Keys:
    kinds = rf"\s*(?:{'|'.join(_TYPE_NAMES)})\s*"
    wrong = pattern_message(f"one of {', '.join(_TYPE_NAMES)}, or several with | between them")
    kind: Schema = {"type": "string", "pattern": rf"^{kinds}(?:\|{kinds})*$", **wrong}
    number = filled({"type": "number"})
    something: Schema = {"minLength": 1}
    some = filled(list_of(something))
    matchers = filled(list_of(ref(MATCHER)))
    return Keys(
        {
            "exact": Key(ANYTHING, "The value equals this one, including its type."),
            "equals": Key(ANYTHING, "The value equals this one, including its type."),
            "contains": Key(something, "The string contains this one, or the list this element."),
            "icontains": Key(NON_EMPTY, "The string contains this one, ignoring case."),
            "contains-all": Key(some, "The string or the list contains every one of these."),
            "contains-any": Key(some, "The string or the list contains at least one of these."),
            "starts-with": Key(NON_EMPTY, "The string starts with this one."),
            "ends-with": Key(NON_EMPTY, "The string ends with this one."),
            "regex": Key(NON_EMPTY, "The regular expression is found in the string."),
            "schema": Key(
                # A schema that every value meets checks nothing.
                {
                    "type": ["object", "string", "boolean"],
                    "minProperties": 1,
                    **NOT_BLANK,
                    "not": {"const": True},
                },
                "The value is valid against this JSON Schema, or against the one in the file of "
                "this name. No $ref is fetched.",
            ),
            "type": Key(
                filled(kind),
                f"The value has this type: {', '.join(_TYPE_NAMES)}; several with | between them.",
            ),
            "length": Key(
                filled(whole_number(0, 10**18 - 1)), "The length of the string, list or mapping."
            ),
            "gt": Key(number, "The number is greater than this."),
            "gte": Key(number, "The number is this or greater."),
            "lt": Key(number, "The number is less than this."),
            "lte": Key(number, "The number is this or less."),
            "between": Key(
                filled({"type": "array", "items": number, "minItems": 2, "maxItems": 2}),
                "The number lies between these two, or is one of them.",
            ),
            "one-of": Key(filled(list_of(ANYTHING)), "The value is one of these."),
            "exists": Key(
                filled(FLAG), "true: there is a value, and it is not null. false: there is none."
            ),
            "not": Key(ref(MATCHER), "The matcher below does not hold."),
            "all": Key(matchers, "Every one of these matchers holds."),
            "any": Key(matchers, "At least one of these matchers holds."),
            "snapshot": Key(_snapshot(), "The value is the one that was last accepted."),
            "partial": Key(
                {"minProperties": 1, "minItems": 1},
                "What is written here is in the value; more may be.",
            ),
            "plugin": Key(_PLUGIN_KEYS, "A program of your own accepts the value.", is_filled=True),
            "pattern": Key(
                {"type": "string", **pattern_of(registry, is_prefix_needed=False)},
                "Any pattern of a Conductor file, with or without match: in front.",
            ),
        }
    )


_PLUGIN_KEYS = Keys(
    {
        "name": Key(
            NON_EMPTY, "The plugin, as imports or --plugin names it.", "geo", is_required=True
        ),
        "method": Key(
            NON_EMPTY, "Which of its methods judges the value.", "near", is_required=True
        ),
        "params": Key(ANYTHING, "What the method is given beside the value."),
    }
)
_REPLACEMENT_KEYS = Keys(
    {
        "pattern": Key(
            NON_EMPTY, "A regular expression for what varies.", r"v\d+", is_required=True
        ),
        "as": Key(STRING, "What is put in its place.", "v", is_required=True),
    }
)
_SNAPSHOT_KEYS = Keys(
    {
        "name": Key({"type": "string", **NOT_BLANK}, "The name of the snapshot."),
        "ignore": Key(
            {"type": "array", "items": NON_EMPTY},
            "Paths into the value that are left out.",
            ["meta.took", "items[*].id"],
            is_filled=True,
        ),
        "normalize": Key(
            "replacements",
            "What varies from run to run, and what is put in its place.",
            is_filled=True,
        ),
    }
)


def _snapshot() -> Schema:
    """true, the name of the snapshot, or options."""
    types = Types(has_references=True)
    replacement = filled(types.mapping(_REPLACEMENT_KEYS))
    types.named["replacements"] = {"type": "array", "items": replacement}
    return {
        **types.mapping(_SNAPSHOT_KEYS),
        "type": ["boolean", "string", "object"],
        **NOT_BLANK,
        "not": {"const": False},
    }


# Patterns, `match:contains:ok`, and directives anywhere in an expected value.

# The definitions of expected values; the second is for what is below "properties", where a
# schema has parameters of any name.
EXPECTED, _MEMBERS = "expected", "expectedProperties"


def expected_definitions(registry: Registry) -> dict[str, Schema]:
    """What may be expected of a value: data, with patterns and directives anywhere in it."""
    directives = {PREFIX + name: each for name, each in registry.directives.items()}
    unknown = f"^{PREFIX}(?!(?:{'|'.join(registry.directives)})$)"
    keys = {key: _directive(key, each) for key, each in directives.items()}
    inner: Schema = {
        "patternProperties": {unknown: False},
        "additionalProperties": ref(EXPECTED),
        "dependentRequired": {PREFIX + "extractField": ["value"]},
    }
    # Keys of these names are there only if the prefix was forgotten.
    bare: Schema = {name: False for name in registry.directives if not name.islower()}
    description = "A value, or a pattern: a text that begins with match:, as in match:contains:ok."
    expected = {
        "description": description,
        **pattern_of(registry, is_prefix_needed=True),
        "items": ref(EXPECTED),
        **inner,
        "properties": {**keys, **bare, "properties": ref(_MEMBERS)},
    }
    members = {**expected, "properties": {**keys, "properties": ref(_MEMBERS)}}
    return {EXPECTED: expected, _MEMBERS: members}


def pattern_of(registry: Registry, *, is_prefix_needed: bool) -> Schema:
    """What a text must be like when it may be a pattern, or always is one."""
    plain = rf"(?!{in_any_case(PREFIX)})"
    body = rf"(?:not:)?(?!not:)(?:{_pattern_of_known(registry)}|{_pattern_of_text(registry)})"
    examples = [matcher.example for matcher in registry]
    wrong = pattern_message("no such pattern: a misspelt matcher, or another number of parameters")
    if is_prefix_needed:
        return {"pattern": f"^(?:{plain}|{PREFIX}{body})", **wrong, "examples": examples}
    short = [example.removeprefix(PREFIX) for example in examples]
    return {"pattern": f"^(?:{PREFIX}|(?!{PREFIX})){body}", **wrong, "examples": short}


def _pattern_of_known(registry: Registry) -> str:
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


def _pattern_of_text(registry: Registry) -> str:
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
    value = read_document(directive.example, "").value
    examples = [value[key]] if isinstance(value, dict) and key in value else []
    return describe(directive.summary, _DIRECTIVES[directive.name], *examples)


_DIRECTIVES: dict[str, Schema] = {
    # An empty value would be met by everything.
    "partial": {"minProperties": 1, "minItems": 1, "allOf": [ref(EXPECTED)]},
    "arrayElements": ref(EXPECTED),
    "anyElement": ref(EXPECTED),
    "extractField": field_path(),
    "crossField": STRING,
    "not:crossField": STRING,
    "all": list_of(ref(EXPECTED)),
    "any": list_of(ref(EXPECTED)),
}
