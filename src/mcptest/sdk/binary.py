"""Which program is the mcptest binary, and what it is handed when it is started."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys

from mcptest.core.text import visible
from mcptest.sdk.errors import BinaryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["binary_command", "handed_over"]


def binary_command() -> tuple[str, ...]:
    """The mcptest binary: what MCPTEST_BIN names, else the one of this very interpreter."""
    named = os.environ.get("MCPTEST_BIN", "").strip()
    if not named:
        # Not what happens to be called so in the folder where this is started.
        return (sys.executable, "-P", "-m", "mcptest")
    if os.path.exists(named):
        # One path may hold spaces; a command of several words is split.
        return (os.path.abspath(named) if os.sep in named else named,)
    try:
        return tuple(shlex.split(named))
    except ValueError as error:
        raise BinaryError(f"MCPTEST_BIN cannot be split into words: {error}") from None


@contextlib.contextmanager
def handed_over(text: str) -> Iterator[str]:
    """A path at which the binary can read this while it starts. Nobody else can."""
    raw = text.encode("utf-8", "surrogateescape")
    fd = _memory_with(raw)
    if fd >= 0:
        # No file: whatever ends us, nothing stays on a disc.
        try:
            yield _path_of(fd)
        finally:
            os.close(fd)
        return
    path = _written(raw)
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _memory_with(raw: bytes) -> int:
    """A descriptor of memory that has a path and holds this; -1 where there is no such thing."""
    if not hasattr(os, "memfd_create"):
        return -1
    fd = os.memfd_create("mcptest")
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(raw)
        if os.path.samestat(os.stat(_path_of(fd)), os.fstat(fd)):
            return fd
    except OSError:
        pass
    os.close(fd)
    return -1


def _path_of(fd: int) -> str:
    return f"/proc/{os.getpid()}/fd/{fd}"


def _written(raw: bytes) -> str:
    folder = os.environ.get("TMPDIR") or "/tmp"
    path = os.path.join(folder, f"mcptest-{os.urandom(12).hex()}.json")
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(fd, "wb") as file:
            file.write(raw)
    except OSError as error:
        message = f"what the server is started with cannot be written to {visible(folder)}"
        raise BinaryError(f"{message}: {error.strerror}; set TMPDIR to another folder") from None
    return path
