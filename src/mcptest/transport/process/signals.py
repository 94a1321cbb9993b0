"""Turn signals into something a poll can wait for.

A handler that raises could interrupt any line of ours. These handlers only count, and write one
byte to a pipe that every wait watches, so a run stops between two steps, cleans up and reports.

* first signal: stop every server step by step; cleanup steps of the user get a respite first
* second: every server is killed at once
* third: exit; the guardian cleans up

The same signal again within a moment counts once: `timeout` signals us and then our group.

A run may be stuck between two steps, as in a regular expression that takes forever: if it has not
ended some time after a signal, we exit as on the third.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager

from mcptest.core.errors import PatternTimeoutError
from mcptest.transport import Waker

if sys.platform == "win32":
    from mcptest.transport.windows import Alarm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

__all__ = [
    "TERMINATING",
    "CpuLimit",
    "GuestInterrupts",
    "Interrupts",
    "OverdueError",
    "WallLimit",
]


# Those that end a run: Ctrl-C, those of `kill`, and of a terminal that is closed or, on Windows,
# Ctrl-Break.
if sys.platform == "win32":
    TERMINATING = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
else:
    TERMINATING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LEAVE_STATUS = 130

# More than stopping a server takes.
_PATIENCE_S = 15.0

# Too soon for a second signal that is meant as one.
_MOMENT_S = 0.1


class Interrupts:
    """While entered, the signals that end a run are counted here."""

    def __init__(self, patience_s: float = _PATIENCE_S) -> None:
        self.count = 0
        self._patience_s = patience_s
        self.on_first: Callable[[], object] = lambda: None
        self.on_second: Callable[[], None] = lambda: None
        self._waker = Waker()
        self.fd = self._waker.fd
        # How long we have been suspended with Ctrl-Z.
        self.stopped_s = 0.0
        self._previous: dict[int, object] = {}
        # When each signal was counted last.
        self._counted_at: dict[int, float] = {}
        if sys.platform == "win32":
            self._alarm = Alarm(_leave)

    def __enter__(self) -> Interrupts:
        for number in TERMINATING:
            # A signal the parent had us ignore (nohup) stays ignored.
            if signal.getsignal(number) != signal.SIG_IGN:
                self._previous[number] = signal.signal(number, self._handle)
        if sys.platform != "win32":
            if signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL:
                self._previous[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._stop)
            self._previous[signal.SIGALRM] = signal.signal(signal.SIGALRM, _leave)
        return self

    def __exit__(self, *_: object) -> None:
        if sys.platform == "win32":
            self._alarm.cancel()
        else:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # it came from signal()
        self.close()

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Nothing more to do: while this is entered, signals are counted."""
        yield

    def close(self) -> None:
        """Give the descriptors back."""
        self._waker.close()

    def shorten_patience(self, patience_s: float) -> None:
        """Exit this long after a signal, also one that came already: little is left to do."""
        self._patience_s = patience_s
        if self.count:
            self._leave_after(patience_s)

    @contextmanager
    def respite(self, seconds: float) -> Iterator[None]:
        """After the first signal: waits are undisturbed, until the next signal ends them.

        The caller limits what is done meanwhile to this many seconds.
        """
        before, self.count = self.count, 0
        self._waker.reset()
        self._leave_after(seconds + self._patience_s)
        try:
            yield
        finally:
            again, self.count = self.count, self.count + before
            if again:
                self.on_second()
            else:
                self._waker.wake()
            self._leave_after(self._patience_s)

    if sys.platform != "win32":

        def _stop(self, number: int, frame: FrameType | None) -> None:
            """Suspend as SIGTSTP does by default, and measure for how long."""
            began = time.monotonic()
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTSTP)
            signal.signal(signal.SIGTSTP, self._stop)
            self.stopped_s += time.monotonic() - began

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._counted_at.get(number, -_MOMENT_S) < _MOMENT_S:
            return
        self._counted_at[number] = now
        self.count += 1
        if self.count == 1:
            self._waker.wake()
            self._leave_after(self._patience_s)
            self.on_first()
        elif self.count == 2:
            self.on_second()
        else:
            self._leave_now(number, frame)

    def _leave_after(self, seconds: float) -> None:
        if sys.platform == "win32":
            self._alarm.set(seconds)
        else:
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def _leave_now(self, number: int, frame: FrameType | None) -> None:
        _leave(number, frame)


