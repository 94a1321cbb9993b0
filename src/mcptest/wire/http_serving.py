"""Be a server over HTTP on this machine: many clients, one poll.

This module moves requests and answers between connections and whoever reacts to them. It knows
nothing of what is said. Nothing ever blocks: a client that is slow to send, or does not read,
holds up nobody but itself.
"""

from __future__ import annotations

import contextlib
import heapq
import select
import socket
import time

from mcptest.core.errors import UsageError
from mcptest.wire.http_serving_connection import Connection, Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    from mcptest.core.web import Act, Answer, WebRequest
    from mcptest.wire.interrupts import Interrupts

    class Hearer(Protocol):
        """Decides what is done; what it says may be put off, and comes back when it is due."""

        def refuse(self, exchange: int, request: WebRequest, port: int) -> Answer | None: ...

        def hear(
            self, exchange: int, request: WebRequest, now: float
        ) -> Iterable[tuple[float, Any]]: ...

        def due(self, item: Any) -> Iterable[Act]: ...

        def leave(self, exchange: int) -> None: ...


__all__ = ["Limits", "open_listener", "serve_http"]

# Nobody but this machine can reach it.
_ADDRESS = "127.0.0.1"
_BACKLOG = 128
_ACCEPTS_AT_ONCE = 64

# Bodies of this size are never too much.
_READ_FREELY_BYTES = 1 << 20

_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
    b"Content-Length: 0\r\n\r\n"
)


def open_listener(port: int) -> socket.socket:
    """A socket that listens on this machine only; port 0 takes a free one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
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
    listener: socket.socket, interrupts: Interrupts, hearer: Hearer, limits: Limits | None = None
) -> None:
    """Serve until a signal ends it."""
    loop = _Loop(listener, hearer, limits or Limits())
    try:
        while not interrupts.count:
            loop.turn(interrupts.fd)
    finally:
        loop.close()


class _Loop:
    def __init__(self, listener: socket.socket, hearer: Hearer, limits: Limits) -> None:
        self._listener = listener
        self._port: int = listener.getsockname()[1]
        self._hearer = hearer
        self._limits = limits
        self._connections: dict[int, Connection] = {}
        self._carriers: dict[int, Connection] = {}
        self._later: list[tuple[float, int, object]] = []
        self._count = 0
        self._exchanges = 0

    def turn(self, signals: int) -> None:
        """Wait for whatever comes next, and do what there is to do."""
        ready = self._ready(signals)
        now = time.monotonic()
        for fd, flags in ready:
            connection = self._connections.get(fd)
            if connection:
                self._move(connection, flags, now)
        self._release(now)
        self._tidy(now)
        if any(fd == self._listener.fileno() for fd, _ in ready):
            self._accept(now)

    def _ready(self, signals: int) -> list[tuple[int, int]]:
        poll = select.poll()
        poll.register(signals, select.POLLIN)
        poll.register(self._listener, select.POLLIN)
        soonest = self._later[0][0] if self._later else float("inf")
        for fd, connection in self._connections.items():
            reading = select.POLLIN if connection.wants_to_read else 0
            poll.register(fd, reading | (select.POLLOUT if connection.wants_to_write else 0))
            soonest = min(soonest, connection.deadline)
        if soonest == float("inf"):
            return poll.poll(None)
        # Rounded up, or the last millisecond would be spent asking.
        return poll.poll(max(0, int((soonest - time.monotonic()) * 1000) + 1))

    # Connections

    def _accept(self, now: float) -> None:
        for _ in range(_ACCEPTS_AT_ONCE):
            try:
                sock, _ = self._listener.accept()
            except OSError:
                # Nobody is there any more, or there are no files left: others may go first.
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
        """Close the connection that has kept us waiting longest, if any keeps us waiting."""
        idle = [each for each in self._connections.values() if each.is_idle]
        if not idle:
            return False
        self._drop(min(idle, key=lambda each: each.deadline))
        return True

    def _move(self, connection: Connection, flags: int, now: float) -> None:
        if flags & select.POLLOUT:
            connection.write(now)
        if flags & (select.POLLIN | select.POLLHUP | select.POLLERR):
            connection.read(now)
        self._hear(connection, now)
        self._refuse_flood(connection)

    def _hear(self, connection: Connection, now: float) -> None:
        """React to the requests that have come."""
        while not connection.exchange:
            event = connection.next_event()
            if event is None:
                return
            if connection.is_at_head:
                self._look_at_head(connection, event)
                continue
            self._exchanges += 1
            connection.exchange = self._exchanges
            self._carriers[self._exchanges] = connection
            for delay_s, item in self._hearer.hear(self._exchanges, event, now):
                self._count += 1
                heapq.heappush(self._later, (now + delay_s, self._count, item))
            self._release(now)

    def _look_at_head(self, connection: Connection, head: WebRequest) -> None:
        answer = self._hearer.refuse(0, head, self._port)
        if answer:
            connection.refuse_by(answer)

    def _refuse_flood(self, connection: Connection) -> None:
        """Refuse a body that has grown when all of them together are too much to hold."""
        if connection.body_bytes > _READ_FREELY_BYTES:
            held = sum(each.body_bytes for each in self._connections.values())
            if held > self._limits.all_bodies_bytes:
                connection.refuse(503, "too much is being sent at once")

    def _release(self, now: float) -> None:
        """Do what is due."""
        while self._later and self._later[0][0] <= now:
            _, _, item = heapq.heappop(self._later)
            for act in self._hearer.due(item):
                connection = self._carriers.get(act.exchange)
                if connection and connection.perform(act, now):
                    self._finish(connection, now)

    def _finish(self, connection: Connection, now: float) -> None:
        """The exchange of a connection is over: it may go on with what it has sent already."""
        exchange = connection.exchange
        del self._carriers[exchange]
        connection.finish(now)
        self._hearer.leave(exchange)

    def _tidy(self, now: float) -> None:
        """Let go of the clients that have left, or have taken too long."""
        for connection in list(self._connections.values()):
            self._hear(connection, now)
            connection.close_if_done(now)
            if connection.is_gone or connection.deadline <= now:
                self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        del self._connections[connection.socket.fileno()]
        connection.socket.close()
        if self._carriers.pop(connection.exchange, None):
            self._hearer.leave(connection.exchange)

    def close(self) -> None:
        """Close everything."""
        for connection in list(self._connections.values()):
            connection.write(time.monotonic())
            self._drop(connection)
        self._listener.close()
