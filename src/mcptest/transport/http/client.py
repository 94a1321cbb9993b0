"""An HTTP client, which knows nothing of MCP: requests and answers, many at once, none blocking.

`HttpClient` has the requests that are under way and the connections that are kept for the next;
an `Exchange` is one request and its answer. The owner of the poll asks for `handles`, and calls
`move` when some of them are ready. Redirects are followed within one origin only, so no credential
ever reaches another server.
"""

from __future__ import annotations

import time

import h11

from mcptest.core.text import excerpt
from mcptest.core.value_class import Record
from mcptest.protocol.http_address import BadUrlError, redirected, same_origin
from mcptest.transport import READABLE, WRITABLE
from mcptest.transport.http.connection import HttpConnection, HttpConnectionError, Trust, find_proxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Protocol

    from mcptest.protocol.http_address import Address

    class AnswerHandler(Protocol):
        """Is called with the answer to a request: a head, pieces, and an end or a failure."""

        def take_head(self, head: Head) -> None: ...
        def take_piece(self, chunk: bytes) -> None: ...
        def take_end(self) -> None: ...
        def take_failure(self, error: HttpConnectionError) -> None: ...

    class AnyConnection(Protocol):
        """What carries an exchange: a descriptor to wait for, until it is closed."""

        @property
        def fd(self) -> int: ...
        @property
        def patience_left_s(self) -> float: ...
        def has_more(self) -> bool: ...
        def close(self) -> None: ...

    class AnyExchange(Protocol):
        """A request under way, whatever carries it. `advance` may raise HttpConnectionError."""

        @property
        def request(self) -> HttpRequest: ...
        @property
        def connection(self) -> AnyConnection: ...
        @property
        def wants(self) -> int: ...
        @property
        def progress(self) -> str: ...
        @property
        def has_head(self) -> bool: ...
        @property
        def is_over(self) -> bool: ...
        @property
        def reusable_connection(self) -> HttpConnection | None: ...
        def advance(self) -> Iterator[Head | bytes]: ...


__all__ = ["Exchange", "Head", "HttpClient", "HttpRequest", "parse_head"]


class HttpRequest(Record):
    """A request and the address it goes to. `host` is another value of `Host` than the address."""

    method: str
    address: Address
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    follows_redirects: bool = True
    host: str = ""

    @property
    def all_headers(self) -> list[tuple[str, str]]:
        """The headers, with `Host` and the length of the body."""
        size = [("Content-Length", str(len(self.body)))] if self.body else []
        return [("Host", self.host or self.address.authority), *self.headers, *size]


class Head(Record):
    """Status and headers of an answer; names of headers are in lower case."""

    status: int
    headers: dict[str, str]

    def header(self, name: str) -> str:
        return self.headers.get(name, "")


