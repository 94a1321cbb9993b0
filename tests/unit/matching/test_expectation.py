"""Directives about elements, fields, and several patterns at once."""

from __future__ import annotations

import pytest
from case_tables import each_case

from mcptest.core.results import Mismatch
from mcptest.matching.compare import compare, is_met, source_of
from mcptest.matching.compiler import Compiler
from mcptest.matching.diff import find_idle_checks
from mcptest.matching.registry import builtin_registry


def compiled(expected: object) -> object:
    compiler = Compiler(builtin_registry())
    found = compiler.compile(expected, None)
    assert compiler.diagnostics == []
    assert source_of(found) == expected
    return found


def differences(expected: object, actual: object) -> list[Mismatch]:
    found = compiled(expected)
    mismatches = list(compare(found, actual))
    assert is_met(found, actual) == (not mismatches)
    return mismatches


def differing(expected: object, actual: object) -> list[tuple[str, str]]:
    return [(found.path, found.message) for found in differences(expected, actual)]


# `match:anyElement`

ANY_READER = {"match:anyElement": {"match:partial": {"name": "read", "kind": "tool"}}}


def test_one_element_is_enough() -> None:
    assert differences(ANY_READER, [{"name": "x"}, {"name": "read", "kind": "tool", "n": 1}]) == []
    assert differences({"match:anyElement": "match:contains:b"}, ["a", "abc"]) == []


def test_when_no_element_matches_the_nearest_is_named() -> None:
    actual = [{"name": "x", "kind": "y"}, {"name": "read", "kind": "prompt"}, 5]
    assert differences({"tools": ANY_READER}, {"tools": actual}) == [
        Mismatch(
            path="tools",
            expected=ANY_READER["match:anyElement"],
            actual=actual,
            message="expected an element that matches; it has 3 elements and none does",
            hint="[1] is nearest: kind: differs",
        )
    ]


def test_an_empty_array_or_no_array_has_no_such_element() -> None:
    assert differing(ANY_READER, []) == [("", "expected an element that matches; it is empty")]
    assert differing(ANY_READER, {"name": "read"}) == [
        ("", "expected an array for match:anyElement, got an object")
    ]


# `match:all` and `match:any`


def test_all_of_several_must_hold_and_each_that_does_not_is_reported() -> None:
    expected = {"match:all": ["match:contains:sun", "match:endsWith:.", "match:type:string"]}
    assert differences({"text": expected}, {"text": "sunny."}) == []
    assert differing({"text": expected}, {"text": "rain"}) == [
        ("text", 'expected a string that contains "sun"; it does not'),
        ("text", 'expected a string that ends with "."; it does not'),
    ]


def test_one_of_several_is_enough() -> None:
    expected = {"match:any": ["match:type:null", {"a": 1}, 5]}
    for actual in (None, {"a": 1}, 5.0):
        assert differences(expected, actual) == []


def test_when_none_holds_the_nearest_is_named() -> None:
    expected = {"match:any": ["match:type:null", {"a": 1, "b": 2}]}
    assert differences(expected, {"a": 1, "b": 3}) == [
        Mismatch(
            path="",
            expected=["match:type:null", {"a": 1, "b": 2}],
            actual={"a": 1, "b": 3},
            message="expected one of 2 to hold; none does",
            hint="number 2 is nearest: b: differs",
        )
    ]
    assert differing({"match:any": ["match:type:null"]}, 1) == [("", "does not hold")]


def test_a_key_may_be_absent_when_one_of_several_allows_it() -> None:
    optional = {"match:any": ["match:not:exists", "match:type:string"]}
    assert differences({"a": optional}, {}) == []
    assert differences({"a": optional}, {"a": "x"}) == []
    assert differing({"a": optional}, {"a": 1}) == [("a", "expected one of 2 to hold; none does")]
    both = {"match:all": ["match:not:exists", "match:not:type:array"]}
    assert differing({"a": both}, {}) == [("a", "is missing")]
    assert differing({"match:partial": {"a": both}}, {}) == [("a", "is missing")]
    assert differing({"a": {"match:any": ["match:exists"]}}, {}) == [("a", "is missing")]
    assert differing({"a": {"match:partial": {"b": 1}}}, {}) == [("a", "is missing")]
    assert differing({"a": optional | {"b": 1}}, {}) == [("a", "is missing")]


# `match:crossField`


def test_fields_of_the_enclosing_object_are_compared_and_siblings_too() -> None:
    expected = {"match:crossField": "start < end", "name": "x"}
    assert differences(expected, {"start": 1, "end": 2, "name": "x", "more": 1}) == []
    assert differences({"event": expected}, {"event": {"start": 3, "end": 2, "name": "y"}}) == [
        Mismatch(
            path="event",
            expected="match:crossField:start < end",
            actual={"start": 3, "end": 2, "name": "y"},
            message="expected start less than end; it has start 3 and end 2",
        ),
        Mismatch(path="event.name", expected="x", actual="y", message="differs"),
    ]


def test_a_negated_relation_must_not_hold() -> None:
    expected = {"match:not:crossField": "used > limit"}
    assert differences(expected, {"used": 1, "limit": 2}) == []
    assert differing(expected, {"used": 3, "limit": 2}) == [
        ("", "expected anything but used greater than limit; it is just that")
    ]


def test_a_negated_relation_of_a_field_that_is_not_there_is_pointed_out() -> None:
    expected = {"stats": {"match:not:crossField": "used > limt"}}
    actual = {"stats": {"used": 1, "limit": 2}}
    assert differences(expected, actual) == []
    assert list(find_idle_checks(compiled(expected), actual)) == [
        "match:not:crossField:used > limt checked nothing at stats: it has nothing at limt: "
        'no key "limt"; there is "limit"'
    ]


