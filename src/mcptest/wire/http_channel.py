"""Several HTTP exchanges at once, over links that are used again, without ever blocking.

Whoever has the poll asks for `handles`, and calls `move` when some of them are ready. Each
exchange has a listener that hears of its answer. Redirects are followed within one origin and
nowhere else, so no credential ever reaches another server.
"""

from __future__ import annotations

from mcptest.core.http_address import BadUrlError, redirected, same_origin
from mcptest.core.text import shorten, visible
from mcptest.wire.http_exchange import Exchange, Head
from mcptest.wire.http_link import Link, LinkError
from mcptest.wire.http_proxy import find_proxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Protocol

    from mcptest.core.http_address import Address
    from mcptest.wire.http_exchange import HttpRequest
    from mcptest.wire.http_link import Trust

    class Listener(Protocol):
        """Hears what comes of a request: a head, pieces, and an end or a failure."""

        def began(self, head: Head) -> None: ...
        def brought(self, chunk: bytes) -> None: ...
        def ended(self) -> None: ...
        def failed(self, error: LinkError) -> None: ...

    class AnyLink(Protocol):
        """What carries an exchange: a handle to wait for, until it is closed."""

        @property
        def fd(self) -> int: ...
        def has_more(self) -> bool: ...
        def close(self) -> None: ...

    class AnyExchange(Protocol):
        """A request under way, whatever carries it. `advance` may raise LinkError."""

        @property
        def request(self) -> HttpRequest: ...
        @property
        def link(self) -> AnyLink: ...
        @property
        def wants(self) -> int: ...
        @property
        def unsent_bytes(self) -> int: ...
        @property
        def progress(self) -> str: ...
        @property
        def is_over(self) -> bool: ...
        @property
        def reusable_link(self) -> Link | None: ...
        def advance(self) -> Iterator[Head | bytes]: ...


__all__ = ["HttpChannel"]

_MAX_REDIRECTS = 5
_MAX_IDLE = 8

# With these the method and the body stay; the others turn a POST into a GET.
_KEEPING = (307, 308)
_REDIRECTS = (301, 302, 303, *_KEEPING)


class _Running:
    """An exchange under way, and who hears of it."""

    __slots__ = ("exchange", "hops", "listener")

    def __init__(self, exchange: AnyExchange, listener: Listener, hops: int) -> None:
        self.exchange = exchange
        self.listener = listener
        self.hops = hops


class HttpChannel:
    """All exchanges with HTTP servers that somebody drives together."""

    def __init__(
        self, trust: Trust, environment: Mapping[str, str], home: Address | None = None
    ) -> None:
        self._trust = trust
        # The server under test; who else is spoken to has to prove who it is.
        self._home = home
        self._environment = environment
        self._running: list[_Running] = []
        self._idle: list[Link] = []
        self._keeps_links = True

    def start(self, request: HttpRequest, listener: Listener) -> None:
        """Send a request; the listener hears what comes of it, here already perhaps."""
        self._start(request, listener, 0)

    def _start(self, request: HttpRequest, listener: Listener, hops: int) -> None:
        try:
            exchange = self.exchange_for(request)
        except OSError as error:
            message = f"no connection can be made: {error.strerror}"
            listener.failed(LinkError("connect_failed", message))
            return
        running = _Running(exchange, listener, hops)
        self._running.append(running)
        self._advance(running)

    def exchange_for(self, request: HttpRequest) -> AnyExchange:
        """What carries a request out. A channel that needs no connections has its own."""
        return Exchange(request, self._link_to(request.address))

    def _link_to(self, address: Address) -> Link:
        for link in [each for each in self._idle if same_origin(each.address, address)]:
            self._idle.remove(link)
            if not link.is_stale:
                return link
            # It closes them so soon that the next one might be closed while we write.
            self._keeps_links = False
            link.close()
        return Link(address, self._trust_in(address), find_proxy(address, self._environment))

    def _trust_in(self, address: Address) -> Trust:
        """A wish to trust the server under test is none to trust where credentials are sent."""
        is_home = self._home is None or same_origin(address, self._home)
        return self._trust if is_home else self._trust.but(is_blind=False, is_strict=True)

    @property
    def unsent_bytes(self) -> int:
        return sum(running.exchange.unsent_bytes for running in self._running)

    def handles(self) -> Iterable[tuple[int, int]]:
        """The handles to wait for, and for what."""
        for running in self._running:
            if (fd := running.exchange.link.fd) >= 0:
                yield fd, running.exchange.wants

    @property
    def has_more(self) -> bool:
        """Whether bytes are here that no poll will tell of."""
        return any(running.exchange.link.has_more() for running in self._running)

    def move(self, ready: set[int]) -> None:
        """Go on with those exchanges whose handles are ready."""
        for running in list(self._running):
            link = running.exchange.link
            if running in self._running and (link.fd in ready or link.has_more()):
                self._advance(running)

    def _advance(self, running: _Running) -> None:
        try:
            for piece in running.exchange.advance():
                self._hear(running, piece)
                if running not in self._running:
                    return
        except LinkError as error:
            self._drop(running)
            running.listener.failed(error)
            return
        if running.exchange.is_over:
            self._finish(running)

    def _hear(self, running: _Running, piece: Head | bytes) -> None:
        if isinstance(piece, bytes):
            running.listener.brought(piece)
        elif piece.status in _REDIRECTS and piece.header("location"):
            self._redirect(running, piece)
        else:
            running.listener.began(piece)

    def _redirect(self, running: _Running, head: Head) -> None:
        self._drop(running)
        request = running.exchange.request
        location = visible(shorten(head.header("location"), 200))
        try:
            goal = redirected(request.address, head.header("location"))
        except BadUrlError as error:
            raise _refused(head, location, f"that is no URL: {error}") from None
        if not same_origin(goal, request.address):
            raise _refused(head, location, "that is another server")
        if request.method != "GET" and head.status not in _KEEPING:
            raise _refused(head, location, f"a {request.method} would become a GET there")
        if running.hops >= _MAX_REDIRECTS:
            raise _refused(head, location, f"it is redirect number {running.hops + 1}")
        self._start(request.but(address=goal), running.listener, running.hops + 1)

    def _finish(self, running: _Running) -> None:
        self._running.remove(running)
        link = running.exchange.reusable_link
        if link and self._keeps_links and len(self._idle) < _MAX_IDLE:
            self._idle.append(link)
        else:
            running.exchange.link.close()
        running.listener.ended()

    def _drop(self, running: _Running) -> None:
        if running in self._running:
            self._running.remove(running)
        running.exchange.link.close()

    def progress(self, listener: Listener) -> str:
        """How far the request of this listener has come."""
        waiting = [each for each in self._running if each.listener is listener]
        return waiting[0].exchange.progress if waiting else ""

    def cancel(self, listener: Listener) -> None:
        """Break off what this listener waits for; it hears nothing more."""
        for running in [each for each in self._running if each.listener is listener]:
            self._drop(running)

    def close(self) -> None:
        """Let go of everything."""
        for running in list(self._running):
            self._drop(running)
        for link in self._idle:
            link.close()
        self._idle.clear()


def _refused(head: Head, location: str, why: str) -> LinkError:
    return LinkError(
        "redirect_refused",
        f"the server redirects (status {head.status}) to {location}, which is not followed: {why}",
        "give the URL it leads to, if that is the server to test",
        was_sent=True,
    )
