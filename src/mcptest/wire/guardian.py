"""One small process per run that outlives us by a moment and cleans up.

When this process is killed with -9 it can do nothing for the servers it
started. The guardian can: it holds one end of a pipe, is told each process
group as it comes and goes, and when the pipe closes without a goodbye it kills
what is left.

It is a shell, which costs us a millisecond. A copy of this process would cost six: from then on
each page of memory is copied before it is changed. Where there is no shell it is a copy all the
same (`mcptest.wire.forked_guard`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

from mcptest.wire.child import spawn
from mcptest.wire.null_device import open_null
from mcptest.wire.orphans import adopt_orphans, kill_orphans, list_strangers
from mcptest.wire.sweep import MARK_VARIABLE, wait_until_gone

__all__ = ["Guardian"]

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
from mcptest.wire.sweep import STARTING_S, kill_marked
kill_marked(sys.argv[2], pause_s=STARTING_S)
"""
_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

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
        self._may_adopt = adopts_orphans and not list_strangers(set())
        # Whether whoever is left behind comes to us: then nobody need be looked for elsewhere.
        self.adopts_orphans = False
        reader, self._writer = os.pipe()
        self._pid = _posted(reader, self.mark)
        os.close(reader)

    def next_mark(self) -> str:
        """The mark of the next server; see `mcptest.wire.sweep`."""
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
        return list_strangers({self._pid, *self.groups}) if self.adopts_orphans else []

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
        from mcptest.wire.forked_guard import fork_guard  # noqa: PLC0415  # seldom needed

        return fork_guard(reader, mark, _GOODBYE)
    finally:
        os.close(nowhere)
