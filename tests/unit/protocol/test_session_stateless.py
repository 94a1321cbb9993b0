"""The client's side in the era without a handshake."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcptest.core.plan import ClientSpec
from mcptest.protocol.framing import encode_line
from mcptest.protocol.revisions import NEWEST_STATELESS, VERSION_KEY
from mcptest.protocol.session import (
    DISCOVER_ID,
    ClientSession,
    InputRequested,
    InputRounds,
    ProtocolViolated,
    ResponseReceived,
    SessionEvent,
    UnexpectedResponse,
)

Message = dict[str, Any]

CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
CLIENT = ClientSpec(
    capabilities={"elicitation": {}},
    answers={"elicitation/create": {"result": {"action": "accept"}}},
)
ASK = {"resultType": "input_required", "inputRequests": {"k": {"method": "elicitation/create"}}}


def stateless(client: ClientSpec = CLIENT) -> ClientSession:
    session = ClientSession(NEWEST_STATELESS, "1.2.3", client)
    session.rounds = InputRounds(session.script)
    return session


def call(id: object = 1, **params: object) -> Message:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def with_metadata(session: ClientSession, message: object) -> Message:
    return dict(json.loads(session.add_metadata(encode_line(message))))


def sent(session: ClientSession, message: Message) -> Message:
    session.open_request(message["id"])
    return with_metadata(session, message)


def received(session: ClientSession, id: object, result: object) -> SessionEvent:
    (event,) = session.receive({"jsonrpc": "2.0", "id": id, "result": result})
    return event


def test_only_the_revision_without_a_handshake_is_stateless() -> None:
    assert stateless().revision.is_stateless
    assert not ClientSession("2025-11-25").revision.is_stateless


def test_a_session_opens_with_discovery() -> None:
    session = stateless()
    request = session.discover()
    assert request == {
        "jsonrpc": "2.0",
        "id": DISCOVER_ID,
        "method": "server/discover",
        "params": {},
    }
    assert session.state == "initializing"
    session.accept_discovery({"capabilities": {"tools": {}}}, NEWEST_STATELESS)
    assert (session.state, session.capabilities) == ("operational", {"tools": {}})


def test_every_request_says_who_we_are_and_what_we_can_do() -> None:
    meta = with_metadata(stateless(), call())["params"]["_meta"]
    assert meta == {
        VERSION_KEY: NEWEST_STATELESS,
        CAPABILITIES_KEY: {"elicitation": {}},
        CLIENT_KEY: {"name": "mcptest", "version": "1.2.3"},
    }


def test_params_that_are_missing_are_made() -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert with_metadata(stateless(), message)["params"]["_meta"][VERSION_KEY] == NEWEST_STATELESS


def test_metadata_of_a_request_is_not_overwritten() -> None:
    own = {VERSION_KEY: "1999-01-01", "progressToken": 5}
    meta = with_metadata(stateless(), call(_meta=own))["params"]["_meta"]
    assert (meta[VERSION_KEY], meta["progressToken"]) == ("1999-01-01", 5)
    assert CAPABILITIES_KEY in meta


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": "text"}},
        [call()],
        7,
    ],
)
def test_nothing_else_gets_metadata(message: object) -> None:
    line = encode_line(message)
    assert stateless().add_metadata(line) == line


def test_a_server_may_ask_nothing() -> None:
    asked = {"jsonrpc": "2.0", "id": 5, "method": "roots/list"}
    (event,) = stateless().receive(asked)
    assert isinstance(event, ProtocolViolated)
    assert "no server requests" in event.reason


# Rounds


def test_a_result_that_wants_input_is_answered_and_the_last_one_counts() -> None:
    session = stateless()
    sent(session, call())
    more = received(session, 1, ASK | {"requestState": "s"})
    assert isinstance(more, InputRequested)
    again = with_metadata(session, more.request)
    assert again["id"] == "mcptest-round-1"
    assert again["params"]["requestState"] == "s"
    assert again["params"]["_meta"][VERSION_KEY] == NEWEST_STATELESS
    done = received(session, "mcptest-round-1", {"resultType": "complete", "content": []})
    assert isinstance(done, ResponseReceived)
    assert (done.id, done.message["id"]) == (1, 1)


def test_without_a_stub_the_result_is_the_answer() -> None:
    session = stateless(ClientSpec())
    sent(session, call())
    event = received(session, 1, ASK)
    assert isinstance(event, ResponseReceived)
    assert event.message["result"] == ASK


def test_a_caller_that_handles_input_itself_gets_every_result() -> None:
    session = stateless()
    session.rounds = None
    sent(session, call())
    assert isinstance(received(session, 1, ASK), ResponseReceived)


def test_in_the_other_era_no_result_is_answered() -> None:
    session = ClientSession("2025-11-25", client=CLIENT)
    session.open_request(1)
    assert isinstance(received(session, 1, ASK), ResponseReceived)


def test_a_request_that_is_abandoned_in_a_later_round_has_a_late_answer() -> None:
    session = stateless()
    sent(session, call())
    received(session, 1, ASK)
    assert (session.wire_id(1), session.awaited_id("mcptest-round-1")) == ("mcptest-round-1", 1)
    session.abandon(1)
    late = received(session, "mcptest-round-1", {})
    assert isinstance(late, UnexpectedResponse)
    assert late.kind == "late_response"
