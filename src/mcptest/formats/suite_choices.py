"""Where a value that a server sent would decide how it is checked, instead of being checked with.

Only the author of a file writes targets, matchers, expressions, schemas and bars, and the names
of plugins. What was captured may be sent, and be what something is compared with.
"""

from __future__ import annotations

import re

from mcptest.core.record import Record
from mcptest.formats.suite_expect import BUDGETS
from mcptest.formats.templates import alone, misplaced, references
from mcptest.matching.patterns import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    Steps = tuple[str | int, ...]
    Names = Collection[str]
    # Where a word of a matcher stands, the word, and what is under it.
    Word = tuple[Steps, str, object]

__all__ = ["Choice", "choosing", "least"]


class Choice(Record):
    """A place at which no captured value may stand, and why."""

    steps: Steps
    message: str
    help: str


_CHOOSES = (
    "a captured value can be what a matcher compares with, not choose one",
    "write the target, and the name of the matcher, plugin or schema, in full",
)
_EXPRESSION = (
    "a captured value cannot stand in a regular expression: its server would write the check",
    "compare with it: exact, contains, starts-with or ends-with",
)
_SCHEMA = (
    "in a schema, a captured value can only stand under const or enum",
    "write the schema in full, or compare with the value: {exact: …}",
)
_REFERRED = (
    "a schema with a captured value in it cannot refer to what stands under const or enum: its "
    "server would write that schema",
    "put the schema that is meant under $defs",
)
_BAR = (
    "a captured value cannot say how much is enough: its server would set its own bar",
    "write the number",
)

# Words whose parameter is a choice itself, as a whole or in these of its members.
_CHOICES = ("snapshot", "type", "exists")
_CHOOSING_KEYS = ("name", "method")

# Patterns that take one value, as it is, and compare with it.
_COMPARING = (
    *("equals", "notEquals", "equalsIgnoreCase", "contains", "containsIgnoreCase"),
    *("startsWith", "endsWith", "greaterThan", "greaterThanOrEqual", "lessThan"),
    *("lessThanOrEqual", "length", "count", "stringLength", "arrayLength"),
    *("dateAfter", "dateBefore", "dateEquals", "plugin"),
)
_LANGUAGE = (
    "in this pattern, a captured value would be more than what is compared with",
    f"use a word in its place, such as {{contains: …}}; patterns that may: {', '.join(_COMPARING)}",
)
_PATTERN_NAME = re.compile(rf"(?:{PREFIX})?(?:not:)?([A-Za-z0-9]+):")
_EXPRESSION_NAME = "regex"

# Keys of a schema that hold values, and those that hold schemas by names of the author's.
_VALUES = ("const", "enum")
_NAMED_SCHEMAS = (
    *("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"),
    *("dependencies", "dependentRequired"),
)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def choosing(call: dict[str, object], names: Names) -> Iterator[Choice]:
    """The places in a call, or a step, at which one of the names must not stand."""
    expect = call.get("expect")
    yield from _bars(call, (), names)
    if isinstance(expect, dict):
        yield from _bars(expect, ("expect",), names)
    for steps, item in _assertions(expect):
        if not isinstance(item, dict):
            yield from _anywhere(item, names, steps, _CHOOSES)
            continue
        yield from _anywhere(item.get("target"), names, (*steps, "target"), _CHOOSES)
        yield from _anywhere(item.get("weight"), names, (*steps, "weight"), _BAR)
        for word in _words(item.get("matcher"), (*steps, "matcher")):
            yield from _in_word(word, names)


def least(expect: object, names: Names) -> Iterator[str]:
    """Those of the names that stand alone under `partial`, where an empty value asks nothing."""
    for steps, item in _assertions(expect):
        if isinstance(item, dict):
            for _, word, value in _words(item.get("matcher"), steps):
                if word == "partial":
                    yield from (name for name in _alone_in(value) if name in names)


def _bars(fields: dict[str, object], steps: Steps, names: Names) -> Iterator[Choice]:
    for key in BUDGETS:
        yield from _anywhere(fields.get(key), names, (*steps, key), _BAR)


