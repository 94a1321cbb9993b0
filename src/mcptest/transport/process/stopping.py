"""End a server and every process it started.

The server ends in steps: close stdin, wait, TERM to its group, wait, KILL. Descendants that left
the group are found in two ways, both on Linux only (elsewhere the process group must do):

* Every server is started with a mark in its environment, which its children inherit. Marks are
  paths, `<run>/<server>/`: a run's mark begins those of all its servers, and those of a run that
  one of its servers starts.
* This process can ask to become the parent of its orphaned descendants. One that wiped its
  environment still turns up as our child.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time

from mcptest.core.value_class import Record
from mcptest.transport import wait_ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Literal

    from mcptest.transport.process.child import Child, Guardian

    EndedBy = Literal["exited", "stdin", "term", "kill", "at_once", "closed"]

__all__ = [
    "MARK_VARIABLE",
    "STARTING_S",
    "Grace",
    "ServerProcess",
    "Stopped",
    "adopt_orphans",
    "describe_end",
    "describe_exit",
    "follow_parent",
    "kill_marked",
    "kill_orphans",
    "list_marked",
    "list_unknown_children",
    "read_command_line",
    "read_mark",
    "signal_name",
    "stop",
    "wait_until_gone",
]

MARK_VARIABLE = "MCPTEST_RUN"

# Wait this long after a run was killed: a server just being started has no mark yet.
STARTING_S = 0.05

# A process that forks while it is being killed is chased for this long.
_SEARCH_S = 5.0

# One empty search proves little: a process may have been replaced by its child meanwhile.
_EMPTY_SEARCHES = 2

# How long a process may take to end once it was killed.
_DYING_S = 0.2

# How many times one search lists the processes that were started since it began.
_LISTINGS = 10

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Grace(Record):
    """How long each step of stopping waits for the process to end."""

    stdin_s: float = 2.0
    term_s: float = 2.0
    kill_s: float = 5.0
    linger_s: float = 0.2


class Stopped(Record):
    """How a server ended: the step that ended it, its status, and the processes it left behind.

    Those of `left_behind` that are `unmarked` may have been started by one of `suspects` instead.
    """

    ended_by: EndedBy
    exit_code: int | None
    took_s: float
    left_behind: dict[int, str]
    unmarked: frozenset[int] = frozenset()
    suspects: tuple[str, ...] = ()


class ServerProcess:
    """A server process, its pipes and its process group. The guardian knows it while it lives."""

    def __init__(self, process: Child, mark: str, guardian: Guardian) -> None:
        self.guardian = guardian
        self.mark = mark
        self.pid = process.pid
        self.has_exited = False
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        guardian.watch(process.pid)
        for fd in (self._stdin, self._stdout, self._stderr):
            if fd >= 0:
                os.set_blocking(fd, False)
        # Readable once the process has ended; -1 where it has to be asked.
        self._pidfd = process.open_handle()

    def wait_for_exit(self, deadline: float) -> bool:
        """Move bytes until the process has ended or the deadline has come."""
        raise NotImplementedError

    def close_stdin(self) -> None:
        if self._stdin >= 0:
            # Reset first: an interrupt at this point must not make us close it twice.
            stdin, self._stdin = self._stdin, -1
            os.close(stdin)

    def signal_group(self, number: int) -> None:
        """Signal the whole group. It is led by a process we have not reaped yet."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def exit_code(self) -> int | None:
        """How the process ended (negative: by that signal), once it has been reaped."""
        return self._process.exit_code

    def reap(self) -> None:
        """Take the exit status and close every descriptor."""
        # A process that not even KILL ended (stuck in the kernel) stays the guardian's.
        if self.has_exited:
            self._process.wait()
            self.guardian.release(self.pid)
        self.close_stdin()
        self._process.close_outputs()
        self._stdout = self._stderr = -1
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1


