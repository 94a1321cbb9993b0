"""HTTP sessions of clients that made a handshake, and the streams that carry their messages.

A stream is the answer to one POST, or what the server sends by itself, which a GET receives.
The connection that carries it may come and go: events are kept for a while, with ids by which
a client can continue where it left.
"""

from __future__ import annotations

import re
from collections import deque

from mcptest.core.record import ABSENT, Record
from mcptest.mock.http_heads import EVENT_STREAM, JSON, Refusal
from mcptest.protocol.http_messages import Answer, Begin, Cut, End, Piece
from mcptest.protocol.jsonrpc import id_key, message_kind
from mcptest.protocol.revisions import HANDSHAKE_REVISIONS
from mcptest.protocol.sse import render_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from mcptest.mock.session import Sent, Session
    from mcptest.protocol.http_messages import Act
    from mcptest.protocol.jsonrpc import IdKey

__all__ = ["Delivery", "HttpSession", "HttpSessions", "Stream", "requests_in"]

MAX_SESSIONS = 256
IDLE_S = 3600.0

# The streams of one session that a client may come back to.
_MAX_STREAMS = 512

# The events of one session that are kept for a client that comes back.
_MAX_EVENTS = 1_000
_MAX_BYTES = 4 * 1024 * 1024

_EVENT_ID = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")

# Revisions in which a client understands an event without data.
_PRIMED = frozenset(HANDSHAKE_REVISIONS[-1:])

_STREAM_HEADERS = {
    "Content-Type": EVENT_STREAM,
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}


def requests_in(value: object) -> list[IdKey]:
    """The ids of the requests in a message or a batch."""
    messages: list[Any] = value if isinstance(value, list) else [value]
    return [id_key(each["id"]) for each in messages if message_kind(each) == "request"]


class HttpSessions:
    """All sessions that have not ended; `on_end` is called with each that ends."""

    def __init__(self, mint: Callable[[], str], on_end: Callable[[HttpSession], None]) -> None:
        self._mint = mint
        self._on_end = on_end
        self._sessions: dict[str, HttpSession] = {}

    def all(self) -> tuple[HttpSession, ...]:
        return tuple(self._sessions.values())

    def get(self, id: str, now: float) -> HttpSession | None:
        """A session, which counts as used now; None if it has ended, or never was."""
        found = self._sessions.get(id)
        if found is None or self._is_stale(found, now):
            return None
        found.last_used = now
        return found

    def add(self, session: Session, now: float) -> HttpSession | None:
        """A new session; if there are too many, it replaces an idle one, if there is one."""
        for stale in [each for each in self._sessions.values() if self._is_stale(each, now)]:
            self.end(stale)
        if len(self._sessions) >= MAX_SESSIONS:
            idle = [each for each in self._sessions.values() if not each.is_busy]
            if not idle:
                return None
            self.end(min(idle, key=lambda each: each.last_used))
        added = HttpSession(self._mint(), session, now)
        self._sessions[added.id] = added
        return added

    def end(self, session: HttpSession) -> None:
        del self._sessions[session.id]
        self._on_end(session)

    def _is_stale(self, session: HttpSession, now: float) -> bool:
        return now - session.last_used > IDLE_S and not session.is_busy


class HttpSession:
    """One client: the state of its session, and its streams."""

    def __init__(self, id: str, session: Session, now: float) -> None:
        self.id = id
        self.session = session
        self.last_used = now
        self._journal = _Journal()
        # Stream 0 is for what the server sends by itself.
        self._own = Stream(0, None, journal=self._journal)
        self._streams = {0: self._own}
        self._count = 0

    @property
    def is_busy(self) -> bool:
        """True if a connection is open."""
        return any(stream.exchange is not None for stream in self._streams.values())

    def open(self, exchange: int, waiting: Iterable[IdKey]) -> Stream:
        """A stream for the answers to a POST."""
        self._count += 1
        is_primed = self.session.revision in _PRIMED
        stream = Stream(self._count, exchange, waiting, self._journal, is_primed=is_primed)
        self._streams[self._count] = stream
        if len(self._streams) > _MAX_STREAMS:
            left = [key for key, each in self._streams.items() if key and each.exchange is None]
            for key in left[:1]:
                del self._streams[key]
        return stream

    def route(self, sent: Sent, line: bytes | None) -> Delivery | None:
        """A message with its stream; None for an answer to no request that waits."""
        data = None if line is None else line.rstrip(b"\n")
        answered: set[IdKey] = set()
        if sent.is_answer:
            messages = [each.message for each in sent.parts] if sent.parts else [sent.message]
            answered = {id_key(each.get("id")) for each in messages if isinstance(each, dict)}
        about = answered or ({id_key(sent.request_id)} if sent.request_id is not ABSENT else set())
        for stream in reversed(self._streams.values()):
            if stream.waiting & about:
                stream.waiting -= answered
                return Delivery(stream=stream, data=data, is_last=not stream.waiting)
        if answered:
            return None
        return Delivery(stream=self._own, data=data, is_last=False)

    def attach(self, exchange: int, last_event_id: str | None) -> list[Act] | Refusal:
        """Continue a stream on the connection of a GET."""
        if last_event_id is None:
            if self._own.exchange is not None:
                sentence = "this session has a GET stream already"
                return Refusal(status=409, sentence=sentence)
            return self._own.attach(exchange, None)
        found = _EVENT_ID.fullmatch(last_event_id)
        stream = self._streams.get(int(found[1])) if found else None
        if found is None or stream is None:
            sentence = "Last-Event-ID is not of an event of this session"
            return Refusal(status=400, sentence=sentence)
        # The client is back before its former connection was found broken.
        left = [] if stream.exchange is None else stream.detach()
        return [*left, *stream.attach(exchange, int(found[2]))]

    def leave(self, exchange: int) -> None:
        """Handle a connection that is gone."""
        for stream in self._streams.values():
            if stream.exchange == exchange:
                stream.exchange = None

    def cancel(self, id: object) -> list[Act]:
        """Stop waiting for the answer to a request; end its stream if it waits for no other."""
        key = id_key(id)
        for stream in self._streams.values():
            if key in stream.waiting:
                stream.waiting.discard(key)
                return [] if stream.waiting else stream.end()
        return []

    def end(self) -> list[Act]:
        """End all streams."""
        return [act for stream in self._streams.values() for act in stream.end()]


