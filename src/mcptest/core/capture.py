"""Recorded traffic as data, in the shape that the invariants read.

A session is a label, the capabilities the server declared (null when the handshake was never
completed) and the client's exchanges in order. A notification is an exchange without a
response. Everything else is optional, and a reader that knows only these loses nothing.
"""

from __future__ import annotations

from mcptest.core.record import ABSENT, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    # How a message came over HTTP: status, content type, stream and the like.
    Http = dict[str, object]

__all__ = ["Exchange", "Moment", "Noted", "SessionCapture", "render_capture", "render_exchange"]


class Moment(Record):
    """When something was said: its number in the session, and milliseconds from its start."""

    order: int
    ms: float


class Noted(Record):
    """Something that was said beside requests and their answers. `value` is a message of the
    server, an answer of ours to it, or a line that is no message. `http` says how it came, where
    that was over HTTP."""

    value: object
    at: Moment
    http: Http | None = None


class Exchange(Record):
    """One message of the client and what answered it; ABSENT when nothing did.

    What the server sent on its own, our answers to that, and what was no message belong to the
    last exchange that was begun when it came. `wire_id` is the id under which the request was
    really sent, where that is not the one it was written with.
    """

    request: object
    response: object = ABSENT
    sent: Moment | None = None
    answered: Moment | None = None
    server_messages: tuple[Noted, ...] = ()
    replies: tuple[Noted, ...] = ()
    noise: tuple[Noted, ...] = ()
    http: Http | None = None
    wire_id: object = ABSENT


class SessionCapture(Record):
    """Everything one client and one server process said to each other.

    `stderr_utf8` says whether what came on stderr was UTF-8, None when nothing did. `transport`
    names the channel, so that sessions on different ones are told apart. What came
    before the first message of the client is in `prologue`, an exchange without a request.
    """

    server_label: str
    server_capabilities: object = None
    exchanges: tuple[Exchange, ...] = ()
    transport: str = ""
    protocol_version: str = ""
    started_at: str = ""
    exit_status: str = ""
    stderr_utf8: bool | None = None
    prologue: Exchange | None = None


def render_capture(session: SessionCapture) -> dict[str, object]:
    """The session as the JSON object that capture files hold."""
    rendered: dict[str, object] = {
        "server_label": session.server_label,
        "server_capabilities": session.server_capabilities,
    }
    for member in ("transport", "protocol_version", "started_at", "exit_status"):
        if getattr(session, member):
            rendered[member] = getattr(session, member)
    if session.stderr_utf8 is not None:
        rendered["stderr_utf8"] = session.stderr_utf8
    if session.prologue:
        rendered["prologue"] = render_exchange(session.prologue)
    return rendered | {"exchanges": [render_exchange(each) for each in session.exchanges]}


def render_exchange(exchange: Exchange) -> dict[str, object]:
    """An exchange as capture files hold it; what is not known or empty is left out."""
    rendered: dict[str, object] = {}
    if exchange.request is not ABSENT:
        rendered["request"] = exchange.request
    if exchange.response is not ABSENT:
        rendered["response"] = exchange.response
    if exchange.wire_id is not ABSENT:
        rendered["wire_id"] = exchange.wire_id
    orders: dict[str, object] = {}
    times: dict[str, object] = {}
    for name, moment in (("request", exchange.sent), ("response", exchange.answered)):
        if moment:
            orders[name], times[name] = moment.order, moment.ms
    ways: dict[str, object] = {"response": exchange.http} if exchange.http else {}
    for name, noted in _beside(exchange):
        rendered[name] = [each.value for each in noted]
        orders[name] = [each.at.order for each in noted]
        times[name] = [each.at.ms for each in noted]
        if any(each.http for each in noted):
            ways[name] = [each.http or {} for each in noted]
    if ways:
        rendered["http"] = ways
    return rendered | ({"order": orders, "ms": times} if orders else {})


def _beside(exchange: Exchange) -> Iterable[tuple[str, tuple[Noted, ...]]]:
    for name in ("server_messages", "replies", "noise"):
        if noted := getattr(exchange, name):
            yield name, noted
