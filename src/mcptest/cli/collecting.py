"""Do without the garbage collector where it could only lose time."""

from __future__ import annotations

import gc
from contextlib import contextmanager

from mcptest.cli.early_signals import heed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["uncollected"]


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
