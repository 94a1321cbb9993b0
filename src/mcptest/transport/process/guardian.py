"""One small process per run that kills the servers if this process is killed.

When this process is killed with -9 it cannot end the servers it started. The guardian can: it
reads from a pipe which process groups start and end, and when the pipe closes before the run has
said that all is cleaned up, it kills what is left.

The guardian is a shell, which costs a millisecond. A fork of this process would cost six, because
each page of memory is then copied before it is changed; it is used where there is no shell.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

from mcptest.transport.process.child import open_null, spawn
from mcptest.transport.process.stopping import (
    MARK_VARIABLE,
    STARTING_S,
    adopt_orphans,
    kill_marked,
    kill_orphans,
    list_unknown_children,
    wait_until_gone,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["Guardian", "NoGuardian", "NoInterrupts", "make_guardian"]


_SHELL = "/bin/sh"

# Reads `+12` when group 12 starts, `-12` when it has ended, and `.` when all is cleaned up. Without
# the last it kills the groups that are left, and executes the command that finds marked processes.
_GUARD = r"""
trap '' INT TERM HUP PIPE
groups=' '
while read -r word; do
    group=${word#[-+]}
    case $word in
        .) exit 0 ;;
        +*) groups="$groups$group " ;;
        -*) groups="${groups%% $group *} ${groups#* $group }" ;;
    esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
exec "$@"
"""
_SWEEP = """
import sys
sys.path.insert(0, sys.argv[1])
from mcptest.transport.process.stopping import STARTING_S, kill_marked
kill_marked(sys.argv[2], pause_s=STARTING_S)
"""
_PACKAGES = os.path.abspath(__file__).rsplit(os.sep, 4)[0]

_ALL_CLEAN = b".\n"

# How long the guardian may take to kill what is left.
_END_S = 5.0


class Guardian:
    """The guardian of a run, and the process groups it knows to be alive."""

    def __init__(self, *, adopts_orphans: bool = False) -> None:
        self.mark = _make_mark()
        self.groups: set[int] = set()
        # True if all of them were killed, so that their exit status says nothing about them.
        self.has_killed_all = False
        # Names of other programs that were started: an orphan without our mark may be of any of
        # them, or of a server.
        self.suspects: set[str] = set()
        self._servers = 0
        # Only if all our children are known: a shell that became us by `exec` may have left us
        # its own.
        self._may_adopt = adopts_orphans and not list_unknown_children(set())
        # True if orphaned descendants are re-parented to this process, so /proc need not be
        # searched.
        self.adopts_orphans = False
        reader, self._writer = os.pipe()
        self._pid = _start_guard(reader, self.mark)
        os.close(reader)

    def next_mark(self) -> str:
        """The mark for the environment of the next server."""
        self._servers += 1
        if self._may_adopt and self._servers == 1:
            # Before it is started: it may leave a process behind at once.
            self.adopts_orphans = adopt_orphans()
        return f"{self.mark}{self._servers}/"

    def watch(self, group: int) -> None:
        self.groups.add(group)
        self._send(f"+{group}\n".encode())

    def list_orphans(self) -> list[int]:
        """Orphans of servers that became our children."""
        return list_unknown_children({self._pid, *self.groups}) if self.adopts_orphans else []

    def kill_orphans(self, but: set[int]) -> dict[int, str]:
        return kill_orphans({self._pid, *self.groups, *but}) if self.adopts_orphans else {}

    def release(self, group: int) -> None:
        self.groups.discard(group)
        self._send(f"-{group}\n".encode())

    def let_go(self) -> None:
        """In a fork of this process: close the pipe, so that the guardian sees the original end."""
        os.close(self._writer)

    def kill_all(self) -> None:
        """Kill every group at once."""
        self.has_killed_all = True
        for group in tuple(self.groups):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)

    def dismiss(self) -> None:
        """End the guardian: all is cleaned up."""
        self._send(_ALL_CLEAN if not self.groups else b"")
        os.close(self._writer)
        wait_until_gone([self._pid], time.monotonic() + _END_S)
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            # Not reaped yet, so this can hit only the guardian, should it be stuck.
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)

    def _send(self, words: bytes) -> None:
        # A guardian that was killed must not end the run.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._writer, words)


def _make_mark() -> str:
    # A run inside a server of another run is found by the other run's mark as well.
    above = os.environ.get(MARK_VARIABLE, "")
    return f"{above}{os.getpid()}-{os.urandom(8).hex()}/"


def _start_guard(reader: int, mark: str) -> int:
    """Start the guardian, which reads from the pipe; its process id."""
    sweep = (sys.executable or "", "-P", "-S", "-c", _SWEEP, _PACKAGES, mark)
    null = open_null()
    try:
        command = (_SHELL, "-c", _GUARD, "mcptest-guardian", *sweep)
        return spawn(command, os.environ, (reader, null, null))
    except OSError:
        return _fork_guard(reader, mark)
    finally:
        os.close(null)


def _fork_guard(reader: int, mark: str) -> int:
    """The same without a shell. Must be called before any thread is started."""
    pid = os.fork()
    if pid == 0:
        _guard(reader, mark)
    return pid


def _guard(reader: int, mark: str) -> NoReturn:
    """The forked guardian from start to end. It never returns into the code it was forked from."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        # The readers of our output must see its end when we end, not when the guardian does.
        null = open_null()
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.closerange(3, reader)
        os.closerange(reader + 1, 65536)
        groups: set[int] = set()
        line = b""
        with open(reader, "rb") as lines:
            for line in lines:
                if line != _ALL_CLEAN:
                    (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
        if line != _ALL_CLEAN:
            for group in groups:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)
            kill_marked(mark, but=os.getpid(), pause_s=STARTING_S)
    finally:
        os._exit(0)


# Stand-ins for programs other than a run, such as one that uses the SDK: it handles signals itself,
# and may have threads, beside which it must not be forked.


class NoInterrupts:
    """No signals are counted: they raise where the program waits."""

    fd = -1
    count = 0
    stopped_s = 0.0


class NoGuardian:
    """No process outlives us; a server sees the end of its input when we end in any way."""

    adopts_orphans = False
    has_killed_all = False

    def __init__(self) -> None:
        self.mark = _make_mark()
        self.suspects: set[str] = set()

    def next_mark(self) -> str:
        return f"{self.mark}1/"

    def watch(self, group: int) -> None:
        """No-op: there is no guardian to notify."""

    def release(self, group: int) -> None:
        """No-op: there is no guardian to notify."""

    def list_orphans(self) -> list[int]:
        return []

    def kill_orphans(self, but: set[int]) -> dict[int, str]:
        return {}

    def dismiss(self) -> None:
        """No-op: there is no guardian to end."""


def make_guardian() -> Guardian | NoGuardian:
    """A guardian for this process, unless it has threads and must not be forked."""
    return NoGuardian() if _has_threads() else Guardian()


def _has_threads() -> bool:
    try:
        # Threads of libraries, which Python does not know, count as well.
        return len(os.listdir("/proc/self/task")) > 1
    except OSError:
        import threading  # noqa: PLC0415  # a plain run never asks

        return threading.active_count() > 1
