"""Mismatches as lines: each alone, and all of them in the answer they were found in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.record import ABSENT
from mcptest.core.results import Mismatch
from mcptest.core.text import render_path
from mcptest.matching.diff import DiffLine, context_diff, render_mismatch

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


def test_the_caret_stands_behind_a_text_that_only_goes_on() -> None:
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


def test_a_missing_item_stands_at_the_end_of_its_array() -> None:
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


def test_two_expectations_of_one_value_share_the_line_of_what_came() -> None:
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
