"""What an inbox makes of what a server says."""

from __future__ import annotations

import pytest

from mcptest.engine.dialogue import DialogueInbox
from mcptest.matching.case_tags import read_tag
from mcptest.protocol.dialogue import Turn
from mcptest.protocol.session import (
    NotificationReceived,
    ProtocolViolated,
    RequestReceived,
    ResponseReceived,
    UnexpectedResponse,
)

NOTE = {"jsonrpc": "2.0", "method": "notifications/a"}
OTHER = {"jsonrpc": "2.0", "method": "notifications/b"}
QUESTION = {"jsonrpc": "2.0", "id": 7, "method": "roots/list"}
REPLY = {"jsonrpc": "2.0", "id": 7, "result": {}}
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_answers_are_kept_by_id_and_its_type() -> None:
    inbox = DialogueInbox(frozenset())
    assert inbox.take_event(ResponseReceived(message=ANSWER, id=1))
    assert inbox.answers == {("int", 1): ANSWER}


def test_messages_are_claimed_in_the_order_of_their_arrival() -> None:
    inbox = DialogueInbox(frozenset())
    for message in (NOTE, OTHER, NOTE):
        assert inbox.take_event(NotificationReceived(message=message))
    first = inbox.claim("notifications/b")
    assert first is not None
    assert first.message == OTHER
    second = inbox.claim("notifications/a")
    assert second is not None
    assert inbox.claim("notifications/a") is None
    assert [each.message for each in inbox.unclaimed] == [NOTE]
    assert inbox.left_over == []


def test_any_message_can_be_claimed_by_no_method() -> None:
    inbox = DialogueInbox(frozenset())
    inbox.take_event(NotificationReceived(message=NOTE))
    claimed = inbox.claim("")
    assert claimed is not None
    assert claimed.message == NOTE


def asking(method: object, is_ours: bool = False) -> Turn:
    value = {"id": 1, "method": method}
    return Turn(key="out", is_ours=is_ours, value=value, line=1)


def test_a_question_is_held_as_often_as_it_is_awaited() -> None:
    inbox = DialogueInbox(frozenset(["roots/list"]))
    assert not inbox.take_event(RequestReceived(message=QUESTION, reply=REPLY))
    inbox.expect_requests([asking("roots/list"), asking("ping", is_ours=True)])
    assert inbox.take_event(RequestReceived(message=QUESTION, reply=REPLY))
    assert not inbox.take_event(RequestReceived(message=QUESTION, reply=REPLY))
    assert [each.reply for each in inbox.received] == [None, REPLY, None]


def test_a_question_whose_method_is_only_described_is_held() -> None:
    inbox = DialogueInbox(frozenset([""]))
    inbox.expect_requests([asking(read_tag("re", "^roots"))])
    assert inbox.take_event(RequestReceived(message=QUESTION, reply=REPLY))


def test_a_question_that_was_carried_over_counts_as_held() -> None:
    before = DialogueInbox(frozenset(["roots/list"]))
    before.expect_requests([asking("roots/list")])
    before.take_event(RequestReceived(message=QUESTION, reply=REPLY))
    after = DialogueInbox(frozenset(["roots/list"]), before.left_over)
    after.expect_requests([asking("roots/list")])
    assert not after.take_event(RequestReceived(message=QUESTION, reply=REPLY))


def test_a_skipped_message_cannot_be_claimed_later() -> None:
    inbox = DialogueInbox(frozenset())
    inbox.take_event(NotificationReceived(message=NOTE))
    inbox.skip()
    assert inbox.claim("notifications/a") is None
    assert [each.message for each in inbox.unclaimed] == [NOTE]


def test_messages_that_the_contract_mentions_are_kept_however_many_arrive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcptest.engine.dialogue._MAX_RECEIVED", 2)
    inbox = DialogueInbox(frozenset(["notifications/b"]))
    for _ in range(5):
        inbox.take_event(NotificationReceived(message=NOTE))
    inbox.take_event(NotificationReceived(message=OTHER))
    claimed = inbox.claim("notifications/b")
    assert claimed is not None
    assert inbox.arrivals() == "what did arrive: notifications/a (2) and 3 more"


def test_unexpected_responses_and_violations_are_recorded_and_not_claimed() -> None:
    inbox = DialogueInbox(frozenset())
    assert not inbox.take_event(UnexpectedResponse(message=ANSWER, kind="unknown_id"))
    assert not inbox.take_event(UnexpectedResponse(message=OTHER, kind="late_response"))
    assert not inbox.take_event(ProtocolViolated(message=3, path="", reason="odd"))
    assert inbox.unknown == [ANSWER]


def test_arrived_messages_are_described() -> None:
    inbox = DialogueInbox(frozenset())
    assert inbox.arrivals() == "nothing else arrived"
    inbox.take_event(ResponseReceived(message=ANSWER, id=1))
    for message in (NOTE, NOTE, OTHER):
        inbox.take_event(NotificationReceived(message=message))
    assert inbox.arrivals() == (
        "what did arrive: answers to id 1 and notifications/a (2), notifications/b"
    )
