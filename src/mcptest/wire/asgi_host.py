"""An ASGI app in our own process: its lifespan and its requests, in a thread of their own."""

from __future__ import annotations

import asyncio

from mcptest.core.record import Record
from mcptest.core.text import shorten, visible
from mcptest.wire.loop_thread import InterruptedWork, LoopThread
from mcptest.wire.raised import named, trace_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from mcptest.wire.loop_thread import Ending, Pump
    from mcptest.wire.mailbox import Mailbox
    from mcptest.wire.stopping import Grace

    Message = dict[str, Any]

__all__ = ["ASGI", "AppEnded", "AppRaised", "AsgiHost"]

ASGI = {"version": "3.0", "spec_version": "2.3"}

_MAX_SAID = 300

# How long an exception may come after the app has said that it could not start, or end.
_CAUSE_PATIENCE_S = 1.0


class AppRaised(Record):
    """Something raised, and no request was the reason; with it all may be over."""

    error: BaseException
    is_end: bool = False
    is_over: bool = False


class AppEnded(Record):
    """Nothing runs any more."""


class AsgiHost:
    """Runs one app. `is_started` once requests can be made, `refusal` when they never can."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.is_started = False
        self.refusal = ""
        self.trace = b""
        # What it raised at its start where others wait to be told that it has started: most
        # apps that do so have no use for that.
        self.lifespan_flaw = ""
        self.state: Message = {}
        # What was raised when nobody listened any more.
        self.unheard: list[BaseException] = []
        self._boxes: list[Mailbox] = []
        self._requests: set[asyncio.Task[None]] = set()
        self._to_app: asyncio.Queue[Message] = asyncio.Queue()
        self._from_app: asyncio.Queue[Message] = asyncio.Queue()
        self._thread = LoopThread(self._live, self)
        self._thread.start()

    # From outside

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive

    def hear(self, box: Mailbox) -> None:
        """Leave in this box what happens beside requests, from now on."""
        self._boxes.append(box)

    def forget(self, box: Mailbox) -> None:
        self._boxes.remove(box)

    def begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Have a request answered; False when nothing runs any more."""
        return self._thread.call(self._begin, work)

    def call(self, action: Callable[[], object]) -> None:
        self._thread.call(action)

    def blocked_at(self) -> str:
        return self._thread.blocked_at()

    def end(self, grace: Grace, pump: Pump | None, *, at_once: bool = False) -> Ending:
        """Shut the app down, and end its thread."""
        return self._thread.end(grace, pump, at_once=at_once)

    # Inside the thread

    def _begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.create_task(work())
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    async def _live(self, stopping: asyncio.Event) -> None:
        lifespan = asyncio.create_task(self._lifespan())
        await self._start(lifespan)
        self._tell(None)
        if not lifespan.done():
            lifespan.add_done_callback(self._note_end)
        await stopping.wait()
        requests = set(self._requests)
        for task in requests:
            task.cancel()
        if requests:
            await asyncio.wait(requests)
        if not lifespan.done():
            await self._shut_down(lifespan)

    async def _shut_down(self, lifespan: asyncio.Task[None]) -> None:
        self._to_app.put_nowait({"type": "lifespan.shutdown"})
        said = await self._said_by(lifespan, "shutdown")
        await asyncio.wait({lifespan})
        if said and said["type"] == "lifespan.shutdown.failed" and not lifespan.exception():
            raise RuntimeError(f"lifespan.shutdown.failed: {_words_of(said)}")

    def _note_end(self, lifespan: asyncio.Task[None]) -> None:
        """What an app raises when it ends, or long before, is told."""
        error = None if lifespan.cancelled() else lifespan.exception()
        if error:
            self._raised(error, is_end=True)

    async def _lifespan(self) -> None:
        scope = {"type": "lifespan", "asgi": ASGI, "state": self.state}
        await self.app(scope, self._to_app.get, self._from_app.put)

    async def _start(self, lifespan: asyncio.Task[None]) -> None:
        """Wait until the app has started, or has shown that it knows nothing of lifespans."""
        self._to_app.put_nowait({"type": "lifespan.startup"})
        said = await self._said_by(lifespan, "startup")
        if said is None:
            error = lifespan.exception()
            self.lifespan_flaw = named(error) if error else ""
        elif said["type"] == "lifespan.startup.failed":
            await asyncio.wait({lifespan}, timeout=_CAUSE_PATIENCE_S)
            error = lifespan.exception() if lifespan.done() else None
            self.refusal = named(error) if error else _words_of(said)
            self.trace = trace_of(error) if error else b""
            return
        self.is_started = True

    async def _said_by(self, lifespan: asyncio.Task[None], moment: str) -> Message | None:
        """What the app says of this moment; None when its lifespan ends before that."""
        while True:
            said = asyncio.create_task(self._from_app.get())
            await asyncio.wait({said, lifespan}, return_when=asyncio.FIRST_COMPLETED)
            if not said.done():
                said.cancel()
                return None
            message = said.result()
            if str(message.get("type")).startswith(f"lifespan.{moment}."):
                return message

    # Told by the thread

    def _tell(self, event: object) -> None:
        for box in list(self._boxes):
            box.post(event)

    def work_ended(self, error: BaseException | None) -> None:
        """The app has ended."""
        if error:
            self._raised(error, is_end=True, is_over=True)
        self._tell(AppEnded())

    def task_raised(self, error: BaseException) -> None:
        """Something has raised, and nobody has looked at it."""
        if not isinstance(error, InterruptedWork):
            self._raised(error, is_end=False)

    def _raised(self, error: BaseException, *, is_end: bool, is_over: bool = False) -> None:
        if self._boxes:
            self._tell(AppRaised(error=error, is_end=is_end, is_over=is_over))
        else:
            self.unheard.append(error)

    def thread_ended(self) -> None:
        self._tell(AppEnded())


def _words_of(said: Message) -> str:
    return visible(shorten(str(said.get("message") or "it gave no reason"), _MAX_SAID))
