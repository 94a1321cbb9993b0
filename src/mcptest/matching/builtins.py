"""The matchers that come with the package, one entry each."""

from __future__ import annotations

import re

from mcptest.core.strict_json import dump_json
from mcptest.matching.regex_form import compile_regex
from mcptest.matching.registry import Directive, Matcher, Miss, Registry
from mcptest.matching.values import a_type, json_type, printed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["builtin_registry"]

# Parameters


def _text(raw: str) -> str:
    if not raw:
        raise ValueError("needs a text after the colon")
    return raw


def _count(raw: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", raw.strip()):
        raise ValueError(f"needs a whole number, not {dump_json(raw)}")
    return int(raw)


def _regex(raw: str) -> re.Pattern[str]:
    _text(raw)
    return compile_regex(raw)


_TYPE_NAMES = ("string", "number", "integer", "boolean", "object", "array", "null")


def _types(raw: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in raw.split("|"))
    for name in names:
        if name not in _TYPE_NAMES:
            raise ValueError(f"knows {', '.join(_TYPE_NAMES)}, not {dump_json(name)}")
    return names


def _nothing() -> None:
    return None


# Checks


def _found(pattern: re.Pattern[str], actual: object) -> Miss | None:
    text = printed(actual)
    if pattern.search(text):
        return None
    folded = compile_regex(pattern.pattern, re.IGNORECASE)
    hint = "it matches when case is ignored" if folded.search(text) else ""
    return Miss(why="it does not match", hint=hint)


def _holds(test: Callable[[str, str], bool]) -> Callable[[str, object], Miss | None]:
    """A check on the text of a scalar."""

    def check(wanted: str, actual: object) -> Miss | None:
        if isinstance(actual, (dict, list)) or actual is None:
            return Miss(why=f"it is {a_type(actual)}")
        text = printed(actual)
        if test(text, wanted):
            return None
        folded = test(text.casefold(), wanted.casefold())
        return Miss(why="it does not", hint="differs only in case" if folded else "")

    return check


_contains_text = _holds(lambda text, wanted: wanted in text)


def _contains(wanted: str, actual: object) -> Miss | None:
    if isinstance(actual, list):
        if any(wanted in printed(element) for element in actual):
            return None
        return Miss(why=_none_of(actual, "contains it"))
    return _contains_text(wanted, actual)


def _has_type(names: tuple[str, ...], actual: object) -> Miss | None:
    kind = json_type(actual)
    if kind in names or ("integer" in names and _is_whole(actual)):
        return None
    hint = ""
    is_wanted = "number" in names or "integer" in names
    if kind == "string" and is_wanted and re.fullmatch(_NUMBER, str(actual)):
        hint = "it is a number written as text"
    return Miss(why=f"it is {a_type(actual)}", hint=hint)


_NUMBER = r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?"


def _is_whole(value: object) -> bool:
    return type(value) is int or (isinstance(value, float) and value.is_integer())


def _exists(_: None, actual: object) -> Miss | None:
    return Miss(why="it is null") if actual is None else None


def _counted(*kinds: str) -> Callable[[int, object], Miss | None]:
    """A check on how many there are, for these JSON types."""

    def check(wanted: int, actual: object) -> Miss | None:
        if json_type(actual) not in kinds or not isinstance(actual, (str, list, dict)):
            return Miss(why=f"it is {a_type(actual)}")
        return None if len(actual) == wanted else Miss(why=f"it has {len(actual)}")

    return check


def _array_contains(wanted: str, actual: object) -> Miss | None:
    if not isinstance(actual, list):
        return Miss(why=f"it is {a_type(actual)}")
    if any(printed(element) == wanted for element in actual):
        return None
    path, colon, value = wanted.partition(":")
    if colon and any(_at(element, path) == value for element in actual):
        return None
    folded = any(printed(element).casefold() == wanted.casefold() for element in actual)
    hint = "one differs only in case" if folded else ""
    return Miss(why=_none_of(actual, "is it"), hint=hint)


def _none_of(elements: list[object], does: str) -> str:
    if not elements:
        return "it is empty"
    count = len(elements)
    return f"it has {count:,} element{'s' if count != 1 else ''} and none {does}"


def _at(element: object, path: str) -> str | None:
    for key in path.split("."):
        if not isinstance(element, dict) or key not in element:
            return None
        element = element[key]
    return printed(element)


def _quoting(words: str) -> Callable[[object], str]:
    return lambda wanted: f"{words} {dump_json(wanted)}"


def _slashed(pattern: re.Pattern[str]) -> str:
    return f"text that matches /{pattern.pattern}/"


_MATCHERS = (
    Matcher(
        name="regex",
        parameters=("R",),
        summary="The regular expression R is found anywhere in the text.",
        example="match:regex:^v[0-9]+",
        parse=_regex,
        wants=_slashed,
        check=_found,
    ),
    Matcher(
        name="contains",
        parameters=("S",),
        summary="The text holds S (numbers count as written); in an array, some element's does.",
        example="match:contains:sunny",
        parse=_text,
        wants=_quoting("text that contains"),
        check=_contains,
    ),
    Matcher(
        name="startsWith",
        parameters=("S",),
        summary="The text begins with S.",
        example="match:startsWith:Error",
        parse=_text,
        wants=_quoting("text that starts with"),
        check=_holds(str.startswith),
    ),
    Matcher(
        name="endsWith",
        parameters=("S",),
        summary="The text ends with S.",
        example="match:endsWith:.txt",
        parse=_text,
        wants=_quoting("text that ends with"),
        check=_holds(str.endswith),
    ),
    Matcher(
        name="type",
        parameters=("T",),
        summary=f"The value is of JSON type T ({', '.join(_TYPE_NAMES)}); `a|b` is either.",
        example="match:type:string|null",
        parse=_types,
        wants=lambda names: f"a value of type {' or '.join(names)}",
        check=_has_type,
    ),
    Matcher(
        name="exists",
        parameters=(),
        summary="The key is there and its value is not null.",
        example="match:exists",
        parse=_nothing,
        wants=lambda _: "a value",
        check=_exists,
    ),
    Matcher(
        name="length",
        parameters=("N",),
        summary="A text of N characters, or an array of N elements.",
        example="match:length:3",
        parse=_count,
        wants=lambda count: f"a text or array of length {count}",
        check=_counted("string", "array"),
    ),
    Matcher(
        name="count",
        parameters=("N",),
        summary="An array of N elements, or an object of N keys.",
        example="match:count:2",
        parse=_count,
        wants=lambda count: f"an array of {count} elements or an object of {count} keys",
        check=_counted("array", "object"),
    ),
    Matcher(
        name="arrayLength",
        parameters=("N",),
        summary="An array of N elements.",
        example="match:arrayLength:2",
        parse=_count,
        wants=lambda count: f"an array of length {count}",
        check=_counted("array"),
    ),
    Matcher(
        name="arrayContains",
        parameters=("V",),
        summary="Some element of the array is V or prints as V; `path:V` looks inside objects.",
        example="match:arrayContains:name:read_file",
        parse=_text,
        wants=_quoting("an array that holds"),
        check=_array_contains,
    ),
)

_DIRECTIVES = (
    Directive(
        name="partial",
        summary="Only what is written is checked, all the way down; arrays by position.",
        example="match:partial: {isError: false}",
    ),
    Directive(
        name="arrayElements",
        summary="Every element of the array matches what is written.",
        example='match:arrayElements: {type: "text", text: "match:exists"}',
    ),
    Directive(
        name="extractField",
        summary="Pull values out by path (`a.b`, `[0]`, `*`), then compare with `value`.",
        example='{"match:extractField": "tools.*.name", value: ["read_file"]}',
    ),
)


def builtin_registry() -> Registry:
    return Registry(_MATCHERS, _DIRECTIVES)
