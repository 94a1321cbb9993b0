"""Numbers are compared as they are written, whatever binary fractions make of them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from asking import is_met, why_not
from case_tables import each_case
from hypothesis import assume, given
from hypothesis import strategies as st

from mcptest.matching.json_values import exact_number, parse_exact, render_exact

NUMBERS = (
    st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(allow_nan=False, allow_infinity=False, places=5).map(str)
)


def fraction(value: object) -> Fraction:
    return Fraction(value if isinstance(value, str) else repr(value))


@given(NUMBERS, NUMBERS)
def test_order_and_equality_are_those_of_fractions(actual: object, wanted: object) -> None:
    text = wanted if isinstance(wanted, str) else repr(wanted)
    left, right = fraction(actual), fraction(wanted)
    assert is_met(f"greaterThan:{text}", actual) == (left > right)
    assert is_met(f"greaterThanOrEqual:{text}", actual) == (left >= right)
    assert is_met(f"lessThan:{text}", actual) == (left < right)
    assert is_met(f"lessThanOrEqual:{text}", actual) == (left <= right)
    assert is_met(f"equals:{text}", actual) == (left == right)
    assert is_met(f"notEquals:{text}", actual) == (left != right)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_distances_are_those_of_fractions(actual: object, wanted: object, away: object) -> None:
    texts = [value if isinstance(value, str) else repr(value) for value in (wanted, away)]
    limit = fraction(away)
    assume(limit >= 0 and not texts[1].startswith("-"))
    is_near = abs(fraction(actual) - fraction(wanted)) <= limit
    assert is_met(f"approximately:{texts[0]}:{texts[1]}", actual) == is_near


@given(NUMBERS, NUMBERS)
def test_multiples_are_those_of_fractions(actual: object, unit: object) -> None:
    assume(fraction(unit))
    text = unit if isinstance(unit, str) else repr(unit)
    is_multiple = (fraction(actual) / fraction(unit)).denominator == 1
    assert is_met(f"multipleOf:{text}", actual) == is_multiple
    assert is_met(f"divisibleBy:{text}", actual) == is_multiple


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_a_number_is_shown_so_that_it_reads_back(number: object) -> None:
    known = parse_exact(str(number))
    assert known is not None
    assert Fraction(render_exact(known)) == Fraction(str(number))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", (5, 0)),
        ("-0.25", (-25, 2)),
        ("+1.", (1, 0)),
        (".5", (5, 1)),
        (" 7 ", (7, 0)),
        ("1e3", (1000, 0)),
        ("12.5e-1", (125, 2)),
    ],
)
def test_a_text_that_is_a_number_is_read_as_one(text: str, number: tuple[int, int]) -> None:
    assert parse_exact(text) == number


@each_case(
    "text",
    ["", ".", "-", "1,000", "1_000", "0x10", "five", "5%", "1e", "1e9999", "\u0663", "9" * 401],
)
def test_other_strings_are_not_numbers(text: str) -> None:
    assert parse_exact(text) is None


@pytest.mark.parametrize("value", [True, False, None, [], {}, [1]])
def test_other_values_are_not_numbers(value: object) -> None:
    assert exact_number(value) is None
    assert not is_met("greaterThan:-1", value)
    assert not is_met("between:0:1", value)
    assert not is_met("positive", value)


@each_case(
    ("pattern", "actual"),
    [
        ("multipleOf:0.1", 0.3),
        ("multipleOf:-2", 4),
        ("approximately:0.3:0.1", 0.4),
        ("decimalPlaces:0", 42),
        ("decimalPlaces:0", 42.0),
        ("decimalPlaces:1", 4.20),
        ("decimalPlaces:2", "24.90"),
        ("decimalPlaces:7", 1e-7),
        ("equals:5.0", 5),
        ("equals:ok", "ok"),
        ("equals:true", True),
        ("equals:null", None),
        ("equals:", ""),
        ('equals:{"a":1}', {"a": 1}),
        ("equals:a:b", "a:b"),
        ("notEquals:ok", None),
        ("oneOf:a|b", "b"),
        ("oneOf: a | 2 ", 2.0),
        ("oneOf:a", "a"),
        ("oneOf:true|null", None),
        ("oneOf:|a", ""),
        ("integer", 10**400),
        ("between:1:1", 1),
    ],
)
def test_a_value_that_meets_the_pattern_passes(pattern: str, actual: object) -> None:
    assert is_met(pattern, actual)


@each_case(
    ("pattern", "actual", "message", "hint"),
    [
        ("greaterThan:5", 5, "a number greater than 5; it is 5", ""),
        ("lessThan:0.10", "0.2", "a number less than 0.1; it is 0.2", ""),
        (
            "greaterThan:5",
            "9 lives",
            "a number greater than 5; it is a string that is not a number",
            "",
        ),
        ("greaterThan:5", True, "a number greater than 5; it is a boolean", ""),
        ("multipleOf:100", 1250, "a multiple of 100; it is 1250, which leaves 50", ""),
        (
            "approximately:200:5",
            142,
            "a number within 5 of 200; it is 142, which is 58 away",
            "",
        ),
        ("decimalPlaces:2", 24.5, "a number with 2 decimal places; it has 1", ""),
        ("decimalPlaces:1", "x", "a number with 1 decimal place; it is a string", ""),
        ("equals:OK", "ok", '"OK"; it is "ok"', "differs only in case"),
        ("equals:a b", "a  b", '"a b"; it is "a  b"', "differs only in white space"),
        ("equals:1", True, '"1"; it is true', ""),
        ("oneOf:low|high", "HIGH", 'one of "low", "high"; it is "HIGH"', "differs only in case"),
        ("integer", "5", "a whole number; it is a string", "it is a number written as a string"),
        ("positive", -1, "a positive number; it is -1", ""),
        ("negative", 10**400, "a negative number; it is a very large number", ""),
    ],
)
def test_a_value_that_does_not_meet_the_pattern_says_why(
    pattern: str, actual: object, message: str, hint: str
) -> None:
    assert why_not(pattern, actual) == (message, hint)
