"""Do without the garbage collector where it could only lose time."""

from __future__ import annotations

import gc
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """Modules and plans are many objects and no garbage: nobody looks for some meanwhile."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
