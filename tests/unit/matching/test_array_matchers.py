"""How many there are, what is among them, and in which order."""

from __future__ import annotations

import pytest
from asking import is_met, why_not
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.matching.json_values import is_equal

ELEMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 1.5, "", "1"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("a"), inner, max_size=2),
    max_leaves=4,
)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_lengths_are_compared_as_numbers_are(count: int, low: int, high: int) -> None:
    for kind, value in (("string", "é" * count), ("array", [None] * count)):
        assert is_met(f"{kind}Length:{low}", value) == (count == low)
        assert is_met(f"{kind}LengthGreaterThan:{low}", value) == (count > low)
        assert is_met(f"{kind}LengthGreaterThanOrEqual:{low}", value) == (count >= low)
        assert is_met(f"{kind}LengthLessThanOrEqual:{low}", value) == (count <= low)
        assert is_met(f"{kind}LengthLessThan:{low + 1}", value) == (count < low + 1)
        if low <= high:
            assert is_met(f"{kind}LengthBetween:{low}:{high}", value) == (low <= count <= high)


def test_a_text_has_as_many_characters_as_code_points() -> None:
    assert is_met("stringLength:1", "🙂")
    assert is_met("stringLength:2", "e\u0301")


@pytest.mark.parametrize("value", [None, 3, True, {"a": 1}])
def test_a_value_without_a_length_matches_no_length(value: object) -> None:
    for kind in ("string", "array"):
        assert not is_met(f"{kind}LengthGreaterThanOrEqual:0", value)


@pytest.mark.slow
@given(st.lists(ELEMENTS, max_size=5))
def test_an_array_is_unique_when_no_two_of_it_are_equal(values: list[object]) -> None:
    pairs = [(a, b) for at, a in enumerate(values) for b in values[at + 1 :]]
    assert is_met("unique", values) == (not any(is_equal(a, b) for a, b in pairs))


@given(st.lists(st.integers() | st.floats(allow_nan=False)) | st.lists(st.text()))
def test_an_array_is_sorted_when_sorting_changes_nothing(values: list[float] | list[str]) -> None:
    assert is_met("sorted", values) == (sorted(values) == values)
    assert is_met("sorted", sorted(values))


@each_case(
    ("pattern", "actual", "message", "hint"),
    [
        ("stringLengthBetween:3:9", "ab", "a string of 3 to 9 characters; it has 2", ""),
        ("stringLengthGreaterThan:1", "a", "a string of more than 1 character; it has 1", ""),
        ("arrayLengthLessThan:2", [1, 2], "an array of less than 2 elements; it has 2", ""),
        ("arrayLength:1", "a", "an array of 1 element; it is a string", ""),
        ("stringEmpty", "abc", "an empty string; it has 3 characters", ""),
        ("stringNotEmpty", "", "a string that is not empty; it is empty", ""),
        ("empty", {"a": 1}, "an empty string, array or object; it has 1", ""),
        ("notEmpty", None, "a string, array or object with something in it; it is null", ""),
        (
            "unique",
            ["a", "b", "a"],
            "an array without equal elements; it has the same at [0] and [2]",
            "",
        ),
        ("sorted", [1, 3, 2], "a sorted array; it has [2] out of place", ""),
        (
            "sorted",
            ["c", "b"],
            "a sorted array; it has [1] out of place",
            "it is sorted the other way round",
        ),
        (
            "sorted",
            [{}, {}],
            "a sorted array; it has an object at [0] and [1], which have no order",
            "",
        ),
        (
            "sorted",
            [2, 1, "a"],
            "a sorted array; it has [1] out of place",
            "",
        ),
        (
            "arrayContains:name:Read",
            [{"Name": "read"}],
            'an array that holds "name:Read"; it has 1 element and none is it',
            "one differs only in case",
        ),
        (
            "arrayContains:a.b:1",
            [{"a": 1}, {"b": 1}, 5],
            'an array that holds "a.b:1"; it has 3 elements and none is it',
            "",
        ),
    ],
)
def test_a_value_that_does_not_meet_the_pattern_says_why(
    pattern: str, actual: object, message: str, hint: str
) -> None:
    assert why_not(pattern, actual) == (message, hint)
