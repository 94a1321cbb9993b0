"""Two texts side by side: where they part, windows around it, and line diffs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcptest.matching.diff import (
    TextPair,
    common_prefix,
    is_worth_a_line_diff,
    line_diff,
    pair_texts,
)


def shown_lines(expected: str, actual: str) -> list[str]:
    return [line.text for line in line_diff(expected, actual)]


@given(st.text(), st.text(), st.text())
def test_the_common_prefix_is_as_long_as_it_can_be(start: str, left: str, right: str) -> None:
    length = common_prefix(start + left, start + right)
    assert (start + left)[:length] == (start + right)[:length]
    assert (start + left)[length : length + 1] != (start + right)[length : length + 1] or (
        start + left == start + right
    )


def test_short_texts_are_shown_whole_with_the_column_of_the_difference() -> None:
    assert pair_texts("a\tbc", "a\tbd") == TextPair(
        expected='"a\\tbc"', actual='"a\\tbd"', at=3, column=5
    )


def test_long_texts_are_cut_to_the_same_window_around_the_difference() -> None:
    pair = pair_texts("x" * 500 + "a" * 500, "x" * 500 + "b" * 20)
    assert pair == TextPair(
        expected=f'(… 447 characters) "{"x" * 53}{"a" * 107}" (… 393 more characters)',
        actual=f'(… 447 characters) "{"x" * 53}{"b" * 20}"',
        at=500,
        column=19 + 1 + 53,
    )
    assert pair.expected[pair.column] == "a"
    assert pair.actual[pair.column] == "b"


def test_in_a_tree_the_window_is_small_and_has_no_counts() -> None:
    pair = pair_texts("x" * 60 + "a", "x" * 60 + "b" * 60, is_terse=True)
    assert pair.expected == f'… "{"x" * 16}a"'
    assert pair.actual == f'… "{"x" * 16}{"b" * 32}" …'


def test_only_two_texts_of_several_lines_that_are_long_get_a_line_diff() -> None:
    assert is_worth_a_line_diff("a\n" * 40, "b\n" * 40, columns=58)
    assert not is_worth_a_line_diff("a\nb", "a\nc", columns=58)
    assert not is_worth_a_line_diff("a" * 80, "b\n" * 40, columns=58)


def test_a_line_diff_shows_the_change_its_neighbours_and_counts_of_the_rest() -> None:
    expected = "".join(f"line {number}\n" for number in range(10))
    assert shown_lines(expected, expected.replace("line 4\n", "line four\r\n")) == [
        "  … 2 equal lines",
        "  line 2",
        "  line 3",
        "- line 4",
        "+ line four\\r",
        "  line 5",
        "  line 6",
        "  … 3 equal lines",
    ]


def test_a_missing_newline_at_the_end_is_named() -> None:
    assert shown_lines("a\nb\n", "a\nb") == ["  a", "  b", "+ (no newline at the end)"]
    assert shown_lines("a\nb", "a\nb\n") == ["  a", "  b", "- (no newline at the end)"]


def test_equal_lines_between_two_changes_are_counted() -> None:
    middle = "".join(f"{number}\n" for number in range(8))
    assert shown_lines(f"a\n{middle}b\n", f"A\n{middle}B\n") == [
        "- a",
        "+ A",
        "  0",
        "  1",
        "  … 4 equal lines",
        "  6",
        "  7",
        "- b",
        "+ B",
    ]


def test_a_long_block_is_cut_on_both_sides() -> None:
    left = "".join(f"left {number}\n" for number in range(30))
    right = "".join(f"right {number}\n" for number in range(13))
    assert shown_lines(left, right) == [
        *(f"- left {number}" for number in range(12)),
        "  … 18 more lines (-)",
        *(f"+ right {number}" for number in range(12)),
        "  … 1 more line (+)",
    ]


def test_a_long_line_is_cut_so_that_the_difference_stays_in_sight() -> None:
    assert shown_lines("x" * 300 + "a\n!\n", "x" * 300 + "b\n!\n") == [
        f"- … {'x' * 80}a",
        f"+ … {'x' * 80}b",
        "  !",
    ]


def test_beyond_400_lines_only_a_window_is_compared() -> None:
    expected = [f"line {number}" for number in range(1000)]
    actual = [*expected[:500], "other", *expected[501:990], "far away"]
    assert shown_lines("\n".join(expected), "\n".join(actual)) == [
        "  … 498 equal lines",
        "  line 498",
        "  line 499",
        "- line 500",
        "+ other",
        "  line 501",
        "  line 502",
        "  … 115 equal lines",
        "  … 382 more lines not compared",
    ]


def test_a_diff_with_many_changes_is_cut() -> None:
    left = "".join(f"{number}\nsame {number}\nsame\n" for number in range(30))
    right = left.replace("0\n", "zero\n").replace("1\n", "one\n").replace("2\n", "two\n")
    found = shown_lines(left, right)
    assert len(found) == 41
    assert found[-1].startswith("  … ")
    assert found[-1].endswith(" more lines")


@given(st.text("ab\n\x1b\u202e\ud800"), st.text("ab\n\x1b\u202e\ud800"))
def test_a_line_diff_never_shows_a_character_raw(expected: str, actual: str) -> None:
    assert all(text.isprintable() for text in shown_lines(expected, actual))
