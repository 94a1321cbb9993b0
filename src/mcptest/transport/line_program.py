"""A helper program that is asked line by line: a plugin, or the coprocess of an SDK.

It is run like a server under test (`mcptest.transport.stdio`).
"""

from __future__ import annotations

import os
import time
import weakref
from collections import deque
from contextlib import suppress

from mcptest.core.errors import InterruptedRunError
from mcptest.core.text import visible
from mcptest.protocol.framing import LineDecoder
from mcptest.transport.process.child import NoInterrupts, make_guardian
from mcptest.transport.process.stopping import Grace, describe_exit, stop
from mcptest.transport.stdio import StdioTransport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcptest.core.plan import ServerSpec
    from mcptest.protocol.framing import Frame, Noise, Overlong
    from mcptest.transport.process.child import Guardian, NoGuardian
    from mcptest.transport.process.signals import Interrupts
    from mcptest.transport.process.stopping import Stopped

    Item = Frame | Noise | Overlong
    # How long to wait, and the line; None ends the connection.
    Delivery = tuple[float, bytes | None]
    Reaction = Callable[[Frame | Noise | Overlong], Iterable[Delivery]]

__all__ = ["LinePeer", "PeerEndedError", "PeerSilentError"]


# How long a program that closed its stdout may take to exit, so that its status is known.
_EXIT_S = 0.5
_STDERR_SHOWN_BYTES = 2000


class PeerEndedError(Exception):
    """It ended, or closed its stdout; `how` says so in words, `stderr` is the end of its stderr."""

    def __init__(self, how: str, stderr: str) -> None:
        super().__init__(how)
        self.how = how
        self.stderr = stderr


class PeerSilentError(Exception):
    """It sent nothing by the deadline. It is left running."""


class LinePeer:
    """One such program, from its first line to its end.

    In a run it is started with the guardian and the interrupts of the run; elsewhere with a
    guardian of its own.
    """

    def __init__(
        self,
        spec: ServerSpec,
        guardian: Guardian | None = None,
        interrupts: Interrupts | None = None,
    ) -> None:
        self.spec = spec
        self._guardian: Guardian | NoGuardian | None = guardian
        self._is_alone = guardian is None
        self._interrupts = interrupts or NoInterrupts()
        self._process: StdioTransport | None = None
        # Process ids and command lines of what it left behind.
        self.left_behind: dict[int, str] = {}
        # Once it has ended: the end of its stderr, and its exit status.
        self.last_output = ""
        self.exit_code: int | None = None
        self._pending: deque[Item] = deque()

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        """Start it, unless it runs; ServerError if that is impossible."""
        if self._process:
            return
        if self._guardian is None:
            self._guardian = make_guardian()
        try:
            # The stand-ins for a guardian and for interrupts have their methods.
            process = StdioTransport(self.spec, self._guardian, self._interrupts)  # type: ignore[arg-type]  # see above
        except BaseException:
            if self._is_alone:
                self._guardian.dismiss()
                self._guardian = None
            raise
        self._guardian.suspects.add(self.spec.name)
        process.decoder = LineDecoder(self.spec.limits.max_line_bytes, keeps_raw=True)
        self._process = process
        # It is ended even if the caller forgets to close it.
        self._finalizer = weakref.finalize(self, _kill, process, os.getpid(), self._is_alone)

    def send(self, line: bytes) -> None:
        assert self._process is not None, "it is started before anything is sent"
        self._process.send(line)

    def waiting_items(self) -> list[Item]:
        """What has arrived by now, without waiting."""
        assert self._process is not None, "it is started before anything is awaited"
        items = [*self._pending, *self._process.receive(0.0)]
        self._pending.clear()
        return items

    def hang_up(self) -> None:
        """Close its stdin; `close` waits for its end."""
        if self._process:
            self._process.close_stdin()

    def next_item(self, deadline: float) -> Item:
        """The next line; PeerSilentError at the deadline, PeerEndedError at its end."""
        process = self._process
        assert process is not None, "it is started before anything is awaited"
        while not self._pending:
            self._pending.extend(process.receive(deadline))
            if self._pending:
                break
            if process.is_closed:
                raise self._make_ended_error(process)
            if time.monotonic() >= deadline:
                raise PeerSilentError
        return self._pending.popleft()

    @property
    def stderr(self) -> str:
        """The end of its stderr; "" if it does not run."""
        if self._process is None:
            return ""
        self._process.drain_stderr()
        return _last_lines(self._process)

    def close(self, patience_s: float, *, at_once: bool = False) -> None:
        """Close its stdin, wait up to this long, then kill it with its group."""
        process = self._process
        if process is None:
            return
        try:
            if not at_once:
                process.close_stdin()
                # An interrupted run does not wait for it.
                with suppress(InterruptedRunError):
                    process.wait_for_exit(time.monotonic() + patience_s, heed_interrupts=True)
        finally:
            # Also when Ctrl-C cut the goodbye short.
            self._end(process)

    def _end(self, process: StdioTransport) -> int | None:
        """Kill what is left of it; its exit status."""
        self._process = None
        self._guardian = None if self._is_alone else self._guardian
        stopped = self._finalizer()
        if stopped:
            self.left_behind |= stopped.left_behind
        self.last_output, self.exit_code = _last_lines(process), process.exit_code()
        return self.exit_code

    def _make_ended_error(self, process: StdioTransport) -> PeerEndedError:
        partial, size = process.decoder.remainder
        has_ended = process.wait_for_exit(time.monotonic() + _EXIT_S)
        status = self._end(process)
        how = describe_exit(status) if has_ended else "it closed its stdout and stayed"
        if size:
            shown = visible(partial.decode("utf-8", "backslashreplace"))
            how += f", in the middle of a line: {shown}"
        return PeerEndedError(how, _last_lines(process))


def _last_lines(process: StdioTransport) -> str:
    raw = process.redact_output(process.stderr.tail())
    text = raw[-_STDERR_SHOWN_BYTES:].decode("utf-8", "backslashreplace")
    # A cut is marked, so that half a secret beside it is recognised.
    return text if len(raw) <= _STDERR_SHOWN_BYTES else f"…{text}"


def _kill(process: StdioTransport, owner: int, is_alone: bool) -> Stopped | None:
    """Kill it, and end its guardian if it has one of its own; how it ended.

    No-op in a fork of the process that started it.
    """
    if os.getpid() != owner:
        return None
    stopped = stop(process, Grace(), at_once=True)
    if is_alone:
        process.guardian.dismiss()
    return stopped
