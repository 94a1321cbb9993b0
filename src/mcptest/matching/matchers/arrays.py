"""Matchers on arrays, and on the size of any value that has one."""

from __future__ import annotations

import operator
from itertools import pairwise

from mcptest.core.strict_json import dump_json
from mcptest.matching.json_values import (
    describe_none,
    hash_key,
    json_type,
    no_parameter,
    parse_count,
    parse_string,
    to_text,
    type_name,
)
from mcptest.matching.matchers.text import check_empty, check_length, length_matchers
from mcptest.matching.registry import Matcher, Miss

__all__ = ["MATCHERS"]


def _check_array_contains(wanted: str, actual: object) -> Miss | None:
    if not isinstance(actual, list):
        return Miss(why=f"it is {type_name(actual)}")
    if any(to_text(element) == wanted for element in actual):
        return None
    path, colon, value = wanted.partition(":")
    found = [_text_at(element, path) for element in actual] if colon else []
    if value in found:
        return None
    has_objects = colon and any(isinstance(element, dict) for element in actual)
    is_nowhere = has_objects and all(each is None for each in found)
    return Miss(
        why=describe_none(actual, "is it"),
        hint=lambda: _array_hint(wanted, actual),
        nowhere=f'no element has "{path}"' if is_nowhere else "",
    )


def _array_hint(wanted: str, actual: list[object]) -> str:
    folded = wanted.casefold()
    path, colon, value = folded.partition(":")
    for element in actual:
        text = to_text(element)
        if text.casefold() == folded or (colon and _folded_text_at(element, path) == value):
            return "one differs only in case"
    if any(wanted in to_text(element) for element in actual):
        return "one holds it as a part; match:contains: looks inside the elements"
    return ""


def _text_at(element: object, path: str) -> str | None:
    for key in path.split("."):
        if not isinstance(element, dict) or key not in element:
            return None
        element = element[key]
    return to_text(element)


def _folded_text_at(element: object, path: str) -> str | None:
    for key in path.split("."):
        if not isinstance(element, dict):
            return None
        near = [value for name, value in element.items() if name.casefold() == key]
        if not near:
            return None
        element = near[0]
    return to_text(element).casefold()


def _check_unique(_: None, actual: object) -> Miss | None:
    if not isinstance(actual, list):
        return Miss(why=f"it is {type_name(actual)}")
    seen: dict[object, int] = {}
    for index, element in enumerate(actual):
        first = seen.setdefault(hash_key(element), index)
        if first != index:
            return Miss(why=f"it has the same at [{first}] and [{index}]")
    return None


def _check_sorted(_: None, actual: object) -> Miss | None:
    if not isinstance(actual, list):
        return Miss(why=f"it is {type_name(actual)}")
    for index, (one, other) in enumerate(pairwise(actual)):
        kinds = {json_type(one), json_type(other)}
        if kinds not in ({"number"}, {"string"}):
            names = " and ".join(dict.fromkeys([type_name(one), type_name(other)]))
            return Miss(why=f"it has {names} at [{index}] and [{index + 1}], which have no order")
        if other < one:
            return Miss(
                why=f"it has [{index + 1}] out of place",
                hint=lambda: "it is sorted the other way round" if _is_descending(actual) else "",
            )
    return None


def _is_descending(elements: list[object]) -> bool:
    kinds = {json_type(element) for element in elements}
    return kinds in ({"number"}, {"string"}) and all(
        other <= one  # type: ignore[operator]  # all of one kind that has an order
        for one, other in pairwise(elements)
    )


MATCHERS = (
    Matcher(
        name="length",
        family="Sizes",
        parameters=("N",),
        summary="A string of N characters, or an array of N elements.",
        example="match:length:3",
        passes=("abc", [1, 2, 3]),
        fails=("ab", {"a": 1, "b": 2, "c": 3}),
        parse=parse_count,
        wants=lambda count: f"a string or array of length {count}",
        check=check_length(("string", "array"), operator.eq),
        kinds=("string", "array"),
    ),
    Matcher(
        name="count",
        family="Sizes",
        parameters=("N",),
        summary="An array of N elements, or an object of N keys.",
        example="match:count:2",
        passes=([1, 2], {"a": 1, "b": 2}),
        fails=([], "ab"),
        parse=parse_count,
        wants=lambda count: f"an array of {count} elements or an object of {count} keys",
        check=check_length(("array", "object"), operator.eq),
        kinds=("array", "object"),
    ),
    Matcher(
        name="empty",
        family="Sizes",
        summary="A string, array or object with nothing in it.",
        example="match:empty",
        passes=("", [], {}),
        fails=(" ", [0], None),
        parse=no_parameter,
        wants=lambda _: "an empty string, array or object",
        check=check_empty(("string", "array", "object"), is_empty=True),
        kinds=("string", "array", "object"),
    ),
    Matcher(
        name="notEmpty",
        family="Sizes",
        summary="A string, array or object with something in it.",
        example="match:notEmpty",
        passes=("a", [0], {"a": 1}),
        fails=("", [], None),
        parse=no_parameter,
        wants=lambda _: "a string, array or object with something in it",
        check=check_empty(("string", "array", "object"), is_empty=False),
        kinds=("string", "array", "object"),
    ),
    *length_matchers(
        "arrayLength", "Arrays", "array", ("An array", "element"), ([1, 2, 3], [1, 2, 3, 4], [1])
    ),
    Matcher(
        name="arrayContains",
        family="Arrays",
        parameters=("V",),
        summary="Some element of the array is V or prints as V; `path:V` looks inside objects.",
        example="match:arrayContains:name:read_file",
        passes=([{"name": "read_file"}], ["name:read_file"]),
        fails=([{"name": "write_file"}], []),
        parse=parse_string,
        wants=lambda wanted: f"an array that holds {dump_json(wanted)}",
        check=_check_array_contains,
        kinds=("array",),
    ),
    Matcher(
        name="unique",
        family="Arrays",
        summary="An array in which no two elements are equal.",
        example="match:unique",
        passes=([1, 2, "1"], []),
        fails=([1, 2, 1.0], "ab"),
        parse=no_parameter,
        wants=lambda _: "an array without equal elements",
        check=_check_unique,
        kinds=("array",),
    ),
    Matcher(
        name="sorted",
        family="Arrays",
        summary="An array of numbers or strings in which none is less than the one before it.",
        example="match:sorted",
        passes=([1, 2, 2], ["a", "b"], []),
        fails=([2, 1], [1, "a"], "ab"),
        parse=no_parameter,
        wants=lambda _: "a sorted array",
        check=_check_sorted,
        kinds=("array",),
    ),
)
