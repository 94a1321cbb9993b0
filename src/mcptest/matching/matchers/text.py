"""Matchers on strings: what they contain, how they begin and end, and their length."""

from __future__ import annotations

import operator
import re
from bisect import bisect_right

from mcptest.core.strict_json import dump_json
from mcptest.core.text import plural
from mcptest.matching.json_values import (
    any_string,
    common_prefix,
    describe_near_match,
    describe_none,
    first_difference,
    is_long,
    json_type,
    no_parameter,
    parse_count,
    parse_counts,
    parse_string,
    to_text,
    type_name,
)
from mcptest.matching.regex import VERY_END, Expression, compile_expression, compile_regex
from mcptest.matching.registry import BadExpressionError, CannotHoldError, Matcher, Miss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Place = tuple[int, int]
    FindPlace = Callable[[str, str], Place | None]

__all__ = ["MATCHERS", "check_empty", "check_length", "length_matchers"]


_SCALARS = ("string", "number", "boolean")
_SCALARS_OR_ARRAY = (*_SCALARS, "array")


def _parse_regex(raw: str) -> Expression:
    parse_string(raw)
    try:
        return compile_expression(raw)
    except ValueError as error:
        raise BadExpressionError(str(error)) from None


def _check_regex(expression: Expression, actual: object) -> Miss | None:
    text = to_text(actual)
    if expression.compiled.search(text):
        return None
    return Miss(why="it does not match", hint=lambda: _regex_hint(expression, text))


def _regex_hint(expression: Expression, text: str) -> str:
    source = expression.source
    if compile_regex(source, re.IGNORECASE, end=VERY_END).search(text):
        return "it matches when case is ignored"
    if compile_regex(source).search(text):
        return "there is a line break at the end, and $ matches only the very end"
    if "." in source and "\n" in text and _is_found(f"(?s){source}", text):
        return "`.` does not match line breaks; (?s) in front of it does"
    # `/…/i` is how other places write one; here the slashes are part of it.
    slashed = re.fullmatch(r"/(.+)/([a-z]*)", source, re.DOTALL)
    if slashed and _is_found(slashed[1], text, re.IGNORECASE):
        ignored = ", and to ignore case, write (?i) in front of it" if "i" in slashed[2] else ""
        return f"the slashes around it are searched for too; leave them out{ignored}"
    return ""


def _is_found(source: str, text: str, flags: int = 0) -> bool:
    try:
        return compile_regex(source, flags).search(text) is not None
    except ValueError:
        return False


def _check_scalar(
    test: Callable[[str, str], bool],
    why: str = "it does not",
    find_place: FindPlace | None = None,
    why_there: str = "it differs from {} on",
) -> Callable[[str, object], Miss | None]:
    """A check on the text of a scalar.

    In a long one, `find_place` finds where it differs; `why_there` says so, see `Miss`.
    """

    def check(wanted: str, actual: object) -> Miss | None:
        if isinstance(actual, (dict, list)) or actual is None:
            return Miss(why=f"it is {type_name(actual)}")
        text = to_text(actual)
        if test(text, wanted):
            return None
        miss = Miss(why=why, hint=lambda: describe_near_match(wanted, text, test))
        if find_place is None or not is_long(wanted, text):
            return miss
        return miss.but(find_place=lambda: find_place(wanted, text), why_there=why_there)

    return check


def _check_scalar_or_element(
    test: Callable[[str, str], bool], find_place: FindPlace
) -> Callable[[str, object], Miss | None]:
    """The same check, which on an array some element must meet."""
    of_scalar = _check_scalar(
        test, find_place=find_place, why_there="what is nearest to it differs from {} on"
    )

    def check(wanted: str, actual: object) -> Miss | None:
        if not isinstance(actual, list):
            return of_scalar(wanted, actual)
        if any(test(to_text(element), wanted) for element in actual):
            return None
        return Miss(why=describe_none(actual, "contains it"))

    return check


# Where long strings differ: the index in the wanted one, and the index in the other one

# A string that has less of what is looked for is nowhere near it.
_MIN_SHARED_CHARS = 8


