"""Mismatches as lines: values, strings, and whole answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.results import Mismatch
from mcptest.core.text import render_path
from mcptest.core.value_class import ABSENT
from mcptest.matching.diff import (
    DiffLine,
    TextPair,
    context_diff,
    line_diff,
    pair_texts,
    render_mismatch,
)
from mcptest.matching.json_values import common_prefix

ANSWER = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "content": [{"type": "text", "text": "Hello, World!"}, {"type": "image"}],
        "isError": False,
        "_meta": {},
    },
}


def mismatch(
    path: str, expected: object, actual: object, message: str = "differs", hint: str = ""
) -> Mismatch:
    return Mismatch(path=path, expected=expected, actual=actual, message=message, hint=hint)


def texts(lines: list[DiffLine]) -> list[str]:
    return [line.text for line in lines]


def test_two_texts_are_shown_with_a_caret_under_the_first_difference() -> None:
    found = render_mismatch(
        mismatch("result.text", "Hello, world!", "Hello, World!", hint="differs only in case")
    )
    assert found == [
        DiffLine(sign=" ", text="result.text: differs"),
        DiffLine(sign="-", text='  expected  "Hello, world!"'),
        DiffLine(sign="+", text='  actual    "Hello, World!"'),
        DiffLine(sign="^", text="                    ^"),
        DiffLine(sign=" ", text="  hint      differs only in case"),
    ]


def test_the_caret_counts_an_escape_as_it_is_written() -> None:
    assert texts(render_mismatch(mismatch("x", "\x1b[1mé1", "\x1b[1mé2"))) == [
        "x: differs",
        '  expected  "\\u001b[1mé1"',
        '  actual    "\\u001b[1mé2"',
        "                       ^",
    ]


def test_the_caret_is_behind_a_string_that_is_only_longer() -> None:
    assert texts(render_mismatch(mismatch("x", "ab", "abc")))[-1] == "               ^"


@pytest.mark.parametrize(
    ("expected", "actual"),
    [("abc", "xyz"), ("", "xyz"), ("same", "same"), ("match:contains:a", "match:x")],
    ids=["nothing in common", "empty", "equal", "pattern"],
)
def test_there_is_no_caret_where_it_would_not_help(expected: str, actual: str) -> None:
    assert [line.sign for line in render_mismatch(mismatch("x", expected, actual))] == [
        " ",
        "-",
        "+",
    ]


def test_under_a_line_that_wraps_words_take_the_place_of_the_caret() -> None:
    expected = "the quick brown fox jumps over the lazy dog, and runs to the hills"
    narrow = mismatch("x", expected, expected.replace("hills", "mills"))
    assert texts(render_mismatch(narrow))[-1] == (
        '  differs   at character 62, after "og, and runs to the "'
    )
    assert texts(render_mismatch(narrow, columns=100))[-1] == f"{' ' * 74}^"


def test_long_texts_of_several_lines_are_shown_as_a_line_diff() -> None:
    poem = "first line of the text\nsecond line of the text\nthird line of the text\n"
    assert render_mismatch(mismatch("x", poem, poem.replace("second", "2nd"))) == [
        DiffLine(sign=" ", text="x: differs"),
        DiffLine(sign="-", text="  expected  3 lines of text (-)"),
        DiffLine(sign="+", text="  actual    3 lines of text (+)"),
        DiffLine(sign=" ", text="      first line of the text"),
        DiffLine(sign="-", text="    - second line of the text"),
        DiffLine(sign="+", text="    + 2nd line of the text"),
        DiffLine(sign=" ", text="      third line of the text"),
    ]


def test_short_texts_of_several_lines_stay_on_one_line() -> None:
    assert texts(render_mismatch(mismatch("x", "a\nb", "a\nc"))) == [
        "x: differs",
        '  expected  "a\\nb"',
        '  actual    "a\\nc"',
        "                ^",
    ]


def test_a_pattern_is_shown_as_its_text() -> None:
    found = render_mismatch(mismatch("x", "match:contains:sunny", "rain", "no such text"))
    assert texts(found) == [
        "x: no such text",
        "  expected  match:contains:sunny",
        '  actual    "rain"',
    ]


def test_absence_has_its_own_words_on_either_side() -> None:
    assert texts(render_mismatch(mismatch("x", {"a": 1}, ABSENT, "is missing"))) == [
        "x: is missing",
        '  expected  {"a": 1}',
        "  actual    (missing)",
    ]
    assert texts(render_mismatch(mismatch("x", ABSENT, None, "is not expected"))) == [
        "x: is not expected",
        "  expected  (nothing)",
        "  actual    null",
    ]


def test_an_empty_path_is_the_whole_answer_and_an_empty_message_is_left_out() -> None:
    assert texts(render_mismatch(mismatch("", 1, 2, message=""))) == [
        "(the whole answer)",
        "  expected  1",
        "  actual    2",
    ]


def test_nothing_a_server_sends_is_shown_raw() -> None:
    evil = "\x1b[2J\u202e\ud800\n::error::"
    found = render_mismatch(
        Mismatch(path=evil, expected={evil: evil}, actual=[evil], message=evil, hint=evil)
    )
    assert all(line.text.isprintable() for line in found)


def test_the_answer_is_opened_only_where_it_leads_to_a_mismatch() -> None:
    found = context_diff(
        ANSWER,
        [
            mismatch("result.content[0].text", "Hello, world!", "Hello, World!"),
            mismatch("result.content[0].annotations", {"priority": 1}, ABSENT),
            mismatch("result.isError", ABSENT, False),
        ],
    )
    assert texts(found) == [
        "  {",
        "    … 2 more keys: jsonrpc, id",
        '    "result": {',
        '      "content": [',
        "        {",
        "          … 1 more key: type",
        '-         "text": "Hello, world!"',
        '+         "text": "Hello, World!"',
        '-         "annotations": {"priority": 1}',
        "        }",
        "        … 1 more item",
        "      ]",
        '+     "isError": false',
        "      … 1 more key: _meta",
        "    }",
        "  }",
    ]
    assert "".join(line.sign for line in found) == " …   …-+- … +…  "


def test_a_missing_item_is_at_the_end_of_its_array() -> None:
    found = context_diff({"result": [1]}, [mismatch("result[1]", 2, ABSENT)])
    assert texts(found) == [
        "  {",
        '    "result": [',
        "      … 1 more item",
        "-     2",
        "    ]",
        "  }",
    ]


def test_a_container_with_a_mismatch_of_its_own_says_what_was_expected_of_it() -> None:
    found = context_diff(
        {"tools": [{"name": "a"}]},
        [
            mismatch("tools", "match:arrayLength:2", [{"name": "a"}]),
            mismatch("tools[0].name", "b", "a"),
        ],
    )
    assert texts(found) == [
        "  {",
        '-   "tools": match:arrayLength:2',
        '    "tools": [',
        "      {",
        '-       "name": "b"',
        '+       "name": "a"',
        "      }",
        "    ]",
        "  }",
    ]


def test_two_expectations_of_one_value_share_the_line_of_the_actual_value() -> None:
    found = context_diff({"n": 5}, [mismatch("n", "match:type:string", 5), mismatch("n", 6, 5)])
    assert texts(found) == [
        "  {",
        '-   "n": match:type:string',
        '-   "n": 6',
        '+   "n": 5',
        "  }",
    ]


@pytest.mark.parametrize("path", ["", "stderr", "result.nothing.here", "result.*!", "result[0]"])
def test_a_mismatch_that_is_not_inside_the_answer_opens_nothing(path: str) -> None:
    assert context_diff(ANSWER, [mismatch(path, 1, 2)]) == []


def test_a_long_context_is_cut() -> None:
    answer = {"result": list(range(100))}
    found = context_diff(
        answer, [mismatch(f"result[{number}]", -1, number) for number in range(100)]
    )
    assert len(found) == 61
    assert texts(found)[:4] == ["  {", '    "result": [', "-     -1", "+     0"]
    assert found[-1] == DiffLine(sign="…", text="  … the rest of the answer is not shown")


def test_a_key_that_looks_like_a_pattern_is_still_a_key() -> None:
    found = context_diff({"match:x": 1}, [mismatch('["match:x"]', 2, 1)])
    assert texts(found) == ["  {", '-   "match:x": 2', '+   "match:x": 1', "  }"]


@given(st.text(), st.text())
def test_no_key_and_no_value_is_shown_raw_in_a_context(key: str, value: str) -> None:
    found = context_diff({key: value}, [mismatch(render_path([key]), 1, value)])
    assert all(line.text.isprintable() for line in found)


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
        expected=f'(… 460 characters) "{"x" * 40}{"a" * 80}" (… 420 more characters)',
        actual=f'(… 460 characters) "{"x" * 40}{"b" * 20}"',
        at=500,
        column=19 + 1 + 40,
    )
    assert pair.expected[pair.column] == "a"
    assert pair.actual[pair.column] == "b"


def test_in_a_tree_the_window_is_small_and_has_no_counts() -> None:
    pair = pair_texts("x" * 60 + "a", "x" * 60 + "b" * 60, is_terse=True)
    assert pair.expected == f'… "{"x" * 16}a"'
    assert pair.actual == f'… "{"x" * 16}{"b" * 32}" …'


@pytest.mark.parametrize(
    ("expected", "actual", "has_line_diff"),
    [("a\n" * 40, "b\n" * 40, True), ("a\nb", "a\nc", False), ("a" * 80, "b\n" * 40, False)],
)
def test_only_two_texts_of_several_lines_that_are_long_get_a_line_diff(
    expected: str, actual: str, has_line_diff: bool
) -> None:
    shown = texts(render_mismatch(mismatch("x", expected, actual), columns=58))
    assert any("lines of text" in line for line in shown) == has_line_diff


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
