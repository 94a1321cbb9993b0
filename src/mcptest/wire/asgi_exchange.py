"""One HTTP request to an ASGI app, and the answer to it, without a connection.

What the app sends is left in a box by the thread that it runs in. A request and its answer look
to those who read them as they do over a connection.
"""

from __future__ import annotations

import asyncio
import select
from urllib.parse import unquote

from mcptest.core.text import shorten, visible
from mcptest.wire.asgi_host import ASGI
from mcptest.wire.http_channel import HttpChannel
from mcptest.wire.http_exchange import head_of
from mcptest.wire.http_link import LinkError, Trust
from mcptest.wire.mailbox import Mailbox
from mcptest.wire.memory_ending import RAISED
from mcptest.wire.raised import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from mcptest.wire.asgi_host import AsgiHost
    from mcptest.wire.http_channel import AnyExchange
    from mcptest.wire.http_exchange import Head, HttpRequest

    Message = dict[str, Any]
    Note = Callable[[BaseException, HttpRequest], None]

__all__ = ["AsgiChannel"]

_START, _BODY = "http.response.start", "http.response.body"

# From here on a server that breaks answers for the app, which then goes on raising.
_BROKEN_STATUS = 500


class AsgiChannel(HttpChannel):
    """All requests to one app. `note` is given what the app raises, and for which request."""

    def __init__(self, host: AsgiHost, note: Note) -> None:
        super().__init__(Trust(), {})
        self._host = host
        self._note = note

    def exchange_for(self, request: HttpRequest) -> AnyExchange:
        return _Exchange(request, self._host, self._note)


class _Exchange:
    """A request under way. `advance` yields the head, then pieces of the body."""

    progress = ""
    wants = select.POLLIN
    reusable_link = None
    unsent_bytes = 0

    def __init__(self, request: HttpRequest, host: AsgiHost, note: Note) -> None:
        self.request = request
        self.is_over = False
        self._note = note
        self.link = _Link(request, host)

    def advance(self) -> Iterator[Head | bytes]:
        """What the app has sent; LinkError says what broke."""
        for piece in self.link.take():
            if isinstance(piece, LinkError):
                if piece.__cause__:
                    self._note(piece.__cause__, self.request)
                raise piece
            if piece is None:
                self.is_over = True
                return
            yield piece


class _Link:
    """What stands for a connection: a box for the answer, and the word that nobody waits."""

    def __init__(self, request: HttpRequest, host: AsgiHost) -> None:
        self._mail = Mailbox()
        self._host = host
        self._answering = _Answering(request, host, self._mail)
        self.take = self._mail.take
        if not host.begin(self._answering.run):
            self._mail.post(LinkError("connect_failed", "the app has ended"))

    @property
    def fd(self) -> int:
        return self._mail.fd

    def has_more(self) -> bool:
        return False

    def close(self) -> None:
        if self._mail.fd < 0:
            return
        for piece in self._mail.close():
            # Nobody waits for the answer any more; what was raised is told all the same.
            if isinstance(piece, LinkError) and piece.__cause__:
                self._host.task_raised(piece.__cause__)
        self._host.call(self._answering.gone.set)


class _Answering:
    """The app's side of a request, inside its thread."""

    def __init__(self, request: HttpRequest, host: AsgiHost, mail: Mailbox) -> None:
        self._request = request
        self._host = host
        self._mail = mail
        # Set when nobody waits for anything more.
        self.gone = asyncio.Event()
        self._has_body = False
        self._status = 0
        self._is_complete = False
        self._is_told = False
        # What was raised in the app because of what it sent.
        self._refusal: RuntimeError | None = None

    async def run(self) -> None:
        """Have the app answer; whatever comes of it is told."""
        task = asyncio.create_task(self._asked())
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        error = None if task.cancelled() else task.exception()
        if error is not None and self._is_told:
            # Too late for an answer; it is told all the same.
            if error is not self._refusal:
                self._host.task_raised(error)
        elif error is not None:
            self._fail(RAISED, f"the app raised {named(error)}", self._hint(), error)
        elif self._is_complete:
            self._tell_end()
        else:
            what = "before its answer was complete" if self._status else "without an answer"
            self._fail("http_body", f"the app returned {what}")

    async def _asked(self) -> None:
        await self._host.app(self._scope(), self._receive, self._send)

    def _hint(self) -> str:
        flaw = self._host.lifespan_flaw
        return f"when it was told to start (lifespan) it raised {flaw}" if flaw else ""

    def _scope(self) -> Message:
        request, address = self._request, self._request.address
        path, _, query = address.target.partition("?")
        headers = [
            (name.lower().encode(), value.encode("latin-1")) for name, value in request.all_headers
        ]
        return {
            "type": "http",
            "asgi": ASGI,
            "http_version": "1.1",
            "method": request.method,
            "scheme": address.scheme,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": (address.host, address.port),
            "state": dict(self._host.state),
        }

    async def _receive(self) -> Message:
        if not self._has_body:
            self._has_body = True
            return {"type": "http.request", "body": self._request.body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        flaw = self._flaw_of(message)
        if flaw:
            self._fail("http_body", f"the app sent {flaw}")
            self._refusal = RuntimeError(f"not ASGI: {flaw}")
            raise self._refusal
        if message["type"] == _START:
            self._status = int(message["status"])
            await self._mail.put(head_of(self._status, message.get("headers", ())), 0)
            return
        body = bytes(message.get("body", b""))
        if body:
            await self._mail.put(body, len(body))
        if not message.get("more_body", False):
            self._is_complete = True
            self.gone.set()
            if self._status < _BROKEN_STATUS:
                self._tell_end()

    def _flaw_of(self, message: Any) -> str:
        """What is wrong with a message of the app, as ASGI has them."""
        kind = message.get("type") if isinstance(message, dict) else None
        if kind not in (_START, _BODY):
            return f"{_shown(kind)}, where {_BODY if self._status else _START} was due"
        if (kind == _START) == bool(self._status) or self._is_complete:
            due = "nothing" if self._is_complete else _BODY if self._status else _START
            return f"{kind}, where {due} was due"
        if kind == _BODY:
            is_bytes = isinstance(message.get("body", b""), (bytes, bytearray, memoryview))
            return "" if is_bytes else "a body that is no bytes"
        status = message.get("status")
        if not isinstance(status, int) or not 200 <= status <= 599:
            return f"the status {_shown(status)}"
        return "" if _are_headers(message.get("headers", ())) else "headers that are no bytes"

    def _tell_end(self) -> None:
        if not self._is_told:
            self._is_told = True
            self._mail.post(None)

    def _fail(
        self, kind: str, message: str, hint: str = "", cause: BaseException | None = None
    ) -> None:
        if self._is_told:
            return
        self._is_told = True
        failure = LinkError(kind, message, hint, was_sent=True)
        failure.__cause__ = cause
        if not self._mail.post(failure) and cause:
            self._host.task_raised(cause)


def _shown(value: object) -> str:
    return visible(shorten(repr(value), 80))


def _are_headers(headers: object) -> bool:
    if not isinstance(headers, (list, tuple)):
        return False
    return all(isinstance(pair, (list, tuple)) and _are_two(pair) for pair in headers)


def _are_two(pair: Sequence[object]) -> bool:
    return len(pair) == 2 and all(isinstance(word, bytes) for word in pair)
