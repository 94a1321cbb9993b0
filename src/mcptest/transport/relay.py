"""Relay a session between a client and its server, unchanged, and record it.

The client has started this process instead of the server. Every byte is passed on in order and at
once; it is recorded while there is nothing else to do. Whatever one side does to us is done to the
other: a closed stream is closed, a signal is sent on, and we exit as the server did. A client is
gone when nothing reads our output any more; one that has only closed its input still gets the
answers to its requests.
"""

from __future__ import annotations

import contextlib
import os
import select
import time

from mcptest.core.plan import ServerSpec
from mcptest.transport import wait_ready
from mcptest.transport.process.child import open_null
from mcptest.transport.process.signals import Interrupts
from mcptest.transport.process.stopping import Grace, ServerProcess, stop
from mcptest.transport.stdio import spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from mcptest.transport.process.child import Guardian
    from mcptest.transport.relay_capture import RelayCapture, Side

__all__ = ["Relay", "RelayedSignals"]

_STDIN, _STDOUT = 0, 1

_READ_BYTES = 1 << 16

# How many bytes wait for a stream that is not read, before nothing more is read for it.
_MAX_BACKLOG_BYTES = 1 << 20

# A pipe that has room at all has room for this much, so that such a write never blocks.
_WRITE_BYTES = getattr(select, "PIPE_BUF", 512)

# Record after this long without traffic.
_QUIET_MS = 2

# About 40 µs of busy polling before a wait goes to sleep.
_SPINS = 20

# How long a server may be silent after its client has closed its input: if it has requests to
# answer, and if not.
_ANSWER_PATIENCE_S = 300.0
_PATIENCE_S = 2.0

# A client that sends a signal seldom waits longer than 2 s before it kills us.
_SIGNAL_PATIENCE_S = 1.0
_AFTER_SIGNAL = Grace(stdin_s=0.0, term_s=0.5)
_AFTER_SILENCE = Grace(stdin_s=0.0)
_AFTER_CLIENT = Grace()

# After the process has ended only what is left in the pipe is passed on: a grandchild may hold
# the pipe and never stop writing.
_LAST_READ_BYTES = 2 * 1024 * 1024

# Without a process handle the end is noticed by asking now and then.
_ASKING_S = 0.02


class RelayedSignals(Interrupts):
    """Interrupts that remember which signal came first; 0 while none has."""

    number = 0

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.number = self.number or number
        super()._handle(number, frame)


