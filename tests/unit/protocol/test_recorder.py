"""Messages in, exchanges out."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.core.value_class import ABSENT
from mcptest.protocol.capture import Exchange, Moment, RecordedMessage, SessionRecorder


def request(id: object, method: str = "m") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method}


def response(id: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {}}


NOTE = {"jsonrpc": "2.0", "method": "notifications/n"}
EMPTY = Exchange(request=ABSENT)


def at(order: int, ms: float = 0.0) -> Moment:
    return Moment(order=order, ms=ms)


def test_a_request_and_its_answer_are_one_exchange() -> None:
    recorder = SessionRecorder()
    recorder.client(request(1), 1.0004)
    recorder.server(response(1), 2.5)
    assert recorder.finish() == [
        EMPTY,
        Exchange(request=request(1), response=response(1), sent=at(1, 1.0), answered=at(2, 2.5)),
    ]


def test_answers_are_paired_by_id_and_type() -> None:
    recorder = SessionRecorder()
    for id in (1, "1"):
        recorder.client(request(id), 0)
    recorder.server(response("1"), 0)
    _, first, second = recorder.finish()
    assert (first.response, second.response) == (ABSENT, response("1"))


def test_unsolicited_messages_belong_to_the_last_exchange() -> None:
    recorder = SessionRecorder()
    recorder.server(NOTE, 0)
    recorder.client(request(1), 0)
    recorder.server(request("s"), 0)
    recorder.client(response("s"), 0)
    recorder.noise("hello", 0)
    recorder.server(response(1), 0)
    recorder.server(response(9), 0)
    prologue, exchange = recorder.finish()
    assert prologue.server_messages == (RecordedMessage(value=NOTE, at=at(1)),)
    assert exchange.server_messages == (
        RecordedMessage(value=request("s"), at=at(3)),
        RecordedMessage(value=response(9), at=at(7)),
    )
    assert exchange.replies == (RecordedMessage(value=response("s"), at=at(4)),)
    assert exchange.noise == (RecordedMessage(value="hello", at=at(5)),)
    assert exchange.answered == at(6)


def test_an_exchange_is_ready_when_the_next_has_begun_and_it_is_answered() -> None:
    recorder = SessionRecorder()
    assert recorder.take_ready() == []
    recorder.client(NOTE, 0)
    assert recorder.take_ready() == [EMPTY]
    recorder.client(request(1), 0)
    assert [each.request for each in recorder.take_ready()] == [NOTE]
    recorder.client(request(2), 0)
    assert recorder.take_ready() == []
    recorder.server(response(1), 0)
    assert [each.request for each in recorder.take_ready()] == [request(1)]
    assert [each.request for each in recorder.finish()] == [request(2)]


def test_a_request_that_is_never_answered_holds_back_a_limited_number_of_exchanges() -> None:
    recorder = SessionRecorder(max_waiting=2)
    recorder.client(request(1), 0)
    recorder.client(NOTE, 0)
    assert recorder.take_ready() == [EMPTY]
    recorder.client(NOTE, 0)
    assert [each.request for each in recorder.take_ready()] == [request(1), NOTE]
    recorder.server(response(1), 0)
    [last] = recorder.finish()
    assert [noted.value for noted in last.server_messages] == [response(1)]


def test_the_handshake_tells_capabilities_and_version() -> None:
    recorder = SessionRecorder()
    recorder.client(request(1, "initialize"), 0)
    result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
    recorder.server({"jsonrpc": "2.0", "id": 1, "result": result}, 0)
    assert (recorder.capabilities, recorder.protocol_version) == ({"tools": {}}, "2025-06-18")


def test_a_handshake_that_was_refused_tells_nothing() -> None:
    recorder = SessionRecorder()
    recorder.client(request(1, "initialize"), 0)
    recorder.server({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}}, 0)
    assert (recorder.capabilities, recorder.protocol_version) == (None, "")


def test_a_batch_counts_as_its_messages() -> None:
    recorder = SessionRecorder()
    recorder.client([request(1), NOTE], 0)
    recorder.server([response(1), NOTE], 0)
    _, first, second = recorder.finish()
    assert (first.response, first.sent, second.sent) == (response(1), at(1), at(1))
    assert second.server_messages == (RecordedMessage(value=NOTE, at=at(2)),)


@pytest.mark.parametrize(("version", "is_answer"), [("1.0", True), ("2.0", False)])
def test_an_error_without_an_id_answers_only_what_is_not_legal(
    version: str, is_answer: bool
) -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": ""}}
    recorder = SessionRecorder()
    recorder.client({**request(1), "jsonrpc": version}, 0)
    recorder.server(error, 0)
    found = recorder.finish()[1]
    assert found.response == (error if is_answer else ABSENT)
    assert len(found.server_messages) == (not is_answer)


def test_a_json_line_that_is_not_a_message_answers_nothing() -> None:
    recorder = SessionRecorder()
    recorder.client(request(1), 0)
    recorder.server({"level": "info"}, 0)
    assert recorder.finish()[1].response is ABSENT


def test_an_answer_on_another_stream_is_beside_the_exchange() -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    recorder = SessionRecorder()
    recorder.client(request(1), 0)
    recorder.server(answer, 0, {"stream": "get"}, frozenset())
    assert recorder.finish()[1].response is ABSENT