def _ignoring_case(find_place: FindPlace) -> FindPlace:
    """The same for strings in which case is ignored."""

    def find(wanted: str, text: str) -> Place | None:
        place = find_place(wanted.casefold(), text.casefold())
        return place and (_unfold(wanted, place[0]), _unfold(text, place[1]))

    return find


def _unfold(text: str, at: int) -> int:
    """The index in a string of a character of it without case, where "ß" is two characters."""
    ends = range(len(text) + 1)
    return bisect_right(ends, at, key=lambda end: len(text[:end].casefold())) - 1


def _nearest_place(wanted: str, text: str) -> Place | None:
    """The end of the first occurrence of the longest beginning of `wanted` that there is."""
    # If a beginning occurs, each shorter one does.
    size = bisect_right(range(1, len(wanted) + 1), False, key=lambda end: wanted[:end] not in text)
    if size < min(len(wanted), _MIN_SHARED_CHARS):
        return None
    return size, text.index(wanted[:size]) + size


def _last_difference(wanted: str, text: str) -> Place | None:
    """The last character that is another one; None if one string is the end of the other."""
    size = common_prefix(wanted[::-1], text[::-1])
    if size == min(len(wanted), len(text)):
        return None
    return len(wanted) - size - 1, len(text) - size - 1


def _quoting(words: str) -> Callable[[object], str]:
    return lambda wanted: f"{words} {dump_json(wanted)}"


# Lengths: six matchers for each kind of value that has one


def check_length(
    kinds: tuple[str, ...], test: Callable[[int, Any], bool]
) -> Callable[[Any, object], Miss | None]:
    """A check on the length of values of these JSON types."""

    def check(wanted: Any, actual: object) -> Miss | None:
        if not isinstance(actual, (str, list, dict)) or json_type(actual) not in kinds:
            return Miss(why=f"it is {type_name(actual)}")
        return None if test(len(actual), wanted) else Miss(why=f"it has {len(actual):,}")

    return check


def length_matchers(
    name: str, family: str, kind: str, nouns: tuple[str, str], examples: tuple[object, ...]
) -> Iterator[Matcher]:
    """The six matchers on the length of one JSON type.

    `nouns` are the value and its unit, `examples` have three, four and fewer than three of them.
    """
    subject, unit = nouns
    three, four, few = examples

    def entry(
        suffix: str, words: str, test: Callable[[int, int], bool], passes: object, fails: object
    ) -> Matcher:
        return Matcher(
            name=name + suffix,
            family=family,
            parameters=("N",),
            summary=f"{subject} of {words}N {unit}s.",
            example=f"match:{name}{suffix}:3",
            passes=(passes,),
            fails=(fails, None),
            parse=_parse_upper_bound if suffix == "LessThan" else parse_count,
            wants=lambda count: f"{subject.lower()} of {words}{plural(count, unit)}",
            check=check_length((kind,), test),
            kinds=(kind,),
        )

    yield entry("", "", operator.eq, three, few)
    yield entry("GreaterThan", "more than ", operator.gt, four, three)
    yield entry("GreaterThanOrEqual", "at least ", operator.ge, three, few)
    yield entry("LessThan", "less than ", operator.lt, few, three)
    yield entry("LessThanOrEqual", "at most ", operator.le, three, four)
    yield entry("Between", "", operator.eq, three, few).but(
        parameters=("A", "B"),
        summary=f"{subject} of A to B {unit}s, both included.",
        example=f"match:{name}Between:3:9",
        passes=(three, four),
        parse=parse_counts,
        wants=lambda bounds: f"{subject.lower()} of {bounds[0]} to {bounds[1]} {unit}s",
        check=check_length((kind,), lambda count, bounds: bounds[0] <= count <= bounds[1]),
    )


def _parse_upper_bound(raw: str) -> int:
    count = parse_count(raw)
    if count == 0:
        raise CannotHoldError("counts from 0, and nothing has less than that")
    return count


