"""What bounds a run against any server: its time, and how much of a server's output is kept."""

from __future__ import annotations

import time

__all__ = ["OutOfTimeError", "Room", "TimeLimit", "TooMuchError"]

# What a server may send during one check, and beside its results on one connection.
_MAX_BYTES = 32 * 1024 * 1024
_MAX_ITEMS = 20_000


class OutOfTimeError(Exception):
    """The time limit of the run is over: nothing is known of what was being waited for."""


class TooMuchError(Exception):
    """A server has sent more than is kept; the message is the end of a sentence about it."""


class TimeLimit:
    """The time of the whole run, by which every wait is bounded."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._end

    @property
    def reason(self) -> str:
        """Why a check could not run once it is over."""
        return f"the time limit of the run, {self._seconds:g} s, was over"

    def deadline(self, seconds: float) -> float:
        """The end of a wait of so many seconds, or that of the run if it comes first."""
        self.check()
        return min(time.monotonic() + seconds, self._end)

    def check(self) -> None:
        """Raise OutOfTimeError if the run is over: the server is then not to blame for the wait."""
        if self.is_over:
            raise OutOfTimeError


class Room:
    """Counts what a connection keeps. Results are given up after the check that asked for them."""

    def __init__(self) -> None:
        self._items = self._bytes = 0
        self._result_bytes = 0

    def add(self, size: int, *, is_result: bool) -> None:
        """Count a message or line; TooMuchError if there is no room for it."""
        self._items += 1
        if is_result:
            self._result_bytes += size
        else:
            self._bytes += size
        if self._items > _MAX_ITEMS:
            raise TooMuchError(f"has sent more than {_MAX_ITEMS:,} messages on one connection")
        if self._bytes + self._result_bytes > _MAX_BYTES:
            raise TooMuchError(f"has sent more than {_MAX_BYTES:,} bytes for one check")

    def forget_results(self) -> None:
        self._result_bytes = 0
