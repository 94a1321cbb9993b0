"""Run this program again, as a child that shares our terminal, and wait for its end."""

from __future__ import annotations

import signal
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["run_again"]


def run_again(words: Sequence[str]) -> int:
    """The exit status of `mcptest` with these words.

    Ctrl-C goes to the child as well, which cleans up and says so; we wait for that.
    """
    previous = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        # The child must start with the usual meaning of the signal, which we then give up.
        child = subprocess.Popen([sys.executable, "-m", "mcptest", *words])
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return child.wait()
    finally:
        signal.signal(signal.SIGINT, previous)
