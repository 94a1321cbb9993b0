"""The parts of a contract beside the messages: names, keys and comments."""

from __future__ import annotations

from typing import Any

import pytest
from traffic_samples import (
    HANDSHAKE,
    call,
    cases_of,
    contract,
    loaded,
    notification,
    refused,
    request,
    result,
)

from mcptest.core.secrets import split_words
from mcptest.traffic.cases import Names, identifier


def comments(*said: tuple[str, Any]) -> dict[str, str]:
    return {
        case.name: case.dialogue.comment
        for case in loaded(contract(*said).text).cases
        if case.dialogue
    }


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (request(2, "tools/list"), "tools/list"),
        (call(2, "get_time"), "tools/call get_time"),
        (request(2, "resources/read", uri="file:///a"), "resources/read file:///a"),
        (request(2, "prompts/get", name="greet"), "prompts/get greet"),
        (request(2, "tools/call", name=5), "tools/call"),
        (request(2, "tools/call", name="a\nb: # c"), "tools/call a\\nb: # c"),
        (request(2, "- x"), "- x"),
    ],
)
def test_a_case_is_named_for_what_the_client_asks(asked: dict[str, Any], name: str) -> None:
    assert list(cases_of(contract(("in", asked), ("out", result(2))).text)) == [name]


def test_names_are_unique_also_when_one_looks_like_a_number_of_another() -> None:
    names = ["a", "a (2)", "a", "a"]
    said = [pair for id, name in enumerate(names) for pair in [("in", call(id, name))]]
    answers = [("out", result(id)) for id in range(len(names))]
    pairs = [each for pair in zip(said, answers, strict=True) for each in pair]
    found = list(cases_of(contract(*pairs).text))
    assert found == ["tools/call a", "tools/call a (2)", "tools/call a (3)", "tools/call a (4)"]


def test_a_long_name_is_cut() -> None:
    (name,) = cases_of(contract(("in", call(2, "x" * 5000)), ("out", result(2))).text)
    assert len(name) <= 100


def test_a_key_is_a_word_whatever_the_method_is() -> None:
    said = [
        ("in", call(2)),
        ("out", notification("notifications/Wild-key: #1")),
        ("out", notification("///")),
        ("out", notification("notifications/9")),
        ("out", result(2)),
    ]
    (messages,) = cases_of(contract(*said).text).values()
    assert list(messages) == ["in", "out_wild_key_1", "out_value", "out_value_9", "out_answer"]


@pytest.mark.parametrize(
    ("said", "comment"),
    [
        (HANDSHAKE, "The client opens the session, and is answered."),
        (
            [("in", call(2)), ("out", result(2))],
            "The client calls the tool get_time, and is answered.",
        ),
        (
            [("in", call(2)), ("out", result(2, isError=True))],
            "The client calls the tool get_time, which fails.",
        ),
        (
            [("in", call(2)), ("out", refused(2))],
            "The client calls the tool get_time, which is refused.",
        ),
        ([("in", call(2))], "The client calls the tool get_time, and gets no answer."),
        (
            [
                ("in", request(2, "a/b")),
                ("out", notification("notifications/x")),
                ("out", result(2)),
            ],
            "The client sends a/b, and is answered; the server sends 1 notification.",
        ),
        (
            [("in", call(2)), ("out", request(2, "x")), ("in", result(2)), ("out", result(2))],
            "The client calls the tool get_time, and is answered; the server sends 1 request of "
            "its own.",
        ),
        (
            [("in", call(2)), ("in", call(3)), ("out", result(2)), ("out", result(3))],
            "The client makes 2 requests at a time.",
        ),
        ([("in", notification("notifications/x"))], "The client sends notifications/x."),
        (
            [("out", notification("notifications/x"))],
            "The server speaks first; the server sends 1 notification.",
        ),
        (
            [("in", request(2, "prompts/get", name="a\n---\nb")), ("out", result(2))],
            "The client gets the prompt a\\n---\\nb, and is answered.",
        ),
    ],
)
def test_a_comment_says_what_happens(said: list[tuple[str, Any]], comment: str) -> None:
    assert list(comments(*said).values()) == [comment]


def test_numbers_are_given_to_names_that_are_taken() -> None:
    names = Names()
    assert [names.unique(name) for name in ("a", "a", "a_2", "a", "b")] == [
        *("a", "a_2", "a_2_2", "a_3", "b")
    ]


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("createdAt", ["created", "at"]),
        ("created_at", ["created", "at"]),
        ("HTTPServerID", ["http", "server", "id"]),
        ("a1", ["a", "1"]),
        ("…", []),
    ],
)
def test_a_key_has_words(key: str, words: list[str]) -> None:
    assert list(split_words(key)) == words


@pytest.mark.parametrize(
    ("text", "word"), [("a-b", "a_b"), ("", "value"), ("9", "value_9"), ("x" * 99, "x" * 40)]
)
def test_a_word_may_be_a_name(text: str, word: str) -> None:
    assert identifier(text) == word
