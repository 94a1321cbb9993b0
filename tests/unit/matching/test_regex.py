"""Expressions of the JavaScript world mean here what they mean there."""

from __future__ import annotations

import re

import pytest
from asking import is_met, why_not
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.matching.regex import compile_expression, compile_regex, python_regex


@each_case(
    ("source", "python"),
    [
        (r"(?<year>x{4})-\k<year>", r"(?P<year>x{4})-(?P=year)"),
        (r"(?<=a)b(?<!c)d", r"(?<=a)b(?<!c)d"),
        (r"\(?<year>", r"\(?<year>"),
        (r"(?:a)(?=b)", r"(?:a)(?=b)"),
        (r"(?P<n>a)", r"(?P<n>a)"),
        (r"\\(?<n>a)", r"\\(?P<n>a)"),
        (r"\d\D\w\W", "[0-9][^0-9][A-Za-z0-9_][^A-Za-z0-9_]"),
        (r"[\d\w]", "[0-9A-Za-z0-9_]"),
        (r"[\w-.]", r"[A-Za-z0-9_\-.]"),
        (r"[a-\d]", r"[a\-0-9]"),
        (r"[$(?<a>]", "[$(?<a>]"),
        (r"\$\/", r"\$\/"),
        ("a$", r"a\Z"),
        ("(?m)a$", "(?m)a$"),
        ("(?im)a$", "(?im)a$"),
        (r"\u{1F600}[\u{e9}]", r"\U0001f600[\U000000e9]"),
        (r"\u{110000}", r"\u{110000}"),
        (r"\cJ\k", r"\x0a\k"),
        ("[^]", r"[\s\S]"),
        ("a[]", "a(?!)"),
        ("[a", "[a"),
        ("a\\", "a\\"),
        ("[a\\", "[a\\"),
        ("plain text", "plain text"),
    ],
)
def test_an_expression_is_respelt(source: str, python: str) -> None:
    assert python_regex(source) == python


@each_case(
    ("source", "text", "is_found"),
    [
        (r"^(?<a>.)\k<a>$", "xx", True),
        (r"^(?<a>.)\k<a>$", "xy", False),
        (r"^\d+$", "12", True),
        (r"^\d+$", "\u0663", False),
        (r"^\w+$", "Müller", False),
        (r"\bé", "é", False),
        (r"\bok\b", "is ok.", True),
        (r"^\s$", "\u00a0", True),
        ("^ok$", "ok", True),
        ("^ok$", "ok\n", False),
        (r"[\w-.]+@[\w-]+\.org", "first.last@ex-ample.org", True),
        (r"a\/b", "a/b", True),
        (r"\u{1F600}", "😀", True),
        (r"\u00e9", "é", True),
        ("[^]b", "\nb", True),
        ("[]", "[]", False),
        ("[[a]", "[", True),
        ("(?i)OK", "ok", True),
    ],
)
def test_what_is_found_is_what_javascript_finds(source: str, text: str, is_found: bool) -> None:
    assert bool(compile_expression(source).compiled.search(text)) == is_found


@given(st.text())
def test_escaped_text_finds_itself(text: str) -> None:
    assert compile_expression(re.escape(text)).compiled.search(f"a{text}b")


@given(st.text(alphabet=r"\$()[]{}^-?<>kdwbu=!:a1|*+.,", max_size=12))
def test_no_expression_is_too_odd_to_be_compiled_or_refused(source: str) -> None:
    try:
        compile_expression(source)
    except ValueError as error:
        assert str(error).startswith("is not a regular expression: ")  # noqa: PT017  # most pass


def test_an_odd_character_class_is_compiled_without_a_word_from_python() -> None:
    assert compile_regex("[[a]").search("a")


def test_an_expression_can_be_compiled_to_ignore_case() -> None:
    assert compile_regex("a", re.IGNORECASE).search("A")


def test_where_text_still_grows_a_line_break_may_follow_the_end() -> None:
    assert compile_regex("ready$").search("ready\n")


def test_the_place_of_a_mistake_is_told_only_where_the_author_would_find_it() -> None:
    with pytest.raises(ValueError, match=r"^is not a regular expression: .* at position 0$"):
        compile_expression("(a")
    with pytest.raises(ValueError, match=r"^is not a regular expression: [^0-9]*$"):
        compile_expression(r"\d(a")


# Hints


@pytest.mark.parametrize(
    ("pattern", "actual", "hint"),
    [
        ("regex:^OK$", "ok", "it matches when case is ignored"),
        ("regex:^ok$", "ok\n", "there is a line break at the end, and $ matches only the very end"),
        ("regex:/ok/i", "OK", "the slashes around it are searched for too; leave them out"),
        ("regex:/ok/i", "no", ""),
        ("regex:/*/", "ok", ""),
        ("regex:x", "ok", ""),
    ],
)
def test_an_expression_that_is_not_found_says_what_would_be(
    pattern: str, actual: str, hint: str
) -> None:
    assert why_not(pattern, actual)[1] == hint


def test_slashes_are_searched_as_they_are_written() -> None:
    assert is_met("regex:/api/v1", "see /api/v1/users")
