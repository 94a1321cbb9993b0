"""End a server: close stdin, wait, TERM to the group, wait, KILL. Leave nobody behind."""

from __future__ import annotations

import signal
import time

from mcptest.core.record import Record
from mcptest.transport.process.orphans import (
    belongs_elsewhere,
    kill_marked,
    list_marked,
    wait_until_gone,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from mcptest.transport.stdio import StdioServer

    Rung = Literal["exited", "stdin", "term", "kill", "at_once", "closed"]

__all__ = ["Grace", "Stopped", "describe_end", "describe_exit", "stop"]


class Grace(Record):
    """How long each rung of the ladder waits for the process to end."""

    stdin_s: float = 2.0
    term_s: float = 2.0
    kill_s: float = 5.0
    linger_s: float = 0.2


class Stopped(Record):
    """How a server ended: the rung that did it, its status, and whom it left behind.

    Some of `left_behind` may be of `suspects` instead, those that are `unmarked`.
    """

    rung: Rung
    exit_code: int | None
    took_s: float
    left_behind: dict[int, str]
    unmarked: frozenset[int] = frozenset()
    suspects: tuple[str, ...] = ()


def stop(server: StdioServer, grace: Grace, *, at_once: bool = False) -> Stopped:
    """Down the ladder until the process has ended; then end whatever it started."""
    began = time.monotonic()
    rung = "exited" if server.has_exited else _descend(server, grace, at_once)
    # The leader has ended but is not reaped: its id cannot have been given to another
    # group yet, so these kills hit what it left behind and nobody else.
    left_behind, unmarked = _clear(server, grace)
    server.signal_group(signal.SIGKILL)
    server.reap()
    took_s = time.monotonic() - began
    exit_code = server.exit_code()
    if server.guardian.has_killed_all and exit_code == -signal.SIGKILL:
        # A second Ctrl-C did it, on whatever rung it came.
        rung = "at_once"
    return Stopped(
        rung=rung,
        exit_code=exit_code,
        took_s=took_s,
        left_behind=left_behind,
        unmarked=unmarked,
        suspects=tuple(sorted(server.guardian.suspects)),
    )


def _descend(server: StdioServer, grace: Grace, at_once: bool) -> Rung:
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


def _clear(server: StdioServer, grace: Grace) -> tuple[dict[int, str], frozenset[int]]:
    """Kill whom the server left behind; who they were, and who of them has not its mark."""
    # The child of a launcher often ends a moment after it: only who stays is left behind.
    guardian = server.guardian
    orphans = guardian.list_orphans()
    if guardian.adopts_orphans and server.has_exited and not orphans:
        # Whom the process left behind has become our child the moment it ended.
        return {}, frozenset()
    # Somebody else's are nobody's business here: another server, or a hook, is still using them.
    others = {pid for pid in orphans if belongs_elsewhere(pid, guardian.mark, server.mark)}
    leaving = [*list_marked(server.mark, but=server.pid), *(set(orphans) - others)]
    if not leaving:
        return {}, frozenset()
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
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def describe_end(code: int) -> str:
    """The same of a process that has ended, as the end of a sentence about it."""
    return f"was {describe_exit(code)}" if code < 0 else f"ended with {describe_exit(code)}"