class GuestInterrupts(Interrupts):
    """Counts Ctrl-C inside a program that handles signals itself, such as pytest.

    Signals are counted only inside `counting()`. When that ends, a signal that was counted is
    raised again, so that the program handles it as it always does. SIGTERM, SIGHUP and SIGALRM
    stay with the program throughout.
    """

    @contextmanager
    def counting(self) -> Iterator[None]:
        """While entered, Ctrl-C ends waits instead of raising somewhere in the engine."""
        try:
            previous = signal.signal(signal.SIGINT, self._handle) or signal.SIG_DFL
        except ValueError:
            # Signals reach the main thread only, and this is not it.
            yield
            return
        if previous == signal.SIG_IGN:
            signal.signal(signal.SIGINT, previous)
        if sys.platform != "win32":
            is_stopping = signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL
            if is_stopping:
                signal.signal(signal.SIGTSTP, self._stop)
        before = self.count
        try:
            yield
        finally:
            if sys.platform != "win32" and is_stopping:
                signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            signal.signal(signal.SIGINT, previous)
            if self.count > before:
                signal.raise_signal(signal.SIGINT)

    def _leave_after(self, seconds: float) -> None:
        """No-op: the alarm belongs to the program, and a stuck test is its user's to end."""

    def _leave_now(self, number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(_LEAVE_STATUS)


# Bound the time of work in this process: processor time (`CpuLimit`) or elapsed (`WallLimit`).
#
# A regular expression can take practically forever on one line of text, and Python's engine can be
# stopped only by a signal, which it checks for while it searches. Processor time is not used up by
# a slow machine or a sleeping server. Elapsed time also bounds third-party code that sleeps, unless
# it swallows every exception. Signals reach the main thread only: in any other thread nothing is
# bounded. On Windows an `Alarm` does what these timers do.


class CpuLimit:
    """While entered, more than `seconds` of computing raises `PatternTimeoutError`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        if sys.platform == "win32":
            self._alarm = Alarm(self._expire, time.process_time)
            self._alarm.set(self.seconds)
            return
        self._is_on = False
        try:
            self._previous = signal.signal(signal.SIGVTALRM, self._expire)
        except ValueError:
            # Not the main thread.
            return
        self._is_on = True
        signal.setitimer(signal.ITIMER_VIRTUAL, self.seconds)

    def __exit__(self, *_: object) -> None:
        if sys.platform == "win32":
            self._alarm.cancel()
        elif self._is_on:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, self._previous)

    def _expire(self, number: int, frame: FrameType | None) -> None:
        raise PatternTimeoutError(self.seconds)


# The signal of `WallLimit` is repeated this often: code that swallows it once is stopped by
# the next one.
_AGAIN_S = 0.2


class OverdueError(BaseException):
    """The time is up. No `except Exception` stops it."""


class WallLimit:
    """While entered, more than `seconds` raise `OverdueError`.

    An outer timer on the same signal keeps its deadline and fires first if it expires first.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        if sys.platform == "win32":
            self._alarm = Alarm(self._expire, again_s=_AGAIN_S)
            self._alarm.set(self.seconds)
            return
        self._is_on = False
        try:
            self._previous = signal.signal(signal.SIGALRM, self._expire)
        except ValueError:
            # Not the main thread.
            return
        self._is_on = True
        left_s = signal.getitimer(signal.ITIMER_REAL)[0]
        self._others_at = time.monotonic() + left_s if left_s else None
        first_s = min(self.seconds, left_s) if left_s else self.seconds
        signal.setitimer(signal.ITIMER_REAL, max(first_s, 0.001), _AGAIN_S)

    def __exit__(self, *_: object) -> None:
        if sys.platform == "win32":
            self._alarm.cancel()
            return
        if not self._is_on:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._previous)
        if self._others_at is not None:
            left_s = self._others_at - time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, max(left_s, 0.001))

    def _expire(self, number: int, frame: FrameType | None) -> None:
        if sys.platform != "win32":
            is_others = self._others_at is not None and time.monotonic() >= self._others_at
            if is_others and callable(self._previous):
                self._previous(number, frame)
        raise OverdueError
