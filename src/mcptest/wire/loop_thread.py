"""An event loop in a thread of its own, in which code of the user's runs, and which ends.

A thread cannot be killed. What waits is cancelled; what computes has an exception raised in
it, where it stands; what is stuck in a call of the system is left behind, and that is said.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
import threading
import time

from mcptest.wire.raised import standing_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any, Literal, Protocol

    from mcptest.wire.stopping import Grace

    Ending = Literal["", "cancelled", "interrupted", "left"]
    Pump = Callable[[float], None]

    class Hearer(Protocol):
        """Told, inside the thread, of what nobody else would hear of."""

        def work_ended(self, error: BaseException | None) -> None: ...
        def task_raised(self, error: BaseException) -> None: ...
        def thread_ended(self) -> None: ...


__all__ = ["InterruptedWork", "LoopThread"]

# A loop that does not turn for so long is blocked, and not just busy.
_PULSE_S = 0.1
_LOOK_S = 0.05

# How long what is cancelled at the very end may take to tidy up.
_CLEARING_S = 1.0


class InterruptedWork(BaseException):
    """Raised in code that does not come back to its event loop."""


class LoopThread:
    """Runs `work` in an event loop; `work` is given the event that asks it to stop."""

    def __init__(
        self, work: Callable[[asyncio.Event], Coroutine[Any, Any, None]], hearer: Hearer
    ) -> None:
        self._work = work
        self._hearer = hearer
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._hear_of)
        self._stopping = asyncio.Event()
        self._ending = asyncio.Event()
        self._is_over = False
        # Not waited for when Python ends, should it be the one that cannot be ended.
        self._thread = threading.Thread(target=self._run, name="mcptest-memory", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def call(self, action: Callable[..., object], *words: object) -> bool:
        """Have this done inside the loop; False when there is none any more."""
        try:
            self._loop.call_soon_threadsafe(action, *words)
        except RuntimeError:
            return False
        return True

    # Inside

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._main())
        except (SystemExit, KeyboardInterrupt, InterruptedWork) as error:
            # These leave a loop at once, whichever task they are raised in.
            self._hearer.work_ended(_told(error))
            self._loop.run_until_complete(self._clear())
        finally:
            self._loop.close()
            self._is_over = True
            self._hearer.thread_ended()

    async def _main(self) -> None:
        work = asyncio.create_task(self._work(self._stopping))
        ending = asyncio.create_task(self._ending.wait())
        await asyncio.wait({work, ending}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            self._hearer.work_ended(None if work.cancelled() else _told(work.exception()))
        await self._clear()

    async def _clear(self) -> None:
        """Cancel whatever is left, and wait a moment for it."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if not others:
            return
        done, pending = await asyncio.wait(others, timeout=_CLEARING_S)
        for task in done:
            error = None if task.cancelled() else _told(task.exception())
            if error:
                self._hearer.task_raised(error)
        for task in pending:
            # What will not end is told by whoever ends us; Python need not say it as well.
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # of asyncio alone

    def _hear_of(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, InterruptedWork):
            return
        if isinstance(error, BaseException):
            self._hearer.task_raised(error)
        else:
            loop.default_exception_handler(context)

    # From outside

    def blocked_at(self, patience_s: float = _PULSE_S) -> str:
        """Where code stands that keeps the loop from turning; "" when it turns."""
        turned = threading.Event()
        if not self.is_alive or not self.call(turned.set) or turned.wait(patience_s):
            return ""
        frames = sys._current_frames()
        return standing_in(frames.get(self._thread.ident or 0)) or "a place that is not known"

    def end(self, grace: Grace, pump: Pump | None, *, at_once: bool) -> Ending:
        """End the thread: ask, cancel, interrupt; "" when asking was enough.

        `pump` waits for so many seconds and fetches meanwhile what comes.
        """
        if not self.is_alive:
            return ""
        pump = pump or self._thread.join
        if not at_once:
            self.call(self._stopping.set)
            if self._ends_within(grace.stdin_s, pump):
                return ""
        self.call(self._ending.set)
        if not self.blocked_at() and self._ends_within(grace.term_s + _CLEARING_S, pump):
            return "" if at_once else "cancelled"
        deadline = time.monotonic() + grace.kill_s
        while time.monotonic() < deadline:
            if self.blocked_at(_LOOK_S):
                self._interrupt()
            if self._ends_within(_LOOK_S, pump):
                return "interrupted"
        return "left"

    def _ends_within(self, seconds: float, pump: Pump) -> bool:
        deadline = time.monotonic() + seconds
        while self.is_alive and (left_s := deadline - time.monotonic()) > 0:
            pump(min(left_s, _LOOK_S))
            if self._is_over:
                self._thread.join(left_s)
        return not self.is_alive

    def _interrupt(self) -> None:
        """Raise in the thread, at the next step of Python that it takes."""
        raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
        raise_in(ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(InterruptedWork))


def _told(error: BaseException | None) -> BaseException | None:
    """What is told of: what we raised ourselves is not."""
    return None if isinstance(error, InterruptedWork) else error
