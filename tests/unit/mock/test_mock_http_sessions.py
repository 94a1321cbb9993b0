"""A mock over HTTP for clients that make a handshake: sessions, streams, and reconnecting."""

from __future__ import annotations

import pytest
from http_stage import STATELESS, Response, asking, http_contract, http_manifest
from stage import a_case, cases

from mcptest.mock import http

ADD = a_case("Adds", "{name: add, arguments: {a: 1, b: 2}}", "three")

ASKS = """
case: Asks back
in: {jsonrpc: '2.0', id: 1, method: tools/call, params: {name: ask}}
out_log: {jsonrpc: '2.0', method: notifications/message, params: {level: info, data: wait}}
out_question: {jsonrpc: '2.0', id: q, method: elicitation/create, params: {message: Who?}}
in_answer: {jsonrpc: '2.0', id: q, result: {action: accept, content: {name: !!bind name}}}
out: {jsonrpc: '2.0', id: 1, result: {content: [{type: text, text: !!ref name}]}}
"""

GROWS = """
case: Grows
in: {jsonrpc: '2.0', id: 1, method: tools/call, params: {name: grow}}
out: {jsonrpc: '2.0', id: 1, result: {content: []}}
out_changed: {jsonrpc: '2.0', method: notifications/tools/list_changed}
"""

GREETS = """
case: Greets first
out_log: {jsonrpc: '2.0', method: notifications/message, params: {level: info, data: hello}}
"""


def methods(response: Response) -> list[object]:
    return [message.get("method") for message in response.messages]


# Sessions


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_initialize_makes_a_session(version: str) -> None:
    stage = http_contract(ADD)
    response = stage.post(asking("initialize", protocolVersion=version, capabilities={}))
    assert (response.status, response.kind) == (200, "application/json")
    assert response.headers["Mcp-Session-Id"] == "session-1"
    assert response.message["result"]["protocolVersion"] == version


def test_each_client_has_a_state_of_its_own() -> None:
    stage = http_contract(cases(ADD, ASKS), once=True)
    one, two = stage.open(), stage.open()
    for client in (one, two):
        answer = client.ask("tools/call", name="add", arguments={"a": 1, "b": 2}).message
        assert answer["result"]["content"][0]["text"] == "three"
    again = one.ask("tools/call", name="add", arguments={"a": 1, "b": 2}).message
    assert "each is used once" in again["error"]["message"]
    assert stage.exercised == ["Adds"]


def test_a_request_without_a_session_is_400_and_wrong() -> None:
    stage = http_contract(ADD)
    response = stage.post(asking("tools/list"))
    assert (response.status, response.message["error"]["code"]) == (400, -32600)
    (sentence,) = stage.blamed
    assert "Mcp-Session-Id is missing" in sentence


@pytest.mark.parametrize("id", ["", "session-2", "SESSION-1"])
def test_a_session_that_there_never_was_is_404_and_not_wrong(id: str) -> None:
    stage = http_contract(ADD)
    stage.open()
    assert stage.post(asking("tools/list"), mcp_session_id=id).status == 404
    assert stage.post(asking("initialize"), mcp_session_id=id).status == 404
    assert stage.blamed == []


def test_delete_ends_a_session_and_its_stream() -> None:
    stage = http_contract(ADD)
    client = stage.open()
    listening = client.listen()
    assert stage.delete(mcp_session_id=client.id).status == 204
    assert listening.has_ended()
    assert not listening.is_cut
    assert client.ask("tools/list").status == 404
    assert stage.delete(mcp_session_id=client.id).status == 404


def test_an_ended_session_is_in_the_report() -> None:
    stage = http_contract(ADD)
    client = stage.open()
    client.ask("tools/call", name="add", arguments={"a": 1, "b": 2})
    client.ask("nope")
    stage.delete(mcp_session_id=client.id)
    assert stage.exercised == ["Adds"]
    assert len(stage.blamed) == 1


def test_a_handshake_that_the_contract_refuses_makes_no_session() -> None:
    refusing = (
        "case: Refuses\n"
        "in: {jsonrpc: '2.0', id: 1, method: initialize, params: {protocolVersion: '1'}}\n"
        "out: {jsonrpc: '2.0', id: 1, error: {code: -32602, message: too old}}\n"
    )
    stage = http_contract(refusing)
    response = stage.post(asking("initialize", protocolVersion="1"))
    assert (response.status, response.message["error"]["message"]) == (200, "too old")
    assert "Mcp-Session-Id" not in response.headers
    assert stage.post(asking("tools/list"), mcp_session_id="session-1").status == 404
    assert stage.exercised == ["Refuses"]


