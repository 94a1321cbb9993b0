"""Single HTTP requests, each on a connection of its own, and a server that records requests.

For conformance and security checks, `ProbeClient` sends what no client sends: a foreign `Origin`,
no session, another method. `post` delivers a report. Nothing is followed, repeated or reused here,
and what comes back is returned as it is.

`CanaryServer` listens on this machine and records the requests it receives: a tool that is given
its URL and connects has reached this machine. It runs in a thread of its own, because the caller
waits for the tool meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time

from mcptest.core.errors import InterruptedRunError
from mcptest.core.value_class import Record
from mcptest.protocol.http_address import parse_url
from mcptest.transport import READABLE, WRITABLE
from mcptest.transport.http.client import Exchange, Head, HttpRequest
from mcptest.transport.http.connection import (
    HttpConnection,
    HttpConnectionError,
    Trust,
    find_proxy,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from mcptest.core.plan import HttpSpec
    from mcptest.protocol.http_address import Address
    from mcptest.transport.process.signals import Interrupts
    from mcptest.transport.stdio import StdioTransport

__all__ = [
    "CanaryServer",
    "HttpProbe",
    "HttpReply",
    "ProbeClient",
    "post",
]


# More of a body is not kept.
_MAX_BODY_BYTES = 8 * 1024 * 1024


class HttpReply(Record):
    """What came back. `status` is 0 if nothing did, and `error` says why it is not complete."""

    status: int = 0
    headers: dict[str, str]
    body: bytes = b""
    error: str = ""

    def header(self, name: str) -> str:
        """The value of a header, "" if there is none."""
        return self.headers.get(name.lower(), "")

    @property
    def is_event_stream(self) -> bool:
        return self.header("content-type").partition(";")[0].strip() == "text/event-stream"


class ProbeClient:
    """Sends single requests to one server, and keeps the pipes of its process empty meanwhile."""

    def __init__(
        self, http: HttpSpec, interrupts: Interrupts, process: StdioTransport | None = None
    ) -> None:
        self.address = parse_url(http.url)
        self._trust = Trust(ca_file=http.ca_file, skips_verification=http.insecure_tls)
        self.interrupts = interrupts
        self._process = process

    def start(
        self,
        method: str,
        headers: Iterable[tuple[str, str]],
        body: bytes = b"",
        *,
        address: Address | None = None,
        host: str = "",
    ) -> HttpProbe:
        """Send a request; the caller reads the answer piece by piece and closes it."""
        address = address or self.address
        request = HttpRequest(
            method=method, address=address, headers=tuple(headers), body=body, host=host
        )
        connection = HttpConnection(address, self._trust, find_proxy(address, os.environ))
        return HttpProbe(Exchange(request, connection), self.interrupts, self._process)

    def request(
        self,
        method: str,
        headers: Iterable[tuple[str, str]],
        body: bytes = b"",
        *,
        timeout_s: float,
        address: Address | None = None,
        host: str = "",
    ) -> HttpReply:
        """The whole answer to a request, or as much of it as arrives in time."""
        deadline = time.monotonic() + timeout_s
        probe = self.start(method, headers, body, address=address, host=host)
        try:
            while probe.read(deadline) and time.monotonic() < deadline:
                pass
            return probe.reply
        finally:
            probe.close()


class HttpProbe:
    """A request under way, and what has come back so far."""

    def __init__(
        self, exchange: Exchange, interrupts: Interrupts, process: StdioTransport | None
    ) -> None:
        self._exchange = exchange
        self._interrupts = interrupts
        self._process = process
        self._head: Head | None = None
        self._pieces: list[bytes] = []
        self._body = bytearray()
        self._error = ""

    @property
    def is_over(self) -> bool:
        """True once nothing more can arrive."""
        return bool(self._error) or (self._exchange.is_over and not self._pieces)

    @property
    def reply(self) -> HttpReply:
        head, error = self._head, self._error
        if not (error or self._exchange.is_over):
            error = self._exchange.progress or "the answer did not end in time"
        return HttpReply(
            status=head.status if head else 0,
            headers=head.headers if head else {},
            body=bytes(self._body),
            error=error,
        )

    def read_head(self, deadline: float) -> bool:
        """Wait for the status and the headers; False if they have not come by the deadline."""
        while not self._head and not self.is_over and self._advance(deadline):
            pass
        return self._head is not None

    def read(self, deadline: float) -> bytes:
        """The next piece of the body; b"" at its end, at the deadline, and if it broke off."""
        while not self._pieces and not self.is_over and self._advance(deadline):
            pass
        return self._pieces.pop(0) if self._pieces else b""

    def close(self) -> None:
        self._exchange.connection.close()

    def _advance(self, deadline: float) -> bool:
        """Take what has arrived, and wait for more if that was nothing; False at the deadline."""
        has_arrived = False
        try:
            for piece in self._exchange.advance():
                if isinstance(piece, Head):
                    self._head = piece
                    has_arrived = True
                elif piece:
                    self._body += piece
                    self._pieces.append(piece)
                    has_arrived = True
                    if len(self._body) > _MAX_BODY_BYTES:
                        self._error = f"the answer is larger than {_MAX_BODY_BYTES:,} bytes"
        except HttpConnectionError as error:
            self._error = error.message
        except OSError as error:
            self._error = f"no connection can be made: {error.strerror}"
        if has_arrived or self._exchange.is_over:
            return True
        wait_s = deadline - time.monotonic()
        if wait_s <= 0 or self._error:
            return False
        others = dict.fromkeys(self._process.handles() if self._process else (), READABLE)
        others[self._interrupts.fd] = READABLE
        self._exchange.connection.wait(self._exchange.wants, wait_s, others)
        if self._process:
            self._process.pump()
        if self._interrupts.count:
            raise InterruptedRunError
        return True


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
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                undone = "it did not take everything" if exchange.unsent_bytes else "no answer"
                if not connection.is_open:
                    undone = _UNDONE[connection.state]
                raise TimeoutError(f"{undone} in time")
            connection.wait(WRITABLE if status else exchange.wants, left_s, {})
        if exchange.has_stopped_reading and status < _REFUSAL:
            raise ConnectionError(f"it answered with status {status} and did not take everything")
        return status
    except HttpConnectionError as error:
        raise ConnectionError(error.message) from None
    finally:
        connection.close()


# A server that is asked

_MAX_HEAD_BYTES = 8 * 1024
_REQUEST_S = 2.0
_TICK_S = 0.1
_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n"
    b"Connection: close\r\n\r\nok"
)


class CanaryServer:
    """Listens on 127.0.0.1 while it is entered; `targets` are the paths that were asked for."""

    def __init__(self) -> None:
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(16)
        self._listener.settimeout(_TICK_S)
        self.port: int = self._listener.getsockname()[1]
        self.targets: list[str] = []
        # Most users of this module open no server.
        import threading  # noqa: PLC0415

        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="canary", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(_REQUEST_S + 1.0)
        self._listener.close()

    def _serve(self) -> None:
        while not self._is_over.is_set():
            with contextlib.suppress(OSError):
                connection, _ = self._listener.accept()
                with connection:
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        """Read the head of one request, in limited time, and answer it."""
        deadline = time.monotonic() + _REQUEST_S
        head = b""
        # A connection that sends nothing, or breaks, has reached this machine, too.
        with contextlib.suppress(OSError):
            while b"\r\n\r\n" not in head and len(head) < _MAX_HEAD_BYTES:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    break
                connection.settimeout(left_s)
                piece = connection.recv(_MAX_HEAD_BYTES)
                if not piece:
                    break
                head += piece
        self.targets.append(head.partition(b"\r\n")[0].decode("latin-1"))
        connection.sendall(_ANSWER)