def _assertions(expect: object) -> Iterator[tuple[Steps, object]]:
    """The assertions, each with its place; what should be a list of them and is none, as one."""
    steps: Steps = ("expect",)
    if isinstance(expect, dict):
        expect, steps = expect.get("assertions"), ("expect", "assertions")
    if isinstance(expect, list):
        yield from (((*steps, index), item) for index, item in enumerate(expect))
    else:
        yield steps, expect


def _words(matcher: object, steps: Steps) -> Iterator[Word]:
    """Every word of a matcher and of those in it; what is no matcher has the word ""."""
    if not isinstance(matcher, dict):
        yield steps, "", matcher
        return
    for word, inner in matcher.items():
        here = (*steps, word)
        # In a key it stands where no place can be shown but the mapping's own.
        yield steps, "", word
        if word == "not":
            yield from _words(inner, here)
        elif word in ("all", "any") and isinstance(inner, list):
            for index, each in enumerate(inner):
                yield from _words(each, (*here, index))
        elif word in ("all", "any"):
            yield here, "", inner
        else:
            yield here, word, inner


def _in_word(written: Word, names: Names) -> Iterator[Choice]:
    steps, word, value = written
    # A text under `schema` is the name of a file.
    if not word or word in _CHOICES or (word == "schema" and isinstance(value, str)):
        yield from _anywhere(value, names, steps, _CHOOSES)
    elif word == "regex":
        yield from _anywhere(value, names, steps, _EXPRESSION)
    elif word == "schema":
        yield from _in_schema(value, names, steps)
        if any(name in names for name, _ in references(value)):
            yield from _referring(value, steps)
    elif word == "pattern" and isinstance(value, str):
        yield from _in_pattern(value, names, steps)
    elif word == "plugin" and isinstance(value, dict):
        for key in _CHOOSING_KEYS:
            yield from _anywhere(value.get(key), names, (*steps, key), _CHOOSES)
    elif word == "plugin":
        yield from _anywhere(value, names, steps, _CHOOSES)


def _in_pattern(value: str, names: Names, steps: Steps) -> Iterator[Choice]:
    if not any(name in names for name, _ in references(value)):
        return
    found = _PATTERN_NAME.match(value)
    name = found[1] if found else ""
    if any(True for _ in misplaced(PREFIX + value.removeprefix(PREFIX))):
        message, help = _CHOOSES
    elif name == _EXPRESSION_NAME:
        message, help = _EXPRESSION
    elif name in _COMPARING:
        return
    else:
        message, help = _LANGUAGE
    yield Choice(steps=steps, message=message, help=help)


def _in_schema(schema: object, names: Names, steps: Steps) -> Iterator[Choice]:
    if isinstance(schema, list):
        for index, each in enumerate(schema):
            yield from _in_schema(each, names, (*steps, index))
        return
    if not isinstance(schema, dict):
        yield from _anywhere(schema, names, steps, _SCHEMA)
        return
    for key, inner in schema.items():
        here = (*steps, key)
        yield from _anywhere(key, names, steps, _SCHEMA)
        if key in _NAMED_SCHEMAS and isinstance(inner, dict):
            for name, each in inner.items():
                yield from _anywhere(name, names, here, _SCHEMA)
                yield from _in_schema(each, names, (*here, name))
        elif key not in _VALUES:
            yield from _in_schema(inner, names, here)


def _referring(schema: object, steps: Steps) -> Iterator[Choice]:
    """The references that lead to a value, as far as they can be followed without knowing it."""
    if not isinstance(schema, (dict, list)):
        return
    for key, inner in schema.items() if isinstance(schema, dict) else enumerate(schema):
        here = (*steps, key)
        if key in _REFERENCES and isinstance(inner, str):
            # What is written in another way than as it is may be one of them, too.
            if "%" in inner or any(step in _VALUES for step in inner.split("/")):
                message, help = _REFERRED
                yield Choice(steps=here, message=message, help=help)
        else:
            yield from _referring(inner, here)


def _anywhere(value: object, names: Names, steps: Steps, why: tuple[str, str]) -> Iterator[Choice]:
    for name, inner in references(value):
        if name in names:
            message, help = why
            yield Choice(steps=(*steps, *inner), message=message, help=help)


def _alone_in(value: object) -> Iterator[str]:
    """Every name that is all of a text somewhere in a value."""
    if isinstance(value, str):
        yield alone(value)
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _alone_in(each)
