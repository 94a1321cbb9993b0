"""Two fields of one object, compared with each other."""

from __future__ import annotations

import operator

import pytest
from asking import is_met, why_not
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

OPERATORS = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}


@given(left=st.integers(), right=st.integers())
def test_numbers_are_compared_by_value(left: int, right: int) -> None:
    for sign, operate in OPERATORS.items():
        expected = operate(left, right)
        assert is_met(f"crossField:a {sign} b", {"a": left, "b": right}) == expected, sign
        assert is_met(f"crossField:a{sign}b", {"a": str(left), "b": right}) == expected, sign
        assert is_met(f"not:crossField:a {sign} b", {"a": left, "b": right}) != expected, sign


@given(left=st.datetimes(), right=st.datetimes())
def test_dates_are_compared_by_the_moment(left: object, right: object) -> None:
    value = {"a": left.isoformat(), "b": right.isoformat()}  # type: ignore[attr-defined]  # datetimes
    cut = [moment.replace(microsecond=0) for moment in (left, right)]  # type: ignore[attr-defined]  # as above
    if cut[0] != cut[1]:
        for sign, operate in OPERATORS.items():
            assert is_met(f"crossField:a {sign} b", value) == operate(*cut), sign


@each_case(
    ("relation", "value"),
    [
        ("a.b < c[1].d", {"a": {"b": 1}, "c": [0, {"d": 2}]}),
        (
            "user-data.max > current-usage.now",
            {"user-data": {"max": 2}, "current-usage": {"now": 1}},
        ),
        ("a < b", {"a": "2023-06-15T10:00:00Z", "b": "2023-06-15T09:30:00-02:00"}),
        ("a = b", {"a": "2023-06-15", "b": "6/15/2023"}),
        ("a < b", {"a": "2023-06-15", "b": 1686821400}),
        ("a < b", {"a": "apple", "b": "banana"}),
        ("a < b", {"a": "9", "b": "10"}),
        ("a = b", {"a": {"x": [1]}, "b": {"x": [1.0]}}),
        ("a != b", {"a": 1, "b": "one"}),
        ("a != b", {"a": True, "b": 1}),
        ("a == b", {"a": None, "b": None}),
        ("0 < 1", [1, 2]),
    ],
)
def test_a_relation_that_holds(relation: str, value: object) -> None:
    assert is_met(f"crossField:{relation}", value)


@pytest.mark.parametrize(
    ("relation", "value", "why", "hint"),
    [
        ("a < b", {"a": 2, "b": 1}, "it has a 2 and b 1", ""),
        (
            "a < b",
            {"a": "x", "b": 1},
            'it has a "x" and b 1',
            "a string and a number have no order",
        ),
        (
            "a < b",
            {"a": True, "b": True},
            "it has a true and b true",
            "a boolean and a boolean have no order",
        ),
        ("a = b", {"a": 1, "b": True}, "it has a 1 and b true", ""),
        ("a.c < b", {"a": {"C": 1}, "b": 1}, 'it has nothing at a.c: no key "c"; there is "C"', ""),
        (
            "age >= 18",
            {"age": 20},
            'it has nothing at 18: no key "18"',
            "both sides are fields; to compare with a value, write a pattern at the field",
        ),
        ("a < b", "text", "it is a string", ""),
    ],
)
def test_a_relation_that_does_not_hold_says_why(
    relation: str, value: object, why: str, hint: str
) -> None:
    message, text = why_not(f"crossField:{relation}", value)
    assert (message.partition("; ")[2], text) == (why, hint)


def test_a_relation_is_put_in_words() -> None:
    assert why_not("crossField:a.b >= c", {"a": {"b": 1}, "c": 2}) == (
        "a.b at least c; it has a.b 1 and c 2",
        "",
    )
