"""A value as one line: safe, bounded, and a pattern as its own text."""

from __future__ import annotations

import json

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.text import is_pattern, plural, quote, show_json
from mcptest.core.value_class import ABSENT

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@each_case(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ("é", '"é"'),
        ("a\nb", '"a\\nb"'),
        ({}, "{}"),
        ([], "[]"),
        ({"a": [1, {"b": None}], "c": "d"}, '{"a": [1, {"b": null}], "c": "d"}'),
        (ABSENT, "(nothing)"),
        ("match:contains:sunny", "match:contains:sunny"),
        ('!!re "^a"', '!!re "^a"'),
        ({"text": "match:contains:sunny"}, '{"text": "match:contains:sunny"}'),
    ],
)
def test_a_value_is_shown_as_json_and_a_pattern_as_its_text(value: object, text: str) -> None:
    assert show_json(value) == text


def test_a_long_text_is_cut_and_says_how_much_is_gone() -> None:
    assert show_json("x" * 250, 200) == f'"{"x" * 200}" (… 50 more characters)'
    assert show_json("x" * 200, 200) == f'"{"x" * 200}"'


def test_a_large_container_is_cut_and_says_how_large_it_is() -> None:
    assert show_json(list(range(1000)), 12) == "[0, 1, 2, 3, (… 1,000 items in all)"
    assert show_json({"key": "x" * 50}, 12) == '{"key": "xxx (… 1 key in all)'


def test_a_value_json_has_no_word_for_is_still_shown() -> None:
    assert show_json([float("inf"), {1: ABSENT}]) == '[Infinity, {"1": "ABSENT"}]'


@pytest.mark.slow
@given(json_values)
def test_every_value_is_shown_as_one_printable_line(value: object) -> None:
    assert show_json(value, 80).isprintable()


@given(st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF)))
def test_quoted_text_reads_back_as_itself(text: str) -> None:
    assert json.loads(quote(text)) == text


def test_a_lone_surrogate_is_written_as_its_escape() -> None:
    assert quote("\ud800") == '"\\ud800"'


def test_only_text_can_be_a_pattern() -> None:
    assert is_pattern("match:type:string")
    assert not is_pattern("a match: no")
    assert not is_pattern({"match:partial": {}})


def test_a_count_of_one_is_singular() -> None:
    assert [plural(count, "key") for count in (0, 1, 2, 1234)] == [
        "0 keys",
        "1 key",
        "2 keys",
        "1,234 keys",
    ]
