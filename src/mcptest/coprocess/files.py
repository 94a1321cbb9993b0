"""Files that may be anything by the time they are opened: only regular ones are used.

A pipe in the place of a file would make us wait for ever, a device never end.
"""

from __future__ import annotations

import errno
import os

from mcptest.runner.discovery import open_regular, read_now

__all__ = ["open_regular", "read_regular", "why_not", "write_all"]

# More than any answer of a server, however it is written.
_MAX_BYTES = 1024 * 1024 * 1024


def read_regular(path: str) -> str:
    """The text of a regular file; OSError, or UnicodeDecodeError when it is not UTF-8."""
    fd = open_regular(path, os.O_RDONLY)
    with os.fdopen(fd, "rb") as file:
        raw = read_now(file, _MAX_BYTES + 1)
    if len(raw) > _MAX_BYTES:
        raise OSError(errno.EFBIG, "it is too large")
    return raw.decode("utf-8")


def write_all(fd: int, text: bytes) -> None:
    """Write all of it at the end of the file, or nothing: half of it must not stay."""
    start = os.fstat(fd).st_size
    view = memoryview(text)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError:
        # Unless somebody else has written meanwhile.
        if os.fstat(fd).st_size == start + len(text) - len(view):
            os.ftruncate(fd, start)
        raise


def why_not(error: Exception) -> str:
    """Why a file cannot be used, in words."""
    return getattr(error, "strerror", None) or str(error)
