"""Durations as people say them, and text that no CI system obeys."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.visible import defused, defused_markers
from mcptest.reporters.style import render_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "<1 ms"),
        (0.0009, "<1 ms"),
        (0.001, "1 ms"),
        (0.0124, "12 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (1.24, "1.2 s"),
        (30.0, "30.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 m 00 s"),
        (63.2, "1 m 03 s"),
        (3599.6, "1 h 00 m"),
        (3725.0, "1 h 02 m"),
    ],
)
def test_a_duration_has_the_unit_a_person_would_choose(seconds: float, text: str) -> None:
    assert render_duration(seconds) == text


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("::error::x", "\\u003a:error::x"),
        ("a\n \t::stop-commands::x", "a\n \t\\u003a:stop-commands::x"),
        ("a ##[error]x", "a #\\u0023[error]x"),
        ("###[error]x", "##\\u0023[error]x"),
        ("##vso[task.setvariable]x", "#\\u0023vso[task.setvariable]x"),
        ("##teamcity[message]", "#\\u0023teamcity[message]"),
        ("a\r::error::b", "a\r\\u003a:error::b"),
        ("\x1b[0m\x1b[1;31m ::error::a", "\x1b[0m\x1b[1;31m \\u003a:error::a"),
    ],
)
def test_a_command_to_a_ci_system_is_defused(text: str, safe: str) -> None:
    """GitHub's runner skips indentation before `::` and finds `##[` anywhere in a line."""
    assert defused(text) == safe


@pytest.mark.parametrize("text", ["", "a::b", "std::vector", "## Heading", "# [x]", "a\nb::c"])
def test_harmless_text_is_left_alone(text: str) -> None:
    assert defused(text) == text


def test_markers_alone_leave_colons_alone() -> None:
    assert defused_markers("::a ##[b]") == "::a #\\u0023[b]"


@given(st.text(":#[ \t\n\rvso"))
def test_nothing_that_is_defused_can_be_obeyed(text: str) -> None:
    safe = defused(text)
    assert "##[" not in safe
    assert "##vso[" not in safe
    assert not any(line.lstrip().startswith("::") for line in re.split("[\r\n]", safe))
