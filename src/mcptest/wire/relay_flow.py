"""One direction of a relay: bytes from one end to the other, unchanged and as soon as they come.

What the other end does not take is kept, up to a bound; whoever drives a flow reads no more of
its source until there is room again.
"""

from __future__ import annotations

import contextlib
import os
import select

__all__ = ["Flow"]

_READ_BYTES = 1 << 16

# How much waits for an end that does not read, before nothing more is read for it.
_MAX_WAITING_BYTES = 1 << 20

# A pipe that has room at all has room for this much, so that such a write never blocks.
_PIECE_BYTES = select.PIPE_BUF


class Flow:
    """From `source` to `sink`; either is -1 once it is not used any more.

    A sink that is shared with whoever started us is left as it was, blocking, and is written
    to `in_pieces` that never block. Every other one must be non-blocking.
    """

    def __init__(self, source: int, sink: int, *, in_pieces: bool) -> None:
        self.source = source
        self.sink = sink
        self.backlog = bytearray()
        self.is_refused = False
        self._write_some = self._write_pieces if in_pieces else os.write
        self._room = select.poll()
        self._room.register(sink, select.POLLOUT)

    @property
    def has_room(self) -> bool:
        return len(self.backlog) < _MAX_WAITING_BYTES

    @property
    def is_done(self) -> bool:
        """Whether everything has come and was passed on, while somebody still takes it."""
        return self.source < 0 and self.sink >= 0 and not self.backlog

    def receive(self) -> bytes:
        """The next bytes, already passed on as far as they are taken; b"" when none came."""
        chunk = _read(self.source)
        if chunk is None:
            return b""
        if chunk:
            self.pass_on(chunk)
        else:
            self.source = -1
        return chunk

    def pass_on(self, chunk: bytes = b"") -> None:
        """Write what waits, and then this; what is not taken waits."""
        if self.sink < 0:
            return
        if self.backlog:
            self.backlog += chunk
            del self.backlog[: self._write(self.backlog)]
        else:
            self.backlog += chunk[self._write(chunk) :]

    def refuse(self) -> None:
        """Nobody reads there any more: a closed pipe, a terminal that is gone, a full disk."""
        self.is_refused = True
        self.sink = -1
        self.backlog.clear()

    def _write(self, data: bytes | bytearray) -> int:
        try:
            return self._write_some(self.sink, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.refuse()
            return len(data)

    def _write_pieces(self, sink: int, data: bytes | bytearray) -> int:
        sent = 0
        with memoryview(data) as view, contextlib.suppress(BlockingIOError):
            while sent < len(view) and self._room.poll(0):
                sent += os.write(sink, view[sent : sent + _PIECE_BYTES])
        return sent


def _read(fd: int) -> bytes | None:
    """The next bytes, b"" at the end, None when there is nothing after all."""
    try:
        return os.read(fd, _READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        # A terminal that is gone, a connection that broke: nothing comes from there any more.
        return b""
