"""Recorded traffic as data, in the shape that the invariants read.

A session is a label, the capabilities the server declared (null when the
handshake was never completed) and the client's exchanges in order. A
notification is an exchange without a response.
"""

from __future__ import annotations

from mcptest.core.outcome import ABSENT
from mcptest.core.record import Record

__all__ = ["Exchange", "SessionCapture", "render_capture"]


class Exchange(Record):
    """One message of the client and what answered it; ABSENT when nothing did."""

    request: object
    response: object = ABSENT


class SessionCapture(Record):
    """Everything one client and one server process said to each other."""

    server_label: str
    server_capabilities: object = None
    exchanges: tuple[Exchange, ...] = ()


def render_capture(session: SessionCapture) -> dict[str, object]:
    """The session as the JSON object that capture files hold."""
    return {
        "server_label": session.server_label,
        "server_capabilities": session.server_capabilities,
        "exchanges": [_render_exchange(exchange) for exchange in session.exchanges],
    }


def _render_exchange(exchange: Exchange) -> dict[str, object]:
    rendered = {"request": exchange.request}
    if exchange.response is not ABSENT:
        rendered["response"] = exchange.response
    return rendered