def check_empty(
    kinds: tuple[str, ...], unit: str = "", *, is_empty: bool
) -> Callable[[None, object], Miss | None]:
    """A check that values of these JSON types have nothing in them, or something."""

    def check(_: None, actual: object) -> Miss | None:
        if not isinstance(actual, (str, list, dict)) or json_type(actual) not in kinds:
            return Miss(why=f"it is {type_name(actual)}")
        if (not actual) == is_empty:
            return None
        size = plural(len(actual), unit) if unit else f"{len(actual):,}"
        return Miss(why=f"it has {size}" if actual else "it is empty")

    return check


MATCHERS = (
    Matcher(
        name="regex",
        family="Text",
        parameters=("R",),
        summary="The regular expression R is found anywhere in the string (of other values: in "
        "their JSON).",
        example=r"match:regex:^v\d+",
        passes=("v12",),
        fails=("12", "V1"),
        parse=_parse_regex,
        wants=lambda expression: f"a string that matches /{expression.source}/",
        check=_check_regex,
        is_slow=True,
    ),
    Matcher(
        name="contains",
        family="Text",
        parameters=("S",),
        summary="The string contains S (numbers as written); in an array, some element's does.",
        example="match:contains:sunny",
        passes=("a sunny day", ["rain", "sunny"]),
        fails=("Sunny", None, []),
        parse=parse_string,
        wants=_quoting("a string that contains"),
        check=_check_scalar_or_element(str.__contains__, _nearest_place),
        kinds=_SCALARS_OR_ARRAY,
    ),
    Matcher(
        name="containsIgnoreCase",
        family="Text",
        parameters=("S",),
        summary="As `contains`, and small and capital letters count the same.",
        example="match:containsIgnoreCase:sunny",
        passes=("Sunny!", ["rain", "SUNNY"]),
        fails=("rain", None),
        parse=parse_string,
        wants=_quoting("a string that contains, in any case,"),
        check=_check_scalar_or_element(
            lambda text, wanted: wanted.casefold() in text.casefold(),
            _ignoring_case(_nearest_place),
        ),
        kinds=_SCALARS_OR_ARRAY,
    ),
    Matcher(
        name="startsWith",
        family="Text",
        parameters=("S",),
        summary="The string begins with S.",
        example="match:startsWith:Error",
        passes=("Error: no",),
        fails=("An Error", ["Error"]),
        parse=parse_string,
        wants=_quoting("a string that starts with"),
        check=_check_scalar(str.startswith, find_place=first_difference),
        kinds=_SCALARS,
    ),
    Matcher(
        name="endsWith",
        family="Text",
        parameters=("S",),
        summary="The string ends with S.",
        example="match:endsWith:.txt",
        passes=("a.txt",),
        fails=("a.txt ", None),
        parse=parse_string,
        wants=_quoting("a string that ends with"),
        check=_check_scalar(
            str.endswith, find_place=_last_difference, why_there="it differs up to {}"
        ),
        kinds=_SCALARS,
    ),
    Matcher(
        name="equalsIgnoreCase",
        family="Text",
        parameters=("S",),
        summary="The string is S, in small or capital letters.",
        example="match:equalsIgnoreCase:ok",
        passes=("OK", "ok"),
        fails=("okay", None),
        parse=any_string,
        wants=_quoting("a string that is, in any case,"),
        check=_check_scalar(
            lambda text, wanted: text.casefold() == wanted.casefold(),
            "it is not",
            _ignoring_case(first_difference),
        ),
        kinds=_SCALARS,
    ),
    *length_matchers(
        "stringLength", "Text", "string", ("A string", "character"), ("abc", "abcd", "ab")
    ),
    Matcher(
        name="stringEmpty",
        family="Text",
        summary="A string without any character.",
        example="match:stringEmpty",
        passes=("",),
        fails=(" ", None, []),
        parse=no_parameter,
        wants=lambda _: "an empty string",
        check=check_empty(("string",), "character", is_empty=True),
        kinds=("string",),
    ),
    Matcher(
        name="stringNotEmpty",
        family="Text",
        summary="A string with at least one character.",
        example="match:stringNotEmpty",
        passes=("a", " "),
        fails=("", None, ["a"]),
        parse=no_parameter,
        wants=lambda _: "a string that is not empty",
        check=check_empty(("string",), "character", is_empty=False),
        kinds=("string",),
    ),
)
