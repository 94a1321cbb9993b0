"""Signal handling until a run installs its own: those that end it raise KeyboardInterrupt.

While the commands are being imported, Ctrl-C exits at once. Afterwards it raises KeyboardInterrupt.
Python drops exceptions that are raised while it finalizes an object, which happens often during
imports, so signals are also remembered and raised again by `without_gc`.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["exit_on_interrupt", "ignore_signals", "interrupt_on_signals", "without_gc"]

if sys.platform == "win32":
    _TERMINATING = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
else:
    _TERMINATING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_received: list[int] = []


def exit_on_interrupt() -> None:
    """Let Ctrl-C exit this process at once, until `interrupt_on_signals` is called."""
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit)


def _exit(number: int, frame: FrameType | None) -> None:
    os._exit(130)


def interrupt_on_signals() -> None:
    """Raise KeyboardInterrupt on signals, except those that the parent ignores or handles."""
    _received.clear()
    for number in _TERMINATING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler, _exit):
            signal.signal(number, _interrupt)
    if sys.platform != "win32" and signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        # Inherited from the parent; with SIGCHLD ignored, exit statuses of children are lost.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt


def ignore_signals() -> None:
    """Ignore further signals: the command is done."""
    for number in _TERMINATING:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def without_gc() -> Iterator[None]:
    """Pause the garbage collector: importing and loading create many objects and no garbage.

    Raises KeyboardInterrupt at the end if a signal arrived, in case Python dropped the exception.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
    if _received:
        raise KeyboardInterrupt