class _Journal:
    """The last events of a session: stream, number and data of each."""

    def __init__(self) -> None:
        self._events: deque[tuple[int, int, bytes]] = deque()
        self._bytes = 0

    def add(self, stream: int, number: int, data: bytes) -> None:
        self._events.append((stream, number, data))
        self._bytes += len(data)
        while len(self._events) > _MAX_EVENTS or self._bytes > _MAX_BYTES:
            self._bytes -= len(self._events.popleft()[2])

    def after(self, stream: int, number: int) -> list[tuple[int, bytes]]:
        """The events of a stream after this one."""
        return [(each, data) for key, each, data in self._events if key == stream and each > number]


class Stream:
    """One stream of messages; `exchange` is the connection that carries it now, if any.

    `waiting` are the ids of the requests that it is to answer. With a journal its events have
    ids; with `is_primed` it begins with an event that has only an id.
    """

    def __init__(
        self,
        key: int,
        exchange: int | None,
        waiting: Iterable[IdKey] = (),
        journal: _Journal | None = None,
        *,
        is_primed: bool = False,
    ) -> None:
        self.exchange = exchange
        self.waiting = set(waiting)
        self.headers: Mapping[str, str] = {}
        self._key = key
        self._journal = journal
        self._is_primed = is_primed
        self._is_over = False
        self._has_begun = False
        self._count = 0
        self._carried = 0

    def send(self, data: bytes, *, is_last: bool, status: int = 200) -> list[Act]:
        """Send a message; if it is the only one, it is the whole answer, as JSON."""
        self._count += 1
        if self._journal:
            self._journal.add(self._key, self._count, data)
        self._is_over = self._is_over or is_last
        exchange = self.exchange
        if exchange is None:
            return []
        if is_last and not self._has_begun:
            self.exchange = None
            headers = {"Content-Type": JSON, **self.headers}
            return [Answer(exchange=exchange, status=status, headers=headers, body=data)]
        acts = [*self._begin(exchange), self._event(exchange, self._count, data)]
        return [*acts, *self.detach()] if is_last else acts

    def cut(self) -> list[Act]:
        """Break the connection, and send no more."""
        exchange, self.exchange, self._is_over = self.exchange, None, True
        return [] if exchange is None else [Cut(exchange=exchange)]

    def attach(self, exchange: int, after: int | None) -> list[Act]:
        """Continue on another connection, after an event (default: the last one carried)."""
        self.exchange = exchange
        self._has_begun = False
        acts = self._begin(exchange)
        begin = self._carried if after is None else after
        for number, data in self._journal.after(self._key, begin) if self._journal else ():
            acts.append(self._event(exchange, number, data))
        return [*acts, *self.detach()] if self._is_over else acts

    def detach(self) -> list[Act]:
        """End the answer on the present connection; the stream may continue on another."""
        exchange = self.exchange
        if exchange is None:
            return []
        acts = [*self._begin(exchange), End(exchange=exchange)]
        self.exchange = None
        return acts

    def end(self) -> list[Act]:
        """Send no more."""
        self._is_over = True
        return self.detach()

    def _begin(self, exchange: int) -> list[Act]:
        if self._has_begun:
            return []
        self._has_begun = True
        acts: list[Act] = [Begin(exchange=exchange, headers={**_STREAM_HEADERS, **self.headers})]
        if self._is_primed and self._journal:
            # Once only: no two events have the same id.
            self._is_primed = False
            primer = render_event(b"", id=f"{self._key}-0")
            acts.append(Piece(exchange=exchange, data=primer))
        return acts

    def _event(self, exchange: int, number: int, data: bytes) -> Act:
        self._carried = max(self._carried, number)
        id = f"{self._key}-{number}" if self._journal else ""
        return Piece(exchange=exchange, data=render_event(data, id=id, event="message"))


class Delivery(Record):
    """A message to be sent on a stream when its time has come; without data, it is cut."""

    stream: Stream
    data: bytes | None
    is_last: bool
    status: int = 200

    def acts(self) -> list[Act]:
        """What to do for it."""
        if self.data is None:
            return self.stream.cut()
        return self.stream.send(self.data, is_last=self.is_last, status=self.status)
