"""One small process per run that outlives us by a moment and cleans up.

When this process is killed with -9 it can do nothing for the servers it
started. The guardian can: it holds one end of a pipe, is told each process
group as it comes and goes, and when the pipe closes without a goodbye it kills
what is left.

It is a shell, which costs us a millisecond. A copy of this process would cost six: from then on
each page of memory is copied before it is changed. Where there is no shell it is a copy all the
same (`mcptest.transport.process.guardian`).
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

# Reads `+12` when a group comes, `-12` when it goes, and `.` when all is cleaned up. Without that
# it kills the groups there are, and becomes whoever finds what has left them.
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

_GOODBYE = b".\n"

# How long the guardian may take to kill what is left; it has little to do.
_FAREWELL_S = 5.0


class Guardian:
    """Knows every process group that is alive, and so does its other half."""

    def __init__(self, *, adopts_orphans: bool = False) -> None:
        # A run inside a server of another run is found by the other run's mark as well.
        above = os.environ.get(MARK_VARIABLE, "")
        self.mark = f"{above}{os.getpid()}-{os.urandom(8).hex()}/"
        self.groups: set[int] = set()
        # Whether all of them were killed, and how they ended says nothing about them.
        self.has_killed_all = False
        # Who else was started beside the servers: whom they leave behind, without our mark,
        # cannot be told from whom a server does.
        self.suspects: set[str] = set()
        self._servers = 0
        # Only a process whose children are all ours may call the others orphans; a shell that
        # became us by `exec` may have left us its own.
        self._may_adopt = adopts_orphans and not list_unknown_children(set())
        # Whether whoever is left behind comes to us: then nobody need be looked for elsewhere.
        self.adopts_orphans = False
        reader, self._writer = os.pipe()
        self._pid = _posted(reader, self.mark)
        os.close(reader)

    def next_mark(self) -> str:
        """The mark of the next server; see `mcptest.transport.process.stopping`."""
        self._servers += 1
        if self._may_adopt and self._servers == 1:
            # Before it is started: the first thing it does may be to leave somebody behind.
            self.adopts_orphans = adopt_orphans()
        return f"{self.mark}{self._servers}/"

    def watch(self, group: int) -> None:
        self.groups.add(group)
        self._tell(f"+{group}\n".encode())

    def list_orphans(self) -> list[int]:
        """Processes that left every server we know, and came to us."""
        return list_unknown_children({self._pid, *self.groups}) if self.adopts_orphans else []

    def kill_orphans(self, but: set[int]) -> dict[int, str]:
        return kill_orphans({self._pid, *self.groups, *but}) if self.adopts_orphans else {}

    def release(self, group: int) -> None:
        self.groups.discard(group)
        self._tell(f"-{group}\n".encode())

    def let_go(self) -> None:
        """In a copy of this process: the guardian is the original's, and must see it end."""
        os.close(self._writer)

    def kill_all(self) -> None:
        """Kill every group now; the ladder is for those who have time."""
        self.has_killed_all = True
        for group in tuple(self.groups):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)

    def dismiss(self) -> None:
        """All is cleaned up: send the guardian home."""
        self._tell(_GOODBYE if not self.groups else b"")
        os.close(self._writer)
        wait_until_gone([self._pid], time.monotonic() + _FAREWELL_S)
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            # Not reaped yet, so this hits the guardian, should it be stuck, and nobody else.
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)

    def _tell(self, words: bytes) -> None:
        # A guardian that was killed must not take the run with it.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._writer, words)


def _posted(reader: int, mark: str) -> int:
    """The id of the guardian, which hears us at the other end of the pipe."""
    sweep = (sys.executable or "", "-P", "-S", "-c", _SWEEP, _PACKAGES, mark)
    nowhere = open_null()
    try:
        command = (_SHELL, "-c", _GUARD, "mcptest-guardian", *sweep)
        return spawn(command, os.environ, (reader, nowhere, nowhere))
    except OSError:
        return fork_guard(reader, mark, _GOODBYE)
    finally:
        os.close(nowhere)


# The guardian where there is no shell: a copy of this process that never returns into it.
#
# It must be made before any thread is started.


def fork_guard(reader: int, mark: str, goodbye: bytes) -> int:
    """The id of the guardian, which hears us at the other end of the pipe."""
    pid = os.fork()
    if pid == 0:
        _stand_guard(reader, mark, goodbye)
    return pid


def _stand_guard(reader: int, mark: str, goodbye: bytes) -> NoReturn:
    """The guardian's whole life. It shares our memory image, so it never returns into it."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        _let_go_of_everything_but(reader)
        heard = _listen(reader)
        if not heard.endswith(goodbye):
            _clean_up(heard, mark)
    finally:
        os._exit(0)


def _let_go_of_everything_but(reader: int) -> None:
    # Whoever reads our output must see its end when we end, not when the guardian does.
    null = open_null()
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.closerange(3, reader)
    os.closerange(reader + 1, 65536)


def _listen(reader: int) -> bytes:
    heard = b""
    while chunk := os.read(reader, 65536):
        heard += chunk
        if len(heard) > 1_000_000:
            heard = _still_alive(heard)
    return heard


def _still_alive(heard: bytes) -> bytes:
    return b"".join(f"+{group}\n".encode() for group in sorted(_groups(heard)))


def _groups(heard: bytes) -> set[int]:
    groups: set[int] = set()
    for line in heard.split(b"\n"):
        if line[1:].isdigit():
            (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
    return groups


def _clean_up(heard: bytes, mark: str) -> None:
    for group in _groups(heard):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    kill_marked(mark, but=os.getpid(), pause_s=STARTING_S)


# What a peer is started with where there is no run around it: in a program of its own.
#
# A run has a guardian and listens to signals. A program that uses a plugin's host or the SDK has
# its own ways with signals, and may have threads, beside which nobody should be forked.


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


def make_guardian() -> Guardian | NoGuardian:
    """A guardian of our own, where one can be forked."""
    return NoGuardian() if _has_threads() else Guardian()


def _has_threads() -> bool:
    try:
        # Those of libraries, which Python does not know, count as well.
        return len(os.listdir("/proc/self/task")) > 1
    except OSError:
        import threading  # noqa: PLC0415  # a plain run never asks

        return threading.active_count() > 1
