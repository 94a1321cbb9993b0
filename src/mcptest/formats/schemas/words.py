"""The matchers of a suite, `{contains: A-17}`: what may stand under each word."""

from __future__ import annotations

from mcptest.formats.document import read_document
from mcptest.formats.schemas.patterns import pattern_of
from mcptest.formats.schemas.shape import closed, ref, said
from mcptest.formats.schemas.values import (
    FLAG,
    NON_EMPTY,
    NOT_BLANK,
    TEXT,
    filled_text,
    filled_value,
    told,
    whole_number,
)
from mcptest.matching.matchers.values import _TYPE_NAMES
from mcptest.matching.snapshots import _KEYS, _REPLACEMENT_KEYS
from mcptest.matching.suite_matchers import EXAMPLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.schemas.shape import Schema
    from mcptest.matching.registry import Registry

__all__ = ["MATCHER", "matcher"]

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
