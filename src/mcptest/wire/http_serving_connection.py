"""One connection of a client over HTTP/1.1: bytes become requests, acts become bytes.

`h11` knows the protocol; here is what it leaves open: how much may come, how long it may take,
and what is still to be written.
"""

from __future__ import annotations

import contextlib
import socket

import h11

from mcptest.core.framing import DEFAULT_MAX_LINE_BYTES
from mcptest.core.record import Record
from mcptest.core.web import Answer, Begin, Cut, End, Piece, WebRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest.core.web import Act

__all__ = ["Connection", "Limits"]

_READ_BYTES = 1 << 16
_MAX_HEAD_BYTES = 1 << 16

# What is read of a request that was refused, so that the refusal arrives.
_MAX_UNWANTED_BYTES = 1 << 20

# What a client may send ahead while it waits for an answer.
_MAX_AHEAD_BYTES = 1 << 16


class Limits(Record):
    """How much one server bears, and for how long it waits."""

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
        self.is_gone = False
        self.body_bytes = 0
        self._limits = limits
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._out = bytearray()
        self._head: WebRequest | None = None
        self._body: list[bytes] = []
        self._is_refused = False
        self._is_closing = False
        self._is_lingering = False
        self._has_begun = False
        self._is_bodiless = False
        self._ahead = 0
        self._deadline = now + limits.idle_s

    # What a poll has to know

    @property
    def wants_to_read(self) -> bool:
        return self._ahead < _MAX_AHEAD_BYTES

    @property
    def wants_to_write(self) -> bool:
        return bool(self._out)

    @property
    def deadline(self) -> float:
        """When it has taken too long; never while an answer is awaited from us."""
        return float("inf") if self.exchange and not self._out else self._deadline

    @property
    def is_idle(self) -> bool:
        """Whether nothing is lost when it is closed: no request of it is being answered."""
        return not self.exchange and not self._out

    @property
    def is_at_head(self) -> bool:
        """Whether a head has come, and not all of the body."""
        return self._head is not None

    # Reading

    def read(self, now: float) -> None:
        """Take what has come; `next_request` says what it means."""
        try:
            chunk = self.socket.recv(_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            chunk = b""
        if not chunk:
            self.is_gone = True
        elif not self._is_lingering:
            if self.exchange:
                self._ahead += len(chunk)
            elif not self._has_begun:
                # From its first byte on: whoever sends them one by one gets no more time.
                self._has_begun = True
                self._deadline = now + self._limits.request_s
            self._http.receive_data(chunk)

    def next_event(self) -> WebRequest | None:
        """A head, when `is_at_head`, and later the same with its body."""
        while not (self.is_gone or self._is_lingering or self._is_closing):
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                self._refuse_garbage(error)
                return None
            if event is h11.NEED_DATA or event is h11.PAUSED:
                self._invite()
                return None
            found = self._take(event)
            if found:
                return found
        return None

    def _take(self, event: object) -> WebRequest | None:
        if isinstance(event, h11.Request):
            self._head = _request_of(event)
            # Its answer says how long a body would be, and has none.
            self._is_bodiless = event.method == b"HEAD"
            self._body, self.body_bytes, self._is_refused = [], 0, False
            return self._head
        if isinstance(event, h11.Data):
            self._take_body(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage):
            head, body = self._head, b"".join(self._body)
            self._head, self._body, self.body_bytes = None, [], 0
            self._has_begun = False
            if self._is_refused:
                self._next_cycle()
            elif head:
                return head.but(body=body)
        elif isinstance(event, h11.ConnectionClosed):
            self.is_gone = True
        return None

    def _take_body(self, data: bytes) -> None:
        self.body_bytes += len(data)
        if not self._is_refused:
            self._body.append(data)
            if self.body_bytes > self._limits.body_bytes:
                self.refuse(413, f"a message may have {self._limits.body_bytes:,} bytes")
        elif self.body_bytes > _MAX_UNWANTED_BYTES:
            self._is_closing = True

    def _invite(self) -> None:
        """Tell a client that waits for it that its body is welcome."""
        if self._http.they_are_waiting_for_100_continue and not self._is_refused:
            self._send(h11.InformationalResponse(status_code=100, headers=[]))

    def _refuse_garbage(self, error: h11.RemoteProtocolError) -> None:
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.refuse(error.error_status_hint, str(error))
        self._is_closing = True

    # Writing

    def refuse(self, status: int, sentence: str) -> None:
        """Say why nobody will hear this request, and close."""
        self._body, self.body_bytes = [], 0
        body = f"{sentence}\n".encode("ascii", "replace")
        headers = {"Content-Type": "text/plain", "Connection": "close"}
        self._whole(Answer(exchange=0, status=status, headers=headers, body=body))

    def refuse_by(self, answer: Answer) -> None:
        """Answer a request of which only the head has been seen; its body is not wanted."""
        self._is_refused = True
        size = self._head.header("content-length") if self._head else None
        is_large = size is not None and (not size.isdigit() or int(size) > _MAX_UNWANTED_BYTES)
        if is_large or self._http.they_are_waiting_for_100_continue:
            answer = answer.but(headers={**answer.headers, "Connection": "close"})
        self._whole(answer)

    def perform(self, act: Act, now: float) -> bool:
        """Do something about the exchange; whether it is over thereby."""
        if not self._out:
            self._deadline = now + self._limits.write_s
        if isinstance(act, Answer):
            self._whole(act)
        elif isinstance(act, Begin):
            self._send(h11.Response(status_code=200, headers=_headers(act.headers)))
        elif isinstance(act, Piece):
            self._send(h11.Data(data=act.data))
        elif isinstance(act, End):
            self._send(h11.EndOfMessage())
        elif isinstance(act, Cut):
            self._is_closing = True
        if len(self._out) > self._limits.waiting_bytes:
            self.is_gone = True
        return isinstance(act, (Answer, End, Cut))

    def finish(self, now: float) -> None:
        """The exchange is over: what comes next is another one."""
        self.exchange = self._ahead = 0
        self._deadline = now + (self._limits.write_s if self._out else self._limits.idle_s)
        self._next_cycle()

    def _next_cycle(self) -> None:
        if self._http.our_state is h11.MUST_CLOSE or self._http.their_state is h11.MUST_CLOSE:
            self._is_closing = True
        elif self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self._is_bodiless = False

    def _whole(self, answer: Answer) -> None:
        headers = _headers(answer.headers)
        if answer.status != 204:
            headers.append(("Content-Length", str(len(answer.body))))
        self._send(h11.Response(status_code=answer.status, headers=headers))
        if answer.body and not self._is_bodiless:
            self._send(h11.Data(data=answer.body))
        self._send(h11.EndOfMessage())
        self._is_closing = self._is_closing or self._http.our_state is h11.MUST_CLOSE

    def _send(self, event: h11.Event) -> None:
        self._out += self._http.send(event) or b""

    def write(self, now: float) -> None:
        """Write what there is room for."""
        try:
            sent = self.socket.send(self._out)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.is_gone = True
            return
        del self._out[:sent]
        if sent:
            wait_s = self._limits.write_s if self._out else self._limits.idle_s
            self._deadline = now + wait_s

    def close_if_done(self, now: float) -> None:
        """Close a connection on which nothing is left to be said, once the client has heard it."""
        if not self._is_closing or self._out or self._is_lingering:
            return
        # Closing at once while bytes of the client are unread would tear up what it reads.
        self._is_lingering = True
        self._deadline = now + self._limits.linger_s
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)


def _request_of(event: h11.Request) -> WebRequest:
    return WebRequest(
        method=event.method.decode("latin-1"),
        target=event.target.decode("latin-1"),
        headers=tuple(
            (bytes(name).decode("latin-1"), bytes(value).decode("latin-1"))
            for name, value in event.headers
        ),
    )


def _headers(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    return list(headers.items())
