"""Files that are replaced whole or not at all, alone or several together."""

from __future__ import annotations

import contextlib
import os
import stat
from itertools import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["put_in_place", "replace_file", "replace_files"]


def replace_file(path: str, raw: bytes) -> None:
    """Put a whole file in the place of another one, or of none. `path` is no link."""
    replace_files({path: raw})


def replace_files(contents: Mapping[str, bytes]) -> None:
    """The same for several files: all are in their places, or all are as they were.

    The OSError names the file that could not be written.
    """
    staged: dict[str, str] = {}
    try:
        for path, raw in contents.items():
            with _blamed_on(path):
                staged[path], fd = _opened_beside(path)
                _fill(fd, raw)
        _place(staged)
    finally:
        for temporary in staged.values():
            _drop(temporary)


def put_in_place(temporary: str, path: str) -> None:
    """Let a file that is whole take the place of another one, with the mode of that one."""
    with contextlib.suppress(FileNotFoundError):
        os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
    os.replace(temporary, path)


def _opened_beside(path: str) -> tuple[str, int]:
    """A new file beside `path`: its name and descriptor. Nothing that is there is touched."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    number = 1
    while True:
        name = _name_beside(path, "tmp", number)
        try:
            return name, os.open(name, flags, 0o666)
        except FileExistsError:
            number += 1


def _fill(fd: int, raw: bytes) -> None:
    with open(fd, "wb") as target:
        target.write(raw)
        target.flush()
        os.fsync(target.fileno())


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
    return f"{path}.{mark}.{ending}"


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
