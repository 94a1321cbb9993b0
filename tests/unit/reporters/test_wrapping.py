"""What is too long for a terminal is broken between words, and only there."""

from __future__ import annotations

import io

import pytest
from sample_run import SKIPPED, run_of

from mcptest.reporters.style import wrap_line, wrap_text
from mcptest.reporters.terminal import TerminalReporter

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
