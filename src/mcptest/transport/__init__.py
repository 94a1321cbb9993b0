"""Processes, pipes and sockets: the interface of a transport, and what all of them share.

`stdio`, `http` and `memory` each implement `Transport`, through which the engine drives them.
"""

from __future__ import annotations

import os
import select
import sys
import time

from mcptest.core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol, TypeAlias

    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Fault
    from mcptest.protocol.framing import Frame, LineDecoder, Noise, Overlong, Ring, TransportFault
    from mcptest.transport.process.stopping import Grace, Stopped

    # What a server sent: a message, or something that is not one.
    Item: TypeAlias = Frame | Noise | Overlong | TransportFault

    class Transport(Protocol):
        """One connection with a server, from its start to its end. No method blocks for longer
        than its deadline, a time of `time.monotonic`."""

        spec: ServerSpec
        decoder: LineDecoder
        # What the server wrote last; `stdout_mark` is where the evidence of a fault begins.
        stdout_tail: Ring
        stdout_mark: int
        stderr: Ring

        @property
        def label(self) -> str:
            """The server's name in captures, such as `stdio://name`."""

        @property
        def transport(self) -> str:
            """What carries this session, such as `stdio:4711` or `http:https://…`."""

        @property
        def redact(self) -> Callable[[str], str] | None:
            """Blanks the server's secrets in a text; None if it has none."""

        @property
        def last_output(self) -> Sequence[Item]:
            """What arrived while the server was being stopped."""

        @property
        def is_pipe(self) -> bool:
            """True if messages are lines on pipes: only then can unread input be seen."""

        @property
        def is_closed(self) -> bool:
            """True once nothing more can arrive."""

        @property
        def has_exited(self) -> bool:
            """True once the process that we started has ended."""

        @property
        def has_news(self) -> bool:
            """True if something may have arrived that was not received yet."""

        @property
        def has_closed_stdin(self) -> bool: ...
        @property
        def has_no_reader(self) -> bool:
            """True if nothing reads what we send any more."""

        @property
        def has_read_all(self) -> bool:
            """True if the server has read all that it was sent."""

        @property
        def sent_bytes(self) -> int: ...
        @property
        def unsent_bytes(self) -> int: ...
        @property
        def unread_bytes(self) -> int: ...
        @property
        def begun_line(self) -> int:
            """The number of the line or event that has arrived in part; 0 if there is none."""

        # Whether a header repeats the trace context of a request, where there are headers.
        repeats_trace: bool

        @property
        def foreign_listener(self) -> str:
            """The process that listens in place of the server we started; "" if none is known."""

        def open(self, deadline: float) -> Fault | None:
            """Wait until the server accepts messages; the fault if it does not."""

        def send(self, line: bytes) -> None:
            """Send a message without waiting for the server to take it."""

        def receive(self, deadline: float, *, heed_interrupts: bool = True) -> Sequence[Item]:
            """What arrived by the deadline; empty at the deadline and at the end."""

        def wait_until_read(self) -> None:
            """Wait a moment until the server has taken what was sent."""

        def progress(self, id: object) -> str:
            """How far the answer to a request has come, for the message of a timeout."""

        def give_up(self, id: object) -> bool:
            """Close the answer to a request; False if it has no stream of its own."""

        def mark_stdout(self) -> int: ...
        def redact_output(self, raw: bytes) -> bytes:
            """Part of the server's output without the secrets it was given."""

        def drain_stderr(self) -> None: ...
        def wait_for_stderr(self, deadline: float) -> bool: ...
        def wait_for_exit(self, deadline: float, *, heed_interrupts: bool = False) -> bool: ...
        def end(self, grace: Grace, *, at_once: bool = False) -> Stopped:
            """End the session, and the process if we started it."""


__all__ = [
    "IS_WINDOWS",
    "OPEN_FLAGS",
    "READABLE",
    "URL_INSTEAD",
    "WRITABLE",
    "Waker",
    "refuse_windows",
    "utc_now",
    "wait_ready",
]

# Windows has no poll, process groups or timers by signal. What needs only sockets and files works
# there, by `mcptest.transport.windows`; modules that start processes can be imported.
IS_WINDOWS = sys.platform == "win32"

# Open a file without waiting for the other end of a pipe, without passing it on to children and
# without changing its line ends; each flag where the system has it.
OPEN_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


# What can be done about a server that cannot be started.
URL_INSTEAD = "start the server yourself and name its URL"


def refuse_windows(what: str, instead: str = "") -> None:
    """Raise a `UsageError` on Windows: called before a process is started, or a pipe served."""
    if IS_WINDOWS:
        help = f"use WSL, or {instead}" if instead else "use WSL"
        raise UsageError(f"{what} is not supported on Windows yet", help)


def utc_now() -> str:
    """The time as reports and captures write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


if sys.platform == "win32":
    from mcptest.transport.windows import READABLE, WRITABLE, Waker, wait_ready
else:
    READABLE = select.POLLIN
    WRITABLE = select.POLLOUT

    def wait_ready(wanted: Mapping[int, int], wait_s: float | None) -> dict[int, int]:
        """Wait until a descriptor is `READABLE` or `WRITABLE`, as wanted of it; those that are.

        At most `wait_s` seconds, None for no limit. Negative descriptors are ignored.
        """
        poll = select.poll()
        for fd, events in wanted.items():
            if fd >= 0:
                poll.register(fd, events)
        if wait_s is None:
            return dict(poll.poll())
        # Rounded up: the last fraction of a millisecond would become a busy loop.
        return dict(poll.poll(int(wait_s * 1000) + 1 if wait_s > 0 else 0))

    class Waker:
        """Ends a wait: `fd` is readable from `wake`, by a signal or another thread, to `reset`."""

        def __init__(self) -> None:
            self.fd, self._writer = os.pipe()
            os.set_blocking(self.fd, False)
            os.set_blocking(self._writer, False)

        def wake(self) -> None:
            try:
                os.write(self._writer, b"!")
            except BlockingIOError:
                # It was woken thousands of times, and is readable.
                return

        def reset(self) -> None:
            try:
                os.read(self.fd, 64)
            except BlockingIOError:
                return

        def close(self) -> None:
            os.close(self.fd)
            os.close(self._writer)
