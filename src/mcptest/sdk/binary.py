"""Which program is the mcptest binary, and what it is handed when it is started."""

from __future__ import annotations

import os
import shlex
import sys

from mcptest.core.visible import visible
from mcptest.sdk.errors import BinaryError

__all__ = ["binary_command", "write_privately"]


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


def write_privately(text: str) -> str:
    """A file for the binary, which reads it before it says anything. Only we can read it."""
    folder = os.environ.get("TMPDIR") or "/tmp"
    path = os.path.join(folder, f"mcptest-{os.urandom(12).hex()}.json")
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
    except OSError as error:
        message = f"what the server is started with cannot be written to {visible(folder)}"
        raise BinaryError(f"{message}: {error.strerror}; set TMPDIR to another folder") from None
    return path
