"""Several HTTP exchanges at once, over connections that are reused, without ever blocking.

The owner of the poll asks for `handles`, and calls `move` when some of them are ready. Each
exchange has a listener that is called with its answer. Redirects are followed within one origin
only, so no credential ever reaches another server.
"""

from __future__ import annotations

import time

import h11

from mcptest.core.text import excerpt
from mcptest.core.value_class import Record
from mcptest.protocol.http_address import BadUrlError, redirected, same_origin
from mcptest.transport import READABLE, WRITABLE, wait_ready
from mcptest.transport.http.connection import HttpConnection, HttpConnectionError, Trust, find_proxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Protocol

    from mcptest.protocol.http_address import Address

    class Listener(Protocol):
        """Is called with the answer to a request: a head, pieces, and an end or a failure."""

        def take_head(self, head: Head) -> None: ...
        def take_piece(self, chunk: bytes) -> None: ...
        def take_end(self) -> None: ...
        def take_failure(self, error: HttpConnectionError) -> None: ...

    class AnyConnection(Protocol):
        """What carries an exchange: a descriptor to wait for, until it is closed."""

        @property
        def fd(self) -> int: ...
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
        def unsent_bytes(self) -> int: ...
        @property
        def progress(self) -> str: ...
        @property
        def has_head(self) -> bool: ...
        @property
        def is_over(self) -> bool: ...
        @property
        def reusable_connection(self) -> HttpConnection | None: ...
        def advance(self) -> Iterator[Head | bytes]: ...


__all__ = ["Head", "HttpChannel", "HttpRequest", "parse_head", "post"]


_MAX_REDIRECTS = 5
_MAX_IDLE = 8
# How long connections are kept open without a request while others wait in silence.
_IDLE_PATIENCE_S = 0.5

# With these the method and the body stay; the others turn a POST into a GET.
_KEEPING = (307, 308)
_REDIRECTS = (301, 302, 303, *_KEEPING)


class _Running:
    """An exchange under way, and its listener."""

    __slots__ = ("exchange", "hops", "keeps_connection", "listener")

    def __init__(self, exchange: AnyExchange, listener: Listener, hops: int) -> None:
        self.exchange = exchange
        self.listener = listener
        self.hops = hops
        self.keeps_connection = True


class HttpChannel:
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

    def start(self, request: HttpRequest, listener: Listener) -> None:
        """Send a request; its listener may be called before this returns."""
        self._start(request, listener, 0)

    def _start(self, request: HttpRequest, listener: Listener, hops: int) -> None:
        try:
            exchange = self.exchange_for(request)
        except OSError as error:
            message = f"no connection can be made: {error.strerror}"
            listener.take_failure(HttpConnectionError("connect_failed", message))
            return
        running = _Running(exchange, listener, hops)
        self._running.append(running)
        self._active_at = time.monotonic()
        self._advance(running)

    def exchange_for(self, request: HttpRequest) -> AnyExchange:
        """Begin the exchange of a request. A channel without connections overrides this."""
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

    @property
    def unsent_bytes(self) -> int:
        return sum(running.exchange.unsent_bytes for running in self._running)

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
                    running.listener.take_piece(piece)
                elif follows and piece.status in _REDIRECTS and piece.header("location"):
                    self._redirect(running, piece)
                else:
                    running.listener.take_head(piece)
                if running not in self._running:
                    return
        except HttpConnectionError as error:
            self._drop(running)
            running.listener.take_failure(error)
            return
        if running.exchange.is_over:
            self._running.remove(running)
            connection = running.exchange.reusable_connection
            is_kept = self._keeps_connections and running.keeps_connection
            if connection and is_kept and len(self._idle) < _MAX_IDLE:
                self._idle.append(connection)
            else:
                running.exchange.connection.close()
            running.listener.take_end()

    def limit_wait(self, wait_s: float) -> float:
        """How long to wait at most before this is asked again.

        A server with a single thread waits for the next request on an idle connection, and answers
        on no other until that is closed. So idle connections are closed if requests on others have
        waited for their answers a moment in silence, and those others are closed afterwards.
        """
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
        goal, why = None, ""
        try:
            goal = redirected(request.address, target)
        except BadUrlError as error:
            why = f"that is not a URL: {error}"
        if goal and not same_origin(goal, request.address):
            why = "that is another server"
        elif request.method != "GET" and head.status not in _KEEPING:
            why = why or f"a {request.method} would become a GET there"
        elif running.hops >= _MAX_REDIRECTS:
            why = why or f"it is redirect number {running.hops + 1}"
        if why or goal is None:
            raise HttpConnectionError(
                "redirect_refused",
                f"the server redirects (status {head.status}) to {excerpt(target, 200)}, which is "
                f"not followed: {why}",
                "give the URL it leads to, if that is the server to test",
                was_sent=True,
            )
        self._start(request.but(address=goal), running.listener, running.hops + 1)

    def _drop(self, running: _Running) -> None:
        if running in self._running:
            self._running.remove(running)
        running.exchange.connection.close()

    def progress(self, listener: Listener) -> str:
        """How far the request of this listener has come."""
        waiting = [each for each in self._running if each.listener is listener]
        return waiting[0].exchange.progress if waiting else ""

    def cancel(self, listener: Listener) -> None:
        """Break off the exchange of this listener, which is not called any more."""
        for running in [each for each in self._running if each.listener is listener]:
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


