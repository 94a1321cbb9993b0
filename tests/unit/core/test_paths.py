"""How places inside a JSON value are written and read back."""

from __future__ import annotations

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.text import EVERY, parse_path, render_path, render_trail, trail_of

STEPS = st.lists(st.text() | st.integers(min_value=0, max_value=10**6))


@each_case(
    ("steps", "text"),
    [
        ((), ""),
        (("result",), "result"),
        (("result", "tools", 0, "name"), "result.tools[0].name"),
        ((0, 1), "[0][1]"),
        ((0, "a"), "[0].a"),
        (("like this",), '["like this"]'),
        (("a", "", "b"), 'a[""].b'),
        (("a.b",), '["a.b"]'),
        (("0",), '["0"]'),
        (("*",), '["*"]'),
        (("$ref", "x-y", "_meta"), '["$ref"].x-y._meta'),
        (('say "hi"', "back\\slash"), '["say \\"hi\\""]["back\\\\slash"]'),
        (("größe",), "größe"),
        (("two\nlines",), '["two\nlines"]'),
    ],
)
def test_a_path_is_written_and_read_back(steps: tuple[str | int, ...], text: str) -> None:
    assert render_path(steps) == text
    assert parse_path(text) == steps


@given(STEPS)
def test_every_path_survives_being_written(steps: list[str | int]) -> None:
    assert parse_path(render_path(steps)) == tuple(steps)


@given(STEPS)
def test_a_trail_is_written_like_the_path_it_is(steps: list[str | int]) -> None:
    assert render_trail(trail_of(steps)) == render_path(steps)


def test_a_wildcard_step_is_neither_a_key_nor_a_single_place() -> None:
    steps = ("tools", EVERY, "name")
    assert render_path(steps) == "tools[*].name"
    assert parse_path("tools[*].name") is None
    assert render_path(("tools", "*", "name")) == 'tools["*"].name'


@pytest.mark.parametrize("text", ["a..b", "a[", "a[x]", "a]", ".", "a.", 'a["b]', "[0]a"])
def test_a_string_that_is_not_a_path_is_not_parsed_as_one(text: str) -> None:
    assert parse_path(text) is None
