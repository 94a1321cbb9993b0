"""One small process per run that outlives us by a moment and cleans up.

When this process is killed with -9 it can do nothing for the servers it
started. The guardian can: it holds one end of a pipe, is told each process
group as it comes and goes, and when the pipe closes without a goodbye it kills
what is left. It is forked, not started, so it costs about a millisecond; that
must happen before any thread is started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from mcptest.wire.orphans import adopt_orphans, kill_orphans, list_strangers
from mcptest.wire.sweep import MARK_VARIABLE, kill_marked, wait_until_gone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["Guardian"]

_GOODBYE = b"."

# How long the guardian may take to kill what is left; it has little to do.
_FAREWELL_S = 5.0


class Guardian:
    """Knows every process group that is alive, and so does its other half."""

    def __init__(self, *, adopts_orphans: bool = False) -> None:
        # A run inside a server of another run is found by the other run's mark as well.
        above = os.environ.get(MARK_VARIABLE, "")
        self.mark = f"{above}{os.getpid()}-{os.urandom(8).hex()}/"
        self.groups: set[int] = set()
        # Who else was started beside the servers: whom they leave behind, without our mark,
        # cannot be told from whom a server does.
        self.suspects: set[str] = set()
        self._servers = 0
        # Only a process whose children are all ours may call the others orphans; a shell that
        # became us by `exec` may have left us its own.
        self._may_adopt = adopts_orphans and not list_strangers(set())
        # Whether whoever is left behind comes to us: then nobody need be looked for elsewhere.
        self.adopts_orphans = False
        reader, writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _stand_guard(reader, self.mark)
        os.close(reader)
        self._writer = writer

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


def _stand_guard(reader: int, mark: str) -> NoReturn:
    """The guardian's whole life. It shares our memory image, so it never returns into it."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        _let_go_of_everything_but(reader)
        heard = _listen(reader)
        if not heard.endswith(_GOODBYE):
            _clean_up(heard, mark)
    finally:
        os._exit(0)


def _let_go_of_everything_but(reader: int) -> None:
    # Whoever reads our output must see its end when we end, not when the guardian does.
    null = os.open(os.devnull, os.O_RDWR)
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
    kill_marked(mark, but=os.getpid())
