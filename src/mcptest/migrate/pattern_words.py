"""`match:…` as a matcher of a suite: its own word where there is one, else `pattern`."""

from __future__ import annotations

import re

from mcptest.core.record import Record
from mcptest.core.strict_json import dump_json
from mcptest.formats.scalars import resolve_plain
from mcptest.matching.matchers.values import values_equal_to
from mcptest.matching.patterns import PREFIX
from mcptest.matching.values import exact_number, is_same_number, parse_exact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.matching.registry import Registry

    Matcher = dict[str, object]

__all__ = ["NEGATION", "NUMBER_WORDS", "TEXT_WORDS", "Setting", "is_pattern", "matcher_of"]

NEGATION = "not:"

# The matchers that take one text, and the words that a suite has for them.
TEXT_WORDS = {
    "contains": "contains",
    "containsIgnoreCase": "icontains",
    "startsWith": "starts-with",
    "endsWith": "ends-with",
    "regex": "regex",
    "type": "type",
}
NUMBER_WORDS = {
    "greaterThan": "gt",
    "greaterThanOrEqual": "gte",
    "lessThan": "lt",
    "lessThanOrEqual": "lte",
}
_RANGES = ("between", "range")
_NAME = r"[A-Za-z][A-Za-z0-9]*"


class Setting(Record):
    """What a file is migrated with.

    `has_references` says that `${name}` in it stands for a value. `relocated` gives the name of
    a file that lies beside the source as it is called from beside the target.
    """

    registry: Registry
    has_references: bool
    relocated: Callable[[str], str]


def is_pattern(value: object) -> bool:
    return isinstance(value, str) and value.startswith(PREFIX)


def matcher_of(source: str, setting: Setting) -> Matcher:
    """The matcher of a suite that checks what this pattern checks."""
    body = source.removeprefix(PREFIX)
    # What is put in for a name is text in a pattern, and may be anything under a word.
    if setting.has_references and "${" in body:
        return {"pattern": _unprefixed(body)}
    is_negated = body.startswith(NEGATION)
    word = _word(body.removeprefix(NEGATION), setting)
    if word is None:
        return {"pattern": _unprefixed(body)}
    if not is_negated:
        return word
    return {"exists": False} if "exists" in word else {"not": word}


def _unprefixed(body: str) -> str:
    # A suite takes it with or without the prefix, so one that is part of it needs a second.
    return PREFIX + body if body.startswith(PREFIX) else body


def _word(body: str, setting: Setting) -> Matcher | None:
    name, colon, rest = body.partition(":")
    known = re.fullmatch(_NAME, name) and setting.registry.find(name)
    if not known:
        return {"regex": body}
    if name in TEXT_WORDS:
        return {TEXT_WORDS[name]: rest}
    if name == "jsonSchema":
        return {"schema": setting.relocated(rest.strip())}
    if name in ("equals", "oneOf"):
        strings = (rest,) if name == "equals" else known.parse(rest)
        return _of_choices(name, values_equal_to(strings))
    if colon:
        return _of_numbers(name, rest)
    simple: dict[str, Matcher] = {"exists": {"exists": True}, "stringEmpty": {"exact": ""}}
    return simple.get(name)


def _of_choices(name: str, values: tuple[object, ...]) -> Matcher | None:
    """One value, or one of several, where nothing else could be meant by their texts."""
    if not values or not all(isinstance(value, str) for value in values):
        return None
    return {"exact": values[0]} if name == "equals" else {"one-of": list(values)}


def _of_numbers(name: str, rest: str) -> Matcher | None:
    if name == "length" and re.fullmatch("0|[1-9][0-9]{0,17}", rest):
        return {"length": int(rest)}
    if name in NUMBER_WORDS:
        number = _number(rest)
        return None if number is None else {NUMBER_WORDS[name]: number}
    if name in _RANGES:
        low, high = (_number(text) for text in rest.split(":", 1))
        return None if low is None or high is None else {"between": [low, high]}
    return None


def _number(text: str) -> float | None:
    """The number that is written; None when it would not come back the same."""
    try:
        value = resolve_plain(text.strip())
    except ValueError:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    meant, kept = parse_exact(text), exact_number(value)
    is_kept = meant and kept and parse_exact(dump_json(value)) and is_same_number(meant, kept)
    return value if is_kept else None
