"""Bound the processor time of our own work on what a server sent.

A regular expression can take longer than the universe lasts on a line of text, and
Python's engine cannot be told to stop, except by a signal: it looks for one now and
then while it searches. The timer counts the time this process computes, so a slow
machine or a sleeping server does not use it up. Signals reach the main thread only: in any
other thread nothing is bounded.
"""

from __future__ import annotations

import signal

from mcptest.core.errors import PatternTimeoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType

__all__ = ["CpuLimit"]


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
