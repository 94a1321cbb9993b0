"""The two pipes to an SDK: one request at a time, in order, and without deadlocks."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import select
import signal
import socket
import threading
import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from mcptest.coprocess import serve as channel_module
from mcptest.coprocess.serve import Channel
from mcptest.core.errors import InterruptedRunError
from mcptest.protocol.framing import Frame
from mcptest.transport.process.signals import Interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 20.0
# More than a pipe holds.
LARGE = b"x" * 300_000 + b"\n"


class Sdk:
    """The SDK's ends: what it writes to, and what it reads from."""

    def __init__(self, writer: int, reader: int) -> None:
        self.writer, self.reader = writer, reader

    def write(self, text: bytes) -> None:
        view = memoryview(text)
        while view:
            view = view[os.write(self.writer, view) :]

    def read(self, size: int) -> bytes:
        """So many bytes, or less at the end; a failure if nothing arrives at all."""
        found = b""
        while len(found) < size:
            assert select.select([self.reader], [], [], PATIENCE_S)[0], "nothing comes"
            chunk = os.read(self.reader, size - len(found))
            if not chunk:
                break
            found += chunk
        return found

    def hang_up(self) -> None:
        writer, self.writer = self.writer, -1
        if writer >= 0:
            os.close(writer)

    def stop_reading(self) -> None:
        reader, self.reader = self.reader, -1
        if reader >= 0:
            os.close(reader)


@contextlib.contextmanager
def connected(kind: str = "pipe") -> Iterator[tuple[Channel, Sdk]]:
    if kind == "pipe":
        (source, writer), (reader, sink) = os.pipe(), os.pipe()
    else:
        source, writer, sink, reader = (
            end.detach() for _ in range(2) for end in socket.socketpair()
        )
    sdk = Sdk(writer, reader)
    with Interrupts() as interrupts:
        try:
            yield Channel(source, sink, interrupts), sdk
        finally:
            sdk.hang_up()
            sdk.stop_reading()
            os.close(source)
            os.close(sink)


def value(item: object) -> object:
    assert isinstance(item, Frame)
    return item.value


@pytest.fixture(params=["pipe", "socket"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[Channel, Sdk]]:
    with connected(request.param) as both:
        yield both


# Order


def test_requests_are_read_one_by_one_and_answered_before_the_next(
    ends: tuple[Channel, Sdk],
) -> None:
    channel, sdk = ends
    sdk.write(b"1\n2\n3\n")
    for number, item in enumerate(channel.requests(), 1):
        assert value(item) == number
        if number > 1:
            # The answer before is there although more was asked in the same breath.
            assert sdk.read(2) == b"%d\n" % (number - 1)
        channel.send(b"%d\n" % number)
        if number == 3:
            break
    channel.finish()
    assert sdk.read(2) == b"3\n"


def test_the_end_of_input_ends_the_requests_after_the_last_line(
    ends: tuple[Channel, Sdk],
) -> None:
    channel, sdk = ends
    sdk.write(b"1\n2")
    sdk.hang_up()
    assert [value(item) for item in channel.requests()] == [1, 2]


def test_empty_lines_are_not_requests(ends: tuple[Channel, Sdk]) -> None:
    channel, sdk = ends
    sdk.write(b"\n \r\n1\n\n")
    sdk.hang_up()
    assert [value(item) for item in channel.requests()] == [1]


def test_an_sdk_that_sends_on_before_it_reads_is_not_stuck(ends: tuple[Channel, Sdk]) -> None:
    """Both directions are larger than their pipes: waiting for only one of them would deadlock."""
    channel, sdk = ends
    request = b'"%s"\n' % (b"x" * 200_000)
    read: list[bytes] = []

    def ask_and_read() -> None:
        sdk.write(request * 5)
        sdk.hang_up()
        read.append(sdk.read(5 * len(LARGE)))

    other_side = threading.Thread(target=ask_and_read)
    other_side.start()
    for _ in channel.requests():
        channel.send(LARGE)
    other_side.join(PATIENCE_S)
    assert read == [LARGE * 5]


def test_input_of_an_sdk_that_never_reads_is_not_accepted_forever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channel_module, "_MAX_HELD_BYTES", 1000)
    with connected() as (channel, sdk):
        os.set_blocking(sdk.writer, False)
        sdk.write(b"1\n")
        requests = channel.requests()
        assert value(next(requests)) == 1
        channel.send(LARGE)
        waiting = threading.Thread(target=lambda: next(requests))
        waiting.start()
        # Its pipe fills up, since no more than a thousand bytes are read from it.
        poll = select.poll()
        poll.register(sdk.writer, select.POLLOUT)
        sent = 0
        with contextlib.suppress(BlockingIOError):
            while sent < 10_000_000 and poll.poll(1000):
                sent += os.write(sdk.writer, b"2\n" * 1000)
        assert sent < 1_000_000
        assert sdk.read(len(LARGE)) == LARGE
        waiting.join(PATIENCE_S)
        assert not waiting.is_alive()


