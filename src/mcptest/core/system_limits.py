"""Errors that say that the system gives no more: open files, processes or memory."""

from __future__ import annotations

import errno

__all__ = ["hint_at_limit"]

_LIMITS = {
    errno.EMFILE: "raise the limit of open files (ulimit -n), or run less at once",
    errno.ENFILE: "the whole system has no more open files to give; end something else",
    errno.EAGAIN: "raise the limit of processes (ulimit -u), or run less at once",
    errno.ENOMEM: "raise the limit of memory (ulimit -v), or run less at once",
}


def hint_at_limit(error: BaseException) -> str:
    """What to do when the system gives no more files, processes or memory; "" for other errors."""
    if isinstance(error, MemoryError):
        return _LIMITS[errno.ENOMEM]
    return _LIMITS.get(error.errno or 0, "") if isinstance(error, OSError) else ""
