"""Replace files whole or not at all, and lock a folder."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import time

from mcptest.core.errors import InterruptedRunError
from mcptest.transport import OPEN_FLAGS

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.transport.process.signals import Interrupts

__all__ = [
    "PATIENCE_S",
    "locked",
    "open_beside",
    "put_in_place",
    "remove_leftovers",
    "replace_file",
]

# A process that has a folder locked reads and writes a few small files; one that takes longer
# is stuck.
PATIENCE_S = 10.0
_PAUSE_S = 0.02

# On Windows a file that another program has open cannot be replaced; virus scanners and editors
# have it for a moment.
_REPLACE_S = 2.0

# On Windows a temporary file is not open when it is put in its place. One that is younger may be
# in use.
_ABANDONED_S = 60.0


def replace_file(path: str, raw: bytes, *, mode: int = 0o666) -> None:
    """Write a whole file, or leave what is there as it was. `path` is not a link.

    A new file gets `mode`, less the umask. An OSError names `path`, not the temporary file.
    """
    temporary, fd = "", -1
    try:
        temporary, fd = open_beside(path, mode=mode)
        with open(fd, "wb", closefd=False) as target:
            target.write(raw)
            target.flush()
            os.fsync(fd)
        put_in_place(temporary, fd, path)
        fd = -1
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)
        if temporary:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)


def put_in_place(temporary: str, fd: int, path: str) -> None:
    """Replace `path` by a complete file, which gets the mode of the old one; close the file."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
        # A link is replaced like a file, but its mode means nothing.
        if stat.S_ISREG(mode):
            os.chmod(temporary, stat.S_IMODE(mode))
    if sys.platform == "win32":
        # An open file cannot be renamed there.
        os.close(fd)
        _replace_patiently(temporary, path)
    else:
        os.replace(temporary, path)
        os.close(fd)


def _replace_patiently(temporary: str, path: str) -> None:
    """Replace `path` as soon as no other program has it open; PermissionError if that lasts."""
    deadline = time.monotonic() + _REPLACE_S
    while True:
        try:
            os.replace(temporary, path)
        except PermissionError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_PAUSE_S)
        else:
            return


def open_beside(path: str, *, cleans: bool = True, mode: int = 0o666) -> tuple[str, int]:
    """Create a temporary file beside `path`; its name and descriptor.

    Those that killed processes left for the same path are removed first, if `cleans`. Keep the
    descriptor open until the file is in its place: its lock shows others that it is in use.
    """
    if cleans:
        remove_leftovers(*os.path.split(path))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_FLAGS
    number = 1
    while True:
        name = f"{path}.mcptest-{os.getpid()}{f'-{number}' if number > 1 else ''}.tmp"
        number += 1
        try:
            fd = os.open(name, flags, mode)
        except FileExistsError:
            continue
        # Another process may have removed it before it was locked.
        if _try_lock(fd) and os.fstat(fd).st_nlink > 0:
            return name, fd
        os.close(fd)


def _try_lock(fd: int) -> bool:
    """Lock a file or folder; False if another process has. No-op on systems without locks."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        is_taken = PermissionError if sys.platform == "win32" else BlockingIOError
        return not isinstance(error, is_taken)
    return True


def remove_leftovers(folder: str, name: str = "") -> None:
    """Remove the temporary files that killed processes left for a file, "" for all in a folder."""
    pattern = re.compile(rf"{re.escape(name) or '.+'}\.mcptest-\d+(?:-\d+)?\.tmp")
    with contextlib.suppress(OSError):
        for each in os.listdir(folder or "."):
            if pattern.fullmatch(each):
                _remove_abandoned(os.path.join(folder, each))


def _remove_abandoned(path: str) -> None:
    """Remove a temporary file, unless a process still has it or it is not one of ours."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            # A file that a process has open cannot be removed there.
            if time.time() - os.stat(path).st_mtime > _ABANDONED_S:
                os.unlink(path)
        else:
            fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                status = os.fstat(fd)
                if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                    # An OSError here: it is in use, or the file system has no locks.
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if os.path.samestat(status, os.lstat(path)):
                        os.unlink(path)
            finally:
                os.close(fd)


@contextlib.contextmanager
def locked(folder: str, patience_s: float, interrupts: Interrupts | None = None) -> Iterator[None]:
    """Lock a folder against other callers of this function; TimeoutError if it stays locked.

    InterruptedRunError if a signal comes first, where signals are counted.

    The lock is on the folder itself: it leaves no file, and ends with its process. On a file
    system without locks this is a no-op.
    """
    fd = _open_for_lock(folder)
    try:
        deadline = time.monotonic() + patience_s
        while not _try_lock(fd):
            if interrupts and interrupts.count:
                raise InterruptedRunError
            if time.monotonic() >= deadline:
                raise TimeoutError
            time.sleep(_PAUSE_S)
        yield
    finally:
        os.close(fd)


def _open_for_lock(folder: str) -> int:
    if sys.platform == "win32":
        # A folder cannot be locked there, so a temporary file is locked instead.
        import hashlib  # noqa: PLC0415  # only there
        import tempfile  # noqa: PLC0415  # only there

        name = os.path.normcase(os.path.realpath(folder))
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        path = os.path.join(tempfile.gettempdir(), f"mcptest-{digest}.lock")
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_BINARY | os.O_NOINHERIT)
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
