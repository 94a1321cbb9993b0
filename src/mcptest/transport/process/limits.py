"""Bound the processor time of our own work on what a server sent.

A regular expression can take longer than the universe lasts on a line of text, and
Python's engine cannot be told to stop, except by a signal: it looks for one now and
then while it searches. The timer counts the time this process computes, so a slow
machine or a sleeping server does not use it up. Signals reach the main thread only: in any
other thread nothing is bounded.
"""

from __future__ import annotations

import signal
import threading
import time

from mcptest.core.errors import PatternTimeoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType

__all__ = ["CpuLimit", "OverdueError", "WallLimit"]


class CpuLimit:
    """While entered, more than `seconds` of computing raises `PatternTimeoutError`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        self._is_on = False
        try:
            self._previous = signal.signal(signal.SIGVTALRM, self._expire)
        except ValueError:
            return
        self._is_on = True
        signal.setitimer(signal.ITIMER_VIRTUAL, self.seconds)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_on:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, self._previous)

    def _expire(self, number: int, frame: FrameType | None) -> None:
        raise PatternTimeoutError(self.seconds)


# Bound the time that somebody else's code in this process takes, asleep or awake.
#
# `mcptest.transport.process.limits` counts what is computed; here the clock on the wall counts. The
# signal comes again and again, so that code which swallows it once is ended all the same. Code that
# swallows everything, or sleeps where no signal is heard, is not. Signals are heard by the main
# thread: in another one nothing is bounded.


_AGAIN_S = 0.2


class OverdueError(BaseException):
    """The time is up. No `except Exception` stops it."""


class WallLimit:
    """While entered, more than `seconds` raise `OverdueError`.

    Whoever else waits for the same signal keeps their time, and comes first when it is up first.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        self._is_on = threading.current_thread() is threading.main_thread()
        if not self._is_on:
            return
        self._previous = signal.signal(signal.SIGALRM, self._expire)
        left_s = signal.getitimer(signal.ITIMER_REAL)[0]
        self._others_at = time.monotonic() + left_s if left_s else None
        first_s = min(self.seconds, left_s) if left_s else self.seconds
        signal.setitimer(signal.ITIMER_REAL, max(first_s, 0.001), _AGAIN_S)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_on:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._previous)
        if self._others_at is not None:
            left_s = self._others_at - time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, max(left_s, 0.001))

    def _expire(self, number: int, frame: FrameType | None) -> None:
        is_others = self._others_at is not None and time.monotonic() >= self._others_at
        if is_others and callable(self._previous):
            self._previous(number, frame)
        raise OverdueError
