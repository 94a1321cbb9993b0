"""Nothing from outside reaches a terminal raw."""

from __future__ import annotations

import unicodedata

from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.text import quote_bytes, shorten, visible

INVISIBLE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
ANY_TEXT = st.text(st.characters())


def is_harmless(char: str) -> bool:
    return char == " " or unicodedata.category(char) not in INVISIBLE_CATEGORIES | {"Zs"}


@given(ANY_TEXT)
def test_no_control_format_or_bidirectional_character_survives(text: str) -> None:
    assert all(map(is_harmless, visible(text)))


@given(ANY_TEXT)
def test_newlines_and_nothing_else_can_be_kept(text: str) -> None:
    shown = visible(text, keep_newlines=True)
    assert all(char == "\n" or is_harmless(char) for char in shown)
    assert shown.count("\n") == text.count("\n")


@given(st.binary(max_size=300))
def test_no_byte_from_outside_survives_raw(raw: bytes) -> None:
    assert all(map(is_harmless, quote_bytes(raw)))


@each_case(
    ("text", "shown"),
    [
        ("plain text, 1 < 2", "plain text, 1 < 2"),
        ("größer als 日本 🙂", "größer als 日本 🙂"),
        ("a\nb\r\tc\b\f", "a\\nb\\r\\tc\\b\\f"),
        ("\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"),
        ("\x00\x7f\x9b", "\\u0000\\u007f\\u009b"),
        ("abc\u202edcba", "abc\\u202edcba"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("no\u00a0break", "no\\u00a0break"),
        ("line\u2028end", "line\\u2028end"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("half\ud800", "half\\ud800"),
        ("filler\u3164\u115f\u2800", "filler\\u3164\\u115f\\u2800"),
        ("heart\ufe0f", "heart\\ufe0f"),
    ],
)
def test_invisible_characters_are_written_as_escapes(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_bytes_that_are_not_text_are_shown_in_hex() -> None:
    assert quote_bytes(b"caf\xc3\xa9 \xff\x00") == '"café \\xff\\u0000"'


def test_many_bytes_are_cut_and_the_rest_is_counted() -> None:
    assert quote_bytes(b"x" * 1300, 3) == '"xxx" … (1,297 more bytes)'
    assert quote_bytes(b"xxx", 3) == '"xxx"'


def test_text_that_fits_is_not_shortened() -> None:
    assert shorten("x" * 40, 40) == "x" * 40


def test_long_text_loses_its_middle_and_says_how_much() -> None:
    assert shorten("a" * 50 + "b" * 50, 40) == "a" * 19 + " …72 more… " + "b" * 9


@given(
    st.text(st.characters(codec="ascii"), max_size=3000), st.integers(min_value=30, max_value=200)
)
def test_shortened_text_fits_and_counts_right(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit
    if short != text:
        head, _, rest = short.partition(" …")
        gone, _, tail = rest.partition(" more… ")
        assert len(head) + len(tail) + int(gone.replace(",", "")) == len(text)
