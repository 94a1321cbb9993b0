"""The guardian where there is no shell: a copy of this process that never returns into it.

It must be made before any thread is started.
"""

from __future__ import annotations

import contextlib
import os
import signal

from mcptest.wire.null_device import open_null
from mcptest.wire.sweep import STARTING_S, kill_marked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["fork_guard"]


def fork_guard(reader: int, mark: str, goodbye: bytes) -> int:
    """The id of the guardian, which hears us at the other end of the pipe."""
    pid = os.fork()
    if pid == 0:
        _stand_guard(reader, mark, goodbye)
    return pid


def _stand_guard(reader: int, mark: str, goodbye: bytes) -> NoReturn:
    """The guardian's whole life. It shares our memory image, so it never returns into it."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        _let_go_of_everything_but(reader)
        heard = _listen(reader)
        if not heard.endswith(goodbye):
            _clean_up(heard, mark)
    finally:
        os._exit(0)


def _let_go_of_everything_but(reader: int) -> None:
    # Whoever reads our output must see its end when we end, not when the guardian does.
    null = open_null()
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.closerange(3, reader)
    os.closerange(reader + 1, 65536)


def _listen(reader: int) -> bytes:
    heard = b""
    while chunk := os.read(reader, 65536):
        heard += chunk
        if len(heard) > 1_000_000:
            heard = _still_alive(heard)
    return heard


def _still_alive(heard: bytes) -> bytes:
    return b"".join(f"+{group}\n".encode() for group in sorted(_groups(heard)))


def _groups(heard: bytes) -> set[int]:
    groups: set[int] = set()
    for line in heard.split(b"\n"):
        if line[1:].isdigit():
            (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
    return groups


def _clean_up(heard: bytes, mark: str) -> None:
    for group in _groups(heard):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    kill_marked(mark, but=os.getpid(), pause_s=STARTING_S)
