"""Files that are replaced whole or not at all, alone or several together."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from itertools import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "PATIENCE_S",
    "locked",
    "open_beside",
    "put_in_place",
    "remove_leftovers",
    "replace_file",
    "replace_files",
]


def replace_file(path: str, raw: bytes) -> None:
    """Put a whole file in the place of another one, or of none. `path` is no link."""
    replace_files({path: raw})


def replace_files(contents: Mapping[str, bytes]) -> None:
    """The same for several files: all are in their places, or all are as they were.

    The OSError names the file that could not be written.
    """
    staged: dict[str, tuple[str, int]] = {}
    try:
        for path, raw in contents.items():
            with _blamed_on(path):
                staged[path] = open_beside(path)
                _fill(staged[path][1], raw)
        _place({path: temporary for path, (temporary, _) in staged.items()})
    finally:
        for temporary, fd in staged.values():
            _drop(temporary)
            os.close(fd)


def put_in_place(temporary: str, path: str) -> None:
    """Let a file that is whole take the place of another one, with the mode of that one."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
        # A link is replaced like a file, but its mode means nothing.
        if stat.S_ISREG(mode):
            os.chmod(temporary, stat.S_IMODE(mode))
    os.replace(temporary, path)


def open_beside(path: str, *, cleans: bool = True) -> tuple[str, int]:
    """Create a temporary file beside `path`; its name and descriptor.

    Those that killed processes left for the same path are removed first, if `cleans`. Keep the
    descriptor open until the file is in its place: its lock tells others that it is in use.
    """
    if cleans:
        remove_leftovers(*os.path.split(path))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    number = 1
    while True:
        name = _name_beside(path, "tmp", number)
        number += 1
        try:
            fd = os.open(name, flags, 0o666)
        except FileExistsError:
            continue
        if _lock_new(fd):
            return name, fd
        os.close(fd)


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
        fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(fd)
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                # An OSError here: it is in use, or the file system has no locks to tell.
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(status, os.lstat(path)):
                    os.unlink(path)
        finally:
            os.close(fd)


def _lock_new(fd: int) -> bool:
    """Mark a new file as in use; False if another process removed it before that."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # Without locks no other process removes it either.
        return True
    return os.fstat(fd).st_nlink > 0


def _fill(fd: int, raw: bytes) -> None:
    with open(fd, "wb", closefd=False) as target:
        target.write(raw)
        target.flush()
        os.fsync(fd)


def _place(staged: Mapping[str, str]) -> None:
    # A file that is the last one to be replaced never has to come back.
    last = list(staged)[-1] if staged else ""
    moved: list[tuple[str, str]] = []
    try:
        for path, temporary in staged.items():
            with _blamed_on(path):
                if path != last:
                    moved.append((path, _set_aside(path)))
                put_in_place(temporary, path)
    except BaseException:
        for path, aside in reversed(moved):
            _bring_back(path, aside)
        raise
    for _, aside in moved:
        _drop(aside)


def _set_aside(path: str) -> str:
    """Keep what is at `path` under another name; "" when nothing is there."""
    free = (_name_beside(path, "old", number) for number in count(1))
    aside = next(name for name in free if not os.path.lexists(name))
    try:
        # A second name, so that the file is never missing.
        os.link(path, aside)
    except FileNotFoundError:
        return ""
    except OSError:
        # Not every file system has them.
        os.replace(path, aside)
    return aside


def _bring_back(path: str, aside: str) -> None:
    with contextlib.suppress(OSError):
        if aside:
            os.replace(aside, path)
            # Two names of one file are both left where they are.
            _drop(aside)
        else:
            os.unlink(path)


def _name_beside(path: str, ending: str, number: int) -> str:
    mark = f"{os.getpid()}" if number == 1 else f"{os.getpid()}-{number}"
    return f"{path}.mcptest-{mark}.{ending}"


def _drop(path: str) -> None:
    if path:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@contextlib.contextmanager
def _blamed_on(path: str) -> Iterator[None]:
    """An OSError from in here is about `path`, whatever file was touched for it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


# Have a folder for oneself while several files of it are read and written anew.


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
