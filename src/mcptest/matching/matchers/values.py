"""Matchers on any value: its type, whether it is there, and what it equals."""

from __future__ import annotations

from mcptest.core.diagnostics import closest
from mcptest.core.strict_json import dump_json
from mcptest.core.text import show_json
from mcptest.matching.json_values import (
    any_string,
    describe_near_match,
    exact_number,
    first_difference,
    is_long,
    is_same_number,
    is_whole,
    json_type,
    no_parameter,
    parse_exact,
    to_text,
    type_name,
)
from mcptest.matching.registry import Matcher, Miss, ParameterError

__all__ = ["MATCHERS", "values_equal_to"]

_TYPE_NAMES = ("string", "number", "integer", "boolean", "object", "array", "null")

# What the types of JSON are called elsewhere.
_OTHER_NAMES = {
    "text": "string",
    "str": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "numeric": "number",
    "bool": "boolean",
    "dict": "object",
    "map": "object",
    "mapping": "object",
    "list": "array",
    "none": "null",
    "nil": "null",
}


def _parse_types(raw: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in raw.split("|"))
    for name in names:
        if name in _TYPE_NAMES:
            continue
        known = f"knows {', '.join(_TYPE_NAMES)}, not {dump_json(name)}"
        if name.casefold() in ("undefined", "missing"):
            raise ParameterError(f"{known}; a key that must not be there is match:not:exists")
        meant = _OTHER_NAMES.get(name.casefold()) or closest(name, _TYPE_NAMES)
        raise ParameterError(f'{known}; did you mean "{meant}"?' if meant else known)
    return names


def _check_type(names: tuple[str, ...], actual: object) -> Miss | None:
    kind = json_type(actual)
    if kind in names or ("integer" in names and is_whole(actual)):
        return None
    wants_number = "number" in names or "integer" in names
    if kind == "number":
        return Miss(why="it is a number with a fraction" if wants_number else "it is a number")
    is_text_number = wants_number and kind == "string" and parse_exact(str(actual)) is not None
    hint = (lambda: "it is a number written as a string") if is_text_number else None
    return Miss(why=f"it is {type_name(actual)}", hint=hint)


# Equality


def _is_equal(wanted: str, actual: object) -> bool:
    if isinstance(actual, (dict, list)):
        return to_text(actual) == wanted
    number, meant = exact_number(actual), parse_exact(wanted)
    if number is not None and meant is not None:
        return is_same_number(number, meant)
    return to_text(actual) == wanted


def _check_equals(wanted: str, actual: object) -> Miss | None:
    if _is_equal(wanted, actual):
        return None
    text = to_text(actual)
    return Miss(
        why=f"it is {show_json(actual, 60)}",
        hint=lambda: describe_near_match(wanted, text, str.__eq__),
        find_place=(lambda: first_difference(wanted, text)) if is_long(wanted, text) else None,
        why_there="it differs from {} on",
    )


def values_equal_to(strings: tuple[str, ...]) -> tuple[object, ...]:
    """Every value that `equals` one of these strings; () where there may be many."""
    if any(text[:1] in ("{", "[") or parse_exact(text) for text in strings):
        return ()
    words = {"true": True, "false": False, "null": None}
    return (*strings, *(words[text] for text in strings if text in words))


def _parse_choices(raw: str) -> tuple[str, ...]:
    choices = tuple(choice.strip() for choice in raw.split("|"))
    if not raw.strip():
        raise ParameterError("needs what it may be, with | between")
    return choices


def _check_one_of(choices: tuple[str, ...], actual: object) -> Miss | None:
    if any(_is_equal(choice, actual) for choice in choices):
        return None
    text = to_text(actual)
    return Miss(
        why=f"it is {show_json(actual, 60)}",
        hint=lambda: next(
            filter(None, (describe_near_match(one, text, str.__eq__) for one in choices)), ""
        ),
    )


MATCHERS = (
    Matcher(
        name="type",
        family="Values",
        parameters=("T",),
        summary=f"The value is of JSON type T ({', '.join(_TYPE_NAMES)}); `a|b` is either.",
        example="match:type:string|null",
        passes=("", None),
        fails=(1, {}),
        parse=_parse_types,
        wants=lambda names: f"a value of type {' or '.join(names)}",
        check=_check_type,
    ),
    Matcher(
        name="exists",
        family="Values",
        summary="The key is there and its value is not null.",
        example="match:exists",
        passes=("", 0, False),
        fails=(None,),
        parse=no_parameter,
        wants=lambda _: "a value",
        check=lambda _, actual: Miss(why="it is null") if actual is None else None,
        kinds=("string", "number", "boolean", "object", "array"),
    ),
    Matcher(
        name="equals",
        family="Values",
        parameters=("V",),
        summary="The value is V: by number when both are numbers, else as strings.",
        example="match:equals:5",
        passes=(5, 5.0, "5"),
        fails=(6, "five", None),
        parse=any_string,
        wants=dump_json,
        check=_check_equals,
    ),
    Matcher(
        name="notEquals",
        family="Values",
        parameters=("V",),
        summary="The value is not V, compared as `equals` does.",
        example="match:notEquals:5",
        passes=(6, "five", None),
        fails=(5, 5.0, "5"),
        parse=any_string,
        wants=lambda wanted: f"anything but {dump_json(wanted)}",
        check=lambda wanted, actual: (
            Miss(why="it is just that") if _is_equal(wanted, actual) else None
        ),
    ),
    Matcher(
        name="oneOf",
        family="Values",
        parameters=("a|b|c",),
        summary="The value is one of those named, compared as `equals` does.",
        example="match:oneOf:low|high|3",
        passes=("low", 3),
        fails=("Low", "low|high", None),
        parse=_parse_choices,
        wants=lambda choices: f"one of {', '.join(map(dump_json, choices))}",
        check=_check_one_of,
    ),
)
