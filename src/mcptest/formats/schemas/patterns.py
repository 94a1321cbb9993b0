"""`match:` texts and directives: what may be expected of a value, all the way down.

Names that a matcher has elsewhere, and words that can only have been meant as one, are refused
as the loader refuses them. What is merely near a name is left to the loader.
"""

from __future__ import annotations

from mcptest.formats.document import read_document
from mcptest.formats.schemas.shape import ref, said
from mcptest.formats.schemas.values import TEXT, field_path, in_any_case, told
from mcptest.matching.patterns import _CAMEL_CASE, HABITS, PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.formats.schemas.shape import Schema
    from mcptest.matching.registry import Directive, Matcher, Registry

__all__ = ["expected_definitions", "pattern_of"]

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
