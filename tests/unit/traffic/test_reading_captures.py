"""Captures become sessions: requests, what came in between, answers."""

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
    request,
    result,
    told,
)

from mcptest.core.errors import FormatError
from mcptest.traffic.reading import read_recording


def said(text: str) -> list[list[tuple[str, Any]]]:
    """Who said what, session by session."""
    sessions = read_recording(text, FILE).sessions
    return [[(each.direction, each.message) for each in session.messages] for session in sessions]


def mistake_in(text: str) -> tuple[str, str]:
    with pytest.raises(FormatError) as caught:
        read_recording(text, FILE)
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


def test_a_session_ends_where_the_client_begins_anew() -> None:
    first = {"request": INITIALIZE, "response": OPENED}
    assert [len(session) for session in said(capture(first, {"request": call(2)}, first))] == [3, 2]


def test_members_of_others_are_left_alone() -> None:
    text = capture({"request": call(1), "at": 12, "who": None}, version=7, notes=["a"])
    assert said(text) == [[("in", call(1))]]


def test_what_the_server_sent_before_its_answer_stands_there() -> None:
    progress = told("notifications/progress", progressToken=1, progress=1)
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


def test_what_stands_beside_the_exchanges_is_used_only_if_it_says_where_it_belongs() -> None:
    progress = told("notifications/progress", progressToken=1, progress=1)
    message = told("notifications/message", level="info", data="x")
    text = capture({"request": call(1)}, server_messages=[message, progress])
    found = read_recording(text, FILE)
    assert [each.message for each in found.sessions[0].messages] == [call(1), progress]
    assert found.notes == (
        "session.json: 1 message of the server stand beside the exchanges, and nothing says when "
        "they came: they are left out",
    )


def test_a_batch_of_the_client_stays_one_and_its_answers_are_taken_apart() -> None:
    batch = [call(1), call(2)]
    text = capture({"request": batch, "response": [result(2), result(1)]})
    assert said(text) == [[("in", batch), ("out", result(2)), ("out", result(1))]]


def test_several_servers_in_one_capture_are_told() -> None:
    one = json.loads(capture({"request": call(1)}))
    text = json.dumps([one, one | {"server_label": "stdio://t"}])
    assert read_recording(text, FILE).notes == (
        "session.json: sessions of 2 servers are in one contract: stdio://s, stdio://t",
    )
    assert read_recording(json.dumps([one, one]), FILE).notes == ()


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (capture({"response": result(1)}), "exchanges[0] has no request"),
        (capture({"request": None}), "exchanges[0] has no request"),
        (capture({"request": []}), "exchanges[0] has no request"),
        (
            capture({"request": [5]}),
            "exchanges[0].request[0] is no JSON-RPC message: it is a number",
        ),
        (capture({"request": 5}), "exchanges[0].request is no JSON-RPC message: it is a number"),
        (
            capture({"request": call(1), "response": "x"}),
            "exchanges[0].response[0] is no JSON-RPC message: it is text",
        ),
        (
            capture({"request": request(1, 5)}),  # type: ignore[arg-type]
            "exchanges[0].request is no JSON-RPC message: it is an object",
        ),
        ('{"exchanges": {}}', "exchanges must be an array and is an object"),
        ('[{"exchanges": []}, {}]', "[1] is no session: it has no exchanges"),
        (
            capture({"request": call(1), "server_messages": {}}),
            "exchanges[0].server_messages must be an array and is an object",
        ),
    ],
)
def test_a_capture_with_a_mistake_is_refused_with_its_place(text: str, mistake: str) -> None:
    assert mistake_in(text) == ("F008", mistake)


@pytest.mark.parametrize("text", ['{"exchanges": []}', "[]", "{}", "5", '"text"', '[{"a": 1}]'])
def test_json_without_a_message_is_refused(text: str) -> None:
    code, message = mistake_in(text)
    assert code == "F005"
    assert "no " in message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"exchanges": [}', "not JSON: "),
        ('{"exchanges": [], "exchanges": []}', 'the key "exchanges" stands twice'),
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
        read_recording('{\n "exchanges": [\n  {"request": }\n ]\n}', FILE)
    (found,) = caught.value.diagnostics
    assert (found.line, found.column, found.source) == (3, 15, '  {"request": }')
