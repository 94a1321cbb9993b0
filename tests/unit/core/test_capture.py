"""Recorded traffic in the shape that capture files have."""

from __future__ import annotations

from mcptest.core.capture import Exchange, SessionCapture, render_capture


def test_a_session_that_never_opened_has_no_capabilities_and_no_exchanges() -> None:
    assert render_capture(SessionCapture(server_label="stdio://x")) == {
        "server_label": "stdio://x",
        "server_capabilities": None,
        "exchanges": [],
    }


def test_an_exchange_has_a_response_only_when_one_came() -> None:
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
