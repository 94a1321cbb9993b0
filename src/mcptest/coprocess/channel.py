"""Two pipes to an SDK: one request in, one answer out, before the next is looked at.

An SDK that sends several requests before it reads is not refused: what it sends meanwhile is
kept, as the bytes that came. But nothing is done for it before it has taken the answer to what
it asked before.
"""

from __future__ import annotations

import os
import select

from mcptest.core.errors import InterruptedRunError, UsageError
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

    InterruptedRunError says that a signal came, or that nobody reads any more; UsageError that
    answers cannot be written.
    """

    def __init__(self, source: int, sink: int, interrupts: Interrupts) -> None:
        self._source = source
        self._sink = sink
        self._interrupts = interrupts
        self._decoder = LineDecoder()
        # A line takes many times its bytes once it is decoded, so that is done when its turn comes.
        self._unread = bytearray()
        self._unsaid = bytearray()
        self._has_ended = False

    def requests(self) -> Iterator[Item]:
        """Every line, each when what was said to the one before has been taken."""
        while True:
            self.finish()
            item = self._next_item()
            if item is not None:
                yield item
            elif self._has_ended:
                return
            else:
                self._move(None)

    def _next_item(self) -> Item | None:
        """What the next line is, as soon as all of it is there."""
        while self._unread:
            if self._interrupts.count:
                raise InterruptedRunError
            end = self._unread.find(b"\n") + 1 or len(self._unread)
            piece = bytes(self._unread[:end])
            del self._unread[:end]
            found = self._decoder.feed(piece)
            if found:
                return found[0]
        return None

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
        return not self._has_ended and len(self._unread) <= _MAX_HELD_BYTES

    def _read(self) -> None:
        try:
            chunk = os.read(self._source, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            # A terminal that is gone, a connection that broke: nothing comes from there any more.
            chunk = b""
        self._has_ended = not chunk
        # A last line without an end is a line all the same.
        self._unread += chunk or b"\n"

    def _write(self) -> None:
        while self._unsaid:
            try:
                del self._unsaid[: os.write(self._sink, self._unsaid[:_WRITE_BYTES])]
            except BlockingIOError:
                return
            except ConnectionError:
                raise InterruptedRunError("the SDK has left") from None
            except OSError as error:
                raise UsageError(f"cannot write to standard output: {error.strerror}") from None
            if not self._has_room():
                return

    def _has_room(self) -> bool:
        poll = select.poll()
        poll.register(self._sink, select.POLLOUT)
        return bool(poll.poll(0))


def _refuse_gone(ready: list[tuple[int, int]], sink: int) -> None:
    if any(fd == sink and event & _GONE for fd, event in ready):
        raise InterruptedRunError("the SDK has left")
