"""An event loop for the user's code in a thread of its own, which can be ended.

A thread cannot be killed. Code that waits is cancelled; code that computes gets an exception; code
that is stuck in a system call is left running, and that is reported.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import sys
import sysconfig
import threading
import time
import traceback

from mcptest.core.text import excerpt, visible
from mcptest.protocol.framing import TransportFault
from mcptest.transport import Waker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import FrameType
    from typing import Any, Literal, Protocol

    from mcptest.transport.process.stopping import Grace

    Ending = Literal["", "cancelled", "interrupted", "left"]
    Pump = Callable[[float], None]

    class Observer(Protocol):
        """Is called, inside the thread, about what is otherwise unnoticed."""

        def work_ended(self, error: BaseException | None) -> None: ...
        def task_raised(self, error: BaseException) -> None: ...
        def thread_ended(self) -> None: ...


__all__ = [
    "RAISED",
    "InterruptedWork",
    "LoopThread",
    "ThreadQueue",
    "describe_exception",
    "ending_fault",
    "format_traceback",
    "raised_fault",
]


# A loop that does not turn for this long is blocked, not just busy.
_PULSE_S = 0.1
_LOOK_S = 0.05

# How long tasks that are cancelled at the end may take to clean up.
_CLEARING_S = 1.0


class InterruptedWork(BaseException):
    """Raised in code that does not come back to its event loop."""


class LoopThread:
    """Runs `work` in an event loop; `work` is given the event that asks it to stop."""

    def __init__(
        self, work: Callable[[asyncio.Event], Coroutine[Any, Any, None]], observer: Observer
    ) -> None:
        self._work = work
        self._observer = observer
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._handle_exception)
        self._stopping = asyncio.Event()
        self._ending = asyncio.Event()
        self._is_over = False
        # A daemon, so that Python can exit even if this thread cannot be ended.
        self._thread = threading.Thread(target=self._run, name="mcptest-memory", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def call(self, action: Callable[..., object], *arguments: object) -> bool:
        """Call this inside the loop; False if the loop is closed."""
        try:
            self._loop.call_soon_threadsafe(action, *arguments)
        except RuntimeError:
            return False
        return True

    # Inside

    def _run(self) -> None:
        main = self._loop.create_task(self._main())
        try:
            self._loop.run_until_complete(main)
        except (SystemExit, KeyboardInterrupt, InterruptedWork, RuntimeError) as error:
            # The first three leave a loop at once, whichever task they are raised in. The last one
            # says that code of the server has stopped the loop.
            if main.done() and isinstance(error, RuntimeError):
                raise
            self._observer.work_ended(_unless_interrupted(error))
            self._loop.run_until_complete(self._clear())
        finally:
            self._loop.close()
            self._is_over = True
            self._observer.thread_ended()

    async def _main(self) -> None:
        work = asyncio.create_task(self._work(self._stopping))
        ending = asyncio.create_task(self._ending.wait())
        await asyncio.wait({work, ending}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            error = None if work.cancelled() else work.exception()
            self._observer.work_ended(_unless_interrupted(error))
        await self._clear()

    async def _clear(self) -> None:
        """Cancel all other tasks, and wait a moment for them."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if not others:
            return
        done, pending = await asyncio.wait(others, timeout=_CLEARING_S)
        for task in done:
            error = None if task.cancelled() else _unless_interrupted(task.exception())
            if error:
                self._observer.task_raised(error)
        for task in pending:
            # `end` reports tasks that do not end; Python need not warn as well.
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # of asyncio alone

    def _handle_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, InterruptedWork):
            return
        if isinstance(error, BaseException):
            self._observer.task_raised(error)
        else:
            loop.default_exception_handler(context)

    # From outside

    def blocked_at(self, patience_s: float = _PULSE_S) -> str:
        """Where the code is that keeps the loop from turning; "" if it turns."""
        turned = threading.Event()
        if not self.is_alive or not self.call(turned.set) or turned.wait(patience_s):
            return ""
        frames = sys._current_frames()
        return _locate_frame(frames.get(self._thread.ident or 0)) or "a place that is not known"

    def end(self, grace: Grace, pump: Pump | None, *, at_once: bool) -> Ending:
        """End the thread: ask, cancel, interrupt; "" when asking was enough.

        `pump` waits for a number of seconds and receives what arrives meanwhile.
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
                # Raise in the thread, at the next step of Python that it takes.
                raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
                raise_in(ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(InterruptedWork))
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


def _unless_interrupted(error: BaseException | None) -> BaseException | None:
    """The error, unless it is the one that we raised ourselves."""
    return None if isinstance(error, InterruptedWork) else error


# How much may be queued before `put` waits.
_ROOM_BYTES = 4 * 1024 * 1024


class ThreadQueue:
    """A queue from an event loop in another thread to the thread that made it.

    Its descriptor wakes a poll. `put` waits for room, so that a flood stays in the server.
    """

    def __init__(self) -> None:
        self._waker = Waker()
        self.fd = self._waker.fd
        self._lock = threading.Lock()
        self._items: list[Any] = []
        self._size = 0
        self._is_open = True
        self._room = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    # Called by the other thread

    def post(self, item: object, size: int = 0) -> bool:
        """Add an item without waiting for room; False if the queue is closed."""
        with self._lock:
            if not self._is_open:
                return False
            self._items.append(item)
            self._size += size
            if len(self._items) == 1:
                self._waker.wake()
        return True

    async def put(self, item: object, size: int) -> None:
        """Add an item as soon as there is room for it."""
        self._loop = asyncio.get_running_loop()
        while self._is_open and self._size > _ROOM_BYTES:
            self._room.clear()
            await self._room.wait()
        self.post(item, size)

    # Called by the thread that made it

    def take(self) -> list[Any]:
        """Take all items."""
        with self._lock:
            if not self._items:
                return []
            self._waker.reset()
            items, self._items, self._size = self._items, [], 0
        self._make_room()
        return items

    def close(self) -> list[Any]:
        """Close it, and release a `put` that waits; the items that were not taken."""
        with self._lock:
            if not self._is_open:
                return []
            self._is_open = False
            left, self._items = self._items, []
            self._waker.close()
            self.fd = -1
        self._make_room()
        return left

    def _make_room(self) -> None:
        if self._loop:
            # No `put` waits in a loop that is closed.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._room.set)


# Exceptions and stacks of the user's code, in words

_MAX_WORDS = 300

# Installed code is hardly ever the place to look at.
_INSTALLED = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")})

_OURS = os.path.abspath(__file__).rsplit(os.sep, 2)[0] + os.sep
_FOREIGN = (*_INSTALLED, _OURS)


def _only_cause(error: BaseException) -> BaseException:
    """The only exception of a group, as task groups raise them; else the error itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def describe_exception(error: BaseException) -> str:
    """An exception as one line: what it is, what it says, and where it was raised."""
    error = _only_cause(error)
    words = excerpt(str(error), _MAX_WORDS)
    text = f"{type(error).__name__}: {words}" if words else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    places = [
        (each.filename, each.lineno, each.name)
        for each in frames
        if not each.filename.startswith(_OURS)
    ]
    own = [place for place in places if not place[0].startswith(_INSTALLED)]
    return f"{text} ({_place(*(own or places)[-1])})" if places else text


