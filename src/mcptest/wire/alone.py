"""What a peer is started with where there is no run around it: in a program of its own.

A run has a guardian and listens to signals. A program that uses a plugin's host or the SDK has
its own ways with signals, and may have threads, beside which nobody should be forked.
"""

from __future__ import annotations

import os
import threading

from mcptest.wire.guardian import Guardian
from mcptest.wire.sweep import MARK_VARIABLE

__all__ = ["NoGuardian", "NoInterrupts", "own_guardian"]


class NoInterrupts:
    """Signals are the program's own business: they raise where it waits."""

    fd = -1
    count = 0
    stopped_s = 0.0


class NoGuardian:
    """Nobody outlives us; a peer sees the end of its input when we end, however that is."""

    adopts_orphans = False
    has_killed_all = False

    def __init__(self) -> None:
        above = os.environ.get(MARK_VARIABLE, "")
        self.mark = f"{above}{os.getpid()}-{os.urandom(8).hex()}/"
        self.suspects: set[str] = set()

    def next_mark(self) -> str:
        return f"{self.mark}1/"

    def watch(self, group: int) -> None:
        """Nobody is told."""

    def release(self, group: int) -> None:
        """Nobody was told."""

    def list_orphans(self) -> list[int]:
        return []

    def kill_orphans(self, but: set[int]) -> dict[int, str]:
        return {}

    def dismiss(self) -> None:
        """Nobody is there."""


def own_guardian() -> Guardian | NoGuardian:
    """A guardian of our own, where one can be forked."""
    return NoGuardian() if _has_threads() else Guardian()


def _has_threads() -> bool:
    try:
        # Those of libraries, which Python does not know, count as well.
        return len(os.listdir("/proc/self/task")) > 1
    except OSError:
        return threading.active_count() > 1
