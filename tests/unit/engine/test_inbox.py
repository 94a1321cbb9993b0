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
    manager = Desk()
    assert manager.inbox.is_waiting
    assert manager.inbox.take([frame(result(1))]) == []
    assert manager.inbox.answer == result(1)
    assert (manager.inbox.is_waiting, manager.inbox.messages, manager.kinds) == (False, 1, [])


@pytest.mark.parametrize("id", ["1", 2, True, 1.0], ids=repr)
def test_an_answer_with_another_id_is_not_the_awaited_one(id: object) -> None:
    manager = Desk()
    manager.inbox.take([frame(result(id))])
    assert manager.inbox.is_waiting
    assert len(manager.kinds) == 1


def test_an_answer_to_another_open_request_is_not_the_awaited_one() -> None:
    manager = Desk()
    manager.session.open_request(2)
    manager.inbox.take([frame(result(2))])
    assert manager.inbox.is_waiting
    manager.inbox.take([frame(result(1))])
    assert (manager.inbox.answer, manager.kinds) == (result(1), [])


def test_messages_in_the_same_read_are_sorted_as_well() -> None:
    manager = Desk()
    items: list[Frame | Noise] = [frame(CHANGED), NOISE, frame(result(1)), frame(PING)]
    items.append(frame(result(1)))
    assert manager.inbox.take(items) == [{"jsonrpc": "2.0", "id": 7, "result": {}}]
    assert manager.inbox.answer == result(1)
    assert (manager.inbox.messages, manager.inbox.tool_changes) == (5, 1)
    assert manager.kinds == ["malformed_line", "duplicate_response"]


def test_a_listener_gets_a_plain_answer_first() -> None:
    manager, received = Desk(), list[SessionEvent]()

    def listen(event: SessionEvent) -> bool:
        received.append(event)
        return True

    manager.inbox.listener = listen
    manager.inbox.take([frame(result(1))])
    assert received == [ResponseReceived(message=result(1), id=1)]
    assert manager.inbox.is_waiting


def test_a_step_begins_without_the_hints_of_the_step_before() -> None:
    manager = Desk()
    manager.inbox.take([NOISE])
    hints, noise = manager.inbox.hints, manager.inbox.noise
    manager.inbox.start_step()
    assert (manager.inbox.hints, manager.inbox.noise, manager.inbox.messages) == ([], [], 0)
    # They may be part of a fault that is still to be reported.
    assert (len(hints), len(noise)) == (1, 1)


def test_notifications_are_kept_for_the_step_that_looks_at_them_only() -> None:
    manager = Desk()
    manager.inbox.take([frame(CHANGED)])
    assert manager.inbox.notifications == []
    manager.inbox.keep_notifications()
    manager.inbox.take([frame(CHANGED)])
    assert manager.inbox.notifications == [CHANGED]
    manager.inbox.start_step()
    manager.inbox.take([frame(CHANGED)])
    assert manager.inbox.notifications == []
