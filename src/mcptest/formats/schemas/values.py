"""Values that mean the same in every format: times, tags, names, paths, references."""

from __future__ import annotations

import re

from mcptest.formats.durations import _WRITTEN, MAX_DURATION_S
from mcptest.formats.marks import _SWITCHES
from mcptest.formats.templates import NAME
from mcptest.matching.compare import _FIELD_STEP
from mcptest.matching.suite_matchers import _SCALAR_ROOTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.formats.schemas.shape import Schema

__all__ = [
    "ARGUMENTS",
    "FLAG",
    "NAME_PATTERN",
    "NON_EMPTY",
    "NOT_BLANK",
    "TEXT",
    "TEXTS",
    "duration",
    "field_path",
    "filled_text",
    "filled_value",
    "in_any_case",
    "number",
    "only",
    "skip",
    "tags",
    "target",
    "told",
    "whole_number",
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
    """A path into an answer as Conductor files write it."""
    wrong = told("a path into the answer, such as result.content[0].text")
    return {"type": "string", "pattern": f"^(?:{_grouped(_FIELD_STEP)})+$", **wrong}


_ESCAPE = r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})'
_QUOTED = rf"""(?:"(?:[^"\\\u0000-\u001f]|{_ESCAPE})*"|'[^']*')"""
_STEP = rf"(?:\[(?:[0-9]{{1,9}}|\*|{_QUOTED})\]|{_QUOTED})"
_FURTHER = rf"""(?:\.?{_STEP}|\.[^.\[\]"']+)*"""


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