@pytest.mark.parametrize("version", ["1999-01-01", "", "2025-06-18, 2025-06-18"])
def test_a_version_that_is_not_spoken_is_400(version: str) -> None:
    stage = http_contract(ADD)
    client = stage.open()
    assert client.post(asking("tools/list"), mcp_protocol_version=version).status == 400
    assert stage.get(mcp_session_id=client.id, mcp_protocol_version=version).status == 400


def test_a_version_that_was_not_agreed_on_is_noted() -> None:
    stage = http_contract(ADD)
    client = stage.open("2025-11-25")
    response = client.post(asking("tools/list"), mcp_protocol_version="2025-06-18")
    assert response.status == 200
    assert any("2025-11-25 was agreed on" in each for each in stage.report.notes)
    assert stage.blamed == []


def test_a_version_that_is_repeated_as_agreed_on_is_not_noted() -> None:
    stage = http_contract(ADD)
    session = stage.post(asking("initialize", protocolVersion="2025-06-18")).headers
    headers: dict[str, str | None] = {
        "mcp_session_id": session["Mcp-Session-Id"],
        "mcp_protocol_version": "2025-06-18",
    }
    assert stage.post(asking("tools/list"), **headers).status == 200
    assert stage.report.notes == ()


def test_unused_sessions_end() -> None:
    stage = http_contract(ADD)
    client = stage.open()
    stage.wait(http._IDLE_S)
    assert client.ask("ping").status == 200
    stage.wait(http._IDLE_S + 1)
    assert client.ask("ping").status == 404
    other = stage.open()
    other.listen()
    stage.wait(http._IDLE_S + 1)
    assert other.ask("ping").status == 200


def test_too_many_sessions_end_the_one_that_is_idle_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "_MAX_SESSIONS", 2)
    stage = http_contract(ADD)
    one, two = stage.open(), stage.open()
    stage.wait(1)
    one.ask("ping")
    three = stage.open()
    assert [each.ask("ping").status for each in (one, two, three)] == [200, 404, 200]


