"""What servers of a run are started with, and what a step with one of them brings."""

from __future__ import annotations

from contextlib import contextmanager

from mcptest.core.record import Record
from mcptest.wire.guardian import Guardian
from mcptest.wire.stopping import Grace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.core.outcome import LogWish
    from mcptest.plugins.desk import PluginDesk
    from mcptest.wire.interrupts import Interrupts
    from mcptest.wire.memory_target import MemoryTarget

__all__ = ["Launcher", "Reply", "launching"]


class Launcher(Record):
    """What every server of a run is started with."""

    guardian: Guardian
    interrupts: Interrupts
    grace: Grace = Grace()
    keeps_traffic: bool = False
    judges: bool = False
    keeps_log: LogWish = ""
    while_waiting: Callable[[], None] | None = None
    # An object in our own process, in the place of every server of the run.
    memory: MemoryTarget | None = None


@contextmanager
def launching(
    interrupts: Interrupts, plugins: PluginDesk | None, **wishes: Any
) -> Iterator[Launcher]:
    """What a run of this process starts servers and plugins with; at the end, nothing is left.

    A second signal kills every server. `wishes` are fields of `Launcher`.
    """
    guardian = Guardian(adopts_orphans=True)
    interrupts.on_second = guardian.kill_all
    if plugins:
        plugins.open(guardian, interrupts)
    try:
        yield Launcher(guardian=guardian, interrupts=interrupts, judges=True, **wishes)
    finally:
        if plugins:
            plugins.close()
        guardian.dismiss()


class Reply(Record):
    """What a step brought: the answer (ABSENT when none was awaited), its time, stderr.

    `unfinished` says why the answer is not the end of the call, and "" where it is.
    """

    message: Any
    elapsed_s: float
    stderr: str
    stderr_mark: int = 0
    size: int = 0
    exit_code: int | None = None
    notifications: tuple[Any, ...] = ()
    unfinished: str = ""
