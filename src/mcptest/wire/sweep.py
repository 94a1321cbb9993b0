"""Find the processes of a run, wherever they went.

Every server is started with a mark in its environment, and its children inherit
it. A grandchild that left the process group, made its own session or was adopted
by init is still found by that mark, without any help from it. Marks are paths,
``<run>/<server>/``, so that a run's mark begins those of all its servers, and those
of a run that one of its servers starts.
Linux only: elsewhere there is nothing to read, and the process group must do.
"""

from __future__ import annotations

import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "MARK_VARIABLE",
    "ROUNDS",
    "belongs_elsewhere",
    "command_line",
    "kill_marked",
    "list_marked",
    "mark_of",
    "wait_until_gone",
]

MARK_VARIABLE = "MCPTEST_RUN"

# A process that forks while it is being killed is chased this many times.
ROUNDS = 20


def list_marked(mark: str, but: int = 0) -> dict[int, str]:
    """The living processes whose mark begins with this one: ids and command lines."""
    needle = f"{MARK_VARIABLE}={mark}".encode()
    found = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    for name in names:
        if name.isdigit() and int(name) != but:
            environment = b"\0" + _read(f"/proc/{name}/environ")
            if b"\0" + needle in environment:
                found[int(name)] = command_line(int(name))
    return found


def kill_marked(mark: str, but: int = 0) -> dict[int, str]:
    """Kill every process whose mark begins with this one; what was found."""
    killed: dict[int, str] = {}
    for _ in range(ROUNDS):
        found = list_marked(mark, but)
        if not found:
            break
        for pid, command in found.items():
            # Whoever is just ending has no command line any more; its name was read before.
            killed[pid] = killed.get(pid) or command
            _kill(pid)
    return killed


def mark_of(pid: int) -> str:
    """The mark that a process carries; "" when it has none, or is not ours to read."""
    start = f"{MARK_VARIABLE}=".encode()
    for member in _read(f"/proc/{pid}/environ").split(b"\0"):
        if member.startswith(start):
            return member[len(start) :].decode("utf-8", "replace")
    return ""


def belongs_elsewhere(pid: int, run: str, mark: str) -> bool:
    """Whether a process carries a mark of this run that is not (or below) the given one."""
    environment = b"\0" + _read(f"/proc/{pid}/environ")
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


def _read(path: str) -> bytes:
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
    raw = _read(f"/proc/{pid}/cmdline").rstrip(b"\0")
    return raw.replace(b"\0", b" ").decode("utf-8", "backslashreplace")