def test_requests_sent_ahead_take_about_as_much_memory_as_they_have_bytes() -> None:
    """A line of two bytes takes a hundred times that once it is decoded."""
    count = 200_000
    with connected() as (channel, sdk):
        sdk.write(b"0\n")
        requests = channel.requests()
        assert value(next(requests)) == 0
        channel.send(LARGE)
        found: list[object] = []

        def ask_on_and_read_late() -> None:
            sdk.write(b"1\n" * count)
            sdk.hang_up()
            sdk.read(len(LARGE))

        other_side = threading.Thread(target=ask_on_and_read_late)
        tracemalloc.start()
        try:
            other_side.start()
            found.append(value(next(requests)))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        other_side.join(PATIENCE_S)
        assert sum(1 for _ in requests) == count - 1
    assert found == [1]
    # What is held, what its buffer may have to spare, and the answer that waits.
    assert peak < 10 * count


def test_a_line_that_arrives_in_pieces_is_one_request(ends: tuple[Channel, Sdk]) -> None:
    channel, sdk = ends
    requests = channel.requests()
    read: list[object] = []
    waiting = threading.Thread(target=lambda: read.append(value(next(requests))))
    waiting.start()
    for piece in (b"[1,", b"2", b",3]", b"\n4"):
        sdk.write(piece)
    waiting.join(PATIENCE_S)
    sdk.write(b"5\n")
    sdk.hang_up()
    assert [*read, *map(value, requests)] == [[1, 2, 3], 45]


# Leaving


def test_an_sdk_that_has_left_is_noticed_while_a_server_is_busy(ends: tuple[Channel, Sdk]) -> None:
    channel, sdk = ends
    channel.check_client(time.monotonic())
    sdk.hang_up()
    channel.check_client(time.monotonic())
    sdk.stop_reading()
    with pytest.raises(InterruptedRunError, match="the SDK has left"):
        channel.check_client(time.monotonic())


def test_a_server_has_limited_time_once_the_input_has_ended(
    ends: tuple[Channel, Sdk], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, sdk = ends
    monkeypatch.setattr(channel_module, "_LAST_ANSWER_S", 0.05)
    began = time.monotonic()
    time.sleep(0.1)
    channel.check_client(began)
    # What arrives while the server is busy is kept for later.
    sdk.write(b"1\n")
    sdk.hang_up()
    channel.check_client(began)
    time.sleep(0.1)
    channel.check_client(time.monotonic())
    channel.check_client(math.inf)
    with pytest.raises(InterruptedRunError, match="standard input has ended"):
        channel.check_client(began)
    assert "may have taken effect" in channel.problem
    assert [value(each) for each in channel.requests()] == [1]


def test_an_answer_without_a_reader_ends_the_session(ends: tuple[Channel, Sdk]) -> None:
    channel, sdk = ends
    sdk.write(b"1\n2\n")
    requests = channel.requests()
    next(requests)
    sdk.stop_reading()
    channel.send(b"1\n")
    with pytest.raises(InterruptedRunError, match="the SDK has left"):
        next(requests)


def test_an_sdk_has_left_even_if_another_process_holds_our_input_open(
    ends: tuple[Channel, Sdk],
) -> None:
    channel, sdk = ends
    sdk.stop_reading()
    with pytest.raises(InterruptedRunError, match="the SDK has left"):
        next(channel.requests())


def test_writing_to_an_sdk_that_ended_its_input_and_does_not_read_is_abandoned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channel_module, "_LAST_READ_S", 0.05)
    with connected() as (channel, sdk):
        sdk.write(b"1\n")
        sdk.hang_up()
        requests = channel.requests()
        next(requests)
        channel.send(LARGE)
        with pytest.raises(InterruptedRunError, match="does not read any more"):
            next(requests)


# Signals


def test_a_signal_ends_the_wait_for_a_request(ends: tuple[Channel, Sdk]) -> None:
    channel, _ = ends
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(InterruptedRunError):
        next(channel.requests())


def test_a_signal_ends_the_wait_for_an_sdk_that_does_not_read() -> None:
    with connected() as (channel, sdk):
        sdk.write(b"1\n")
        requests = channel.requests()
        next(requests)
        channel.send(LARGE)
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(InterruptedRunError):
            next(requests)


def test_the_pipes_are_left_as_they_were(ends: tuple[Channel, Sdk]) -> None:
    """They may be shared with our parent, which does not expect them to be non-blocking."""
    channel, sdk = ends
    sdk.write(b"1\n")
    sdk.hang_up()
    for _ in channel.requests():
        channel.send(b"1\n")
    for fd in (channel._source, channel._sink):
        assert not fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK
