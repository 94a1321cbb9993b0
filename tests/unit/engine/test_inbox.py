"""Messages are sorted: the awaited answer from everything that could be mistaken for it."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.engine.connection import Findings, Inbox
from mcptest.protocol.framing import Frame, Noise
from mcptest.protocol.session import ClientSession, ResponseReceived, SessionEvent

CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
NOISE = Noise(raw=b"debug", size=5, reason="it does not begin like JSON", line=1)


def result(id: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "result": {"for": id}}


def frame(value: Any) -> Frame:
    return Frame(value=value, line=1)


class Desk:
    """An inbox that waits for the answer to request 1."""

    def __init__(self) -> None:
        self.session = ClientSession()
        self.findings = Findings("s")
        self.inbox = Inbox(self.session, self.findings, None, "")
        self.inbox.start_step()
        self.session.open_request(1)
        self.inbox.expect(1)

    @property
    def kinds(self) -> list[str]:
        return [finding.kind for finding in self.findings]


def test_the_answer_is_taken_and_no_request_is_pending() -> None:
    desk = Desk()
    assert desk.inbox.is_waiting
    assert desk.inbox.take([frame(result(1))]) == []
    assert desk.inbox.answer == result(1)
    assert (desk.inbox.is_waiting, desk.inbox.messages, desk.kinds) == (False, 1, [])


@pytest.mark.parametrize("id", ["1", 2, True, 1.0], ids=repr)
def test_an_answer_with_another_id_is_not_the_awaited_one(id: object) -> None:
    desk = Desk()
    desk.inbox.take([frame(result(id))])
    assert desk.inbox.is_waiting
    assert len(desk.kinds) == 1


def test_an_answer_to_another_open_request_is_not_the_awaited_one() -> None:
    desk = Desk()
    desk.session.open_request(2)
    desk.inbox.take([frame(result(2))])
    assert desk.inbox.is_waiting
    desk.inbox.take([frame(result(1))])
    assert (desk.inbox.answer, desk.kinds) == (result(1), [])


def test_messages_in_the_same_read_are_sorted_as_well() -> None:
    desk = Desk()
    items: list[Frame | Noise] = [frame(CHANGED), NOISE, frame(result(1)), frame(PING)]
    items.append(frame(result(1)))
    assert desk.inbox.take(items) == [{"jsonrpc": "2.0", "id": 7, "result": {}}]
    assert desk.inbox.answer == result(1)
    assert (desk.inbox.messages, desk.inbox.tool_changes) == (5, 1)
    assert desk.kinds == ["malformed_line", "duplicate_response"]


def test_a_listener_gets_a_plain_answer_first() -> None:
    desk, heard = Desk(), list[SessionEvent]()

    def listen(event: SessionEvent) -> bool:
        heard.append(event)
        return True

    desk.inbox.listener = listen
    desk.inbox.take([frame(result(1))])
    assert heard == [ResponseReceived(message=result(1), id=1)]
    assert desk.inbox.is_waiting


def test_a_step_begins_without_the_hints_of_the_step_before() -> None:
    desk = Desk()
    desk.inbox.take([NOISE])
    hints, noise = desk.inbox.hints, desk.inbox.noise
    desk.inbox.start_step()
    assert (desk.inbox.hints, desk.inbox.noise, desk.inbox.messages) == ([], [], 0)
    # They may be part of a fault that is still to be reported.
    assert (len(hints), len(noise)) == (1, 1)


def test_notifications_are_kept_for_the_step_that_looks_at_them_only() -> None:
    desk = Desk()
    desk.inbox.take([frame(CHANGED)])
    assert desk.inbox.notifications == []
    desk.inbox.keep_notifications()
    desk.inbox.take([frame(CHANGED)])
    assert desk.inbox.notifications == [CHANGED]
    desk.inbox.start_step()
    desk.inbox.take([frame(CHANGED)])
    assert desk.inbox.notifications == []