def test_too_many_sessions_that_are_all_in_use_are_503(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_MAX_SESSIONS", 1)
    stage = http_contract(ADD)
    stage.open().listen()
    response = stage.post(asking("initialize"))
    assert (response.status, response.headers["Retry-After"]) == (503, "1")
    assert stage.blamed == []


# Messages


def test_a_body_that_is_not_json_gets_400() -> None:
    stage = http_contract(ADD)
    client = stage.open()
    for body in (b"", b"{", b"\xff", b'{"a": NaN}'):
        response = client.post(body)
        assert (response.status, response.message["error"]["code"]) == (400, -32700)
        assert response.message["id"] is None


def test_json_may_be_spread_over_lines() -> None:
    client = http_contract(ADD).open()
    body = b'{\r\n "jsonrpc": "2.0",\n "id": 1, "method": "ping"\n}\n'
    assert client.post(body).message["result"] == {}


@pytest.mark.parametrize(
    "value",
    [5, {}, {"id": 5}, {"jsonrpc": "2.0", "method": 5}, [], [asking("ping")], asking("ping", [])],
)
def test_a_body_that_is_not_a_message_gets_400_with_an_error(value: object) -> None:
    stage = http_contract(ADD)
    response = stage.open("2025-06-18").post(value)
    assert (response.status, response.message["error"]["code"]) == (400, -32600)
    assert len(stage.blamed) == 1


def test_notifications_and_answers_are_202_without_a_body() -> None:
    client = http_contract(ADD).open()
    for response in (client.tell("notifications/cancelled", requestId=1), client.reply("stray")):
        assert (response.status, response.headers, response.data) == (202, {}, b"")


def test_a_batch_is_answered_as_one_where_there_are_batches() -> None:
    client = http_contract(ADD).open("2025-03-26")
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    response = client.post([asking("ping", 1), note, asking("ping", "b")])
    assert response.status == 200
    assert [each["id"] for each in response.message] == [1, "b"]
    assert client.post([note]).status == 202


def test_one_message_is_json_and_several_are_a_stream_that_ends() -> None:
    message = ADD.replace("out:", "out_log: {jsonrpc: '2.0', method: notifications/message}\nout:")
    client = http_contract(message).open("2025-06-18")
    response = client.ask("tools/call", 7, name="add", arguments={"a": 1, "b": 2})
    assert response.headers["X-Accel-Buffering"] == "no"
    assert [each.get("id") for each in response.messages] == [None, 7]
    assert response.has_ended()
    assert client.ask("tools/list").kind == "application/json"


def test_a_question_goes_out_on_the_stream_of_the_request_and_so_does_the_answer() -> None:
    stage = http_contract(cases(ADD, ASKS))
    client = stage.open("2025-11-25", "elicitation")
    other = stage.open("2025-11-25", "elicitation")
    own = client.listen()
    asked = client.ask("tools/call", 5, name="ask")
    others = other.ask("tools/call", 5, name="ask")
    assert methods(asked) == ["notifications/message", "elicitation/create"]
    assert not asked.has_ended()
    assert client.reply("q", action="accept", content={"name": "Ada"}).status == 202
    assert asked.messages[-1]["result"]["content"][0]["text"] == "Ada"
    assert asked.has_ended()
    assert not others.has_ended()
    assert own.messages == []
    assert stage.exercised == ["Asks back"]


def test_two_streams_of_one_session_do_not_mix() -> None:
    client = http_contract(cases(ADD, ASKS)).open("2025-11-25", "elicitation")
    asked = client.ask("tools/call", "a", name="ask")
    response = client.ask("tools/call", "b", name="add", arguments={"a": 1, "b": 2})
    assert response.message["id"] == "b"
    assert not asked.has_ended()


def test_a_request_that_is_cancelled_is_not_answered_and_its_stream_ends() -> None:
    client = http_contract(ASKS).open("2025-11-25", "elicitation")
    asked = client.ask("tools/call", 5, name="ask")
    assert client.tell("notifications/cancelled", requestId="5").status == 202
    assert not asked.has_ended()
    client.tell("notifications/cancelled", requestId=5)
    assert methods(asked) == ["notifications/message", "elicitation/create"]
    assert asked.has_ended()
    assert not asked.is_cut


# The stream of what the server says on its own


def test_a_message_after_an_answer_goes_to_the_listener() -> None:
    client = http_contract(GROWS).open()
    own = client.listen()
    assert client.ask("tools/call", name="grow").kind == "application/json"
    assert methods(own) == ["notifications/tools/list_changed"]
    assert not own.has_ended()


def test_messages_are_kept_until_a_client_listens() -> None:
    client = http_contract(GREETS).open()
    assert methods(client.listen()) == ["notifications/message"]


def test_there_is_one_listener_for_each_session() -> None:
    stage = http_contract(GREETS)
    client = stage.open()
    own = client.listen()
    assert client.listen().status == 409
    assert stage.open().listen().status == 200
    stage.leave(own)
    again = client.listen()
    assert (again.status, again.messages) == (200, [])


def test_a_client_that_reconnects_gets_the_messages_after_its_last_event() -> None:
    stage = http_contract(GROWS)
    client = stage.open("2025-06-18")
    own = client.listen()
    for _ in range(3):
        client.ask("tools/call", name="grow")
    ids = [id for id, _ in own.events]
    assert ids == ["0-1", "0-2", "0-3"]
    # That the old connection is broken has not been found out yet.
    again = client.listen(last_event_id=ids[0])
    assert own.has_ended()
    assert [id for id, _ in again.events] == ids[1:]
    client.ask("tools/call", name="grow")
    assert again.events[-1][0] == "0-4"


def test_the_stream_of_a_request_can_be_gone_on_with_too() -> None:
    stage = http_contract(ASKS)
    client = stage.open("2025-11-25", "elicitation")
    asked = client.ask("tools/call", 5, name="ask")
    ids = [id for id, _ in asked.events]
    assert ids == ["2-0", "2-1", "2-2"]
    stage.leave(asked)
    again = client.listen(last_event_id="2-1")
    assert methods(again) == ["elicitation/create"]
    client.reply("q", action="accept", content={"name": "Ada"})
    assert again.messages[-1]["id"] == 5
    assert again.has_ended()
    late = client.listen(last_event_id="2-2")
    assert [each["id"] for each in late.messages] == [5]
    assert late.has_ended()


@pytest.mark.parametrize("id", ["", "x", "7-1", "0", "-1", "0-1-1", "99999999999-1"])
def test_an_event_that_there_never_was_is_400(id: str) -> None:
    client = http_contract(GROWS).open()
    assert client.listen(last_event_id=id).status == 400


def test_a_stream_begins_with_an_id_where_clients_know_what_that_is() -> None:
    new, old = http_contract(ASKS), http_contract(ASKS)
    first = new.open("2025-11-25").ask("tools/call", name="ask").events[0]
    assert first == ("2-0", None)
    id, message = old.open("2025-06-18").ask("tools/call", name="ask").events[0]
    assert (id, message["method"]) == ("2-1", "notifications/message")


def test_events_have_ids_of_their_own_in_all_streams() -> None:
    stage = http_contract(cases(GROWS, ASKS))
    client = stage.open()
    own = client.listen()
    streams = [client.ask("tools/call", number, name="ask") for number in range(3)]
    client.ask("tools/call", "g", name="grow")
    ids = [id for each in (own, *streams) for id, _ in each.events]
    assert len(ids) == len(set(ids))


# Faults and delays


def test_a_late_answer_is_sent_when_it_is_due() -> None:
    stage = http_contract(ADD, latency=("tools/list=2s",))
    client = stage.open()
    late = client.ask("tools/list")
    assert client.ask("ping").message["result"] == {}
    assert late.status == 0
    stage.wait(2)
    assert late.status == 200


def test_a_late_answer_is_sent_to_the_client_that_reconnected() -> None:
    stage = http_contract(ASKS, latency=("tools/call=2s",))
    client = stage.open("2025-11-25", "elicitation")
    asked = client.ask("tools/call", 5, name="ask")
    client.reply("q", action="accept", content={"name": "Ada"})
    stage.leave(asked)
    again = client.listen(last_event_id="2-2")
    stage.wait(2)
    assert [each["id"] for each in again.messages] == [5]


def test_faults_are_those_of_pipes_and_a_broken_connection_ends_no_other() -> None:
    fault = ("tools/list=drop", "ping=hang", "tools/call=malformed", "prompts/list=error")
    stage = http_contract(ADD, fault=fault)
    client = stage.open()
    assert client.ask("tools/list").is_cut
    assert client.ask("ping").status == 0
    broken = client.ask("tools/call", name="add", arguments={"a": 1, "b": 2})
    assert broken.status == 200
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        broken.message  # noqa: B018  # reading it is what fails
    assert client.ask("prompts/list").message["error"]["code"] == -32603
    assert stage.open().ask("resources/list").status == 200


def test_a_handshake_that_is_broken_makes_no_session() -> None:
    stage = http_contract(ADD, fault=("initialize=error",))
    response = stage.post(asking("initialize"))
    assert response.message["error"]["code"] == -32603
    assert "Mcp-Session-Id" not in response.headers


# Both eras


def test_a_session_and_clients_without_one_are_served_side_by_side() -> None:
    stage = http_manifest("tools: [{name: greet, answer: 'Hello'}]")
    client = stage.open()
    assert stage.ask("tools/call", name="greet").message["result"]["resultType"] == "complete"
    assert "resultType" not in client.ask("tools/call", name="greet").message["result"]
    modern = client.post(asking("tools/list"), mcp_protocol_version=STATELESS)
    assert (modern.status, modern.message["error"]["code"]) == (400, -32602)


def test_a_request_refused_by_its_head_is_reported() -> None:
    stage = http_contract(ADD)
    stage.post(asking("ping"), content_type="text/plain")
    stage.post(asking("ping"), host="evil.example")
    assert len(stage.blamed) == 1
    (note,) = stage.report.notes
    assert note.startswith("POST was answered with 403")


# Bounds


def test_messages_sent_long_ago_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_MAX_EVENTS", 2)
    client = http_contract(GROWS).open()
    for _ in range(5):
        assert client.ask("tools/call", name="grow").status == 200
    # The answers are kept too.
    assert [id for id, _ in client.listen().events] == ["0-5"]


def test_streams_that_were_left_long_ago_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_MAX_STREAMS", 3)
    stage = http_contract(ASKS)
    client = stage.open("2025-11-25", "elicitation")
    streams = [client.ask("tools/call", number, name="ask") for number in range(3)]
    for stream in streams[:2]:
        stage.leave(stream)
    client.ask("ping", "p")
    assert client.listen(last_event_id="2-1").status == 400
    assert not streams[2].has_ended()
    assert client.ask("ping", "q").status == 200
