"""The file of a capture while it grows, and the moment it takes its place.

Exchanges are written beside the target as they come, so that a long session needs no memory.
At the end the rest is added, and the whole takes the place of the target at once. What is left
when we are killed lacks only its end: with `]}` added it is a capture.
"""

from __future__ import annotations

import contextlib
import os

from mcptest.core.strict_json import dump_json
from mcptest.core.text import printable_json

__all__ = ["Spool"]

_BUFFERED_BYTES = 1 << 18


class Spool:
    """One capture in the making; all but `abandon` may end in an OSError."""

    def __init__(self, target: str, part: str) -> None:
        self.target = target
        self._part = part
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(part, flags, 0o600)
        self._pending = bytearray()
        self._count = 0
        # Up to here the file holds whole exchanges.
        self._sound_bytes = 0

    def begin(self, members: dict[str, object]) -> None:
        """What is known of the session before its exchanges."""
        self._pending += _encoded(members)[:-1] + b',"exchanges":['

    def append(self, exchange: dict[str, object]) -> None:
        """One exchange more."""
        self._pending += b",\n" if self._count else b"\n"
        self._pending += _encoded(exchange)
        self._count += 1
        if len(self._pending) > _BUFFERED_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered."""
        written = 0
        try:
            with memoryview(self._pending) as view:
                while written < len(view):
                    written += os.write(self._fd, view[written:])
        except OSError:
            # An exchange is a line, and those before the last comma are whole.
            self._sound_bytes += max(0, self._pending.rfind(b",\n", 0, written))
            raise
        self._sound_bytes += written
        self._pending.clear()

    def complete(self, members: dict[str, object]) -> None:
        """Add what else a session has, and put the capture in its place."""
        self._pending += b"\n]," + _encoded(members)[1:] + b"\n"
        self.flush()
        os.fsync(self._fd)
        os.replace(self._part, self.target)
        self._close()

    def abandon(self) -> str:
        """Write no more; the name of what is left, which lacks its end, or "" for nothing."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self._sound_bytes)
            os.fsync(self._fd)
        self._close()
        if self._count and self._sound_bytes and os.path.exists(self._part):
            return self._part
        with contextlib.suppress(OSError):
            os.unlink(self._part)
        return ""

    def _close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._fd)


def _encoded(value: dict[str, object]) -> bytes:
    # Lone surrogates travel as JSON escapes.
    return printable_json(dump_json(value)).encode("utf-8", "backslashreplace")