def parse_head(status: int, pairs: Iterable[tuple[bytes, bytes]]) -> Head:
    """The head of an answer; the values of a repeated header are joined."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name, value = raw_name.decode("ascii", "replace").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return Head(status=status, headers=headers)


_MAX_REDIRECTS = 5
_MAX_IDLE = 8
# How long connections are kept open without a request while others wait in silence.
_IDLE_PATIENCE_S = 0.5

# With these the method and the body stay; the others turn a POST into a GET.
_KEEPING = (307, 308)
_REDIRECTS = (301, 302, 303, *_KEEPING)


class _Running:
    """An exchange under way, and the handler of its answer; `hops` redirects led to it."""

    __slots__ = ("exchange", "handler", "hops", "keeps_connection")

    def __init__(self, exchange: AnyExchange, handler: AnswerHandler, hops: int) -> None:
        self.exchange = exchange
        self.handler = handler
        self.hops = hops
        self.keeps_connection = True


class HttpClient:
    """All exchanges of one transport, with the server and with others such as for tokens."""

    def __init__(
        self, trust: Trust, environment: Mapping[str, str], home: Address | None = None
    ) -> None:
        self._trust = trust
        # The server under test; TLS verification may be skipped for no other.
        self._home = home
        self._environment = environment
        self._running: list[_Running] = []
        self._idle: list[HttpConnection] = []
        self._keeps_connections = True
        # When a request was begun, or something arrived on a connection, last.
        self._active_at = 0.0

    def start(self, request: HttpRequest, handler: AnswerHandler, hops: int = 0) -> None:
        """Send a request; its handler may be called before this returns."""
        try:
            exchange = self.exchange_for(request)
        except OSError as error:
            message = f"no connection can be made: {error.strerror}"
            handler.take_failure(HttpConnectionError("connect_failed", message))
            return
        running = _Running(exchange, handler, hops)
        self._running.append(running)
        self._active_at = time.monotonic()
        self._advance(running)

    def exchange_for(self, request: HttpRequest) -> AnyExchange:
        """Begin the exchange of a request. A client without connections overrides this."""
        address = request.address
        for connection in [each for each in self._idle if same_origin(each.address, address)]:
            self._idle.remove(connection)
            if not connection.is_stale:
                return Exchange(request, connection)
            # The server closes idle connections so soon that the next might close while we write.
            self._keeps_connections = False
            connection.close()
        trust = self._trust
        if self._home and not same_origin(address, self._home):
            # Skipping verification of the server under test does not extend to other servers.
            trust = trust.but(skips_verification=False, is_strict=True)
        proxy = find_proxy(address, self._environment)
        return Exchange(request, HttpConnection(address, trust, proxy))

    def handles(self) -> Iterable[tuple[int, int]]:
        """The descriptors to wait for, and the events wanted of them."""
        for running in self._running:
            if (fd := running.exchange.connection.fd) >= 0:
                yield fd, running.exchange.wants

    @property
    def has_more(self) -> bool:
        """True if there are bytes that a poll does not see."""
        return any(running.exchange.connection.has_more() for running in self._running)

    def move(self, ready: set[int]) -> None:
        """Advance the exchanges whose descriptors are ready."""
        for running in list(self._running):
            connection = running.exchange.connection
            if running in self._running and (connection.fd in ready or connection.has_more()):
                self._active_at = time.monotonic()
                self._advance(running)

    def _advance(self, running: _Running) -> None:
        follows = running.exchange.request.follows_redirects
        try:
            for piece in running.exchange.advance():
                if isinstance(piece, bytes):
                    running.handler.take_piece(piece)
                elif follows and piece.status in _REDIRECTS and piece.header("location"):
                    self._redirect(running, piece)
                else:
                    running.handler.take_head(piece)
                if running not in self._running:
                    return
        except HttpConnectionError as error:
            self._drop(running)
            running.handler.take_failure(error)
            return
        if running.exchange.is_over:
            self._running.remove(running)
            connection = running.exchange.reusable_connection
            is_kept = self._keeps_connections and running.keeps_connection
            if connection and is_kept and len(self._idle) < _MAX_IDLE:
                self._idle.append(connection)
            else:
                running.exchange.connection.close()
            running.handler.take_end()

    def limit_wait(self, wait_s: float) -> float:
        """Act on silence where that helps; the longest wait until this is to be checked again.

        A host may have several addresses: one that is silent is left for the next.

        A server with a single thread waits for the next request on an idle connection, and answers
        on no other until that is closed. So idle connections are closed if requests on others have
        waited for their answers a moment in silence, and those others are closed afterwards.
        """
        for running in list(self._running):
            left_s = running.exchange.connection.patience_left_s
            wait_s = min(wait_s, max(0.0, left_s))
            if left_s <= 0:
                self._advance(running)
        waiting = [each for each in self._running if not each.exchange.has_head]
        if not (self._idle and waiting):
            return wait_s
        left_s = self._active_at + _IDLE_PATIENCE_S - time.monotonic()
        if left_s > 0:
            return min(wait_s, left_s)
        self._close_idle()
        for running in waiting:
            running.keeps_connection = False
        return wait_s

    def _redirect(self, running: _Running, head: Head) -> None:
        self._drop(running)
        request, target = running.exchange.request, head.header("location")
        try:
            goal = redirected(request.address, target)
        except BadUrlError as error:
            why = f"that is not a URL: {error}"
        else:
            if not same_origin(goal, request.address):
                why = "that is another server"
            elif request.method != "GET" and head.status not in _KEEPING:
                why = f"a {request.method} would become a GET there"
            elif running.hops >= _MAX_REDIRECTS:
                why = f"it is redirect number {running.hops + 1}"
            else:
                self.start(request.but(address=goal), running.handler, running.hops + 1)
                return
        raise HttpConnectionError(
            "redirect_refused",
            f"the server redirects (status {head.status}) to {excerpt(target, 200)}, which is "
            f"not followed: {why}",
            "give the URL it leads to, if that is the server to test",
            was_sent=True,
        )

    def _drop(self, running: _Running) -> None:
        if running in self._running:
            self._running.remove(running)
        running.exchange.connection.close()

    def progress(self, handler: AnswerHandler) -> str:
        """How far the request of this handler has come."""
        found = (each.exchange.progress for each in self._running if each.handler is handler)
        return next(found, "")

    def cancel(self, handler: AnswerHandler) -> None:
        """Break off the exchange of this handler, which is not called any more."""
        for running in [each for each in self._running if each.handler is handler]:
            self._drop(running)

    def close(self) -> None:
        """Close everything."""
        for running in list(self._running):
            self._drop(running)
        self._close_idle()

    def _close_idle(self) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()


# One exchange. h11 has the syntax (docs/decisions/0006-http.md), the limits are here.

# Status line and headers together.
_MAX_HEAD_BYTES = 256 * 1024
_GIANT = f"the headers of the answer are larger than {_MAX_HEAD_BYTES:,} bytes"

# How much is read at a time: a server that never stops sending must not hide the deadline.
_MAX_TURN_BYTES = 256 * 1024

# How many times a server may send "100 Continue" and the like before it answers.
_MAX_INTERIM = 20

_HEADERS_TOO_LARGE = 431

# How a server that expects TLS answers a request without it.
_TLS_ALERT = b"\x15\x03"


class Exchange:
    """One request on one connection. `advance` yields the head, then pieces of the body."""

    def __init__(self, request: HttpRequest, connection: HttpConnection) -> None:
        self.request = request
        self.connection = connection
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._outgoing = bytearray()
        self._has_begun = False
        # True if the server stopped reading before everything was sent.
        self.has_stopped_reading = False
        self._interim = 0
        self.has_head = False
        self.is_over = False

    @property
    def wants(self) -> int:
        """The events that the poll is to wait for."""
        if not self.connection.is_open:
            return self.connection.wants
        return READABLE | (WRITABLE if self._outgoing else 0)

    @property
    def unsent_bytes(self) -> int:
        return len(self._outgoing) if self._has_begun else len(self.request.body)

    @property
    def progress(self) -> str:
        """How far it has come without an answer, for the message of a timeout."""
        if not self.connection.is_open:
            return self.connection.progress
        if self._outgoing:
            return f"{len(self._outgoing):,} bytes of the request have not been read"
        return "" if self.has_head else "the request was sent, and nothing has come"

    @property
    def reusable_connection(self) -> HttpConnection | None:
        """The connection, if it can carry another exchange."""
        http = self._http
        is_done = http.our_state is h11.DONE and http.their_state is h11.DONE
        # What came after the end of an answer belongs to no request.
        is_clean = is_done and not self._outgoing and not http.trailing_data[0]
        return self.connection if self.is_over and is_clean else None

    def advance(self) -> Iterator[Head | bytes]:
        """Go as far as possible without waiting; HttpConnectionError says what broke."""
        self.connection.advance()
        if not self.connection.is_open:
            return
        if not self._has_begun:
            self._has_begun = True
            self._outgoing += self._encode_request()
        try:
            if self._outgoing:
                try:
                    del self._outgoing[: self.connection.write(bytes(self._outgoing[: 1 << 20]))]
                except OSError:
                    # It stopped reading; its answer may have arrived anyway.
                    self._outgoing.clear()
                    self.has_stopped_reading = True
            yield from self._receive()
        except OSError as error:
            raise self._broken(f"the connection broke: {error.strerror or error}") from None
        except h11.RemoteProtocolError as error:
            message, hint = f"the answer is not proper HTTP: {error}", ""
            if not self.has_head and error.error_status_hint == _HEADERS_TOO_LARGE:
                message = _GIANT
            elif not self.has_head:
                message = f"the answer does not begin like one of HTTP: {error}"
                hint = "does it speak HTTP on this port?"
            raise self._broken(message, hint) from None

    def _encode_request(self) -> bytes:
        request, connection = self.request, self.connection
        via_proxy = connection.proxy is not None and request.address.scheme == "http"
        headers = request.all_headers
        if via_proxy and connection.proxy and connection.proxy.authorization:
            headers.append(("Proxy-Authorization", connection.proxy.authorization))
        try:
            head = h11.Request(
                method=request.method,
                target=request.address.url if via_proxy else request.address.target,
                headers=[(name.encode(), value.encode("latin-1")) for name, value in headers],
            )
        except h11.LocalProtocolError:
            # The reason quotes a value, which may be a secret.
            message = "the request cannot be sent: a header holds what HTTP does not allow"
            hint = "such as white space before or after a value: look at what it is given"
            raise HttpConnectionError("connect_failed", message, hint) from None
        body = [h11.Data(data=request.body)] if request.body else []
        events = [head, *body, h11.EndOfMessage()]
        return b"".join(self._http.send(event) or b"" for event in events)

    def _receive(self) -> Iterator[Head | bytes]:
        taken = 0
        while not self.is_over:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                chunk = self.connection.read() if taken < _MAX_TURN_BYTES else None
                if chunk is None:
                    return
                if not self.has_head:
                    self._check_beginning(chunk)
                taken += len(chunk)
                self._http.receive_data(chunk)
            elif isinstance(event, h11.InformationalResponse):
                self._interim += 1
                if self._interim > _MAX_INTERIM:
                    message = f"more than {_MAX_INTERIM} interim answers (1xx) and no real one"
                    raise self._broken(message)
            elif isinstance(event, h11.Response):
                # What comes in one piece is not counted by h11.
                if sum(len(name) + len(value) for name, value in event.headers) > _MAX_HEAD_BYTES:
                    raise self._broken(_GIANT)
                self.has_head = True
                yield parse_head(event.status_code, event.headers)
            elif isinstance(event, h11.Data):
                yield bytes(event.data)
            else:
                # The end of the message, or a connection that switched to another protocol.
                self.is_over = True

    def _check_beginning(self, chunk: bytes) -> None:
        """Raise if this cannot be part of a head: nothing more is sent, or it is TLS."""
        if not chunk and self.has_stopped_reading:
            raise self._broken("the server closed the connection, before it had read the request")
        if not chunk:
            raise self._broken("the server closed the connection without an answer")
        if chunk.startswith(_TLS_ALERT) and self.request.address.scheme != "https":
            message = "the answer does not begin like one of HTTP, but like one of TLS"
            raise self._broken(message, "does it want https://?")

    def _broken(self, message: str, hint: str = "") -> HttpConnectionError:
        return HttpConnectionError("http_body", message, hint, was_sent=self._has_begun)
