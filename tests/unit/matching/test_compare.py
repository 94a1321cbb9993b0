"""What is equal, what is not, and where the difference is said to be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.results import Mismatch
from mcptest.core.value_class import ABSENT
from mcptest.matching.compare import compare, is_same, source_of
from mcptest.matching.compiler import Compiler
from mcptest.matching.json_values import is_equal
from mcptest.matching.registry import builtin_registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.core.diagnostics import PathDiagnostic

UNSEEN = "differs only in characters that cannot be seen"

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, 1.5])
    | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


def differences(expected: object, actual: object) -> list[Mismatch]:
    compiler = Compiler(builtin_registry())
    compiled = compiler.compile(expected, None)
    assert compiler.diagnostics == []
    assert source_of(compiled) == expected
    return list(compare(compiled, actual))


def diagnostics(expected: object) -> list[PathDiagnostic]:
    compiler = Compiler(builtin_registry())
    compiler.compile(expected, None)
    return compiler.diagnostics


def differing(expected: object, actual: object) -> list[tuple[str, str]]:
    return [(found.path, found.message) for found in differences(expected, actual)]


# Equality


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1, 1.0),
        (1.0, 1),
        (0, -0.0),
        (None, None),
        (True, True),
        ("é", "é"),
        ({}, {}),
        ([], []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]}),
        (10**30, 10**30),
    ],
)
def test_values_that_json_calls_equal_are_equal(expected: object, actual: object) -> None:
    assert differences(expected, actual) == []
    assert is_equal(expected, actual)


@each_case(
    ("expected", "actual", "message", "hint"),
    [
        (True, 1, "expected a boolean, got a number", ""),
        (1, True, "expected a number, got a boolean", ""),
        (0, False, "expected a number, got a boolean", ""),
        (None, False, "expected null, got a boolean", ""),
        (None, 0, "expected null, got a number", ""),
        ("", None, "expected a string, got null", ""),
        ("1", 1, "expected a string, got a number", "the same, but a number instead of a string"),
        (
            "true",
            True,
            "expected a string, got a boolean",
            "the same, but a boolean instead of a string",
        ),
        ("null", None, "expected a string, got null", "the same, but null instead of a string"),
        ({}, [], "expected an object, got an array", ""),
        ([], {}, "expected an array, got an object", ""),
        ({}, None, "expected an object, got null", ""),
        (1, 2, "differs", ""),
        ("a", "b", "differs", ""),
        ("Abc", "aBC", "differs", "differs only in case"),
        ("a b", " a\n b", "differs", "differs only in white space"),
        ("é", "e\u0301", "differs", f"{UNSEEN}: U+00E9 against U+0065 U+0301"),
        ("o\u0308l", "öl", "differs", f"{UNSEEN}: U+006F U+0308 against U+00F6"),
        ("ab", "a\u200bb", "differs", f"{UNSEEN}: nothing against U+200B"),
        ("ab\U000e0100", "ab", "differs", f"{UNSEEN}: U+E0100 against nothing"),
        ("a\u200b\u200cb", "a\u200db", "differs", f"{UNSEEN}: U+200B U+200C against U+200D"),
        # More of them than fit into a report.
        ("ab", "a" + "\u200b" * 30 + "b", "differs", f"{UNSEEN}: U+0062 against U+200B"),
        ("it's", "it’s", "differs", "differs only in the kind of quotes or dashes"),
        (0.1, 0.2, "differs", ""),
    ],
)
def test_values_that_differ_say_how(
    expected: object, actual: object, message: str, hint: str
) -> None:
    assert differences(expected, actual) == [
        Mismatch(path="", expected=expected, actual=actual, message=message, hint=hint)
    ]
    assert not is_equal(expected, actual)


@given(JSON, JSON)
def test_comparing_finds_nothing_exactly_when_two_values_are_equal(
    left: object, right: object
) -> None:
    assert (differences(left, right) == []) == is_equal(left, right)


@given(JSON)
def test_a_value_equals_itself_strictly_and_partially(value: object) -> None:
    assert differences(value, value) == []
    if value not in ({}, []):
        assert differences({"match:partial": value}, value) == []


def test_a_missing_key_is_not_null_and_is_reported_at_its_own_path() -> None:
    assert differences({"result": {"next": None}}, {"result": {}}) == [
        Mismatch(path="result.next", expected=None, actual=ABSENT, message="is missing")
    ]


def test_a_surplus_key_is_reported_at_its_own_path() -> None:
    assert differences({"result": {}}, {"result": {"_meta": {"a": 1}}}) == [
        Mismatch(path="result._meta", expected=ABSENT, actual={"a": 1}, message="is not expected")
    ]


def test_mismatches_are_in_the_order_of_the_file_then_of_the_answer() -> None:
    expected = {"z": 1, "a": {"y": 1, "b": 2}, "gone": 1, "list": [1, 2, 3]}
    actual = {"extra": 0, "list": [1, 5], "a": {"b": 3, "y": 2, "new": 1}, "z": 2, "more": 0}
    assert differing(expected, actual) == [
        ("z", "differs"),
        ("a.y", "differs"),
        ("a.b", "differs"),
        ("a.new", "is not expected"),
        ("gone", "is missing"),
        ("list[1]", "differs"),
        ("list[2]", "is missing"),
        ("extra", "is not expected"),
        ("more", "is not expected"),
    ]


def test_arrays_differ_by_position_and_length() -> None:
    assert differing([1, 2], [2, 1]) == [("[0]", "differs"), ("[1]", "differs")]
    assert differing([1], [1, 2, 3]) == [("[1]", "is not expected"), ("[2]", "is not expected")]


def test_keys_that_are_not_plain_words_are_quoted_in_the_path() -> None:
    assert differing({"x y": {"a.b": 1}}, {"x y": {"a.b": 2}}) == [('["x y"]["a.b"]', "differs")]


def test_a_misspelt_key_is_pointed_out() -> None:
    (missing, surplus) = differences({"isError": True}, {"iserror": True})
    assert (missing.path, missing.hint) == ("isError", 'there is "iserror"')
    assert (surplus.path, surplus.hint) == ("iserror", "")


def test_a_key_that_was_asked_for_itself_is_not_offered_for_another() -> None:
    (missing,) = differences({"text": 1, "texts": 1}, {"text": 1})
    assert missing.hint == ""


def test_only_the_first_of_many_missing_keys_are_looked_for_under_another_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[str] = []

    def remembering(word: str, known: Iterable[str]) -> str:
        looked.append(word)
        return next(iter(known))

    monkeypatch.setattr("mcptest.matching.compare.closest", remembering)
    found = differences({f"key{n}": 1 for n in range(300)}, {f"kex{n}": 1 for n in range(300)})
    assert len(found) == 600
    assert [each.hint for each in found if each.hint] == ['there is "kex0"'] * 50
    assert looked == [f"key{n}" for n in range(50)]


def test_a_huge_object_from_a_server_does_not_slow_the_search_for_a_misspelt_key() -> None:
    actual: dict[str, object] = {f"key{index}": index for index in range(20_000)}
    actual["n" * 1_000_000] = 1
    assert differing({"match:partial": {"name": 1, "value": 2}}, actual) == [
        ("name", "is missing"),
        ("value", "is missing"),
    ]


# What `match:partial` leaves out


def test_partial_checks_only_what_is_written_all_the_way_down() -> None:
    expected = {"match:partial": {"a": {"b": [{"c": 1}]}}}
    assert differences(expected, {"a": {"b": [{"c": 1, "d": 2}, 3], "e": 4}, "f": 5}) == []


def test_partial_still_finds_what_differs_or_is_missing() -> None:
    expected = {"match:partial": {"a": {"b": [{"c": 1}, 2]}, "x": None}}
    assert differing(expected, {"a": {"b": [{"c": 2}]}}) == [
        ("a.b[0].c", "differs"),
        ("a.b[1]", "is missing"),
        ("x", "is missing"),
    ]


def test_partial_takes_an_array_as_a_prefix_by_position() -> None:
    assert differences({"match:partial": [1, 2]}, [1, 2, 3]) == []
    assert differing({"match:partial": [2]}, [1, 2]) == [("[0]", "differs")]


def test_partial_does_not_forgive_another_type() -> None:
    assert differing({"match:partial": {"a": {}}}, {"a": []}) == [
        ("a", "expected an object, got an array")
    ]


def test_below_partial_a_negated_pattern_wants_the_key() -> None:
    expected = {"match:partial": {"error": "match:not:contains:x"}}
    [missed] = differences(expected, {})
    assert (missed.path, missed.message) == (
        "error",
        'no such path; expected anything but a string that contains "x"',
    )
    optional = ["match:not:exists", "match:not:contains:x"]
    assert missed.hint == f"to allow an absent key, write match:any: {json.dumps(optional)}"
    assert differences({"match:partial": {"error": {"match:any": optional}}}, {}) == []
    assert differences(expected, {"errors": 1})[0].hint == 'there is "errors"'
    assert differing(expected, {"error": "axb"}) == [
        ("error", 'expected anything but a string that contains "x"; it is just that')
    ]


def test_elsewhere_a_negated_pattern_wants_the_key_unless_it_is_not_exists() -> None:
    assert differing({"error": "match:not:contains:x"}, {}) == [
        ("error", 'no such path; expected anything but a string that contains "x"')
    ]
    assert differences({"error": "match:not:exists"}, {}) == []


# Siblings


def test_siblings_of_a_directive_are_checked_and_more_may_be_there() -> None:
    expected = {"match:partial": {"a": 1}, "b": 2}
    assert differences(expected, {"a": 1, "b": 2, "c": 3}) == []
    assert differing(expected, {"a": 2, "b": 3}) == [("a", "differs"), ("b", "differs")]


def test_several_directives_can_apply_to_one_value() -> None:
    expected = {"match:arrayElements": "match:type:number", "match:partial": [1]}
    assert differences(expected, [1, 2]) == []
    assert differing(expected, [2, "x"]) == [
        ("[1]", "expected a value of type number; it is a string"),
        ("[0]", "differs"),
    ]


def test_value_is_an_ordinary_sibling_without_extract_field() -> None:
    assert differing({"match:partial": {"a": 1}, "value": 2}, {"a": 1, "value": 3}) == [
        ("value", "differs")
    ]


# What `match:arrayElements` asks of each


def test_every_element_must_match_strictly() -> None:
    expected = {"match:arrayElements": {"type": "text"}}
    assert differences(expected, [{"type": "text"}, {"type": "text"}]) == []
    assert differing(expected, [{"type": "text", "x": 1}, {"type": "image"}]) == [
        ("[0].x", "is not expected"),
        ("[1].type", "differs"),
    ]


def test_elements_are_compared_partially_when_the_file_says_so() -> None:
    expected = {"match:arrayElements": {"match:partial": {"type": "text"}}}
    assert differences(expected, [{"type": "text", "x": 1}]) == []
    assert differing(expected, [{"type": "image", "x": 1}]) == [("[0].type", "differs")]


def test_an_empty_array_has_no_element_that_differs() -> None:
    assert differences({"match:arrayElements": {"type": "text"}}, []) == []


@pytest.mark.parametrize(("actual", "seen"), [({}, "an object"), ("x", "a string"), (None, "null")])
def test_a_value_that_is_not_an_array_has_no_elements(actual: object, seen: str) -> None:
    assert differences({"list": {"match:arrayElements": 1}}, {"list": actual}) == [
        Mismatch(
            path="list",
            expected=1,
            actual=actual,
            message=f"expected an array for match:arrayElements, got {seen}",
        )
    ]


# What `match:extractField` pulls

ANSWER = {
    "tools": [
        {"name": "a", "tags": ["x", "y"]},
        {"name": "b", "tags": []},
    ],
    "by": {"one": {"n": 1}, "two": {"n": 2}},
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("tools.*.name", ["a", "b"]),
        ("tools[*].name", ["a", "b"]),
        ("tools.0.name", "a"),
        ("tools[1].name", "b"),
        ("tools[0].tags[1]", "y"),
        ("tools.*.tags", [["x", "y"], []]),
        ("tools.*.tags.*", [["x", "y"], []]),
        ("tools.*.tags[0]", ["x", None]),
        ("tools.*.nothing", [None, None]),
        ("by.*.n", [1, 2]),
        ("by.two", {"n": 2}),
    ],
)
def test_a_field_is_pulled_by_its_path(path: str, value: object) -> None:
    assert differences({"match:extractField": path, "value": value}, ANSWER) == []


def test_an_extracted_value_is_compared_strictly_and_reported_at_its_path() -> None:
    expected = {"result": {"match:extractField": "tools.*.name", "value": ["a", "c"]}}
    assert differing(expected, {"result": ANSWER}) == [("result.tools[*].name[1]", "differs")]
    expected = {"result": {"match:extractField": "tools[1].name", "value": "c"}}
    assert differing(expected, {"result": ANSWER}) == [("result.tools[1].name", "differs")]


def test_an_extracted_value_may_match_a_pattern_and_have_siblings() -> None:
    expected = {
        "match:extractField": "tools.*.name",
        "value": "match:arrayContains:b",
        "by": {"one": "match:exists"},
    }
    assert differences(expected, ANSWER) == []
    assert differing({"match:extractField": "by.one.n", "value": 1, "tools": []}, ANSWER) == []
    assert differing({"match:extractField": "by.one.n", "value": 1, "tools": {}}, ANSWER) == [
        ("tools", "expected an object, got an array")
    ]


@pytest.mark.parametrize(
    ("path", "place", "why"),
    [
        ("tool.x", "tool.x", 'no key "tool"; there is "tools"'),
        ("by.three", "by.three", 'no key "three"'),
        ("tools[2].name", "tools[2].name", "no element 2 among 2"),
        ("tools.name", "tools.name", 'there is an array where "name" should be'),
        ("by[0]", "by[0]", 'there is an object where "0" should be'),
        ("tools[0].name.x", "tools[0].name.x", 'there is a string where "x" should be'),
        ("tools[0].name.*", "tools[0].name[*]", "there is a string where * wants an array"),
        ("tools.²", "tools.²", 'there is an array where "²" should be'),
    ],
)
def test_a_path_that_leads_nowhere_is_explained(path: str, place: str, why: str) -> None:
    assert differences({"match:extractField": path, "value": "match:exists"}, ANSWER) == [
        Mismatch(
            path=place,
            expected="match:exists",
            actual=ABSENT,
            message=f"match:extractField finds nothing at {path}: {why}",
        )
    ]


# Directives that make no sense


@pytest.mark.parametrize(
    ("expected", "code", "message"),
    [
        (
            {"match:extractField": "a.b"},
            "F014",
            'match:extractField needs a "value" beside it to compare with',
        ),
        *(
            (
                {"match:extractField": path, "value": 1},
                "F013",
                "match:extractField takes a path such as tools.*.name or content[0].text",
            )
            for path in ("", "a.", "a[", "a[x]", 5, None, ["a"])
        ),
        (
            {"match:partail": {}},
            "F012",
            'unknown directive "match:partail"; did you mean "match:partial"?',
        ),
        ({"match:nonsense": {}}, "F012", 'unknown directive "match:nonsense"'),
        ({"match:contains:x": 1}, "F012", 'unknown directive "match:contains:x"'),
    ],
)
def test_a_directive_that_makes_no_sense_is_an_error(
    expected: object, code: str, message: str
) -> None:
    assert [(found.code, found.message) for found in diagnostics(expected)] == [(code, message)]


def test_a_pattern_written_as_a_key_is_explained() -> None:
    (diagnostic,) = diagnostics({"match:contains:x": 1})
    assert diagnostic.help == "this one is a pattern: write it as a value, not as a key"


def test_every_mistake_is_reported_with_its_place() -> None:
    expected = {"a": ["match:containz:x", {"b": "match:type:txt"}], "match:partail": 1}
    assert [(found.code, found.steps) for found in diagnostics(expected)] == [
        ("F012", ("a", 0)),
        ("F013", ("a", 1, "b")),
        ("F012", ("match:partail",)),
    ]


@pytest.mark.slow
@given(JSON, JSON)
def test_the_quick_look_never_overlooks_a_difference(expected: object, actual: object) -> None:
    if is_same(expected, actual):
        assert differences(expected, actual) == []


@given(JSON)
def test_the_quick_look_sees_that_a_value_is_itself(value: object) -> None:
    assert is_same(value, value)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (True, 1),
        ({"a": 0}, {"a": False}),
        ({"a": "x"}, {"b": "x"}),
        ({"a": None}, {}),
        ([1], [1, 2]),
        ([1, 2], [1]),
        ("x", 1),
    ],
)
def test_the_quick_look_is_not_sure_of(expected: object, actual: object) -> None:
    assert not is_same(expected, actual)
