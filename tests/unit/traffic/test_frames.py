"""Texts that differ between recordings keep what they have in common."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traffic_samples import UUID, call, cases_of, is_met, log, result

from mcptest.traffic.contract import build_contract
from mcptest.traffic.frames import frame_of, tokens_of
from mcptest.traffic.reading import read_recording
from mcptest.traffic.shapes import expression_for
from mcptest.traffic.texts import TextDescriber
from mcptest.traffic.varying import Varying

NUMBER = r"\d+(?:\.\d+)?"


def described(*texts: str, key: str = "text", keep_values: bool = False) -> Any:
    """What becomes of a text that is another one in each recording."""
    recordings = [
        read_recording(log(("in", call(1)), ("out", result(1, **{key: text}))), f"{number}.ndjson")
        for number, text in enumerate(texts)
    ]
    made = build_contract(recordings, keep_values=keep_values)
    return cases_of(made.text)["tools/call get_time"]["out"]["result"][key]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("Added A in 3 ms", "Added B in 5 ms"), rf"!!ere Added /.+?/ in /{NUMBER}/ ms"),
        (("Added caf2bc7d", "Added 00112233"), "!!ere Added /[0-9a-f]{8}/"),
        (("user 5", "user 17"), r"!!ere user /\d+/"),
        (("now -3.5 C", "now 4 C"), r"!!ere now /-?\d+(?:\.\d+)?/ C"),
        (
            ("at 12:34:56 by A", "at 12:35:01 by B"),
            r"!!ere at /\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?/ by /.+?/",
        ),
        (("1 2 3 4", "1 9 3 8"), r"!!ere 1 /\d+/ 3 /\d+/"),
        (("a/b of c\\", "a/d of c\\"), "!!ere a\\//.+?/ of c\\"),
        (("id: \u00e9l\u00e8ve", "id: x"), "!!ere id: /.+?/"),
        (("x 1", "x 2", "x 3"), r"!!ere x /\d+/"),
        (("a b 1", "a b 2", "a c 2"), r"!!ere a /.+?/"),
    ],
)
def test_the_frame_stays_and_the_rest_becomes_an_expression(
    texts: tuple[str, ...], expected: str
) -> None:
    assert described(*texts) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("The red fox is here", "The big brown cat is here"), "!!ere The /.+?/ is here"),
        (("2 files", "2 files, 1 new"), "!!ere 2 files/.*?/"),
        (
            ("Added milk, 3 notes", "Added brown bread, 14 notes"),
            r"!!ere Added /.+?/, /\d+/ notes",
        ),
        (("so: a 1", "so: 1"), "!!ere so: /.*?/1"),
        ((UUID, f"{UUID}:"), f"!!ere /{expression_for([UUID])}//.*?/"),
        (
            ("one\ntwo\nend of it", "one\nfour\nfive\nend of it"),
            "!!ere one\n/[\\s\\S]+?/\nend of it",
        ),
        (("y a b c d", "a b c d z"), "!!ere /.*?/a b c d/.*?/"),
    ],
)
def test_words_may_be_more_or_fewer(texts: tuple[str, ...], expected: str) -> None:
    assert described(*texts) == expected


def test_gaps_that_are_known_for_something_stay_apart() -> None:
    assert described("at 3 4 now", "at 5 6 now") == r"!!ere at /\d+/ /\d+/ now"
    assert described("at red 4 now", "at blue 6 now") == r"!!ere at /.+?/ now"


@pytest.mark.parametrize(
    "texts",
    [
        ("red", "blue"),
        ("", "x"),
        ("the cat sat", "a dog under the tree"),
        (" - ", " + "),
        ("a b c 1", "d e f 1"),
        ("x " * 20_000 + "1", "x " * 20_000 + "2"),
        (" ".join(f"w {n}" for n in "abcdefghijkl"), " ".join(f"w {n}" for n in "mnopqrstuvwx")),
    ],
)
def test_where_little_is_common_it_is_any_text(texts: tuple[str, ...]) -> None:
    assert described(*texts) == "!!type string"


def test_very_long_texts_are_compared_from_both_ends_only() -> None:
    one, other = (" ".join(f"{word}{n}" for n in range(250)) for word in "ab")
    assert described(f"x {one} y", f"x {other} more y") == "!!type string"
    head = "so it is " * 400
    assert described(f"{head}{one} y", f"{head}{other} more y") == f"!!ere {head}/.+?/ y"


def test_what_is_the_same_everywhere_stays_a_text() -> None:
    assert described("Added A", "Added A") == "Added A"


def test_what_differs_only_in_what_varies_by_its_look_is_described_by_that() -> None:
    other = UUID.replace("5", "6")
    assert described(f"made {UUID}", f"made {other}") == described(f"made {UUID}")


def test_a_frame_is_kept_also_when_values_are() -> None:
    assert described("took 3 ms for A", "took 4 ms for B", keep_values=True) == (
        r"!!ere took /\d+/ ms for /.+?/"
    )


def test_a_value_that_is_bound_is_one_in_all_recordings() -> None:
    def said(id: str, words: str) -> list[tuple[str, Any]]:
        return [
            ("in", call(1, "add")),
            ("out", result(1, text=f"{id}: {words}", id=id)),
            ("in", call(2, "get", id=id)),
            ("out", result(2)),
        ]

    pairs = (("note-1", "red is added"), ("note-22", "green is added"))
    recordings = [read_recording(log(*said(*pair)), f"{pair[0]}.ndjson") for pair in pairs]
    found = cases_of(build_contract(recordings).text)["tools/call add"]["out"]["result"]
    assert found == {"text": "!!ere /[A-Za-z0-9_-]+/: /.+?/ is added", "id": "!!bind id"}


def test_no_secret_gets_into_a_frame() -> None:
    texts = TextDescriber(["hunter22"], Varying())
    found = texts.described("A: hunter22 is it", ["B: hunter22 is it"], "text")
    assert not isinstance(found, str)
    assert found.text == r'/.+?/: /[^\s"]+/ is it'


# Whatever the texts are

WORDS = st.sampled_from(
    [
        *("added", "in", "ms", "3", "3.5", "-", "/", "\\", "\\/", " ", "\n", "\u2028", "\r", ": "),
        *(UUID, "caf2bc7d", "12:34:56", "took 3 ms", "\u00e9", "\u0661", "_", '"id": "x"', "$^.*"),
    ]
)
TEXTS = st.lists(WORDS, max_size=12).map("".join) | st.lists(WORDS, max_size=12).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_what_is_written_is_met_by_all_texts(texts: list[str]) -> None:
    found = TextDescriber([], Varying()).described(texts[0], texts[1:], "text")
    assert all(is_met(found, text) for text in texts)


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_a_frame_of_which_nothing_is_left_over(head: str, one: str, tail: str) -> None:
    """Tokens put together are the text, and spans of a frame lie in it in order."""
    tokens = [tokens_of(f"{head} {each} {tail}", []) for each in (one, "x")]
    assert "".join(tokens[0].texts) == f"{head} {one} {tail}"
    spans = frame_of(tokens) or []
    ends = [0, *(each for start, end, _ in spans for each in (start, end))]
    assert ends == sorted(ends)
    assert ends[-1] <= len(f"{head} {one} {tail}")
