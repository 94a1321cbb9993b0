"""Cassettes: written, read back, replayed in order, and refused if invalid."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case

from mcptest.coprocess.stores import (
    BadCassetteError,
    CassettePlayer,
    RecordedCall,
    canonical_json,
    is_cassette_header,
    read_cassette,
    render_header,
)

HEADER = '{"format":"mcptest-cassette","version":1,"command":["x"]}\n'


def call(text: object, result: str = "ok") -> RecordedCall:
    params = {"name": "echo", "arguments": {"text": text}}
    return RecordedCall(method="tools/call", params=params, result={"said": result})


def player(*takes: RecordedCall) -> CassettePlayer:
    return CassettePlayer(list(takes))


def refused(text: str) -> str:
    with pytest.raises(BadCassetteError) as caught:
        read_cassette(text)
    return str(caught.value)


def missed(playing: CassettePlayer, method: str, params: dict[str, Any]) -> str:
    with pytest.raises(BadCassetteError) as caught:
        playing.play(method, params)
    return str(caught.value)


# Written and read back


@pytest.mark.parametrize(
    "value",
    ["plain", "ü\u2028\u2029\x85\x0b\x1c\r\n", "\ud800", 1, 1.0, 10**40, None, [], {"b": {"a": 1}}],
)
def test_an_entry_reads_back_as_it_was(value: object) -> None:
    takes = [
        RecordedCall(method="tools/call", params={"a": value}, result={"b": value}),
        RecordedCall(
            method="tools/call", params={"a": value}, error={"message": "no", "data": value}
        ),
    ]
    raw = render_header(("a", "b c")) + b"".join(take.render() for take in takes)
    assert raw.count(b"\n") == 3
    back = read_cassette(raw.decode("utf-8"))
    assert [json.dumps(vars(take), default=str) for take in back] == [
        json.dumps(vars(take), default=str) for take in takes
    ]


def test_a_cassette_is_recognised_by_its_header() -> None:
    assert is_cassette_header(render_header(("x",)))
    assert not is_cassette_header(b'{"format":"something-else"}')
    assert not is_cassette_header(b"import os\n")


def test_a_last_line_without_its_newline_is_a_line_when_it_is_whole() -> None:
    line = call("a").render().decode().rstrip("\n")
    assert read_cassette(HEADER + line) == [call("a")]


# Files that are not cassettes


@pytest.mark.parametrize("text", ["", "\n", "hello\n", "[1]\n", '{"a":1}\n', '{"format":"x"}\n'])
def test_a_foreign_file_is_not_a_cassette(text: str) -> None:
    assert "it is not a cassette: its first line is not that of mcptest-cassette" in refused(text)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("2", "version 2"),
        ("true", "version true"),
        ("1.0", "version 1.0"),
        ('"1"', 'version "1"'),
        ("null", "no version"),
    ],
)
def test_another_version_is_named(version: str, words: str) -> None:
    header = f'{{"format":"mcptest-cassette","version":{version},"command":[]}}\n'
    assert refused(header) == f"it is of {words}; this mcptest plays version 1"


def test_a_torn_last_line_is_distinguished_from_a_broken_one() -> None:
    torn = HEADER + '{"method":"tools/call","par'
    assert refused(torn) == (
        "its last line, 2, is torn: the recording was cut off; record it again, or remove that line"
    )
    assert refused(f"{torn}\n").startswith("line 2 is not JSON: ")


@each_case(
    ("line", "why"),
    [
        ("7", "line 2 is not a call with its result or error"),
        ('{"method":"a","params":{}}', "line 2 is not a call with its result or error"),
        (
            '{"method":"a","params":{},"result":{},"error":{}}',
            "line 2 is not a call with its result or error",
        ),
        ('{"params":{},"result":{}}', "line 2 does not say what was asked"),
        ('{"method":"a","params":[],"result":{}}', "line 2 does not say what was asked"),
        ('{"method":"a","params":{},"result":1}', "line 2 has a result that is not an object"),
        ('{"method":"a","params":{},"error":1}', "line 2 has an error without a message"),
        ('{"method":"a","params":{},"error":{}}', "line 2 has an error without a message"),
        (
            '{"method":"a","params":{},"error":{"message":"x","code":1}}',
            'line 2 has a member "code" that no cassette has',
        ),
        (
            '{"method":"a","params":{},"result":{},"at":1}',
            'line 2 has a member "at" that no cassette has',
        ),
        ('{"a":1,"a":2}', 'line 2 is not JSON: the key "a" occurs twice in one object'),
        ("", "line 2 is not JSON: expecting value"),
    ],
)
def test_a_line_that_is_not_an_entry_is_refused_with_its_number(line: str, why: str) -> None:
    assert refused(f"{HEADER}{line}\n") == why


def test_a_header_with_more_in_it_is_refused() -> None:
    header = '{"format":"mcptest-cassette","version":1,"command":[],"speed":2}\n'
    assert refused(header) == 'line 1 has a member "speed" that no cassette has'


# Playing


def test_repeated_calls_are_played_in_their_order_and_others_do_not_matter() -> None:
    playing = player(call("a", "1"), call("b", "2"), call("a", "3"))
    assert [playing.play("tools/call", call(text).params).result["said"] for text in "baa"] == [
        *("2", "1", "3")
    ]


def test_the_order_of_members_does_not_matter() -> None:
    recorded = RecordedCall(method="m", params={"a": {"x": 1, "y": 2}, "b": []}, result={})
    assert player(recorded).play("m", {"b": [], "a": {"y": 2, "x": 1}}) == recorded


def test_the_order_of_elements_does() -> None:
    recorded = RecordedCall(method="m", params={"a": [1, 2]}, result={})
    assert "differs at a[0]: recorded 1, asked 2" in missed(player(recorded), "m", {"a": [2, 1]})


def test_the_handshake_is_played_as_often_as_it_is_asked_for() -> None:
    hello = RecordedCall(method="initialize", params={}, result={"serverInfo": {}})
    playing = player(hello)
    assert [playing.play("initialize", {}) for _ in range(3)] == [hello] * 3


def test_a_call_too_many_says_how_often_it_was_recorded() -> None:
    playing = player(call("a"), call("a"), call("b"))
    for text in "aab":
        playing.play("tools/call", call(text).params)
    again = missed(playing, "tools/call", call("a").params)
    assert again.startswith('the cassette has no further recording of tools/call {"name": "echo"')
    assert again.endswith(": it was recorded 2 times")
    assert missed(playing, "tools/call", call("b").params).endswith(": it was recorded once")


def test_a_method_that_is_not_there_says_which_are() -> None:
    playing = player(call("a"), RecordedCall(method="tools/list", params={}, result={}))
    assert missed(playing, "prompts/get", {"name": "x"}) == (
        'prompts/get {"name": "x"} is not in the cassette: it has only tools/call, tools/list'
    )
    assert missed(player(), "tools/list", {}).endswith("it has only nothing")


def test_the_first_difference_to_the_nearest_entry_is_named() -> None:
    far = RecordedCall(
        method="tools/call", params={"name": "add", "arguments": {"a": 1}}, result={}
    )
    words = missed(player(far, call("a")), "tools/call", call("z").params)
    assert words == (
        'tools/call {"name": "echo", "arguments": {"text": "z"}} is not in the cassette; '
        'the nearest recorded call differs at arguments.text: recorded "a", asked "z"'
    )


def test_a_member_on_one_side_only_is_a_difference() -> None:
    recorded = RecordedCall(method="m", params={"a": 1}, result={})
    assert missed(player(recorded), "m", {"a": 1, "b": 2}).endswith(
        "differs at b: recorded nothing, asked 2"
    )
    assert missed(player(recorded), "m", {}).endswith("differs at a: recorded 1, asked nothing")


@pytest.mark.parametrize(("recorded", "asked"), [(1, 1.0), ([1.0], [1])])
def test_a_number_that_is_only_written_otherwise_is_reported(
    recorded: object, asked: object
) -> None:
    take = RecordedCall(method="m", params={"a": recorded}, result={})
    assert "the nearest recorded call differs at how a number is written" in missed(
        player(take), "m", {"a": asked}
    )


def test_text_that_looks_like_a_pattern_is_text() -> None:
    take = RecordedCall(method="m", params={"a": "match:type:number"}, result={})
    playing = player(take, take)
    assert "differs at a" in missed(playing, "m", {"a": 1})
    assert playing.play("m", {"a": "match:type:number"}) == take


def test_a_huge_request_is_quoted_in_part() -> None:
    words = missed(player(call("a")), "tools/call", call("z" * 1_000_000).params)
    assert len(words) < 2000


def test_a_hostile_method_is_made_visible() -> None:
    take = RecordedCall(method="\x1b[2J", params={}, result={})
    words = missed(player(take), "tools/list", {})
    assert ("\\u001b" in words, "\x1b" in words) == (True, False)


def test_values_that_differ_in_order_only_have_one_canonical_form() -> None:
    assert canonical_json({"b": [{"d": 1, "c": 2}], "a": 0}) == '{"a":0,"b":[{"c":2,"d":1}]}'
    assert canonical_json({"a": 1}) != canonical_json({"a": 1.0}) != canonical_json({"a": True})
