"""Bound the time of work in this process: processor time (`CpuLimit`) or elapsed (`WallLimit`).

A regular expression can take practically forever on one line of text, and Python's engine can be
stopped only by a signal, which it checks for while it searches. Processor time is not used up by a
slow machine or a sleeping server. Elapsed time also bounds third-party code that sleeps, unless it
swallows every exception. Signals reach the main thread only: in any other thread nothing is
bounded.
"""

from __future__ import annotations

import signal
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
