"""What servers of a run are started with, and what a step with one of them brings."""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.wire.stopping import Grace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.core.outcome import LogWish
    from mcptest.wire.guardian import Guardian
    from mcptest.wire.interrupts import Interrupts
    from mcptest.wire.memory_target import MemoryTarget

__all__ = ["Launcher", "Reply"]


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
