"""The null device, also where there is none: in a bare chroot or container without /dev."""

from __future__ import annotations

import os

__all__ = ["open_null"]


def open_null() -> int:
    """A descriptor that can be read from, where there is nothing, and written to."""
    try:
        return os.open(os.devnull, os.O_RDWR)
    except (FileNotFoundError, PermissionError):
        if not hasattr(os, "memfd_create"):
            raise
        # An empty file in memory. Very little is ever written to it.
        return os.memfd_create("mcptest-null")
