"""Run this program again, as a child that shares our terminal, and wait for its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

from mcptest.core.errors import InterruptedRunError
from mcptest.wire.orphans import follow_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

__all__ = ["follow", "run_again"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _PassedOn:
    """While entered, signals go to the child, which cleans up and says so."""

    def __init__(self) -> None:
        self.last = 0
        self.pid = 0
        # A signal that we were started to ignore (nohup) stays ignored.
        heeded = [each for each in _SIGNALS if signal.getsignal(each) != signal.SIG_IGN]
        self._previous = {number: signal.signal(number, self._handle) for number in heeded}

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.last = number
        self.pass_on()

    def pass_on(self) -> None:
        if self.last and self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, self.last)

    def restore(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)


def follow(watcher: str) -> None:
    """From now on, the end of the process with this id is a signal to us."""
    follow_parent()
    if str(os.getppid()) != watcher:
        raise InterruptedRunError("whoever was watching has ended")


def run_again(words: Sequence[str], follows: str) -> tuple[int, bool]:
    """The exit status of `mcptest` with these words, and whether we were told to stop.

    The variable `follows` tells the child whom to follow.
    The child is in a process group of its own, so that each Ctrl-C reaches it once: by us.
    """
    signals = _PassedOn()
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "mcptest", *words],
            env=os.environ | {follows: str(os.getpid())},
            process_group=0,
        )
        signals.pid = child.pid
        # One may have come before there was anybody to pass it on to.
        signals.pass_on()
        status = child.wait()
    finally:
        signals.restore()
    # Only now: a signal that came while the child was ending counts as well.
    return (status if status >= 0 else 128 - status), bool(signals.last)
