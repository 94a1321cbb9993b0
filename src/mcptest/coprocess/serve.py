"""Serve an SDK: requests from one pipe, one answer each to another.

An SDK may send several requests before it reads. They are kept as bytes; each is handled when the
answer to the one before it has been read.
"""

from __future__ import annotations

import os
import select
import time

from mcptest import __version__
from mcptest.coprocess.protocol import (
    COPROCESS_PROTOCOL_VERSION,
    RefusedError,
    describe_version_mismatch,
    encode_error,
    encode_result,
    read_request,
)
from mcptest.core.errors import InterruptedRunError, UsageError
from mcptest.core.plan import DEFAULT_MAX_LINE_BYTES
from mcptest.protocol.framing import LineDecoder
from mcptest.protocol.jsonrpc import INVALID_PARAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.coprocess.protocol import Methods, Request
    from mcptest.protocol.framing import Frame, Noise, Overlong
    from mcptest.transport.process.signals import Interrupts

    Item = Frame | Noise | Overlong

__all__ = ["Channel", "Session"]


_READ_BYTES = 1 << 16

# A pipe that poll reports as writable takes this much without blocking. The pipes are left in
# blocking mode, because the parent process may share them.
_WRITE_BYTES = getattr(select, "PIPE_BUF", 512)

# Stop reading when this many bytes of requests wait behind an answer that the SDK does not read.
_MAX_HELD_BYTES = 16 * 1024 * 1024

# How long an SDK that has closed our input may take to read the rest.
_LAST_READ_S = 30.0

# How long the server may take for each answer once our input has ended. An SDK that was killed
# looks the same as one that has sent everything and still reads.
_LAST_ANSWER_S = 5.0


class Channel:
    """Requests from one descriptor, answers to another.

    Raises InterruptedRunError after a signal or when the SDK has stopped reading, and UsageError
    when answers cannot be written.
    """

    def __init__(self, source: int, sink: int, interrupts: Interrupts) -> None:
        self._source = source
        self._sink = sink
        self._interrupts = interrupts
        self._decoder = LineDecoder()
        # Decoded lines take many times the memory, so each is decoded when its turn comes.
        self._unread = bytearray()
        self._unsent = bytearray()
        # When our input ended; None as long as it is open.
        self._ended_at: float | None = None
        self._is_given_up = False
        # Why the last request was not answered, if its answer was not waited for.
        self.problem = ""

    def requests(self) -> Iterator[Item]:
        """Every line, each after the answer to the one before it has been read."""
        while True:
            self.finish()
            item = self._next_item()
            if item is not None:
                yield item
            elif self._ended_at is not None:
                return
            else:
                self._move(None)

    def _next_item(self) -> Item | None:
        """The next line, None until all of it is here."""
        while self._unread:
            if self._interrupts.count:
                raise InterruptedRunError
            # In small pieces: a long line is not copied whole.
            end = self._unread.find(b"\n", 0, _READ_BYTES) + 1 or _READ_BYTES
            piece = bytes(self._unread[:end])
            del self._unread[:end]
            found = self._decoder.feed(piece)
            if found:
                return found[0]
        return None

    def send(self, line: bytes) -> None:
        """Queue an answer; it is written before the next request is handled."""
        self._unsent += line

    def finish(self) -> None:
        """Wait until all answers have been read."""
        while self._unsent:
            if not self._move(None if self._ended_at is None else _LAST_READ_S):
                raise InterruptedRunError("the SDK does not read any more")

    def check_client(self, asked_at: float) -> None:
        """Raise if the answer to what the server was asked at this time need not be waited for.

        The SDK has stopped reading, or it closed our input a while ago. Raised once: what waits
        afterwards cleans up.
        """
        if self._is_given_up:
            return
        poll = select.poll()
        poll.register(self._sink, 0)
        if _is_gone(poll.poll(0), self._sink):
            self._is_given_up = True
            raise InterruptedRunError("the SDK has left")
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        while self._has_room() and poll.poll(0):
            self._read()
        if self._ended_at is None:
            return
        if time.monotonic() - max(asked_at, self._ended_at) > _LAST_ANSWER_S:
            self._is_given_up = True
            self.problem = (
                "standard input has ended, and the server did not answer within "
                f"{_LAST_ANSWER_S:g} s: it is stopped, and the call may have taken effect"
            )
            raise InterruptedRunError(self.problem)

    def _move(self, wait_s: float | None) -> bool:
        """Wait for room or for input, and use it; False when there was none in time."""
        poll = select.poll()
        poll.register(self._interrupts.fd, select.POLLIN)
        # Always watched: when an SDK is killed, a child of it may still hold our input open.
        poll.register(self._sink, select.POLLOUT if self._unsent else 0)
        if self._has_room():
            poll.register(self._source, select.POLLIN)
        ready = poll.poll(None if wait_s is None else wait_s * 1000)
        if self._interrupts.count:
            raise InterruptedRunError
        if _is_gone(ready, self._sink):
            raise InterruptedRunError("the SDK has left")
        found = {fd for fd, _ in ready}
        if self._sink in found:
            self._write()
        if self._source in found:
            self._read()
        return bool(ready)

    def _has_room(self) -> bool:
        """True if more of our input can be read and kept."""
        return self._ended_at is None and len(self._unread) <= _MAX_HELD_BYTES

    def _read(self) -> None:
        try:
            chunk = os.read(self._source, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            # A terminal or a connection that is gone.
            chunk = b""
        if not chunk:
            self._ended_at = time.monotonic()
        # The last line may lack its newline.
        self._unread += chunk or b"\n"

    def _write(self) -> None:
        poll = select.poll()
        poll.register(self._sink, select.POLLOUT)
        while self._unsent:
            try:
                del self._unsent[: os.write(self._sink, self._unsent[:_WRITE_BYTES])]
            except BlockingIOError:
                return
            except ConnectionError:
                raise InterruptedRunError("the SDK has left") from None
            except OSError as error:
                raise UsageError(f"cannot write to standard output: {error.strerror}") from None
            if not poll.poll(0):
                return


def _is_gone(ready: list[tuple[int, int]], sink: int) -> bool:
    gone = select.POLLERR | select.POLLHUP | select.POLLNVAL
    return any(fd == sink and event & gone for fd, event in ready)


class Session:
    """Answers the requests of one SDK: what both channels have in common.

    A channel sets `methods`, the params of each, and answers them with `perform`.
    """

    methods: Methods
    # The longest line of a server that an answer can carry.
    limit_bytes = DEFAULT_MAX_LINE_BYTES

    def __init__(self) -> None:
        self._mismatch = ""
        self.is_over = False

    def answer(self, item: Frame | Noise | Overlong) -> bytes:
        """The line that answers a line. After `mcp.shutdown` the session `is_over`."""
        try:
            request = read_request(item, self.methods)
        except RefusedError as error:
            return encode_error(error)
        try:
            return encode_result(request.id, self._result(request), self.limit_bytes)
        except RefusedError as error:
            error.id = request.id
            return encode_error(error, self.limit_bytes)

    def perform(self, request: Request) -> object:
        """The result of a request other than the handshake and the shutdown."""
        raise NotImplementedError

    def _result(self, request: Request) -> object:
        if request.method == "mcp.shutdown":
            self.is_over = True
            return {}
        is_handshake = request.method == "coprocess/handshake"
        if is_handshake:
            self._mismatch = describe_version_mismatch(request.params)
        if self._mismatch:
            raise RefusedError(INVALID_PARAMS, self._mismatch)
        if is_handshake:
            return {"protocol_version": COPROCESS_PROTOCOL_VERSION, "binary_version": __version__}
        return self.perform(request)