class Relay(ServerProcess):
    """One server between our standard input and output; it shares our stderr."""

    def __init__(
        self,
        command: Sequence[str],
        guardian: Guardian,
        signals: RelayedSignals,
        recording: RelayCapture,
    ) -> None:
        mark = guardian.next_mark()
        spec = ServerSpec(name=command[0], command=tuple(command))
        super().__init__(spawn(spec, mark, with_stderr=False), mark, guardian)
        self._signals = signals
        self._recording = recording
        self._requests = _Flow(_STDIN, self._stdin, is_shared=False)
        self._answers = _Flow(self._stdout, _STDOUT, is_shared=True)
        self._flows: dict[Side, _Flow] = {"server": self._answers, "client": self._requests}
        self._poll = select.poll()
        self._watched: dict[int, int] = {}
        self._has_input_ended = False
        self._moved_at = time.monotonic()
        # What the server ended after, as captures have it; "" if the client sent a signal.
        self.ended_by = ""

    def run(self) -> int | None:
        """Pass everything on until one side ends, then end the other; the server's exit code."""
        while not (self.has_exited or self._answers.is_refused or self._signals.count):
            deadline = self._silence_ends()
            if deadline is not None and time.monotonic() >= deadline:
                break
            self._turn(deadline)
        if self._signals.count and not self.has_exited:
            # With its input open: a server that sees its end may exit before it gets the signal.
            self.signal_group(self._signals.number)
            self.wait_for_exit(time.monotonic() + _SIGNAL_PATIENCE_S)
        if self.has_exited:
            self._pass_on_rest()
        if self._signals.count:
            grace = _AFTER_SIGNAL
        else:
            grace = _AFTER_CLIENT if self._answers.is_refused else _AFTER_SILENCE
        had_input = not self._has_input_ended
        ended_by = stop(self, grace).ended_by
        if not self._signals.count:
            self.ended_by = "stdin" if ended_by == "exited" and not had_input else ended_by
        return self.exit_code()

    def _silence_ends(self) -> float | None:
        """When to stop waiting for a server that has nothing more to do; None: never.

        It has something to do while requests can reach it, and while the client has not read
        what it wrote.
        """
        has_reader = self._answers.sink >= 0
        has_input = not self._has_input_ended and (self._requests.source >= 0 or has_reader)
        if has_input or self._answers.backlog:
            return None
        is_awaited = has_reader and self._recording.is_owed
        return self._moved_at + (_ANSWER_PATIENCE_S if is_awaited else _PATIENCE_S)

    def wait_for_exit(self, deadline: float) -> bool:
        """Pass on what still comes until the server has ended or the deadline has come.

        A signal means that the client will not wait much longer: it shortens the deadline.
        """
        was_signalled = self._signals.count > 0
        while not self.has_exited and time.monotonic() < deadline:
            self._turn(deadline)
            if self._signals.count and not was_signalled:
                was_signalled = True
                deadline = min(deadline, time.monotonic() + _SIGNAL_PATIENCE_S)
        return self.has_exited

    def close_stdin(self) -> None:
        """Send nothing more to the server, and read nothing more from the client."""
        self._requests.sink = -1
        self._requests.backlog.clear()
        if self._requests.source >= 0:
            self._requests.source = -1
            _close_standard_stream(_STDIN)
        super().close_stdin()

    def reap(self) -> None:
        self._pass_on_rest()
        super().reap()

    def _pass_on_rest(self) -> None:
        """Pass on what a server that has ended left in its pipe, while the client reads it."""
        self.close_stdin()
        answers, left = self._answers, _LAST_READ_BYTES
        while left > 0 and answers.source >= 0 and (chunk := answers.receive()):
            self._recording.add("server", chunk)
            left -= len(chunk)
        answers.source = -1
        while answers.backlog and not self._signals.count:
            self._turn(None)
        self._close_stdout()

    def _close_stdout(self) -> None:
        if self._answers.sink >= 0:
            self._answers.sink = -1
            _close_standard_stream(_STDOUT)

    # One turn of the loop

    def _turn(self, deadline: float | None) -> None:
        for fd, events in self._wait(deadline):
            if fd == self._pidfd:
                self.has_exited = True
            for side, flow in self._flows.items():
                if fd == flow.source:
                    self._take(side, flow)
                elif fd == flow.sink:
                    self._push(flow, events)
        if self._pidfd < 0 and not self.has_exited:
            self.has_exited = self._process.poll() is not None
        if self._requests.is_done or self._requests.is_refused:
            self.close_stdin()
        if self._answers.is_done:
            self._close_stdout()
        if self._has_input_ended:
            # How long we wait now depends on which requests are unanswered.
            self._recording.catch_up()

    def _take(self, side: Side, flow: _Flow) -> None:
        self._moved_at = time.monotonic()
        if chunk := flow.receive():
            self._recording.add(side, chunk)
        if side == "client":
            self._has_input_ended = flow.source < 0

    def _push(self, flow: _Flow, events: int) -> None:
        self._moved_at = time.monotonic()
        if events & select.POLLOUT:
            flow.pass_on()
        else:
            flow.refuse()

    def _wait(self, deadline: float | None) -> list[tuple[int, int]]:
        """What is ready by the deadline. The waiting time is used to record."""
        self._watch()
        recording = self._recording
        while recording.is_behind:
            recording.work()
        if recording.has_work:
            ready = self._wait_briefly()
            while not ready and recording.work():
                ready = self._poll.poll(0)
            if ready:
                return ready
        self._reap_orphans()
        if self._pidfd < 0:
            soon = time.monotonic() + _ASKING_S
            deadline = min(deadline, soon) if deadline is not None else soon
        if deadline is None:
            return self._poll.poll()
        # Rounded up: the last fraction of a millisecond would become a busy loop.
        return self._poll.poll(int(max(0.0, deadline - time.monotonic()) * 1000) + 1)

    def _wait_briefly(self) -> list[tuple[int, int]]:
        """What follows at once on the last bytes.

        Waking a core that has gone to sleep takes longer than a quick answer, so the first
        moments are spent polling, and yielding this core to others.
        """
        for _ in range(_SPINS):
            if ready := self._poll.poll(0):
                return ready
            os.sched_yield()
        return self._poll.poll(_QUIET_MS)

    def _watch(self) -> None:
        """Register what to wait for. A sink without a backlog still reports a lost reader."""
        requests, answers = self._requests, self._answers
        wanted = {}
        for flow in self._flows.values():
            if flow.source >= 0 and len(flow.backlog) < _MAX_BACKLOG_BYTES:
                wanted[flow.source] = select.POLLIN
        if requests.sink >= 0:
            wanted[requests.sink] = select.POLLOUT if requests.backlog else 0
        if answers.sink >= 0 and (answers.backlog or requests.source < 0):
            wanted[answers.sink] = select.POLLOUT if answers.backlog else 0
        if self._pidfd >= 0 and not self.has_exited:
            wanted[self._pidfd] = select.POLLIN
        if not self._signals.count:
            wanted[self._signals.fd] = select.POLLIN
        if wanted != self._watched:
            for fd in self._watched.keys() - wanted.keys():
                self._poll.unregister(fd)
            for fd, events in wanted.items():
                self._poll.register(fd, events)
            self._watched = wanted

    def _reap_orphans(self) -> None:
        """Reap the server's orphans, which become our children, once they have ended."""
        if not hasattr(os, "waitid"):
            return
        with contextlib.suppress(ChildProcessError):
            while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if found.si_pid == self.pid:
                    return
                os.waitpid(found.si_pid, 0)