# `match:extractField`, and what is denied of it


@pytest.mark.parametrize(
    "value",
    [
        "match:not:contains:x",
        "match:not:arrayContains:x",
        {"match:arrayElements": "match:not:contains:x"},
        {"match:all": ["match:type:array", "match:not:contains:x"]},
        {"match:any": ["match:contains:y", "match:not:contains:x"]},
    ],
)
def test_nothing_is_denied_of_a_path_that_leads_nowhere(value: object) -> None:
    expected = {"match:extractField": "tools.*.nmae", "value": value}
    tools = [{"name": "a"}, {"name": "b"}]
    message = 'no such path: no key "nmae"; there is "name"'
    assert differing(expected, {"tools": tools}) == [("tools[*].nmae", message)]
    assert differences(expected, {"tools": [*tools, {"nmae": "z"}]}) == []


def test_nothing_is_denied_of_the_elements_of_an_empty_array() -> None:
    expected = {"match:extractField": "tools.*.name", "value": "match:not:contains:x"}
    message = "no such path: there are no elements"
    assert differing(expected, {"tools": []}) == [("tools[*].name", message)]


@pytest.mark.parametrize(
    "value",
    [
        [],
        "match:empty",
        "match:not:exists",
        {"match:any": ["match:empty", "match:not:contains:x"]},
    ],
)
def test_an_assertion_about_no_elements_may_hold(value: object) -> None:
    expected = {"match:extractField": "tools.*.name", "value": value}
    found = differences(expected, {"tools": []})
    assert (found == []) == (value != "match:not:exists")


# Mistakes


def diagnostics(expected: object) -> list[tuple[str, tuple[str | int, ...], str]]:
    compiler = Compiler(builtin_registry())
    compiler.compile(expected, None)
    return [(found.code, found.steps, found.message) for found in compiler.diagnostics]


@each_case(
    ("expected", "code", "steps", "message"),
    [
        ({"match:all": []}, "F011", ("match:all",), "match:all is empty: every value meets it"),
        ({"match:any": []}, "F017", ("match:any",), "match:any is empty: no value meets it"),
        ({"match:all": "x"}, "F013", ("match:all",), "match:all takes a list"),
        ({"match:any": {"a": 1}}, "F013", ("match:any",), "match:any takes a list"),
        (
            {"a": {"match:partial": {}}},
            "F011",
            ("a", "match:partial"),
            '"match:partial" is empty: every object meets it',
        ),
        (
            {"match:arrayElements": {"match:partial": []}},
            "F011",
            ("match:arrayElements", "match:partial"),
            '"match:partial" is empty: every array meets it',
        ),
        (
            {"match:crossField": 5},
            "F013",
            ("match:crossField",),
            'match:crossField takes a string such as "start < end"',
        ),
        (
            {"match:not:crossField": "a b"},
            "F013",
            ("match:not:crossField",),
            'the matcher "crossField" needs two fields with one of <= >= != == < > = between, '
            'not "a b"',
        ),
        (
            {"match:not:partial": {"a": 1}},
            "F012",
            ("match:not:partial",),
            'unknown directive "match:not:partial"',
        ),
        (
            {"match:anyElment": 1},
            "F012",
            ("match:anyElment",),
            'unknown directive "match:anyElment"; did you mean "match:anyElement"?',
        ),
        *(
            (
                {"a": {name: {"b": 1}}},
                "F018",
                ("a", name),
                f'"{name}" is a directive, and this is compared as a plain key',
            )
            for name in (
                "arrayElements",
                "anyElement",
                "extractField",
                "crossField",
                "not:crossField",
            )
        ),
        (
            {"match:partial": {"arrayElements": 1}},
            "F018",
            ("match:partial", "arrayElements"),
            '"arrayElements" is a directive, and this is compared as a plain key',
        ),
        (
            {"a": "Match:contains:x"},
            "F012",
            ("a",),
            "a pattern begins with match: in small letters",
        ),
        (
            ["contains:x"],
            "F018",
            (0,),
            '"contains" is a matcher, and this is compared as a plain string',
        ),
        (
            {"match:extractField": "a", "value": "type:string"},
            "F018",
            ("value",),
            '"type" is a matcher, and this is compared as a plain string',
        ),
    ],
)
def test_a_mistake_is_reported_once_at_its_place(
    expected: object, code: str, steps: tuple[str | int, ...], message: str
) -> None:
    assert diagnostics(expected) == [(code, steps, message)]


@pytest.mark.parametrize(
    "expected",
    [
        {"match:partial": {"tools": {}}},
        {"match:partial": {"a": 1}, "partial": 2},
        {"all": [], "any": [], "partial": {}},
        {"properties": {"arrayElements": {"type": "array"}}},
        {"match:extractField": "arrayElements", "value": [1]},
        {"text": "contains: 3 items"},
        {"match:all": ["match:exists"]},
    ],
)
def test_nothing_is_said_where_nothing_is_wrong(expected: object) -> None:
    assert diagnostics(expected) == []


def test_a_mistake_in_a_relation_is_pointed_at_in_its_own_text() -> None:
    compiler = Compiler(builtin_registry())
    compiler.compile({"match:crossField": "a < a"}, None)
    (diagnostic,) = compiler.diagnostics
    assert (diagnostic.offset, diagnostic.width) == (0, len("a < a"))


def test_only_a_relation_can_be_negated_as_a_key() -> None:
    compiler = Compiler(builtin_registry())
    compiler.compile({"match:not:arrayElements": 1}, None)
    (diagnostic,) = compiler.diagnostics
    assert diagnostic.help == (
        "of the keys only match:crossField can be negated; negate the patterns in it"
    )
