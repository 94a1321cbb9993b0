"""Recorded traffic in the shape that capture files have."""

from __future__ import annotations

from mcptest.protocol.capture import (
    Exchange,
    Moment,
    RecordedMessage,
    SessionCapture,
    render_capture,
)


def test_a_session_that_never_opened_has_no_capabilities_and_no_exchanges() -> None:
    assert render_capture(SessionCapture(server_label="stdio://x")) == {
        "server_label": "stdio://x",
        "server_capabilities": None,
        "exchanges": [],
    }


def test_an_exchange_has_a_response_only_if_one_arrived() -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    session = SessionCapture(
        server_label="stdio://x",
        server_capabilities={"tools": {}},
        exchanges=(
            Exchange(request=call, response=answer),
            Exchange(request=note),
            Exchange(request=call, response=None),
        ),
    )
    assert render_capture(session) == {
        "server_label": "stdio://x",
        "server_capabilities": {"tools": {}},
        "exchanges": [
            {"request": call, "response": answer},
            {"request": note},
            {"request": call, "response": None},
        ],
    }


def test_additional_members_are_beside_the_standard_ones() -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/n"}
    exchange = Exchange(
        request=note,
        sent=Moment(order=1, ms=0.5),
        server_messages=(RecordedMessage(value=note, at=Moment(order=2, ms=1.5)),),
        noise=(RecordedMessage(value="hello", at=Moment(order=3, ms=2.5)),),
    )
    session = SessionCapture(
        server_label="stdio://x", transport="stdio:1", exit_status="exit status 0"
    )
    rendered = render_capture(session.but(exchanges=(exchange,), prologue=exchange))
    assert rendered == {
        "server_label": "stdio://x",
        "server_capabilities": None,
        "transport": "stdio:1",
        "exit_status": "exit status 0",
        "prologue": rendered["prologue"],
        "exchanges": [
            {
                "request": note,
                "server_messages": [note],
                "noise": ["hello"],
                "order": {"request": 1, "server_messages": [2], "noise": [3]},
                "ms": {"request": 0.5, "server_messages": [1.5], "noise": [2.5]},
            }
        ],
    }
