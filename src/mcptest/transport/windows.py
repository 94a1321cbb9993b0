"""What Windows has instead of poll, pipes that can be waited for, and timers by signal.

Imported on Windows only; `mcptest.transport` and `mcptest.transport.process.signals` have the same
for POSIX. What starts a server is not here (docs/decisions/0011-windows.md has the plan).
"""

from __future__ import annotations

import contextlib
import ctypes
import select
import signal
import socket
import sys
import threading
import time

from mcptest.core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import Any

# Type checkers read the rest for Windows only.
assert sys.platform == "win32" or not TYPE_CHECKING

__all__ = ["READABLE", "WRITABLE", "Alarm", "Waker", "interpret_escapes", "wait_ready"]

# As poll numbers them.
READABLE = 1
WRITABLE = 4

# Ctrl-C does not end a `select` on Windows: its handler runs when the wait returns. No wait is
# longer than this.
_SLICE_S = 0.05


def wait_ready(wanted: Mapping[int, int], wait_s: float | None) -> dict[int, int]:
    """As the function for POSIX, for sockets only: Windows cannot wait for other descriptors."""
    readers = [fd for fd, events in wanted.items() if fd >= 0 and events & READABLE]
    writers = [fd for fd, events in wanted.items() if fd >= 0 and events & WRITABLE]
    deadline = float("inf") if wait_s is None else time.monotonic() + wait_s
    while True:
        left_s = deadline - time.monotonic()
        slice_s = max(0.0, min(left_s, _SLICE_S))
        ready: dict[int, int] = {}
        if readers or writers:
            # A connection that failed is the third kind of event, which other systems report as
            # writable.
            can_read, can_write, failed = select.select(readers, writers, writers, slice_s)
            ready = dict.fromkeys((*can_write, *failed), WRITABLE)
            ready |= {fd: ready.get(fd, 0) | READABLE for fd in can_read}
        else:
            # `select` rejects three empty lists.
            time.sleep(slice_s)
        if ready or left_s <= _SLICE_S:
            return ready


class Waker:
    """As the class for POSIX, with sockets instead of a pipe."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self.fd = self._reader.fileno()

    def wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._writer.send(b"!")

    def reset(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._reader.recv(64)

    def close(self) -> None:
        self._reader.close()
        self._writer.close()


# The console

_VIRTUAL_TERMINAL = 4


def interpret_escapes(fd: int) -> None:
    """Have a console interpret escape sequences, such as colours; else it shows them as text."""
    import msvcrt  # noqa: PLC0415  # so that this module can be imported anywhere

    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    handle, mode = ctypes.c_void_p(msvcrt.get_osfhandle(fd)), ctypes.c_uint32()
    # No-op for what is not a console.
    if kernel.GetConsoleMode(handle, ctypes.byref(mode)):
        kernel.SetConsoleMode(handle, ctypes.c_uint32(mode.value | _VIRTUAL_TERMINAL))


# Timers
#
# The engine of `re` holds the interpreter's lock while it searches, so no thread of Python can stop
# it; but it looks for signals, and `PyErr_SetInterruptEx` makes Python see one. A thread of the
# system calls that function: it needs no lock.

# Windows never generates this signal, and Python can have a handler for it.
_TICK = signal.SIGILL
_TICK_MS = 50
_WAIT_FOR_CALLBACKS = ctypes.c_void_p(-1)


class Alarm:
    """Calls `expire` in the main thread when `clock` has advanced by some seconds.

    If `again_s` is given, it is called again after as many more, until `cancel`. Only the main
    thread can set it; in others it is a no-op.
    """

    def __init__(
        self,
        expire: Callable[[int, FrameType | None], None],
        clock: Callable[[], float] = time.monotonic,
        again_s: float | None = None,
    ) -> None:
        self._expire = expire
        self._clock = clock
        self._again_s = again_s
        self._due = 0.0
        self._timer: ctypes.c_void_p | None = None

    def set(self, seconds: float) -> None:
        """Begin to count anew."""
        self._due = self._clock() + seconds
        if self._timer is not None or threading.current_thread() is not threading.main_thread():
            return
        # Stays: a tick may arrive when the timer is gone.
        signal.signal(_TICK, _tick)
        self._timer = ctypes.c_void_p()
        created = _kernel().CreateTimerQueueTimer(
            ctypes.byref(self._timer),
            None,
            ctypes.cast(ctypes.pythonapi.PyErr_SetInterruptEx, ctypes.c_void_p),
            ctypes.c_void_p(_TICK),
            _TICK_MS,
            _TICK_MS,
            0,
        )
        if not created:
            self._timer = None
            raise ctypes.WinError(ctypes.get_last_error())
        _alarms.append(self)

    def cancel(self) -> None:
        if self._timer is not None:
            timer, self._timer = self._timer, None
            _alarms.remove(self)
            _kernel().DeleteTimerQueueTimer(None, timer, _WAIT_FOR_CALLBACKS)

    def check(self, number: int, frame: FrameType | None) -> None:
        """Call `expire` if the time has come."""
        now = self._clock()
        if now < self._due:
            return
        # Before the call, which may raise.
        if self._again_s is None:
            self.cancel()
        else:
            self._due = now + self._again_s
        self._expire(number, frame)


# Those that are set, the outermost first.
_alarms: list[Alarm] = []


def _tick(number: int, frame: FrameType | None) -> None:
    for alarm in tuple(_alarms):
        alarm.check(number, frame)


_kernels: list[Any] = []


def _kernel() -> Any:
    if not _kernels:
        if sys.maxsize < 1 << 32:
            # There the system's callbacks and functions of C are called in different ways.
            raise UsageError("a 32-bit Python is not supported on Windows", "use a 64-bit one")
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        pointer, number = ctypes.c_void_p, ctypes.c_uint32
        kernel.CreateTimerQueueTimer.argtypes = (
            *(ctypes.POINTER(pointer), pointer, pointer, pointer),
            *(number, number, number),
        )
        kernel.DeleteTimerQueueTimer.argtypes = (pointer, pointer, pointer)
        _kernels.append(kernel)
    return _kernels[0]
