"""The sessions of clients that made a handshake over HTTP, each with a state of its own."""

from __future__ import annotations

import re

from mcptest.core.jsonrpc import id_key, message_kind
from mcptest.core.record import ABSENT
from mcptest.core.revisions import HANDSHAKE_REVISIONS
from mcptest.mock.http_rules import Refusal
from mcptest.mock.http_streams import Journal, Speech, Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from mcptest.core.jsonrpc import IdKey
    from mcptest.core.web import Act
    from mcptest.mock.state import Sent, State

__all__ = ["Session", "Sessions", "requests_in"]

MAX_SESSIONS = 256
IDLE_S = 3600.0

# The streams of one session that a client may come back to.
_MAX_STREAMS = 512

_EVENT_ID = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")

# From here on a client knows what an event without data is.
_PRIMED = frozenset(HANDSHAKE_REVISIONS[-1:])


def requests_in(value: object) -> list[IdKey]:
    """The ids of the requests in a message or a batch."""
    messages: list[Any] = value if isinstance(value, list) else [value]
    return [id_key(each["id"]) for each in messages if message_kind(each) == "request"]


class Session:
    """One client: what it has said, and the streams on which it is told something."""

    def __init__(self, id: str, state: State, now: float) -> None:
        self.id = id
        self.state = state
        self.last_used = now
        self._journal = Journal()
        self._own = Stream(0, None, journal=self._journal)
        self._streams = {0: self._own}
        self._count = 0

    @property
    def is_busy(self) -> bool:
        """Whether somebody listens."""
        return any(stream.exchange is not None for stream in self._streams.values())

    def open(self, exchange: int, waiting: Iterable[IdKey]) -> Stream:
        """A stream for the answers to a POST."""
        self._count += 1
        is_primed = self.state.revision in _PRIMED
        stream = Stream(self._count, exchange, waiting, self._journal, is_primed=is_primed)
        self._streams[self._count] = stream
        if len(self._streams) > _MAX_STREAMS:
            left = [key for key, each in self._streams.items() if key and each.exchange is None]
            for key in left[:1]:
                del self._streams[key]
        return stream

    def speech(self, sent: Sent, line: bytes | None) -> Speech | None:
        """A message on the stream where it belongs; None for an answer to nobody's request."""
        data = None if line is None else line.rstrip(b"\n")
        answered = {id_key(each) for each in _answered(sent)}
        about = answered or ({id_key(sent.owed)} if sent.owed is not ABSENT else set())
        for stream in reversed(self._streams.values()):
            if stream.waiting & about:
                stream.waiting -= answered
                return Speech(stream=stream, data=data, is_last=not stream.waiting)
        if answered:
            return None
        return Speech(stream=self._own, data=data, is_last=False)

    def attach(self, exchange: int, last_event_id: str | None) -> list[Act] | Refusal:
        """Carry on with a stream on the connection of a GET."""
        if last_event_id is None:
            if self._own.exchange is not None:
                sentence = "this session has a GET stream already"
                return Refusal(status=409, sentence=sentence)
            return self._own.carry(exchange, None)
        found = _EVENT_ID.fullmatch(last_event_id)
        stream = self._streams.get(int(found[1])) if found else None
        if found is None or stream is None:
            sentence = "Last-Event-ID is of no event of this session"
            return Refusal(status=400, sentence=sentence)
        # A connection that nobody has found broken yet makes way.
        left = [] if stream.exchange is None else stream.leave()
        return [*left, *stream.carry(exchange, int(found[2]))]

    def leave(self, exchange: int) -> None:
        """A connection is gone."""
        for stream in self._streams.values():
            if stream.exchange == exchange:
                stream.exchange = None

    def cancel(self, id: object) -> list[Act]:
        """A request that is not to be answered any more; a stream without others ends."""
        key = id_key(id)
        for stream in self._streams.values():
            if key in stream.waiting:
                stream.waiting.discard(key)
                return [] if stream.waiting else stream.end()
        return []

    def end(self) -> list[Act]:
        """Nothing more is said in this session."""
        return [act for stream in self._streams.values() for act in stream.end()]


def _answered(sent: Sent) -> list[object]:
    """The ids of the requests that a message answers."""
    if not sent.is_answer:
        return []
    messages = [each.message for each in sent.parts] if sent.parts else [sent.message]
    return [each.get("id") for each in messages if isinstance(each, dict)]


class Sessions:
    """All sessions; `on_end` is told of each that ends."""

    def __init__(self, mint: Callable[[], str], on_end: Callable[[Session], None]) -> None:
        self._mint = mint
        self._on_end = on_end
        self._sessions: dict[str, Session] = {}

    def all(self) -> tuple[Session, ...]:
        """Those that have not ended."""
        return tuple(self._sessions.values())

    def get(self, id: str, now: float) -> Session | None:
        """A session, which has been used now; None when it has ended, or never was."""
        session = self._sessions.get(id)
        if session is None or self._is_stale(session, now):
            return None
        session.last_used = now
        return session

    def new(self, state: State, now: float) -> Session | None:
        """A new session; when there are too many, in place of one that is idle, or None."""
        for stale in [each for each in self._sessions.values() if self._is_stale(each, now)]:
            self.end(stale)
        if len(self._sessions) >= MAX_SESSIONS:
            idle = [each for each in self._sessions.values() if not each.is_busy]
            if not idle:
                return None
            self.end(min(idle, key=lambda each: each.last_used))
        session = Session(self._mint(), state, now)
        self._sessions[session.id] = session
        return session

    def end(self, session: Session) -> None:
        del self._sessions[session.id]
        self._on_end(session)

    def _is_stale(self, session: Session, now: float) -> bool:
        return now - session.last_used > IDLE_S and not session.is_busy
