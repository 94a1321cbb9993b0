"""Run the real command on a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
from typing import TYPE_CHECKING

from console import ENVIRONMENT, PATIENCE_S, Ended

if TYPE_CHECKING:
    from pathlib import Path


def on_terminal(
    folder: Path,
    *words: str,
    columns: int = 0,
    stdin: bool = False,
    stderr: bool = True,
    environment: dict[str, str] | None = None,
) -> Ended:
    """The command with standard output, and by default standard error, on a terminal.

    `out` is what the terminal shows.
    """
    ours, theirs = os.openpty()
    if columns:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "mcptest", *words],
        cwd=folder,
        env=ENVIRONMENT | {"TERM": "xterm"} | (environment or {}),
        stdin=theirs if stdin else subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs if stderr else subprocess.DEVNULL,
    )
    os.close(theirs)
    shown = b""
    try:
        while select.select([ours], [], [], PATIENCE_S)[0]:
            try:
                shown += os.read(ours, 65536)
            except OSError:
                # This is how a terminal reports that its other end was closed.
                break
        code = process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return Ended(code, shown.decode("utf-8").replace("\r\n", "\n"), "")