def format_traceback(error: BaseException) -> bytes:
    """The traceback, as Python would have written it to stderr."""
    error = _only_cause(error)
    trace = error.__traceback__
    # Start it where the user's own code starts.
    while trace and trace.tb_next and trace.tb_frame.f_code.co_filename.startswith(_FOREIGN):
        trace = trace.tb_next
    lines = traceback.format_exception(type(error), error, trace)
    return "".join(lines).encode("utf-8", "replace")


def _locate_frame(frame: FrameType | None) -> str:
    """The innermost place of the user's own code on a stack, or the innermost of all."""
    places = []
    while frame is not None:
        places.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    own = [place for place in places if not place[0].startswith(_FOREIGN)]
    return _place(*(own or places)[0]) if places else ""


def _place(file: str, line: int | None, name: str) -> str:
    return f"{visible(os.path.basename(file))}:{line}, in {visible(name)}"


# Faults of a server that raised, or that did not end

RAISED = "server_raised"


def raised_fault(error: BaseException, *, is_end: bool) -> TransportFault:
    """The fault of an exception that ended the server, or a task beside it."""
    if is_end:
        # It refuses every answer that is waited for.
        return TransportFault(
            kind=RAISED, message=f"the server raised {describe_exception(error)}", is_refusal=True
        )
    message = f"a task of the server raised, and nothing handled it: {describe_exception(error)}"
    return TransportFault(kind=RAISED, message=message)


def ending_fault(how: Ending, place: str) -> TransportFault | None:
    """The fault of a server that did not end when it was asked to."""
    if how == "cancelled":
        message = "the server did not end when it was asked to; its tasks were cancelled"
        return TransportFault(kind="needed_term", message=message)
    at = f", at {place}" if place else ""
    if how == "interrupted":
        message = f"the server did not come back to the event loop{at}; it was interrupted there"
        return TransportFault(kind="needed_kill", message=message)
    if how == "left":
        message = f"a thread of the server could not be ended{at}; it is left running"
        return TransportFault(kind="left_behind", message=message)
    return None
