"""Adopt the processes that a server leaves behind, so that they can be found.

On Linux a process can ask to become the parent of its orphaned descendants. Whoever
left the process group and wiped its environment still turns up as a child of ours.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "MARK_VARIABLE",
    "STARTING_S",
    "adopt_orphans",
    "belongs_elsewhere",
    "command_line",
    "follow_parent",
    "kill_marked",
    "kill_orphans",
    "list_marked",
    "list_strangers",
    "mark_of",
    "wait_until_gone",
]


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


# Find the processes of a run, wherever they went.
#
# Every server is started with a mark in its environment, and its children inherit
# it. A grandchild that left the process group, made its own session or was adopted
# by init is still found by that mark, without any help from it. Marks are paths,
# ``<run>/<server>/``, so that a run's mark begins those of all its servers, and those
# of a run that one of its servers starts.
# Linux only: elsewhere there is nothing to read, and the process group must do.


MARK_VARIABLE = "MCPTEST_RUN"

# A process that forks while it is being killed is chased for this long.
SEARCH_S = 5.0

# One empty search proves little: a process may have been replaced by its child meanwhile.
EMPTY_SEARCHES = 2

# The pause where a run was killed: a server that it was just starting has no mark yet.
STARTING_S = 0.05

# How long a process may take to end once it was killed.
DYING_S = 0.2

# How often one search asks who was started since it began.
_LISTINGS = 10


def list_marked(mark: str, but: int = 0) -> dict[int, str]:
    """The living processes whose mark begins with this one: ids and command lines."""
    return dict(_search(mark, but))


def kill_marked(mark: str, but: int = 0, pause_s: float = 0.0) -> dict[int, str]:
    """Kill every process whose mark begins with this one; what was found.

    A process that forks and exits again and again is often missed, so this goes on until several
    searches in a row, a pause apart, find no other process.
    """
    killed: dict[int, str] = {}
    deadline = time.monotonic() + SEARCH_S
    empty = 0
    while empty < EMPTY_SEARCHES and time.monotonic() < deadline:
        if empty:
            time.sleep(pause_s)
        empty += 1
        for pid, command in _search(mark, but):
            if pid not in killed:
                empty = 0
            # Whoever is just ending has no command line any more; its name was read before.
            killed[pid] = killed.get(pid) or command
            _kill(pid)
    wait_until_gone(killed, time.monotonic() + DYING_S)
    return killed


def _search(mark: str, but: int) -> Iterator[tuple[int, str]]:
    """Each marked process, as soon as it is found; also those that are started meanwhile."""
    needle = f"\0{MARK_VARIABLE}={mark}".encode()
    seen = {but}
    for _ in range(_LISTINGS):
        started = [pid for pid in _list_pids() if pid not in seen]
        if not started:
            return
        # The latest first: it may live only as long as it takes to start the next one.
        for pid in sorted(started, reverse=True):
            if needle in b"\0" + _read_proc_file(f"/proc/{pid}/environ"):
                yield pid, command_line(pid)
        seen.update(started)


def _list_pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def mark_of(pid: int) -> str:
    """The mark that a process carries; "" when it has none, or is not ours to read."""
    start = f"{MARK_VARIABLE}=".encode()
    for member in _read_proc_file(f"/proc/{pid}/environ").split(b"\0"):
        if member.startswith(start):
            return member[len(start) :].decode("utf-8", "replace")
    return ""


def belongs_elsewhere(pid: int, run: str, mark: str) -> bool:
    """Whether a process carries a mark of this run that is not (or below) the given one."""
    environment = b"\0" + _read_proc_file(f"/proc/{pid}/environ")
    is_ours = f"\0{MARK_VARIABLE}={run}".encode() in environment
    return is_ours and f"\0{MARK_VARIABLE}={mark}".encode() not in environment


def wait_until_gone(pids: Iterable[int], deadline: float) -> None:
    """Wait until all of these have ended, or the deadline has come."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except (OSError, AttributeError):
            continue  # it has ended already, or this system has no handles to wait on
        try:
            waiter = select.poll()
            waiter.register(handle, select.POLLIN)
            waiter.poll(max(0.0, deadline - time.monotonic()) * 1000)
        finally:
            os.close(handle)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _read_proc_file(path: str) -> bytes:
    # Processes end while we look, and other users' are closed to us.
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while chunk := os.read(fd, 65536):
            parts.append(chunk)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)


def command_line(pid: int) -> str:
    """The command line of a process; "" when it has ended already."""
    raw = _read_proc_file(f"/proc/{pid}/cmdline").rstrip(b"\0")
    return raw.replace(b"\0", b" ").decode("utf-8", "backslashreplace")