def stop(server: ServerProcess, grace: Grace, *, at_once: bool = False) -> Stopped:
    """End the process step by step, then every process that it started."""
    began = time.monotonic()
    ended_by = "exited" if server.has_exited else _end(server, grace, at_once)
    # The leader has ended but is not reaped: its id cannot have been given to another
    # group yet, so these kills hit only what it left behind.
    left_behind, unmarked = _kill_descendants(server, grace)
    server.signal_group(signal.SIGKILL)
    server.reap()
    took_s = time.monotonic() - began
    exit_code = server.exit_code()
    if server.guardian.has_killed_all and exit_code == -signal.SIGKILL:
        # A second Ctrl-C killed it, whatever step it came in.
        ended_by = "at_once"
    return Stopped(
        ended_by=ended_by,
        exit_code=exit_code,
        took_s=took_s,
        left_behind=left_behind,
        unmarked=unmarked,
        suspects=tuple(sorted(server.guardian.suspects)),
    )


def _end(server: ServerProcess, grace: Grace, at_once: bool) -> EndedBy:
    server.close_stdin()
    if not at_once:
        if server.wait_for_exit(time.monotonic() + grace.stdin_s):
            return "stdin"
        server.signal_group(signal.SIGTERM)
        if server.wait_for_exit(time.monotonic() + grace.term_s):
            return "term"
    server.signal_group(signal.SIGKILL)
    server.wait_for_exit(time.monotonic() + grace.kill_s)
    return "at_once" if at_once else "kill"


def _kill_descendants(server: ServerProcess, grace: Grace) -> tuple[dict[int, str], frozenset[int]]:
    """Kill what the server left behind: ids and command lines, and the ids without its mark."""
    guardian = server.guardian
    orphans = guardian.list_orphans()
    if guardian.adopts_orphans and server.has_exited and not orphans:
        # What the process left behind became our child the moment it ended.
        return {}, frozenset()
    # Another server, or a hook, is still using those with another mark of this run.
    others = {pid for pid in orphans if _has_other_mark(pid, guardian.mark, server.mark)}
    leaving = [*list_marked(server.mark, but=server.pid), *(set(orphans) - others)]
    if not leaving:
        return {}, frozenset()
    # The child of a launcher often ends a moment after it: only what stays is left behind.
    wait_until_gone(leaving, time.monotonic() + grace.linger_s)
    marked = kill_marked(server.mark, but=server.pid)
    unmarked = guardian.kill_orphans(others)
    return {**marked, **unmarked}, frozenset(unmarked.keys() - marked.keys())


def describe_exit(code: int | None) -> str:
    """An exit status in words."""
    if code is None:
        return "still running"
    if code >= 0:
        return f"exit status {code}"
    return f"killed by {signal_name(-code)}"


def signal_name(number: int) -> str:
    """A signal as people know it, such as SIGKILL."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def describe_end(code: int) -> str:
    """How a process has ended, as the end of a sentence about it."""
    return f"was {describe_exit(code)}" if code < 0 else f"ended with {describe_exit(code)}"


# Processes found by their mark


def list_marked(mark: str, but: int = 0) -> dict[int, str]:
    """The living processes whose mark begins with this one: ids and command lines."""
    return dict(_search(mark, but))


def kill_marked(mark: str, but: int = 0, pause_s: float = 0.0) -> dict[int, str]:
    """Kill every process whose mark begins with this one: ids and command lines.

    A process that forks and exits again and again is often missed, so this goes on until several
    searches in a row, a pause apart, find no other process.
    """
    killed: dict[int, str] = {}
    deadline = time.monotonic() + _SEARCH_S
    empty = 0
    while empty < _EMPTY_SEARCHES and time.monotonic() < deadline:
        if empty:
            time.sleep(pause_s)
        empty += 1
        for pid, command in _search(mark, but):
            if pid not in killed:
                empty = 0
            # A process that is ending has no command line any more; it was read before.
            killed[pid] = killed.get(pid) or command
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    wait_until_gone(killed, time.monotonic() + _DYING_S)
    return killed


def _search(mark: str, but: int) -> Iterator[tuple[int, str]]:
    """Each marked process, as soon as it is found; also those that are started meanwhile."""
    needle = f"\0{MARK_VARIABLE}={mark}".encode()
    seen = {but}
    for _ in range(_LISTINGS):
        try:
            pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        except OSError:
            return
        started = [pid for pid in pids if pid not in seen]
        if not started:
            return
        # The latest first: it may live only as long as it takes to start the next one.
        for pid in sorted(started, reverse=True):
            if needle in _read_environment(pid):
                yield pid, read_command_line(pid)
        seen.update(started)


def read_mark(pid: int) -> str:
    """The mark that a process carries; "" if it has none, or cannot be read."""
    _, _, rest = _read_environment(pid).partition(f"\0{MARK_VARIABLE}=".encode())
    return rest.partition(b"\0")[0].decode("utf-8", "replace")


def _has_other_mark(pid: int, run: str, mark: str) -> bool:
    """True if a process carries a mark of this run that does not begin with the given one."""
    environment = _read_environment(pid)
    is_ours = f"\0{MARK_VARIABLE}={run}".encode() in environment
    return is_ours and f"\0{MARK_VARIABLE}={mark}".encode() not in environment


def read_command_line(pid: int) -> str:
    """The command line of a process; "" if it has ended already."""
    raw = _read_proc_file(f"/proc/{pid}/cmdline").rstrip(b"\0")
    return raw.replace(b"\0", b" ").decode("utf-8", "backslashreplace")


def _read_environment(pid: int) -> bytes:
    """The variables of a process, each after a null byte."""
    return b"\0" + _read_proc_file(f"/proc/{pid}/environ")


def _read_proc_file(path: str) -> bytes:
    # Processes end while we look, and those of other users cannot be read. `open` would be
    # slower, and there may be many processes.
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


def wait_until_gone(pids: Iterable[int], deadline: float) -> None:
    """Wait until all of these have ended, or the deadline has come."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except (OSError, AttributeError):
            continue  # it has ended already, or this system has no handles to wait on
        try:
            wait_ready({handle: select.POLLIN}, deadline - time.monotonic())
        finally:
            os.close(handle)


