"""A server of lines on our own pipes, which answers some lines after a delay.

One poll waits for everything at once: input, room to write, the next line that is due, a signal. So
a client that does not read holds up only its own answers, and no delay holds up another. What the
lines mean is up to the caller.
"""

from __future__ import annotations

import contextlib
import errno
import heapq
import os
import select
import time

from mcptest.core.errors import UsageError
from mcptest.protocol.framing import LineDecoder
from mcptest.transport import READABLE, WRITABLE, wait_ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcptest.protocol.framing import Frame, Noise, Overlong
    from mcptest.transport.process.signals import Interrupts

    Item = Frame | Noise | Overlong
    # How long to wait, and the line; None ends the connection.
    Delivery = tuple[float, bytes | None]
    Reaction = Callable[[Frame | Noise | Overlong], Iterable[Delivery]]

__all__ = ["serve_lines"]

_READ_BYTES = 1 << 16

# A pipe that has room at all has room for this much, so that such a write never blocks. The
# pipes stay blocking: they may be shared with the process that started us.
_WRITE_BYTES = getattr(select, "PIPE_BUF", 512)
_WRITES_AT_ONCE = 64

# Nothing more is read from a client when this much waits to be read by it.
_MAX_WAITING_BYTES = 128 * 1024 * 1024

# How long the last lines wait for a client that does not read.
_LAST_PATIENCE_S = 2.0


def serve_lines(
    source: int,
    sink: int,
    interrupts: Interrupts,
    react: Reaction,
    last_lines: Callable[[], Iterable[bytes]] = tuple,
) -> None:
    """React to every line until the input, a reaction, a signal or the client ends it.

    After a signal only `last_lines` are sent.
    """
    with contextlib.suppress(_LeftError):
        _Loop(source, sink, interrupts, react).run(last_lines)


class _LeftError(Exception):
    """The client does not read any more."""


class _Loop:
    def __init__(self, source: int, sink: int, interrupts: Interrupts, react: Reaction) -> None:
        self._source = source
        self._sink = sink
        self._interrupts = interrupts
        self._react = react
        self._decoder = LineDecoder()
        self._backlog = bytearray()
        self._later: list[tuple[float, int, bytes | None]] = []
        self._later_bytes = 0
        self._count = 0
        self._has_ended = False

    def run(self, last_lines: Callable[[], Iterable[bytes]]) -> None:
        while not self._has_ended:
            wait_s = max(0.0, self._later[0][0] - time.monotonic()) if self._later else None
            has_room = len(self._backlog) + self._later_bytes < _MAX_WAITING_BYTES
            ready = self._wait(wait_s, listening=has_room)
            if self._interrupts.count:
                lines = b"".join(last_lines())
                if lines and wait_ready({self._sink: WRITABLE}, 0):
                    # What was begun is ended; a client that does not read is not waited for.
                    self._backlog += lines
                    self._write()
                return
            if self._sink in ready:
                self._write()
            if self._source in ready:
                self._read()
            self._release(time.monotonic())
        # Write what is left, without further delay, as long as the client reads it.
        self._release(float("inf"))
        while self._backlog:
            ready = self._wait(_LAST_PATIENCE_S, listening=False)
            if self._sink not in ready or self._interrupts.count:
                return
            self._write()

    def _wait(self, wait_s: float | None, *, listening: bool) -> set[int]:
        wanted = {self._interrupts.fd: READABLE}
        if listening:
            wanted[self._source] = READABLE
        if self._backlog:
            wanted[self._sink] = WRITABLE
        return set(wait_ready(wanted, wait_s))

    def _read(self) -> None:
        chunk = _read(self._source)
        if chunk is None:
            return
        if not chunk:
            self._has_ended = True
            # A last line without a line feed counts as a line.
            chunk = b"\n" if self._decoder.remainder[1] else b""
        for item in self._decoder.feed(chunk):
            for delay_s, line in self._react(item):
                self._count += 1
                self._later_bytes += len(line or b"")
                heapq.heappush(self._later, (time.monotonic() + delay_s, self._count, line))

    def _release(self, now: float) -> None:
        """Put what is due in the backlog."""
        while self._later and self._later[0][0] <= now:
            _, _, line = heapq.heappop(self._later)
            if line is None:
                self._later.clear()
                self._has_ended = True
                return
            self._later_bytes -= len(line)
            self._backlog += line

    def _write(self) -> None:
        for _ in range(_WRITES_AT_ONCE):
            try:
                del self._backlog[: os.write(self._sink, self._backlog[:_WRITE_BYTES])]
            except BlockingIOError:
                pass
            except OSError as error:
                if error.errno in (errno.EPIPE, errno.ECONNRESET, errno.EIO):
                    raise _LeftError from None
                raise UsageError(f"cannot write to standard output: {error.strerror}") from None
            if not self._backlog or not wait_ready({self._sink: WRITABLE}, 0):
                return


def _read(fd: int) -> bytes | None:
    """The next bytes; b"" at the end, None if there are none after all."""
    try:
        return os.read(fd, _READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        # A terminal that is gone, a connection that broke: the input has ended.
        return b""
