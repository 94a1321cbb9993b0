"""Have a folder for oneself while several files of it are read and written anew."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PATIENCE_S", "locked"]

# Whoever has the folder reads and writes a few small files; who takes longer is stuck.
PATIENCE_S = 10.0
_PAUSE_S = 0.02


@contextlib.contextmanager
def locked(folder: str, patience_s: float) -> Iterator[None]:
    """Nobody else who asks for the folder has it meanwhile. TimeoutError when it stays taken.

    The lock is on the folder itself: it leaves nothing behind, and ends with its process.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _wait_for(fd, time.monotonic() + patience_s)
        yield
    finally:
        os.close(fd)


def _wait_for(fd: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError from None
            time.sleep(_PAUSE_S)
        except OSError:
            # Not every file system knows locks; there it is as it would be without.
            return
        else:
            return
