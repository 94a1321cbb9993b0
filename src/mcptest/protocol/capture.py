"""Recorded traffic as data, in the shape that the invariants read.

A session is a label, the capabilities the server declared (null when the handshake was never
completed) and the client's exchanges in order. A notification is an exchange without a
response. Everything else is optional, and a reader that knows only these loses nothing.
"""

from __future__ import annotations

from mcptest.core.record import ABSENT, Record
from mcptest.protocol import jsonrpc
from mcptest.protocol.revisions import VERSION_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from typing import Any

    # How a message came over HTTP: status, content type, stream and the like.
    Http = dict[str, object]

__all__ = [
    "Exchange",
    "Moment",
    "Noted",
    "SessionCapture",
    "SessionRecorder",
    "render_capture",
    "render_exchange",
]


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


# Turn what two sides say into exchanges, one message at a time. Pure.
#
# Messages go in as they pass; exchanges come out in the order of their requests, each as soon as
# nothing can be added to it any more. A request that is never answered must not hold back all
# that follows, so a recorder waits for a limited number of answers.


# So many exchanges wait for the answer to the first of them before it is given up.
MAX_WAITING = 10_000


class _Open:
    """An exchange that may still grow."""

    __slots__ = ("exchange", "is_owed", "noise", "replies", "server_messages")

    def __init__(self, exchange: Exchange, *, is_owed: bool) -> None:
        self.exchange = exchange
        self.is_owed = is_owed
        self.server_messages: list[Noted] = []
        self.replies: list[Noted] = []
        self.noise: list[Noted] = []

    def closed(self) -> Exchange:
        if not (self.server_messages or self.replies or self.noise):
            return self.exchange
        return self.exchange.but(
            server_messages=tuple(self.server_messages),
            replies=tuple(self.replies),
            noise=tuple(self.noise),
        )


class SessionRecorder:
    """Listens to one session. `ms` is always the time since it began."""

    def __init__(self, *, max_waiting: int = MAX_WAITING) -> None:
        self._max_waiting = max_waiting
        self._order = 0
        self._waiting: list[_Open] = [_Open(Exchange(request=ABSENT), is_owed=False)]
        self._by_id: dict[jsonrpc.IdKey, _Open] = {}
        self._initialize: _Open | None = None
        self.capabilities: object = None
        self.protocol_version = ""

    def client(self, message: object, ms: float) -> None:
        """The client has sent a message; a batch counts as its messages."""
        at = self._next(ms)
        for each in message if isinstance(message, list) else (message,):
            self._client_message(each, at)

    def _client_message(self, message: Any, at: Moment) -> None:
        is_call = isinstance(message, dict) and "method" in message
        if not is_call and isinstance(message, dict) and "id" in message:
            self._waiting[-1].replies.append(Noted(value=message, at=at))
            return
        is_owed = is_call and "id" in message
        opened = _Open(Exchange(request=message, sent=at), is_owed=is_owed)
        self._waiting.append(opened)
        if is_owed:
            self._by_id[jsonrpc.id_key(message["id"])] = opened
            if message["method"] in ("initialize", "server/discover"):
                self._initialize = opened

    def server(
        self,
        message: object,
        ms: float,
        http: Http | None = None,
        answers: Container[jsonrpc.IdKey] | None = None,
    ) -> None:
        """The server has sent a message, or a batch of them; `http` is how it came there.

        `answers` are the ids that a response may have there, None for any.
        """
        at = self._next(ms)
        for each in message if isinstance(message, list) else (message,):
            self._server_message(each, at, http, answers)

    def _server_message(
        self,
        message: Any,
        at: Moment,
        http: Http | None,
        answers: Container[jsonrpc.IdKey] | None,
    ) -> None:
        opened = self._asked_by(message, answers)
        if opened is None:
            noted = Noted(value=message, at=at, http=http)
            self._waiting[-1].server_messages.append(noted)
            return
        opened.exchange = opened.exchange.but(response=message, answered=at, http=http)
        opened.is_owed = False
        if opened is self._initialize:
            self._take_handshake(message.get("result"))

    def _asked_by(self, message: Any, answers: Container[jsonrpc.IdKey] | None) -> _Open | None:
        if jsonrpc.message_kind(message) != "response":
            return None
        key = jsonrpc.id_key(message.get("id"))
        if key not in self._by_id and message.get("id") is None and "error" in message:
            # A server that cannot read the id of a request answers with null.
            illegal = (
                k for k, each in self._by_id.items() if jsonrpc.is_illegal(each.exchange.request)
            )
            key = next(illegal, key)
        elif answers is not None and key not in answers:
            return None
        return self._by_id.pop(key, None)

    def _take_handshake(self, result: object) -> None:
        if isinstance(result, dict):
            self.capabilities = result.get("capabilities")
            version = result.get("protocolVersion", self._own_version())
            self.protocol_version = version if isinstance(version, str) else ""

    def _own_version(self) -> object:
        """The revision that a request without a handshake named."""
        request: Any = self._initialize.exchange.request if self._initialize else {}
        params = request.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        return meta.get(VERSION_KEY) if isinstance(meta, dict) else None

    def noise(self, line: str, ms: float) -> None:
        """The server has written a line that is no message."""
        self._waiting[-1].noise.append(Noted(value=line, at=self._next(ms)))

    def _next(self, ms: float) -> Moment:
        self._order += 1
        return Moment(order=self._order, ms=round(ms, 3))

    # Taking out

    def take_ready(self) -> list[Exchange]:
        """The exchanges at the front to which nothing can be added; the first is the prologue."""
        ready = 0
        while len(self._waiting) - ready > 1 and self._is_done(ready):
            ready += 1
        return self._take(ready)

    def _is_done(self, place: int) -> bool:
        is_owed = self._waiting[place].is_owed
        return not is_owed or len(self._waiting) - place > self._max_waiting

    def finish(self) -> list[Exchange]:
        """All that is left."""
        return self._take(len(self._waiting))

    def _take(self, count: int) -> list[Exchange]:
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        for opened in taken:
            if opened.is_owed:
                self._by_id.pop(jsonrpc.id_key(_id_of(opened.exchange.request)), None)
        return [opened.closed() for opened in taken]


def _id_of(request: Any) -> object:
    return request["id"]
