"""An HTTP server on this machine, for mocks and logins: many clients, one poll.

This module moves requests and answers between connections and a handler, which decides what they
mean. Nothing ever blocks: a client that is slow to send, or does not read, holds up only itself.
"""

from __future__ import annotations

import contextlib
import heapq
import socket
import sys
import time

import h11

from mcptest.core.errors import UsageError
from mcptest.core.plan import DEFAULT_MAX_LINE_BYTES
from mcptest.core.value_class import Record
from mcptest.protocol.http_messages import Answer, Begin, Cut, End, Piece, WebRequest
from mcptest.transport import READABLE, WRITABLE, wait_ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal, Protocol

    from mcptest.protocol.http_messages import Act
    from mcptest.transport.process.signals import Interrupts

    # A connection is open, then closing while something is left to send, and then lingering until
    # the client has read it; it is gone once the client has left or nothing can be sent.
    Phase = Literal["open", "closing", "lingering", "gone"]

    class Handler(Protocol):
        """Answers requests. `perform` gets each item of `handle` after its delay."""

        def check_head(self, exchange: int, request: WebRequest, port: int) -> Answer | None: ...

        def handle(
            self, exchange: int, request: WebRequest, now: float
        ) -> Iterable[tuple[float, Any]]: ...

        def perform(self, item: Any) -> Iterable[Act]: ...

        def close_exchange(self, exchange: int) -> None: ...


__all__ = ["Limits", "open_listener", "serve_http"]


# Only this machine can reach it.
_ADDRESS = "127.0.0.1"
_BACKLOG = 128
_ACCEPTS_AT_ONCE = 64

# Bodies up to this size are always accepted.
_READ_FREELY_BYTES = 1 << 20

_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
    b"Content-Length: 0\r\n\r\n"
)


