"""Colour, durations and line wrapping."""

from __future__ import annotations

import io
import re

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st
from sample_run import SKIPPED, run_of

from mcptest.core.text import defuse, defuse_markers
from mcptest.reporters.style import Paint, render_duration, wrap_line, wrap_text
from mcptest.reporters.terminal import TerminalReporter


def painted(paint: Paint, text: str) -> list[str]:
    return [
        colour(text) for colour in (paint.red, paint.green, paint.yellow, paint.dim, paint.bold)
    ]


def test_each_colour_wraps_its_text_and_ends_with_a_reset() -> None:
    assert painted(Paint(on=True), "x") == [
        "\x1b[31mx\x1b[0m",
        "\x1b[32mx\x1b[0m",
        "\x1b[33mx\x1b[0m",
        "\x1b[2mx\x1b[0m",
        "\x1b[1mx\x1b[0m",
    ]


def test_without_colour_a_string_is_returned_unchanged() -> None:
    assert painted(Paint(on=False), "x") == ["x"] * 5


def test_nothing_stays_nothing() -> None:
    assert painted(Paint(on=True), "") == [""] * 5


@each_case(
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
    assert defuse(text) == safe


@pytest.mark.parametrize("text", ["", "a::b", "std::vector", "## Heading", "# [x]", "a\nb::c"])
def test_harmless_text_is_left_alone(text: str) -> None:
    assert defuse(text) == text


def test_markers_alone_leave_colons_alone() -> None:
    assert defuse_markers("::a ##[b]") == "::a #\\u0023[b]"


@given(st.text(":#[ \t\n\rvso"))
def test_nothing_that_is_defused_can_be_obeyed(text: str) -> None:
    safe = defuse(text)
    assert "##[" not in safe
    assert "##vso[" not in safe
    assert not any(line.lstrip().startswith("::") for line in re.split("[\r\n]", safe))


YELLOW, PLAIN = "\x1b[33m", "\x1b[0m"
REASON = "it needs a machine that nobody has, and whoever has one has no time to run this on it"


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("one two", ["one two"]),
        ("one two three", ["one two", "  three"]),
        ("  one two three four", ["  one two", "    three", "    four"]),
        ("one  two   three", ["one  two", "  three"]),
        ("a-word-that-is-long and two", ["a-word-that-is-long", "  and two"]),
        (f"{YELLOW}one two{PLAIN}", [f"{YELLOW}one two{PLAIN}"]),
        (f"{YELLOW}one two three{PLAIN}", [f"{YELLOW}one two", f"  three{PLAIN}"]),
        ("日本 日本 日本", ["日本 日本", "  日本"]),
        ("это тоже так", ["это тоже", "  так"]),
        ("", [""]),
    ],
)
def test_a_line_takes_as_many_as_it_needs(line: str, lines: list[str]) -> None:
    assert wrap_line(line, 10) == lines


def test_for_a_terminal_of_unknown_width_nothing_is_broken() -> None:
    assert wrap_line("one two three", 0) == ["one two three"]


def test_an_excerpt_and_what_points_into_it_stay_below_each_other() -> None:
    excerpt = "12 | one two three four\n   |     ^^^^^^^^^^^^^\n   |"
    text = f"a mistake in it\n{excerpt}\n   = help: do this"
    assert wrap_text(text, 10) == (f"a mistake\n  in it\n{excerpt}\n   = help:\n     do\n     this")


@pytest.mark.parametrize("live", [True, False])
def test_a_report_is_wrapped_for_those_who_look_at_it_and_whole_for_programs(live: bool) -> None:
    stream = io.StringIO()
    reporter = TerminalReporter(
        stream, colour=False, live=live, width=80, verbose=False, clock=lambda: 0.0
    )
    for event in run_of(SKIPPED.but(reason=REASON, not_run=True), not_run=1).replay():
        reporter(event)
    lines = stream.getvalue().split("\n")
    assert (max(map(len, lines)) <= 80) == live
    assert (f"  - sleeps (not run: {REASON})" in lines) != live
