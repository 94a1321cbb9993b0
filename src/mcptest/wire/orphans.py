"""Adopt the processes that a server leaves behind, so that they can be found.

On Linux a process can ask to become the parent of its orphaned descendants. Whoever
left the process group and wiped its environment still turns up as a child of ours.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from mcptest.wire.sweep import (
    DYING_S,
    EMPTY_SEARCHES,
    SEARCH_S,
    command_line,
    wait_until_gone,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["adopt_orphans", "follow_parent", "kill_orphans", "list_strangers"]

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> bool:
    """From now on, orphans below us become our children; whether that can be done, and seen.

    Elsewhere than on Linux it cannot.
    """
    return _children() is not None and _control(_PR_SET_CHILD_SUBREAPER, 1)


def follow_parent() -> None:
    """From now on, the end of our parent is a SIGTERM to us. Elsewhere than on Linux: nothing."""
    _control(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _control(option: int, value: int) -> bool:
    with contextlib.suppress(ImportError, AttributeError, OSError):
        return _prctl()(option, value, 0, 0, 0) == 0
    return False


def _prctl() -> Callable[..., object]:
    """The system's function; AttributeError where there is none."""
    try:
        # The innermost part of `ctypes`, which is all that numbers need; the rest of it takes a
        # thirtieth of a run of one test to import.
        from _ctypes import call_function, dlopen, dlsym  # noqa: PLC0415

        address = dlsym(dlopen(None, 0), "prctl")  # type: ignore[arg-type]  # None is this program
    except (ImportError, TypeError, OSError):
        # It is nobody's promise that these are there.
        import ctypes  # noqa: PLC0415

        return ctypes.CDLL(None).prctl
    return lambda *numbers: call_function(address, numbers)


def kill_orphans(known: set[int]) -> dict[int, str]:
    """End and reap every child of ours that is not known; their ids and command lines."""
    found: dict[int, str] = {}
    deadline = time.monotonic() + SEARCH_S
    empty = 0
    while empty < EMPTY_SEARCHES and time.monotonic() < deadline:
        strangers = list_strangers(known)
        empty = 0 if strangers else empty + 1
        for pid in strangers:
            found[pid] = found.get(pid) or command_line(pid)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        # Whoever has ended is taken off the list; whoever cannot be ended stays on it.
        wait_until_gone(strangers, time.monotonic() + DYING_S)
        for pid in strangers:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    return {pid: command for pid, command in found.items() if command}


def list_strangers(known: set[int]) -> list[int]:
    """The children of this process that it does not know."""
    return [pid for pid in _children() or () if pid not in known]


def _children() -> list[int] | None:
    """The children of this process; None where nobody says who they are."""
    text = b""
    try:
        for thread in os.listdir("/proc/self/task"):
            text += _read(f"/proc/self/task/{thread}/children", is_first=int(thread) == os.getpid())
    except OSError:
        return None
    return [int(pid) for pid in text.split()]


def _read(path: str, *, is_first: bool) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        # Other threads end while we look; without the first one there is nobody to look.
        if is_first:
            raise
        return b""
