"""Files that may be anything by the time they are opened: only regular ones are used.

A pipe instead of a file would block for ever, and a device would never end.
"""

from __future__ import annotations

import errno
import os
import stat

from mcptest.core.text import visible
from mcptest.engine.discovery import open_regular, read_now

__all__ = ["read_regular", "resolve_inside", "resolve_target", "why_not", "write_all"]


# Which file a write goes to: symbolic links are followed only within a folder.
#
# A repository can contain links, so a link must not decide where this user's files are replaced.
# Every file that a command writes is resolved here first:
#
# * A path that the user named may pass through linked folders, which is the user's choice. If the
#   last part of it is a link, the link may lead only into the folder it is in, or below.
# * A path that mcptest makes up (`__snapshots__`, `.github/workflows`, `.mcptest`) may not leave
#   the folder it belongs to by any link.
#
# Devices and pipes are written to directly and nothing of them is replaced, so a link to one is
# followed. The links in /dev and /proc are the system's own.


_SYSTEM_FOLDERS = ("/dev", "/proc")


def resolve_target(path: str) -> str:
    """The real path of a file that the user named; OSError if a link leads out of its folder."""
    try:
        folder = os.path.realpath(os.path.dirname(path) or ".")
        target = os.path.realpath(path)
    except ValueError:
        raise OSError(errno.EINVAL, "no file can have this name") from None
    if (
        _is_within(target, folder)
        or any(_is_within(folder, each) for each in _SYSTEM_FOLDERS)
        or _is_device_or_pipe(path)
    ):
        return target
    raise _refusal(path, target, "its folder", "name that file itself, or remove the link")


def resolve_inside(path: str, folder: str) -> str:
    """The real path of a file that belongs below `folder`; OSError if a link leads out of it."""
    folder = folder or "."
    root = os.path.realpath(folder)
    below = os.path.relpath(path, folder)
    whole = below if folder == "." else os.path.join(folder, below)
    target = os.path.realpath(whole)
    if _is_within(target, root):
        return target
    link = whole
    while not _is_within(os.path.realpath(os.path.dirname(link) or "."), root):
        link = os.path.dirname(link)
    where = "this folder" if folder == "." else visible(folder)
    raise _refusal(link, os.path.realpath(link), where, "remove the link and run this again")


def _is_within(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


def _is_device_or_pipe(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISFIFO(mode)


def _refusal(link: str, target: str, folder: str, help: str) -> OSError:
    reason = f"the link {visible(link)} leads out of {folder}, to {visible(target)}; {help}"
    return OSError(errno.ELOOP, reason, link)


# Larger than any answer of a server.
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
    """Append all of the text to the file, or nothing."""
    start = os.fstat(fd).st_size
    view = memoryview(text)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError:
        # Unless another process has written meanwhile.
        if os.fstat(fd).st_size == start + len(text) - len(view):
            os.ftruncate(fd, start)
        raise


def why_not(error: Exception) -> str:
    """Why a file cannot be used, in words."""
    return getattr(error, "strerror", None) or str(error)
