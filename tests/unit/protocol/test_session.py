"""The client's side of a conversation: states, pairing, and what is owed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.value_class import ABSENT
from mcptest.protocol.framing import encode_line
from mcptest.protocol.jsonrpc import id_key
from mcptest.protocol.session import (
    INITIALIZE_ID,
    REMEMBERED_IDS,
    ClientSession,
    EchoReceived,
    MessageRefused,
    NotificationReceived,
    ProtocolViolated,
    RequestReceived,
    ResponseReceived,
    SessionEvent,
    UnexpectedResponse,
)

WELCOME = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {}}
NO_BATCHES = "revision 2025-11-25 has no batches"


def result(id: object, value: object = "yes") -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def call(id: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "method": "ping"}


def error(id: object = ABSENT) -> dict[str, object]:
    answer: dict[str, object] = {"jsonrpc": "2.0", "error": {"code": -32700, "message": "parse"}}
    return answer if id is ABSENT else answer | {"id": id}


def received(session: ClientSession, value: object) -> list[SessionEvent]:
    return list(session.receive(value))


def opened(*ids: object, offer: str = "") -> ClientSession:
    session = ClientSession(offer)
    for id in ids:
        session.open_request(id)
    return session


# States


def test_a_session_goes_from_spawned_to_terminated() -> None:
    session = ClientSession("", "1.2.3")
    states = [session.state]
    request = session.initialize()
    states.append(session.state)
    initialized = session.accept(WELCOME)
    states.append(session.state)
    session.terminate()
    states.append(session.state)
    assert states == ["spawned", "initializing", "operational", "terminated"]
    assert request == {
        "jsonrpc": "2.0",
        "id": INITIALIZE_ID,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "mcptest", "version": "1.2.3"},
        },
    }
    assert initialized == {"jsonrpc": "2.0", "method": "notifications/initialized"}


def test_the_answer_decides_on_revision_and_capabilities() -> None:
    session = ClientSession()
    session.initialize()
    session.accept(WELCOME)
    assert session.revision.version == "2025-06-18"
    assert session.capabilities == {"tools": {}}


def test_an_answer_without_a_version_leaves_the_one_that_was_offered() -> None:
    session = ClientSession("2025-03-26")
    session.initialize()
    session.accept({})
    assert session.revision.version == "2025-03-26"
    assert session.capabilities is None


def test_initialize_cannot_be_sent_twice() -> None:
    session = ClientSession()
    session.initialize()
    with pytest.raises(RuntimeError, match=r"^the session is initializing, not spawned$"):
        session.initialize()


def test_an_answer_cannot_be_accepted_before_it_was_asked_for() -> None:
    with pytest.raises(RuntimeError, match=r"^the session is spawned, not initializing$"):
        ClientSession().accept(WELCOME)


def test_nothing_is_initialized_after_the_end() -> None:
    session = ClientSession()
    session.terminate()
    with pytest.raises(RuntimeError, match=r"^the session is terminated, not spawned$"):
        session.initialize()


def test_after_the_end_no_answer_is_anybodys() -> None:
    session = opened(1)
    session.terminate()
    assert received(session, result(1)) == [
        UnexpectedResponse(message=result(1), kind="unknown_id")
    ]


# Pairing


def test_the_handshake_is_paired_like_every_request() -> None:
    session = ClientSession()
    session.open_request(session.initialize()["id"])
    answer = result(INITIALIZE_ID, WELCOME)
    assert received(session, answer) == [ResponseReceived(message=answer, id=INITIALIZE_ID)]


@pytest.mark.parametrize(("sent", "outcome"), [(1, "1"), ("1", 1), (0, ""), ("a", "A")])
def test_an_answer_with_another_id_answers_nothing(sent: object, outcome: object) -> None:
    session = opened(sent)
    assert received(session, result(outcome)) == [
        UnexpectedResponse(message=result(outcome), kind="unknown_id")
    ]
    assert received(session, result(sent)) == [ResponseReceived(message=result(sent), id=sent)]


@pytest.mark.parametrize("outcome", [1.0, True])
def test_an_id_of_another_type_is_a_violation_and_answers_nothing(outcome: object) -> None:
    (event,) = received(opened(1), result(outcome))
    assert isinstance(event, ProtocolViolated)
    assert (event.path, event.id) == ("id", ABSENT)


@pytest.mark.parametrize("id", [1, "1", "t-1"])
def test_a_plain_answer_is_received_once(id: object) -> None:
    session = opened(id)
    assert received(session, result(id)) == [ResponseReceived(message=result(id), id=id)]
    assert received(session, result(id)) == [
        UnexpectedResponse(message=result(id), kind="duplicate_response")
    ]


@each_case(
    "value",
    [
        result(1),
        result("1"),
        result(True),
        result(1.0),
        result(2),
        result(None),
        error(1),
        error(),
        result(1) | error(1),
        result(1) | {"jsonrpc": "1.0"},
        result(1) | {"method": "ping"},
        [result(1)],
        "yes",
    ],
)
def test_the_quick_way_of_plain_answers_is_taken_by_no_other_message(value: object) -> None:
    # With the ids that a stream may answer, every message is checked in full.
    checked = opened(1).receive(value, frozenset({id_key(1)}))
    assert received(opened(1), value) == list(checked)


def test_a_second_answer_is_a_duplicate() -> None:
    session = opened(1)
    received(session, result(1))
    again = result(1, "again")
    assert received(session, again) == [
        UnexpectedResponse(message=again, kind="duplicate_response")
    ]


def test_an_answer_to_an_abandoned_request_is_late_and_then_a_duplicate() -> None:
    session = opened(1)
    session.abandon(1)
    assert session.is_owed(1)
    assert received(session, result(1)) == [
        UnexpectedResponse(message=result(1), kind="late_response")
    ]
    assert not session.is_owed(1)
    assert received(session, result(1)) == [
        UnexpectedResponse(message=result(1), kind="duplicate_response")
    ]


def test_giving_up_what_was_never_opened_changes_nothing() -> None:
    session = opened()
    session.abandon(1)
    assert not session.is_owed(1)
    assert received(session, result(1)) == [
        UnexpectedResponse(message=result(1), kind="unknown_id")
    ]


@pytest.mark.parametrize(
    ("id", "fresh"),
    [
        (1, 1_000_001),
        (-1, -1_000_001),
        (2**60, 2**60 - 1_000_001),
        ("a", "a~2"),
    ],
)
def test_an_id_that_is_used_again_goes_out_as_a_fresh_one(id: object, fresh: object) -> None:
    session = opened(id)
    received(session, result(id))
    line = session.open_request(id, encode_line(call(id)))
    assert json.loads(line) == call(fresh)
    assert received(session, result(id)) == [
        UnexpectedResponse(message=result(id), kind="duplicate_response")
    ]
    assert received(session, result(fresh, "new")) == [
        ResponseReceived(message=result(id, "new"), id=id)
    ]


def test_a_fraction_is_replaced_by_a_fraction() -> None:
    session = opened(1.5)
    assert json.loads(session.open_request(1.5, encode_line(call(1.5))))["id"] == 1_000_001.5


def test_a_request_keeps_everything_but_its_id() -> None:
    session = opened(1)
    written = {"method": "ping", "id": 1, "params": {"id": 1, "a": "é"}, "jsonrpc": "2.0"}
    line = session.open_request(1, encode_line(written))
    assert list(json.loads(line).items()) == list({**written, "id": 1_000_001}.items())


def test_a_fresh_id_is_one_that_no_file_has_used() -> None:
    session = opened(1, 1_000_001, "a", "a~2")
    assert json.loads(session.open_request(1, encode_line(call(1))))["id"] == 1_000_002
    assert json.loads(session.open_request("a", encode_line(call("a"))))["id"] == "a~4"
    assert (
        json.loads(session.open_request(1_000_002, encode_line(call(1_000_002))))["id"] == 1_000_004
    )


def test_an_id_that_is_to_be_used_again_is_open_again() -> None:
    session = opened(1)
    received(session, result(1))
    assert json.loads(session.open_request(1, encode_line(call(1)), keeps_id=True))["id"] == 1
    assert received(session, result(1, "new")) == [ResponseReceived(message=result(1, "new"), id=1)]


@pytest.mark.parametrize("id", [None, True, {"a": 1}, [1]])
def test_a_unique_id_is_sent_as_written(id: object) -> None:
    session = opened(id)
    assert json.loads(session.open_request(id, encode_line(call(id))))["id"] == id


def test_an_id_that_the_server_has_used_goes_out_as_a_fresh_one() -> None:
    session = opened()
    received(session, call(1))
    assert json.loads(session.open_request(1, encode_line(call(1))))["id"] == 1_000_001


def test_a_cancellation_names_the_id_that_was_sent() -> None:
    session = opened(1)
    session.open_request(1, encode_line(call(1)))
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert json.loads(session.prepare_notification(encode_line(note)))["params"] == {
        "requestId": 1_000_001
    }


def test_an_answer_before_its_request_does_not_count() -> None:
    session = opened()
    received(session, result(5))
    assert not session.ids.take_early("5")
    assert session.ids.take_early(5)
    assert not session.ids.take_early(5)
    assert json.loads(session.open_request(5, encode_line(call(5))))["id"] == 1_000_001
    assert received(session, result(1_000_001)) == [ResponseReceived(message=result(5), id=5)]


# Echoes


def test_a_request_that_the_server_repeats_is_an_echo() -> None:
    session = ClientSession()
    session.open_request(1, encode_line(call(1)))
    assert received(session, call(1)) == [EchoReceived(message=call(1))]


def test_a_server_request_with_the_id_of_a_pending_request_is_not_an_echo() -> None:
    session = ClientSession()
    session.open_request(1, encode_line(call(1)))
    asked = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
    (event,) = session.receive(asked)
    assert isinstance(event, RequestReceived)
    assert received(session, result(1)) == [ResponseReceived(message=result(1), id=1)]


def test_an_error_of_ours_that_the_server_repeats_is_an_echo_and_not_the_answer() -> None:
    session = ClientSession()
    session.open_request(1, encode_line({**call(1), "method": "tools/call"}))
    (asked,) = session.receive({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
    assert isinstance(asked, RequestReceived)
    assert received(session, asked.reply) == [EchoReceived(message=asked.reply)]


def test_a_repeated_message_without_a_method_is_an_echo() -> None:
    session = ClientSession()
    session.open_request(1, encode_line(result(1)))
    assert received(session, result(1)) == [EchoReceived(message=result(1))]


def test_only_a_limited_number_of_settled_ids_are_remembered() -> None:
    last = 2 * REMEMBERED_IDS
    session = opened(*range(last + 1))
    for id in range(last + 1):
        received(session, result(id))
    oldest, kept = result(REMEMBERED_IDS - 1), result(REMEMBERED_IDS)
    assert received(session, oldest) == [UnexpectedResponse(message=oldest, kind="unknown_id")]
    assert received(session, kept) == [UnexpectedResponse(message=kept, kind="duplicate_response")]


@given(
    st.lists(
        st.integers(0, 50) | st.text("0123456789ab", max_size=2), unique_by=lambda id: repr(id)
    ).flatmap(lambda ids: st.tuples(st.just(ids), st.permutations(ids)))
)
def test_concurrent_requests_answered_in_any_order_are_paired_right(
    orders: tuple[list[Any], list[Any]],
) -> None:
    sent, answered = orders
    session = opened(*sent)
    events = [event for id in answered for event in session.receive(result(id, f"for {id!r}"))]
    assert events == [ResponseReceived(message=result(id, f"for {id!r}"), id=id) for id in answered]


# Errors without an id


def test_an_error_without_an_id_is_late_for_an_abandoned_illegal_request() -> None:
    session = ClientSession()
    session.open_request(7, encode_line({"jsonrpc": "1.0", "id": 7, "method": "x"}))
    session.abandon(7)
    assert session.may_be_refused
    assert received(session, error(None)) == [
        UnexpectedResponse(message=error(None), kind="late_response")
    ]
    assert not session.may_be_refused


def test_an_illegal_request_that_was_answered_is_not_refused_as_well() -> None:
    session = ClientSession()
    session.open_request(7, encode_line({"jsonrpc": "1.0", "id": 7, "method": "x"}))
    received(session, result(7))
    assert not session.may_be_refused


@pytest.mark.parametrize("id", [None, 7])
def test_an_answer_on_the_stream_of_no_request_is_misplaced(id: object) -> None:
    session = opened(7, None)
    found = list(session.receive(result(id), frozenset()))
    assert found == [UnexpectedResponse(message=result(id), kind="misplaced_response")]


@pytest.mark.parametrize("answer", [error(), error(None)])
@pytest.mark.parametrize(
    "sent", [{"jsonrpc": "1.0", "id": 7, "method": "x"}, {"jsonrpc": "2.0", "id": 7, "method": 5}]
)
def test_an_error_without_an_id_answers_a_request_that_is_not_legal(
    sent: dict[str, object], answer: dict[str, object]
) -> None:
    """JSON-RPC: a server that could not read the id answers with null."""
    session = opened(6)
    session.open_request(7, encode_line(sent))
    assert received(session, answer) == [ResponseReceived(message=answer, id=7)]


@pytest.mark.parametrize("answer", [error(), error(None)])
@pytest.mark.parametrize("ids", [(), (7,), (1, 2)])
def test_an_error_without_an_id_answers_no_legal_request(
    ids: tuple[int], answer: dict[str, object]
) -> None:
    session = ClientSession()
    for id in ids:
        session.open_request(id, encode_line(call(id)))
    assert received(session, answer) == [
        UnexpectedResponse(message=answer, kind="unattributed_error")
    ]


def test_an_error_without_an_id_refuses_a_notification_that_is_not_legal_once() -> None:
    session = opened()
    session.prepare_notification(encode_line({"jsonrpc": "1.0", "method": "x"}))
    session.prepare_notification(encode_line({"jsonrpc": "2.0", "method": "x"}))
    assert received(session, error(None)) == [MessageRefused(message=error(None))]
    assert received(session, error(None)) == [
        UnexpectedResponse(message=error(None), kind="unattributed_error")
    ]


def test_a_result_without_an_id_is_a_violation_and_not_the_answer() -> None:
    answer = {"jsonrpc": "2.0", "result": {}}
    reason = "a result must carry the id of its request"
    assert received(opened(7), answer) == [
        ProtocolViolated(message=answer, path="id", reason=reason)
    ]


# Violations


def test_a_broken_answer_breaks_the_request_it_was_meant_for() -> None:
    session = opened(1)
    answer = {"jsonrpc": "1.0", "id": 1, "result": {}}
    assert received(session, answer) == [
        ProtocolViolated(
            message=answer, path="jsonrpc", reason='"jsonrpc" must be "2.0" and is "1.0"', id=1
        )
    ]
    assert received(session, result(1)) == [
        UnexpectedResponse(message=result(1), kind="duplicate_response")
    ]


def test_a_broken_call_of_the_server_breaks_no_request_of_ours() -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": 5}
    (event,) = received(opened(1), call)
    assert event == ProtocolViolated(
        message=call, path="method", reason='"method" must be a string and is 5'
    )


@pytest.mark.parametrize("value", [None, 1, "text", True, {}, {"jsonrpc": "2.0"}])
def test_a_value_that_is_not_a_message_is_reported_as_such(value: object) -> None:
    reason = "it is neither a request, a notification nor a response"
    assert received(opened(1), value) == [ProtocolViolated(message=value, path="", reason=reason)]


# Batches


def test_a_batch_is_taken_apart_in_the_revision_that_has_them() -> None:
    session = opened(1, 2, offer="2025-03-26")
    note = {"jsonrpc": "2.0", "method": "notifications/progress"}
    assert received(session, [result(2), note, result(1)]) == [
        ResponseReceived(message=result(2), id=2),
        NotificationReceived(message=note),
        ResponseReceived(message=result(1), id=1),
    ]


def test_a_batch_in_a_revision_without_them_breaks_what_it_answers() -> None:
    session = opened(1)
    assert received(session, [result(1), 5]) == [
        ProtocolViolated(message=result(1), path="", reason=NO_BATCHES, id=1),
        ProtocolViolated(message=5, path="", reason=NO_BATCHES),
    ]


@pytest.mark.parametrize("offer", ["", "2025-03-26"])
def test_an_empty_batch_is_never_legal(offer: str) -> None:
    reason = "an empty batch is never legal"
    assert received(opened(offer=offer), []) == [
        ProtocolViolated(message=[], path="", reason=reason)
    ]


# Unsolicited messages of the server


def test_a_notification_before_the_answer_is_not_mistaken_for_the_answer() -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}
    session = opened(1)
    assert received(session, note) == [NotificationReceived(message=note)]
    assert received(session, result(1)) == [ResponseReceived(message=result(1), id=1)]


def test_a_ping_is_answered_with_an_empty_object() -> None:
    ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
    reply = {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert received(opened(), ping) == [RequestReceived(message=ping, reply=reply)]


def test_a_request_with_the_id_of_ours_is_not_our_answer() -> None:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
    reply = {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32601, "message": "the client does not offer roots/list"},
    }
    session = opened(1)
    assert received(session, ask) == [RequestReceived(message=ask, reply=reply)]
    assert received(session, result(1)) == [ResponseReceived(message=result(1), id=1)]


def test_a_server_of_the_stateless_era_must_not_ask() -> None:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
    reason = "revision 2026-07-28 has no server requests"
    assert received(opened(1, offer="2026-07-28"), ask) == [
        ProtocolViolated(message=ask, path="method", reason=reason)
    ]


@pytest.mark.parametrize("id", [None, True, 1.5, {"a": [1]}])
def test_an_odd_id_that_was_sent_may_be_returned(id: object) -> None:
    session = opened(id)
    answer = {"jsonrpc": "2.0", "id": id, "result": {}}
    assert received(session, answer) == [ResponseReceived(message=answer, id=id)]
