"""Where messages go over HTTP: streams of one session, and what was said on them.

A stream is the answer to one POST, or what the server says on its own, which a GET listens to.
The connection that carries it may come and go: what was said is kept for a while, under ids by
which a client can go on where it left.
"""

from __future__ import annotations

from collections import deque

from mcptest.core.record import Record
from mcptest.core.sse_text import render_event
from mcptest.core.web import Answer, Begin, Cut, End, Piece
from mcptest.mock.http_rules import EVENT_STREAM, JSON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest.core.jsonrpc import IdKey
    from mcptest.core.web import Act

__all__ = ["Journal", "Speech", "Stream"]

_STREAM_HEADERS = {
    "Content-Type": EVENT_STREAM,
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}

# What is kept of a session for whoever comes back.
_MAX_EVENTS = 1_000
_MAX_BYTES = 4 * 1024 * 1024


class Journal:
    """The last events of a session: of which stream, with which number, and what they said."""

    def __init__(self) -> None:
        self._events: deque[tuple[int, int, bytes]] = deque()
        self._bytes = 0

    def keep(self, stream: int, number: int, data: bytes) -> None:
        self._events.append((stream, number, data))
        self._bytes += len(data)
        while len(self._events) > _MAX_EVENTS or self._bytes > _MAX_BYTES:
            self._bytes -= len(self._events.popleft()[2])

    def after(self, stream: int, number: int) -> list[tuple[int, bytes]]:
        """What was said on a stream after an event."""
        return [(each, data) for key, each, data in self._events if key == stream and each > number]


class Stream:
    """One stream: who carries it now, what it still waits for, what has been said on it.

    `waiting` are the ids of requests that it is to answer. With a journal its events have ids;
    with `is_primed` it begins with an event that has only an id.
    """

    def __init__(
        self,
        key: int,
        exchange: int | None,
        waiting: Iterable[IdKey] = (),
        journal: Journal | None = None,
        *,
        is_primed: bool = False,
    ) -> None:
        self.key = key
        self.exchange = exchange
        self.waiting = set(waiting)
        self.headers: Mapping[str, str] = {}
        self.is_over = False
        self._journal = journal
        self._is_primed = is_primed
        self._has_begun = False
        self._said = 0
        self._carried = 0

    def say(self, data: bytes, *, is_last: bool, status: int = 200) -> list[Act]:
        """Say a message; the only one there is becomes the whole answer, as JSON."""
        self._said += 1
        if self._journal:
            self._journal.keep(self.key, self._said, data)
        self.is_over = self.is_over or is_last
        exchange = self.exchange
        if exchange is None:
            return []
        if is_last and not self._has_begun:
            self.exchange = None
            headers = {"Content-Type": JSON, **self.headers}
            return [Answer(exchange=exchange, status=status, headers=headers, body=data)]
        acts = [*self._begun(exchange), self._event(exchange, self._said, data)]
        return [*acts, *self.leave()] if is_last else acts

    def cut(self) -> list[Act]:
        """Break the connection off, and say no more."""
        exchange, self.exchange, self.is_over = self.exchange, None, True
        return [] if exchange is None else [Cut(exchange=exchange)]

    def carry(self, exchange: int, after: int | None) -> list[Act]:
        """Go on with another connection, after an event; by default, with what nobody has heard."""
        self.exchange = exchange
        self._has_begun = False
        acts = self._begun(exchange)
        begin = self._carried if after is None else after
        for number, data in self._journal.after(self.key, begin) if self._journal else ():
            acts.append(self._event(exchange, number, data))
        return [*acts, *self.leave()] if self.is_over else acts

    def leave(self) -> list[Act]:
        """Let go of the connection; what has not been said may be said on another one."""
        exchange = self.exchange
        if exchange is None:
            return []
        acts = [*self._begun(exchange), End(exchange=exchange)]
        self.exchange = None
        return acts

    def end(self) -> list[Act]:
        """Say no more."""
        self.is_over = True
        return self.leave()

    def _begun(self, exchange: int) -> list[Act]:
        if self._has_begun:
            return []
        self._has_begun = True
        acts: list[Act] = [Begin(exchange=exchange, headers={**_STREAM_HEADERS, **self.headers})]
        if self._is_primed and self._journal:
            # Once only: no two events have the same id.
            self._is_primed = False
            primer = render_event(b"", id=f"{self.key}-0")
            acts.append(Piece(exchange=exchange, data=primer))
        return acts

    def _event(self, exchange: int, number: int, data: bytes) -> Act:
        self._carried = max(self._carried, number)
        id = f"{self.key}-{number}" if self._journal else ""
        return Piece(exchange=exchange, data=render_event(data, id=id, event="message"))


class Speech(Record):
    """Something to be said on a stream when its time has come; without data, it breaks off."""

    stream: Stream
    data: bytes | None
    is_last: bool
    status: int = 200

    def said(self) -> list[Act]:
        """What is to be done for it."""
        if self.data is None:
            return self.stream.cut()
        return self.stream.say(self.data, is_last=self.is_last, status=self.status)
