"""Two pipes to an SDK: one request in, one answer out, before the next is looked at.

An SDK that sends several requests before it reads is not refused: what it sends meanwhile is
kept. But nothing is done for it before it has taken the answer to what it asked before.
"""

from __future__ import annotations

import os
import select
from collections import deque

from mcptest.core.errors import InterruptedRunError
from mcptest.core.framing import LineDecoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.framing import Frame, Noise, Overlong
    from mcptest.wire.interrupts import Interrupts

    Item = Frame | Noise | Overlong

__all__ = ["Channel"]

_READ_BYTES = 1 << 16

# A pipe that has room at all has room for this much, so that such a write never blocks. The
# pipes are left blocking: they may be shared with whoever started us.
_WRITE_BYTES = select.PIPE_BUF

# An SDK that sends on and never reads is not listened to when this much waits for it.
_MAX_HELD_BYTES = 128 * 1024 * 1024

# How long an SDK that has ended its input may pause while it still reads.
_LAST_PATIENCE_S = 30.0

_GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL


class Channel:
    """Requests from one descriptor, answers to another.

    InterruptedRunError says that a signal came, or that nobody reads any more.
    """

    def __init__(self, source: int, sink: int, interrupts: Interrupts) -> None:
        self._source = source
        self._sink = sink
        self._interrupts = interrupts
        self._decoder = LineDecoder()
        self._requests: deque[Item] = deque()
        self._held_bytes = 0
        self._unsaid = bytearray()
        self._has_ended = False

    def requests(self) -> Iterator[Item]:
        """Every line, each when what was said to the one before has been taken."""
        while True:
            self.finish()
            if self._requests:
                yield self._requests.popleft()
            elif self._has_ended:
                return
            else:
                self._held_bytes = 0
                self._move(None)

    def say(self, line: bytes) -> None:
        """Answer; it goes out before the next request is looked at."""
        self._unsaid += line

    def finish(self) -> None:
        """Wait until everything that was said has been taken."""
        while self._unsaid:
            if not self._move(_LAST_PATIENCE_S if self._has_ended else None):
                raise InterruptedRunError("the SDK does not read any more")

    def heed_leaving(self) -> None:
        """Where nobody reads any more, what the server is busy with need not be awaited.

        That our input has ended does not say so: whoever asks a few things and reads the
        answers may close it at once.
        """
        poll = select.poll()
        poll.register(self._sink, 0)
        _refuse_gone(poll.poll(0), self._sink)

    def _move(self, wait_s: float | None) -> bool:
        """Wait for room or for input, and use it; False when there was none in time."""
        poll = select.poll()
        poll.register(self._interrupts.fd, select.POLLIN)
        # An SDK that is killed may leave somebody behind who holds the other end of our input.
        poll.register(self._sink, select.POLLOUT if self._unsaid else 0)
        if self._is_listening():
            poll.register(self._source, select.POLLIN)
        ready = poll.poll(None if wait_s is None else wait_s * 1000)
        if self._interrupts.count:
            raise InterruptedRunError
        _refuse_gone(ready, self._sink)
        found = {fd for fd, _ in ready}
        if self._sink in found:
            self._write()
        if self._source in found:
            self._read()
        return bool(ready)

    def _is_listening(self) -> bool:
        is_busy = bool(self._unsaid or self._requests)
        return not self._has_ended and not (is_busy and self._held_bytes > _MAX_HELD_BYTES)

    def _read(self) -> None:
        try:
            chunk = os.read(self._source, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            # A terminal that is gone, a connection that broke: nothing comes from there any more.
            chunk = b""
        self._held_bytes += len(chunk)
        if not chunk:
            self._has_ended = True
            # A last line without an end is a line all the same.
            chunk = b"\n" if self._decoder.remainder[1] else b""
        self._requests.extend(self._decoder.feed(chunk))

    def _write(self) -> None:
        while self._unsaid:
            try:
                del self._unsaid[: os.write(self._sink, self._unsaid[:_WRITE_BYTES])]
            except BlockingIOError:
                return
            except OSError:
                raise InterruptedRunError("the SDK has left") from None
            if not self._has_room():
                return

    def _has_room(self) -> bool:
        poll = select.poll()
        poll.register(self._sink, select.POLLOUT)
        return bool(poll.poll(0))


def _refuse_gone(ready: list[tuple[int, int]], sink: int) -> None:
    if any(fd == sink and event & _GONE for fd, event in ready):
        raise InterruptedRunError("the SDK has left")
