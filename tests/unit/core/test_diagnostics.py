"""How a mistake in a file is shown: the exact text."""

from __future__ import annotations

import re

from mcptest.core.diagnostics import CODES, Diagnostic, render_diagnostic


def test_a_mistake_is_shown_with_its_line_a_caret_and_help() -> None:
    diagnostic = Diagnostic(
        code="F012",
        file="weather.test.mcp.yml",
        message='unknown matcher "containz"; did you mean "contains"?',
        line=14,
        column=20,
        width=8,
        source='       text: "match:containz:sunny"',
        help="to search for the string itself, write match:contains:containz",
    )
    assert render_diagnostic(diagnostic) == (
        'error[F012]: unknown matcher "containz"; did you mean "contains"?\n'
        "  --> weather.test.mcp.yml:14:20\n"
        "   |\n"
        '14 |        text: "match:containz:sunny"\n'
        "   |                    ^^^^^^^^\n"
        "   = help: to search for the string itself, write match:contains:containz"
    )


def test_a_warning_says_so_and_needs_no_help() -> None:
    diagnostic = Diagnostic(
        code="W001",
        file="a.yml",
        message="a slip",
        line=1,
        column=1,
        source="a",
        severity="warning",
    )
    assert render_diagnostic(diagnostic) == (
        "warning[W001]: a slip\n --> a.yml:1:1\n  |\n1 | a\n  | ^"
    )


def test_a_mistake_without_a_place_names_the_file_alone() -> None:
    diagnostic = Diagnostic(code="F001", file="a.yml", message="cannot read it", source="unseen")
    assert render_diagnostic(diagnostic) == "error[F001]: cannot read it\n --> a.yml"


def test_a_place_without_its_line_has_no_excerpt() -> None:
    diagnostic = Diagnostic(code="F001", file="a.yml", message="not UTF-8", line=3, column=7)
    assert render_diagnostic(diagnostic) == "error[F001]: not UTF-8\n --> a.yml:3:7"


def test_a_long_line_is_cut_around_the_caret() -> None:
    source = "a" * 200 + "WRONG" + "b" * 200
    diagnostic = Diagnostic(
        code="F006", file="a.yml", message="m", line=7, column=201, width=5, source=source
    )
    assert render_diagnostic(diagnostic).splitlines()[2:] == [
        "  |",
        "7 | …" + "a" * 36 + "WRONG" + "b" * 31 + "…",
        "  | " + " " * 37 + "^^^^^",
    ]


def test_the_end_of_a_long_line_is_cut_when_the_caret_is_near_its_start() -> None:
    diagnostic = Diagnostic(
        code="F006", file="a.yml", message="m", line=7, column=3, width=500, source="x" * 73
    )
    assert render_diagnostic(diagnostic).splitlines()[3:] == [
        "7 | " + "x" * 72 + "…",
        "  |   " + "^" * 70,
    ]


def test_the_caret_counts_escapes_as_they_are_shown() -> None:
    diagnostic = Diagnostic(
        code="F006", file="a.yml", message="m", line=7, column=2, width=2, source="\t\tkey: 1"
    )
    assert render_diagnostic(diagnostic).splitlines()[3:] == ["7 | \\t\\tkey: 1", "  |   ^^^"]


def test_a_caret_behind_the_end_of_the_line_is_one_wide() -> None:
    diagnostic = Diagnostic(
        code="F002", file="a.yml", message="m", line=1, column=4, width=9, source="abc"
    )
    assert render_diagnostic(diagnostic).splitlines()[3:] == ["1 | abc", "  |    ^"]


def test_nothing_of_a_file_reaches_the_terminal_raw() -> None:
    diagnostic = Diagnostic(
        code="F006", file="\x1b.yml", message="\x1b", line=1, column=1, source="\x1b", help="\x1b"
    )
    text = render_diagnostic(diagnostic)
    assert ("\\u001b" in text, "\x1b" in text) == (True, False)


def test_codes_are_letters_and_three_digits_with_a_title_each() -> None:
    assert all(re.fullmatch(r"[FW]\d{3}", code) and title for code, title in CODES.items())
    assert len(set(CODES.values())) == len(CODES)


def excerpt_of(source: str, column: int, width: int) -> list[str]:
    diagnostic = Diagnostic(
        code="F009",
        file="a",
        message="m",
        line=1,
        column=column,
        width=width,
        source=source,
    )
    return render_diagnostic(diagnostic).split("\n")[3:]


def test_a_password_in_a_url_is_not_shown_and_the_caret_stays_where_it_was() -> None:
    source = '"url": "http://me:hunter2@host:80/a:b@c", "x": "ftp://u:p@h"'
    assert excerpt_of(source, 44, 3) == [
        '1 | "url": "http://me:*******@host:80/a:b@c", "x": "ftp://u:*@h"',
        "  |" + " " * 44 + "^^^",
    ]


def test_a_url_without_a_password_is_shown_as_it_is() -> None:
    source = 'url: "http://me@host:80/mail:to@b", note: "a:b@c"'
    assert excerpt_of(source, 1, 3)[0] == f"1 | {source}"
