"""A server that is an ASGI app in this process. Implements the interface of the HTTP client.

Sessions, streams and both eras are handled as over HTTP; requests reach the app without a
connection.
"""

from __future__ import annotations

import select
import time

from mcptest.core.outcome import Fault
from mcptest.core.ring import Ring
from mcptest.core.trouble import Trouble
from mcptest.wire.alone import NoGuardian
from mcptest.wire.asgi_exchange import AsgiChannel
from mcptest.wire.asgi_host import AppEnded, AppRaised
from mcptest.wire.http_server import HttpServer
from mcptest.wire.mailbox import Mailbox
from mcptest.wire.memory_ending import RAISED, ending_trouble, raised_trouble
from mcptest.wire.raised import named, trace_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.core.plan import ServerSpec
    from mcptest.wire.asgi_host import AsgiHost
    from mcptest.wire.http_exchange import HttpRequest
    from mcptest.wire.interrupts import Interrupts
    from mcptest.wire.loop_thread import Ending, Pump
    from mcptest.wire.stopping import Grace, Stopped

    LetGo = Callable[[AsgiHost, Grace, Pump], Ending]

__all__ = ["AsgiServer"]

_TRACES_KEPT_BYTES = 256 * 1024


class AsgiServer(HttpServer):
    """One session with an app; `let_go` ends the app where nobody else needs it."""

    def __init__(
        self, spec: ServerSpec, interrupts: Interrupts, host: AsgiHost, let_go: LetGo
    ) -> None:
        super().__init__(spec, NoGuardian(), interrupts)  # type: ignore[arg-type]  # there is no process to guard
        self._host = host
        self._let_go = let_go
        self._mail = Mailbox()
        host.hear(self._mail)
        # What a process would have written there: the tracebacks of what it raised.
        self.stderr = Ring(_TRACES_KEPT_BYTES)
        self._channel = self.talk.channel = AsgiChannel(host, self._note)

    @property
    def label(self) -> str:
        return f"memory://{self.spec.name}"

    def progress(self, id: object) -> str:
        """Why an answer may not come, or how far it has come."""
        place = self._host.blocked_at()
        if place:
            return f"its code does not come back to the event loop: it stands at {place}"
        return super().progress(id)

    def open(self, deadline: float) -> Fault | None:
        """Wait until the app has started; what is wrong when it does not."""
        host = self._host
        while not host.is_started and not host.refusal and host.is_alive:
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                return self._not_started()
            self._look(wait_s, heed_interrupts=True)
        if host.refusal:
            self.stderr.add(host.trace)
            hint = _ONCE if "once" in host.refusal else ""
            return Fault(
                kind=RAISED, message=f"the app could not be started: {host.refusal}", hint=hint
            )
        return None

    def _not_started(self) -> Fault:
        place = self._host.blocked_at()
        return Fault(
            kind="handshake_timeout",
            message=f"the app has not started after {self.spec.startup_timeout_s:g} s (lifespan)",
            hint=f"its code stands at {place}" if place else "",
        )

    # One turn of the loop

    def _ready(self, wait_s: float, heed_interrupts: bool) -> set[int]:
        poll = select.poll()
        for fd, wants in self._channel.handles():
            poll.register(fd, wants)
        poll.register(self._mail.fd, select.POLLIN)
        if heed_interrupts:
            poll.register(self.interrupts.fd, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(int(wait_s * 1000) + (wait_s > 0))}
        self._take_events()
        return ready

    def _take_events(self) -> None:
        for event in self._mail.take():
            if isinstance(event, AppRaised):
                self.stderr.add(trace_of(event.error))
                self._take([raised_trouble(event.error, is_end=event.is_end)])
            if isinstance(event, AppEnded) or (isinstance(event, AppRaised) and event.is_over):
                self.talk.lose()

    def _note(self, error: BaseException, request: HttpRequest) -> None:
        """Keep what the app raised; whoever sent a message is told, and others are not asked."""
        self.stderr.add(trace_of(error))
        if request.method != "POST":
            message = f"the app raised when it was asked with {request.method}: {named(error)}"
            self._take([Trouble(kind=RAISED, message=message)])

    # Ending

    def end(self, grace: Grace, *, at_once: bool = False) -> Stopped:
        """End the session, and the app where it is of nobody else's use."""
        place = self._host.blocked_at()
        stopped = super().end(grace, at_once=at_once or bool(place))
        how = self._let_go(self._host, grace, self._pump)
        self._take_events()
        trouble = ending_trouble(how, place)
        self._take([trouble] if trouble else [])
        self.last_words += self._items
        self._items = []
        self._host.forget(self._mail)
        self._mail.close()
        return stopped

    def _pump(self, wait_s: float) -> None:
        self._look(wait_s, heed_interrupts=False)


_ONCE = "some apps can be started once only: give a function that makes one, instead of the app"
