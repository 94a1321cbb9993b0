"""Signals until a run takes over: they mean what Ctrl-C does, and none gets lost.

While the commands are being imported nothing has begun yet, and Ctrl-C ends us at once. Later it
raises KeyboardInterrupt. A handler that raises is not enough then: what is raised while Python
lets go of an object is dropped, and it does that all the time while it imports. So what was heard
is remembered as well.
"""

from __future__ import annotations

import gc
import os
import signal
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["ignore", "leave_on_interrupt", "listen", "uncollected"]


_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_heard: list[int] = []


def leave_on_interrupt() -> None:
    """Until `listen` is called, Ctrl-C ends this process at once."""
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(130)


def listen() -> None:
    """From now on they raise KeyboardInterrupt; those that somebody ignores or handles do not."""
    _heard.clear()
    for number in _ENDINGS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler, _leave):
            signal.signal(number, _interrupt)
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        # Whoever ignores the ends of children never learns how they ended; some who start us do.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _heard.append(number)
    raise KeyboardInterrupt


def heed() -> None:
    """Raise what was heard, should it have been dropped."""
    if _heard:
        raise KeyboardInterrupt


def ignore() -> None:
    """All is done and told: nothing can be interrupted any more."""
    for number in _ENDINGS:
        signal.signal(number, signal.SIG_IGN)


# Do without the garbage collector where it could only lose time.


@contextmanager
def uncollected() -> Iterator[None]:
    """Modules and plans are many objects and no garbage: nobody looks for some meanwhile.

    A signal that was dropped meanwhile is heeded afterwards.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
    heed()