# Orphans that became children of this process


def adopt_orphans() -> bool:
    """Become the parent of descendants that are orphaned from now on.

    False if that, or listing our children, is impossible, as on any system but Linux.
    """
    return _list_children() is not None and _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def follow_parent() -> None:
    """From now on, get a SIGTERM when our parent ends. No-op on any system but Linux."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def list_unknown_children(known: set[int]) -> list[int]:
    """The children of this process that are not among `known`."""
    return [pid for pid in _list_children() or () if pid not in known]


def kill_orphans(known: set[int]) -> dict[int, str]:
    """Kill and reap every child of ours that is not known: ids and command lines."""
    found: dict[int, str] = {}
    deadline = time.monotonic() + _SEARCH_S
    empty = 0
    while empty < _EMPTY_SEARCHES and time.monotonic() < deadline:
        orphans = list_unknown_children(known)
        empty = 0 if orphans else empty + 1
        for pid in orphans:
            found[pid] = found.get(pid) or read_command_line(pid)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        wait_until_gone(orphans, time.monotonic() + _DYING_S)
        for pid in orphans:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    return {pid: command for pid, command in found.items() if command}


def _list_children() -> list[int] | None:
    """The children of this process; None where the system does not list them."""
    text = b""
    try:
        for thread in os.listdir("/proc/self/task"):
            try:
                with open(f"/proc/self/task/{thread}/children", "rb", buffering=0) as file:
                    text += file.read()
            except OSError:
                # Other threads may end meanwhile; the main thread does not.
                if int(thread) == os.getpid():
                    raise
    except OSError:
        return None
    return [int(pid) for pid in text.split()]


def _prctl(option: int, value: int) -> bool:
    """Call the function of this name of the system; False if it fails or does not exist."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        return _find_prctl()(option, value, 0, 0, 0) == 0
    return False


def _find_prctl() -> Callable[..., object]:
    try:
        # The innermost part of `ctypes` is enough for numbers; the rest of it takes a thirtieth
        # of a run of one test to import.
        from _ctypes import call_function, dlopen, dlsym  # noqa: PLC0415

        address = dlsym(dlopen(None, 0), "prctl")  # type: ignore[arg-type]  # None is this program
    except (ImportError, TypeError, OSError):
        # These names are private, so there is a fallback.
        import ctypes  # noqa: PLC0415

        return ctypes.CDLL(None).prctl
    return lambda *numbers: call_function(address, numbers)