class _Flow:
    """One direction: bytes from `source` to `sink`; either is -1 once it is not used any more.

    What the sink does not take is kept in the backlog. A sink that is shared with the process that
    started us stays blocking, so it is written in pieces that never block.
    """

    def __init__(self, source: int, sink: int, *, is_shared: bool) -> None:
        self.source = source
        self.sink = sink
        self.backlog = bytearray()
        self.is_refused = False
        self._is_shared = is_shared

    @property
    def is_done(self) -> bool:
        """True if the source has ended and all of it was passed on to a sink that is open."""
        return self.source < 0 and self.sink >= 0 and not self.backlog

    def receive(self) -> bytes:
        """The next bytes, already passed on as far as possible; b"" if none came."""
        try:
            chunk = os.read(self.source, _READ_BYTES)
        except BlockingIOError:
            return b""
        except OSError:
            # A terminal that is gone, a connection that broke: the source has ended.
            chunk = b""
        if chunk:
            self.pass_on(chunk)
        else:
            self.source = -1
        return chunk

    def pass_on(self, chunk: bytes = b"") -> None:
        """Write the backlog and then this; what is not taken becomes the backlog."""
        if self.sink < 0:
            return
        if self.backlog:
            self.backlog += chunk
            del self.backlog[: self._write(self.backlog)]
        else:
            self.backlog += chunk[self._write(chunk) :]

    def refuse(self) -> None:
        """The sink has no reader any more: a closed pipe, a terminal that is gone, a full disk."""
        self.is_refused = True
        self.sink = -1
        self.backlog.clear()

    def _write(self, data: bytes | bytearray) -> int:
        sent = 0
        try:
            if not self._is_shared:
                return os.write(self.sink, data)
            with memoryview(data) as view:
                while sent < len(view) and wait_ready({self.sink: select.POLLOUT}, 0):
                    sent += os.write(self.sink, view[sent : sent + _WRITE_BYTES])
        except BlockingIOError:
            pass
        except OSError:
            self.refuse()
            return len(data)
        return sent


def _close_standard_stream(fd: int) -> None:
    """Close a standard stream; its number stays taken, so that no other file gets it."""
    null = open_null()
    os.dup2(null, fd)
    os.close(null)
