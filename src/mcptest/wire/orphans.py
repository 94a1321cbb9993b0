"""Adopt the processes that a server leaves behind, so that they can be found.

On Linux a process can ask to become the parent of its orphaned descendants. Whoever
left the process group and wiped its environment still turns up as a child of ours.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from mcptest.wire.sweep import ROUNDS, command_line, wait_until_gone

__all__ = ["adopt_orphans", "follow_parent", "kill_orphans", "list_strangers"]

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_DYING_S = 0.2


def adopt_orphans() -> None:
    """From now on, orphans below us become our children. Elsewhere than on Linux: nothing."""
    _control(_PR_SET_CHILD_SUBREAPER, 1)


def follow_parent() -> None:
    """From now on, the end of our parent is a SIGTERM to us. Elsewhere than on Linux: nothing."""
    _control(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _control(option: int, value: int) -> None:
    # Imported while the first server starts, which mostly takes longer than this.
    import ctypes  # noqa: PLC0415

    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def kill_orphans(known: set[int]) -> dict[int, str]:
    """End and reap every child of ours that is not known; their ids and command lines."""
    found: dict[int, str] = {}
    for _ in range(ROUNDS):
        strangers = list_strangers(known)
        if not strangers:
            break
        for pid in strangers:
            found[pid] = found.get(pid) or command_line(pid)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        # Whoever has ended is taken off the list; whoever cannot be ended stays on it.
        wait_until_gone(strangers, time.monotonic() + _DYING_S)
        for pid in strangers:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    return {pid: command for pid, command in found.items() if command}


def list_strangers(known: set[int]) -> list[int]:
    """The children of this process that it does not know."""
    return [pid for pid in _children() if pid not in known]


def _children() -> list[int]:
    text = ""
    with contextlib.suppress(OSError):
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
                text += file.read()
    return [int(pid) for pid in text.split()]
