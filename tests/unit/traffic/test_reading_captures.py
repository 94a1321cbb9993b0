"""Captures become sessions: requests, messages in between, answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from traffic_samples import (
    FILE,
    INITIALIZE,
    INITIALIZED,
    OPENED,
    call,
    capture,
    notification,
    request,
    result,
)

from mcptest.core.errors import FormatError
from mcptest.traffic.reading import read_traffic


def said(text: str) -> list[list[tuple[str, Any]]]:
    """Who said what, session by session."""
    sessions = read_traffic(text, FILE).sessions
    return [[(each.direction, each.message) for each in session.messages] for session in sessions]


def mistake_in(text: str) -> tuple[str, str]:
    with pytest.raises(FormatError) as caught:
        read_traffic(text, FILE)
    (found,) = caught.value.diagnostics
    assert found.file == FILE
    assert found.help
    return found.code, found.message


def test_a_capture_is_read_in_order() -> None:
    text = capture(
        {"request": INITIALIZE, "response": OPENED},
        {"request": INITIALIZED},
        {"request": call(2), "response": result(2)},
    )
    assert said(text) == [
        [
            ("in", INITIALIZE),
            ("out", OPENED),
            ("in", INITIALIZED),
            ("in", call(2)),
            ("out", result(2)),
        ]
    ]


def test_an_array_of_sessions_is_read_session_by_session() -> None:
    one = json.loads(capture({"request": call(1), "response": result(1)}))
    assert len(said(json.dumps([one, one]))) == 2


def test_a_response_that_is_null_is_none() -> None:
    assert said(capture({"request": call(1), "response": None})) == [[("in", call(1))]]


def test_a_session_ends_where_the_client_starts_another() -> None:
    first = {"request": INITIALIZE, "response": OPENED}
    assert [len(session) for session in said(capture(first, {"request": call(2)}, first))] == [3, 2]


def test_members_of_others_are_left_alone() -> None:
    text = capture({"request": call(1), "at": 12, "who": None}, version=7, notes=["a"])
    assert said(text) == [[("in", call(1))]]


def test_messages_the_server_sent_before_its_answer_are_before_it() -> None:
    progress = notification("notifications/progress", progressToken=1, progress=1)
    text = capture({"request": call(1), "server_messages": [progress], "response": result(1)})
    assert said(text) == [[("in", call(1)), ("out", progress), ("out", result(1))]]


def test_numbers_say_in_which_order_everything_was_said() -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "a"}
    other = {"jsonrpc": "2.0", "id": 2, "method": "b"}
    question = {"jsonrpc": "2.0", "id": 9, "method": "roots/list"}
    reply = {"jsonrpc": "2.0", "id": 9, "result": {}}
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}
    answer: dict[str, Any]
    late: dict[str, Any]
    answer, late = ({"jsonrpc": "2.0", "id": id, "result": {}} for id in (2, 1))
    first = {"request": call, "response": late, "order": {"request": 2, "response": 7}}
    second = {
        "request": other,
        "response": answer,
        "server_messages": [question],
        "replies": [reply],
        "order": {"request": 3, "response": 6, "server_messages": [4], "replies": [5]},
    }
    prologue = {"server_messages": [note], "order": {"server_messages": [1]}}
    session = {"server_label": "x", "prologue": prologue, "exchanges": [first, second]}
    assert said(json.dumps(session)) == [
        [
            ("out", note),
            ("in", call),
            ("in", other),
            ("out", question),
            ("in", reply),
            ("out", answer),
            ("out", late),
        ]
    ]


QUESTIONS = [request(7, "roots/list"), request(8, "roots/list")]
REPLIES = [result(7), result(8)]


def test_without_numbers_an_answer_of_the_client_follows_its_request() -> None:
    asked = {"request": call(1), "server_messages": QUESTIONS, "response": result(1)}
    strays = [result(9), *REPLIES]
    assert said(capture(asked | {"replies": strays})) == [
        [
            ("in", call(1)),
            ("out", QUESTIONS[0]),
            ("in", REPLIES[0]),
            ("out", QUESTIONS[1]),
            ("in", REPLIES[1]),
            ("in", result(9)),
            ("out", result(1)),
        ]
    ]


def test_with_numbers_it_is_where_it_was_sent() -> None:
    asked = {"request": call(1), "server_messages": QUESTIONS, "response": result(1)}
    order = {"request": 1, "server_messages": [2, 3], "replies": [4, 5], "response": 6}
    (found,) = said(capture(asked | {"replies": REPLIES, "order": order}))
    assert [side for side, _ in found] == ["in", "out", "out", "in", "in", "out"]


def test_a_message_without_a_number_follows_its_predecessor_in_the_file() -> None:
    note = notification("notifications/message", level="info", data="late")
    text = capture(
        {"request": call(1), "response": result(1), "order": {"request": 1, "response": 4}},
        {"request": call(2), "response": result(2), "order": {"request": 2, "response": 3}},
        {"request": call(3), "server_messages": [note], "response": result(3)},
    )
    assert [message.get("id") for _, message in said(text)[0]] == [1, 2, 2, 3, None, 3, 1]


def test_messages_the_server_sent_after_its_answer_are_after_it() -> None:
    note = notification("notifications/message", level="info", data="done")
    order = {"request": 1, "response": 2, "server_messages": [3]}
    text = capture(
        {"request": call(1), "response": result(1), "server_messages": [note], "order": order},
        {"request": call(2), "order": {"request": 4}},
    )
    assert said(text) == [[("in", call(1)), ("out", result(1)), ("out", note), ("in", call(2))]]


def test_calls_under_one_number_are_the_batch_that_they_were() -> None:
    text = capture(
        {"request": call(1), "response": result(1), "order": {"request": 1, "response": 2}},
        {"request": call(2), "response": result(2), "order": {"request": 1, "response": 2}},
    )
    answers = [("out", result(1)), ("out", result(2))]
    assert said(text) == [[("in", [call(1), call(2)]), *answers]]
    without = json.loads(text)
    for exchange in without["exchanges"]:
        del exchange["order"]
    assert [side for side, _ in said(json.dumps(without))[0]] == ["in", "out", "in", "out"]


def test_a_batch_with_an_answer_in_it_is_taken_apart() -> None:
    asked = {"request": call(1), "server_messages": [QUESTIONS[0]], "replies": [REPLIES[0]]}
    text = capture(
        asked | {"order": {"request": 1, "server_messages": [2], "replies": [3]}},
        {"request": call(2), "order": {"request": 3}},
    )
    assert said(text)[0][2:] == [("in", REPLIES[0]), ("in", call(2))]


def test_a_batch_of_the_server_is_taken_apart() -> None:
    notes = [notification("notifications/message", data=each) for each in "ab"]
    text = capture({"request": call(1), "server_messages": [notes], "response": result(1)})
    assert said(text)[0][1:3] == [("out", each) for each in notes]


def test_lines_that_are_not_messages_are_left_out_and_reported() -> None:
    exchange = {
        "request": call(1),
        "response": result(1),
        "server_messages": [5, {"level": "info"}, []],
        "noise": ["banner"],
        "client_noise": ["hello"],
        "left_out": ["7 lines of 700 bytes in all were passed on and not recorded"],
    }
    found = read_traffic(capture(exchange, {"request": {"odd": 1}, "response": {"a": 1}}), FILE)
    assert [each.message for each in found.sessions[0].messages] == [call(1), result(1)]
    assert found.notes == (
        "session.json: 7 lines of 700 bytes in all were passed on and not recorded",
        "session.json: 7 lines are not messages and were left out",
    )
    one = capture({"request": call(1), "noise": ["x"]})
    assert read_traffic(one, FILE).notes == (
        "session.json: 1 line is not a message and was left out",
    )
    assert read_traffic(capture({"request": call(1), "noise": []}), FILE).notes == ()


def test_a_request_that_breaks_the_protocol_is_said_again_as_it_was() -> None:
    odd = {"jsonrpc": "2.0", "id": 1, "method": 5}
    assert said(capture({"request": odd})) == [[("in", odd)]]


def test_a_batch_of_the_client_stays_one_and_its_answers_are_taken_apart() -> None:
    batch = [call(1), call(2)]
    text = capture({"request": batch, "response": [result(2), result(1)]})
    assert said(text) == [[("in", batch), ("out", result(2)), ("out", result(1))]]


def test_several_servers_in_one_capture_are_reported() -> None:
    one = json.loads(capture({"request": call(1)}))
    text = json.dumps([one, one | {"server_label": "stdio://t"}])
    assert read_traffic(text, FILE).notes == (
        "session.json: sessions of 2 servers are in one contract: stdio://s, stdio://t",
    )
    assert read_traffic(json.dumps([one, one]), FILE).notes == ()


@pytest.mark.parametrize(
    ("exchange", "kept"),
    [
        ({"request": [5, call(1)]}, [[call(1)]]),
        ({"request": call(1), "response": [result(1), 5]}, [call(1), result(1)]),
        ({"request": []}, []),
    ],
)
def test_a_part_of_a_batch_that_is_not_a_message_is_left_out(
    exchange: dict[str, Any], kept: list[Any]
) -> None:
    found = read_traffic(capture(exchange, {"request": call(9)}), FILE)
    messages = [each.message for each in found.sessions[0].messages]
    assert messages == [*kept, call(9)]
    assert found.notes == ("session.json: 1 line is not a message and was left out",)


@pytest.mark.parametrize("text", ['{"exchanges": []}', "[]", "{}", "5", '"text"', '[{"a": 1}]'])
def test_json_without_a_message_is_refused(text: str) -> None:
    code, message = mistake_in(text)
    assert code == "F005"
    assert "no " in message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"exchanges": [}', "not JSON: "),
        ('{"exchanges": [], "exchanges": []}', 'the key "exchanges" occurs twice'),
        ('{"exchanges": NaN}', "NaN is not JSON"),
        ("[" * 300 + "]" * 300, "nested deeper than 198 levels"),
    ],
)
def test_json_that_is_broken_is_refused_with_the_reason(text: str, reason: str) -> None:
    code, message = mistake_in(text)
    assert code == "F002"
    assert reason in message


def test_the_place_of_a_mistake_in_json_is_shown() -> None:
    with pytest.raises(FormatError) as caught:
        read_traffic('{\n "exchanges": [\n  {"request": }\n ]\n}', FILE)
    (found,) = caught.value.diagnostics
    assert (found.line, found.column, found.source) == (3, 15, '  {"request": }')