# One request and its answer on a connection. h11 has the syntax (docs/decisions/0006-http.md),
# the limits are here.


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


class Exchange:
    """One request on one connection. `advance` yields the head, then pieces of the body."""

    def __init__(self, request: HttpRequest, connection: HttpConnection) -> None:
        self.request = request
        self.connection = connection
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._outgoing = bytearray()
        self._has_begun = False
        # True if the server stopped reading before everything was sent.
        self.stopped_reading = False
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
            self._begin()
        try:
            if self._outgoing:
                self._write()
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

    def _write(self) -> None:
        try:
            del self._outgoing[: self.connection.write(bytes(self._outgoing[: 1 << 20]))]
        except OSError:
            # It stopped reading; its answer may have arrived anyway.
            self._outgoing.clear()
            self.stopped_reading = True

    def _begin(self) -> None:
        self._has_begun = True
        request, connection = self.request, self.connection
        via_proxy = connection.proxy is not None and request.address.scheme == "http"
        headers = request.all_headers
        if via_proxy and connection.proxy and connection.proxy.authorization:
            headers.append(("Proxy-Authorization", connection.proxy.authorization))
        try:
            asked = h11.Request(
                method=request.method,
                target=request.address.url if via_proxy else request.address.target,
                headers=[(name.encode(), value.encode("latin-1")) for name, value in headers],
            )
        except h11.LocalProtocolError:
            # The reason quotes a value, which may be a secret.
            message = "the request cannot be sent: a header holds what HTTP does not allow"
            hint = "such as white space before or after a value: look at what it is given"
            raise HttpConnectionError("connect_failed", message, hint) from None
        self._outgoing += self._http.send(asked) or b""
        if request.body:
            self._outgoing += self._http.send(h11.Data(data=request.body)) or b""
        self._outgoing += self._http.send(h11.EndOfMessage()) or b""

    def _receive(self) -> Iterator[Head | bytes]:
        taken = 0
        while not self.is_over:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                chunk = self.connection.read() if taken < _MAX_TURN_BYTES else None
                if chunk is None:
                    return
                taken += len(chunk)
                self._feed(chunk)
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

    def _feed(self, chunk: bytes) -> None:
        if not chunk and not self.has_head:
            how = (
                ", before it had read the request" if self.stopped_reading else " without an answer"
            )
            raise self._broken(f"the server closed the connection{how}")
        is_secure = self.request.address.scheme == "https"
        if not self.has_head and chunk.startswith(_TLS_ALERT) and not is_secure:
            message = "the answer does not begin like one of HTTP, but like one of TLS"
            raise self._broken(message, "does it want https://?")
        self._http.receive_data(chunk)

    def _broken(self, message: str, hint: str = "") -> HttpConnectionError:
        return HttpConnectionError("http_body", message, hint, was_sent=self._has_begun)


def parse_head(status: int, pairs: Iterable[tuple[bytes, bytes]]) -> Head:
    """The head of an answer; the values of a repeated header are joined."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name, value = raw_name.decode("ascii", "replace").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return Head(status=status, headers=headers)


# Post to a URL and read the status, within a deadline.


# What was not done at the deadline, while the connection was being made.
_UNDONE = {
    "lookup": "its name was not looked up",
    "connect": "no connection",
    "tls": "no secure connection",
}

# From this status on the answer is a refusal, and the server need not read the whole body.
_REFUSAL = 400


def post(address: Address, content_type: str, body: bytes, deadline: float) -> int:
    """The status of the answer; OSError if there is none, or the body was not read.

    Redirects are not followed and no proxy is used: the body goes to this address only.
    """
    headers = (("Content-Type", content_type), ("Connection", "close"))
    request = HttpRequest(method="POST", address=address, headers=headers, body=body)
    connection = HttpConnection(address, Trust(), None)
    exchange, status = Exchange(request, connection), 0
    try:
        # Until everything has been sent: a server that answers sooner may not read it.
        while True:
            for piece in exchange.advance():
                status = piece.status if isinstance(piece, Head) else status
            if status >= _REFUSAL or (status and not exchange.unsent_bytes):
                break
            _wait(exchange, WRITABLE if status else exchange.wants, deadline)
        if exchange.stopped_reading and status < _REFUSAL:
            raise ConnectionError(f"it answered with status {status} and did not take everything")
        return status
    except HttpConnectionError as error:
        raise ConnectionError(error.message) from None
    finally:
        connection.close()


def _wait(exchange: Exchange, wants: int, deadline: float) -> None:
    connection = exchange.connection
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        undone = "it did not take everything" if exchange.unsent_bytes else "no answer"
        if not connection.is_open:
            undone = _UNDONE[exchange.connection.state]
        raise TimeoutError(f"{undone} in time")
    # An address that does not answer leaves the others their share of the time.
    share_s = 0.0 if connection.has_more() else left_s / (1 + connection.addresses_left)
    if not wait_ready({connection.fd: wants}, share_s) and connection.addresses_left:
        connection.try_next_address()