def open_listener(port: int) -> socket.socket:
    """A socket that listens on this machine only; port 0 takes a free one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            # There SO_REUSEADDR would share the port with a server that listens already.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_ADDRESS, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        help = "choose another port, or 0 for one that is free"
        raise UsageError(f"cannot listen on port {port}: {error.strerror}", help) from None
    listener.setblocking(False)
    return listener


def serve_http(
    listener: socket.socket,
    interrupts: Interrupts,
    handler: Handler,
    limits: Limits | None = None,
    *,
    deadline: float = float("inf"),
    is_done: Callable[[], bool] = lambda: False,
) -> None:
    """Serve until a signal or the deadline ends it, or all is done and has been sent."""
    loop = _Loop(listener, handler, limits or Limits())
    try:
        while not interrupts.count and time.monotonic() < deadline:
            if is_done() and not loop.has_unsent:
                return
            loop.turn(interrupts.fd, deadline)
    finally:
        loop.close()


class _Loop:
    """The listener, the connections of clients, and what is to be performed later."""

    def __init__(self, listener: socket.socket, handler: Handler, limits: Limits) -> None:
        self._listener = listener
        self._port: int = listener.getsockname()[1]
        self._handler = handler
        self._limits = limits
        self._connections: dict[int, Connection] = {}
        self._carriers: dict[int, Connection] = {}
        self._scheduled: list[tuple[float, int, object]] = []
        self._count = 0
        self._exchanges = 0

    @property
    def has_unsent(self) -> bool:
        return any(each.wants_to_write for each in self._connections.values())

    def turn(self, signals: int, deadline: float) -> None:
        """Wait for the next event, at most until the deadline, and handle what is ready."""
        wanted = {signals: READABLE, self._listener.fileno(): READABLE}
        soonest = min(deadline, self._scheduled[0][0]) if self._scheduled else deadline
        for fd, each in self._connections.items():
            reading = READABLE if each.wants_to_read else 0
            wanted[fd] = reading | (WRITABLE if each.wants_to_write else 0)
            soonest = min(soonest, each.deadline)
        is_endless = soonest == float("inf")
        ready = wait_ready(wanted, None if is_endless else soonest - time.monotonic())
        now = time.monotonic()
        for fd, flags in ready.items():
            connection = self._connections.get(fd)
            if connection:
                self._transfer(connection, flags, now)
        self._perform_due(now)
        # Drop the clients that have left, or have taken too long.
        for connection in list(self._connections.values()):
            self._handle_requests(connection, now)
            connection.linger_if_done(now)
            if connection.phase == "gone" or connection.deadline <= now:
                self._drop(connection)
        if self._listener.fileno() in ready:
            self._accept(now)

    # Connections

    def _accept(self, now: float) -> None:
        for _ in range(_ACCEPTS_AT_ONCE):
            try:
                sock, _ = self._listener.accept()
            except OSError:
                # No client waits any more, or no descriptor is left for one.
                return
            sock.setblocking(False)
            if len(self._connections) >= self._limits.connections and not self._make_room():
                with contextlib.suppress(OSError):
                    sock.send(_FULL)
                sock.close()
                continue
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections[sock.fileno()] = Connection(sock, self._limits, now)

    def _make_room(self) -> bool:
        """Close the idle connection whose deadline is nearest; False if none is idle."""
        idle = [each for each in self._connections.values() if each.is_idle]
        if not idle:
            return False
        self._drop(min(idle, key=lambda each: each.deadline))
        return True

    def _transfer(self, connection: Connection, flags: int, now: float) -> None:
        if flags & WRITABLE:
            connection.write(now)
        if flags & ~WRITABLE:
            # Its end and errors are read as well.
            connection.read(now)
        self._handle_requests(connection, now)
        if connection.body_bytes > _READ_FREELY_BYTES:
            # A body that grows is refused when all of them together are too much to hold.
            held = sum(each.body_bytes for each in self._connections.values())
            if held > self._limits.all_bodies_bytes:
                connection.refuse(503, "too much is being sent at once")

    def _handle_requests(self, connection: Connection, now: float) -> None:
        """Handle the requests that have arrived."""
        while not connection.exchange:
            event = connection.next_event()
            if event is None:
                return
            if connection.is_at_head:
                if answer := self._handler.check_head(0, event, self._port):
                    connection.refuse_with(answer)
                continue
            self._exchanges += 1
            connection.exchange = self._exchanges
            self._carriers[self._exchanges] = connection
            for delay_s, item in self._handler.handle(self._exchanges, event, now):
                self._count += 1
                heapq.heappush(self._scheduled, (now + delay_s, self._count, item))
            self._perform_due(now)

    def _perform_due(self, now: float) -> None:
        """Perform what is due."""
        while self._scheduled and self._scheduled[0][0] <= now:
            _, _, item = heapq.heappop(self._scheduled)
            for act in self._handler.perform(item):
                connection = self._carriers.get(act.exchange)
                if connection and connection.perform(act, now):
                    # The connection may go on with what it has sent already.
                    del self._carriers[act.exchange]
                    connection.finish(now)
                    self._handler.close_exchange(act.exchange)

    def _drop(self, connection: Connection) -> None:
        del self._connections[connection.socket.fileno()]
        connection.socket.close()
        if self._carriers.pop(connection.exchange, None):
            self._handler.close_exchange(connection.exchange)

    def close(self) -> None:
        """Close everything."""
        for connection in list(self._connections.values()):
            connection.write(time.monotonic())
            self._drop(connection)
        self._listener.close()


# One connection of a client. h11 has the syntax; the limits, deadlines and buffers are here.

_READ_BYTES = 1 << 16
_MAX_HEAD_BYTES = 1 << 16

# What is read of a request that was refused, so that the refusal arrives.
_MAX_UNWANTED_BYTES = 1 << 20

# What a client may send ahead while it waits for an answer.
_MAX_AHEAD_BYTES = 1 << 16


class Limits(Record):
    """Limits of one server."""

    connections: int = 256
    body_bytes: int = DEFAULT_MAX_LINE_BYTES
    all_bodies_bytes: int = 4 * DEFAULT_MAX_LINE_BYTES
    waiting_bytes: int = 2 * DEFAULT_MAX_LINE_BYTES
    request_s: float = 60.0
    idle_s: float = 120.0
    write_s: float = 60.0
    linger_s: float = 2.0


class Connection:
    """A client; `exchange` is the number of its request that is being answered, 0 for none."""

    def __init__(self, sock: socket.socket, limits: Limits, now: float) -> None:
        self.socket = sock
        self.exchange = 0
        self.phase: Phase = "open"
        self.body_bytes = 0
        self._limits = limits
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._out = bytearray()
        self._head: WebRequest | None = None
        self._body: list[bytes] = []
        self._is_refused = False
        self._has_begun = False
        self._is_bodiless = False
        self._ahead = 0
        self._deadline = now + limits.idle_s

    # For the poll

    @property
    def wants_to_read(self) -> bool:
        return self._ahead < _MAX_AHEAD_BYTES

    @property
    def wants_to_write(self) -> bool:
        return bool(self._out)

    @property
    def deadline(self) -> float:
        """When it has taken too long; never while the client waits for our answer."""
        return float("inf") if self.exchange and not self._out else self._deadline

    @property
    def is_idle(self) -> bool:
        """True if it can be closed without loss: no request of it is being answered."""
        return not self.exchange and not self._out

    @property
    def is_at_head(self) -> bool:
        """True if a head has arrived, and not all of the body."""
        return self._head is not None

    # Reading

    def read(self, now: float) -> None:
        """Read what has arrived; `next_event` interprets it."""
        try:
            chunk = self.socket.recv(_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            chunk = b""
        if not chunk:
            self.phase = "gone"
        elif self.phase != "lingering":
            if self.exchange:
                self._ahead += len(chunk)
            elif not self._has_begun:
                # From its first byte on: sending slowly does not extend it.
                self._has_begun = True
                self._deadline = now + self._limits.request_s
            self._http.receive_data(chunk)

    def next_event(self) -> WebRequest | None:
        """A head, if `is_at_head`, and later the same with its body."""
        while self.phase == "open":
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                    self.refuse(error.error_status_hint, str(error))
                self._close_soon()
                return None
            if event is h11.NEED_DATA or event is h11.PAUSED:
                if self._http.they_are_waiting_for_100_continue and not self._is_refused:
                    self._send(h11.InformationalResponse(status_code=100, headers=[]))
                return None
            found = self._take_event(event)
            if found:
                return found
        return None

    def _take_event(self, event: object) -> WebRequest | None:
        if isinstance(event, h11.Request):
            self._head = _read_head(event)
            # The answer gives the length of a body, and has none.
            self._is_bodiless = event.method == b"HEAD"
            self._body, self.body_bytes, self._is_refused = [], 0, False
            return self._head
        if isinstance(event, h11.Data):
            self.body_bytes += len(event.data)
            if not self._is_refused:
                self._body.append(bytes(event.data))
                if self.body_bytes > self._limits.body_bytes:
                    self.refuse(413, f"a message may have {self._limits.body_bytes:,} bytes")
            elif self.body_bytes > _MAX_UNWANTED_BYTES:
                self._close_soon()
        elif isinstance(event, h11.EndOfMessage):
            head, body = self._head, b"".join(self._body)
            self._head, self._body, self.body_bytes = None, [], 0
            self._has_begun = False
            if self._is_refused:
                self._next_cycle()
            elif head:
                return head.but(body=body)
        elif isinstance(event, h11.ConnectionClosed):
            self.phase = "gone"
        return None

    # Writing

    def refuse(self, status: int, sentence: str) -> None:
        """Answer with the reason why this request is not handled, and close."""
        self._body, self.body_bytes = [], 0
        body = f"{sentence}\n".encode("ascii", "replace")
        headers = {"Content-Type": "text/plain", "Connection": "close"}
        self._send_answer(Answer(exchange=0, status=status, headers=headers, body=body))

    def refuse_with(self, answer: Answer) -> None:
        """Answer a request of which only the head has been seen; its body is not wanted."""
        self._is_refused = True
        size = self._head.header("content-length") if self._head else None
        is_large = size is not None and (not size.isdigit() or int(size) > _MAX_UNWANTED_BYTES)
        if is_large or self._http.they_are_waiting_for_100_continue:
            answer = answer.but(headers={**answer.headers, "Connection": "close"})
        self._send_answer(answer)

    def perform(self, act: Act, now: float) -> bool:
        """Perform an act on the exchange; True if that ends it."""
        if not self._out:
            self._deadline = now + self._limits.write_s
        if isinstance(act, Answer):
            self._send_answer(act)
        elif isinstance(act, Begin):
            self._send(h11.Response(status_code=200, headers=list(act.headers.items())))
        elif isinstance(act, Piece):
            self._send(h11.Data(data=act.data))
        elif isinstance(act, End):
            self._send(h11.EndOfMessage())
        elif isinstance(act, Cut):
            self._close_soon()
        if len(self._out) > self._limits.waiting_bytes:
            self.phase = "gone"
        return isinstance(act, (Answer, End, Cut))

    def finish(self, now: float) -> None:
        """End the exchange, and get ready for the next one."""
        self.exchange = self._ahead = 0
        self._deadline = now + (self._limits.write_s if self._out else self._limits.idle_s)
        self._next_cycle()

    def _next_cycle(self) -> None:
        if self._http.our_state is h11.MUST_CLOSE or self._http.their_state is h11.MUST_CLOSE:
            self._close_soon()
        elif self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self._is_bodiless = False

    def _send_answer(self, answer: Answer) -> None:
        headers = list(answer.headers.items())
        if answer.status != 204:
            headers.append(("Content-Length", str(len(answer.body))))
        self._send(h11.Response(status_code=answer.status, headers=headers))
        if answer.body and not self._is_bodiless:
            self._send(h11.Data(data=answer.body))
        self._send(h11.EndOfMessage())
        if self._http.our_state is h11.MUST_CLOSE:
            self._close_soon()

    def _send(self, event: h11.Event) -> None:
        self._out += self._http.send(event) or b""

    def write(self, now: float) -> None:
        """Write what there is room for."""
        try:
            sent = self.socket.send(self._out)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.phase = "gone"
            return
        del self._out[:sent]
        if sent:
            wait_s = self._limits.write_s if self._out else self._limits.idle_s
            self._deadline = now + wait_s

    def _close_soon(self) -> None:
        if self.phase == "open":
            self.phase = "closing"

    def linger_if_done(self, now: float) -> None:
        """Close our side once nothing is left to send, and wait until the client has read it."""
        if self.phase != "closing" or self._out:
            return
        # Closing at once while bytes of the client are unread would reset the connection.
        self.phase = "lingering"
        self._deadline = now + self._limits.linger_s
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)


def _read_head(event: h11.Request) -> WebRequest:
    return WebRequest(
        method=event.method.decode("latin-1"),
        target=event.target.decode("latin-1"),
        headers=tuple(
            (bytes(name).decode("latin-1"), bytes(value).decode("latin-1"))
            for name, value in event.headers
        ),
    )
