"""Stand between a client and its server, and pass everything on.

The client has started us in the place of the server. Every byte goes through unchanged, in
order and at once; what passes is recorded when nothing else is to do. One poll waits for both
sides, for room to write, for the end of the server and for signals to us.

Whatever one side does to us is done to the other. A closed end is closed, a signal is sent on,
and we end as the server did. The client is gone when nobody reads us any more; a client that
has only stopped asking still gets what it is owed.
"""

from __future__ import annotations

import contextlib
import os
import select
import time

from mcptest.core.errors import ServerError
from mcptest.core.results import Evidence, Fault
from mcptest.core.text import visible
from mcptest.transport.process.child import open_null, start
from mcptest.transport.process.orphans import MARK_VARIABLE
from mcptest.transport.process.signals import Interrupts
from mcptest.transport.process.stopping import Grace, stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from mcptest.transport.process.child import Child
    from mcptest.transport.process.guardian import Guardian
    from mcptest.transport.relay_recording import Recording, Side

__all__ = ["Relay", "RelayedSignals"]


# One direction of a relay: bytes from one end to the other, unchanged and as soon as they come.
#
# What the other end does not take is kept, up to a bound; whoever drives a flow reads no more of
# its source until there is room again.


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


# The server behind a relay: started with our own stderr, known to the guardian.
#
# `mcptest.transport.stdio` takes all three pipes of a server; this one keeps its hands off stderr,
# and leaves it to the relay to move the bytes of the other two.


class RelayedProcess:
    """One server process, its pipes and its end."""

    def __init__(self, command: Sequence[str], guardian: Guardian) -> None:
        self.guardian = guardian
        self.mark = guardian.next_mark()
        self.has_exited = False
        self._process = _started(command, self.mark)
        self.pid = self._process.pid
        self.stdin, self.stdout = self._process.stdin, self._process.stdout
        guardian.watch(self.pid)
        for fd in (self.stdin, self.stdout):
            os.set_blocking(fd, False)
        # Readable once the process has ended; elsewhere than on Linux it has to be asked.
        self.pidfd = self._process.open_handle()

    def look_for_exit(self) -> None:
        """Where there is no handle to wait on: ask whether it has ended."""
        if not self.has_exited:
            self.has_exited = self._process.poll() is not None

    def reap_adopted(self) -> None:
        """Orphans of the server become our children; those that have ended are let go."""
        if not hasattr(os, "waitid"):
            return
        with contextlib.suppress(ChildProcessError):
            while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if found.si_pid == self.pid:
                    return
                os.waitpid(found.si_pid, 0)

    def close_stdin(self) -> None:
        """Tell the server that nothing more will come."""
        if self.stdin >= 0:
            # Forgotten first, as in `mcptest.transport.stdio`.
            stdin, self.stdin = self.stdin, -1
            os.close(stdin)

    def signal_group(self, number: int) -> None:
        """Signal the whole group. It is led by a process we have not reaped yet."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def exit_code(self) -> int | None:
        """How the process ended (negative: by that signal), once it has been reaped."""
        return self._process.exit_code

    def reap(self) -> None:
        """Take the exit status and let go of every handle."""
        # A process that not even KILL ended (stuck in the kernel) stays the guardian's.
        if self.has_exited:
            self._process.wait()
            self.guardian.release(self.pid)
        self.close_stdin()
        self._process.close_outputs()
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1


def _started(command: Sequence[str], mark: str) -> Child:
    try:
        return start(command, {**os.environ, MARK_VARIABLE: mark}, with_stderr=False)
    except (OSError, ValueError) as error:
        raise ServerError(_fault(command, error)) from None


def _fault(command: Sequence[str], error: OSError | ValueError) -> Fault:
    why = error.strerror if isinstance(error, OSError) else str(error)
    return Fault(
        kind="spawn_failed",
        message=f"cannot start {visible(command[0])!r}: {why}",
        hint=_hint(error),
        evidence=Evidence(command=tuple(command)),
    )


def _hint(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "is it installed, and on the PATH that the client gives to its servers?"
    if isinstance(error, PermissionError):
        return "is it a program, and executable? Or name its interpreter first"
    return ""


_STDIN, _STDOUT = 0, 1

# So long nothing must have passed before what has passed is recorded.
_QUIET_MS = 2

# About 40 µs of asking before a wait goes to sleep.
_SPINS = 20

# How long a server may be silent after its client has stopped asking: when it owes an answer,
# and when it does not.
_OWED_PATIENCE_S = 300.0
_PATIENCE_S = 2.0

# A client that sends a signal seldom waits longer than 2 s before it kills us.
_SIGNAL_PATIENCE_S = 1.0
_AFTER_SIGNAL = Grace(stdin_s=0.0, term_s=0.5)
_AFTER_SILENCE = Grace(stdin_s=0.0)
_AFTER_CLIENT = Grace()

# After the process is gone what is left in the pipe is passed on, and no more: a grandchild
# may hold the pipe and never stop talking.
_LAST_WORDS_BYTES = 2 * 1024 * 1024

# Without process handles the end is noticed by asking now and then.
_ASKING_S = 0.02


class Relay(RelayedProcess):
    """One server between standard input and output of ours, from its start to its end."""

    def __init__(
        self,
        command: Sequence[str],
        guardian: Guardian,
        signals: RelayedSignals,
        recording: Recording,
    ) -> None:
        super().__init__(command, guardian)
        self._signals = signals
        self._recording = recording
        self._requests = Flow(_STDIN, self.stdin, in_pieces=False)
        self._answers = Flow(self.stdout, _STDOUT, in_pieces=True)
        self._poll = select.poll()
        self._watched: dict[int, int] = {}
        self._has_asked_all = False
        self._moved_at = time.monotonic()

    def run(self) -> int | None:
        """Pass everything on until one side ends, then end the other; how the server ended."""
        while not self._is_over():
            self._turn(self._silence_ends())
        if self._signals.count and not self.has_exited:
            self._pass_on_signal()
        if self.has_exited:
            self._pass_on_rest()
        stop(self, self._grace())  # type: ignore[arg-type]  # it has all that the ladder asks for
        return self.exit_code()

    # Life and death

    def _is_over(self) -> bool:
        silence_ends = self._silence_ends()
        return (
            self.has_exited
            or self._answers.is_refused
            or self._signals.count > 0
            or (silence_ends is not None and time.monotonic() >= silence_ends)
        )

    def _silence_ends(self) -> float | None:
        """When the patience with a server ends that has nothing more to do; None: never.

        It has something to do while it can be asked, and while its client does not take what
        it says.
        """
        is_heard = self._answers.sink >= 0
        can_be_asked = not self._has_asked_all and (self._requests.source >= 0 or is_heard)
        if can_be_asked or self._answers.backlog:
            return None
        is_owed = is_heard and self._recording.is_owed
        return self._moved_at + (_OWED_PATIENCE_S if is_owed else _PATIENCE_S)

    def _pass_on_signal(self) -> None:
        # With its input open: a server that sees its end may leave before it heeds the signal.
        self.signal_group(self._signals.number)
        self.wait_for_exit(time.monotonic() + _SIGNAL_PATIENCE_S)

    def _grace(self) -> Grace:
        if self._signals.count:
            return _AFTER_SIGNAL
        return _AFTER_CLIENT if self._answers.is_refused else _AFTER_SILENCE

    def wait_for_exit(self, deadline: float) -> bool:
        """Pass on what still comes until the server has ended or the deadline has come.

        A signal says that the client has little patience left: then the deadline comes earlier.
        """
        was_signalled = self._signals.count > 0
        while not self.has_exited and time.monotonic() < deadline:
            self._turn(deadline)
            if self._signals.count and not was_signalled:
                was_signalled = True
                deadline = min(deadline, time.monotonic() + _SIGNAL_PATIENCE_S)
        return self.has_exited

    def close_stdin(self) -> None:
        """Nothing more goes to the server, so nothing more is taken from the client."""
        self._requests.sink = -1
        self._requests.backlog.clear()
        if self._requests.source >= 0:
            self._requests.source = -1
            _let_go_of(_STDIN)
        super().close_stdin()

    def reap(self) -> None:
        """Pass on the last words, take the exit status, and let go of every handle."""
        self._pass_on_rest()
        super().reap()

    def _pass_on_rest(self) -> None:
        """What a server that is gone had still said, for as long as somebody reads it."""
        self.close_stdin()
        answers, left = self._answers, _LAST_WORDS_BYTES
        while left > 0 and answers.source >= 0 and (chunk := answers.receive()):
            self._recording.hear("server", chunk)
            left -= len(chunk)
        answers.source = -1
        while answers.backlog and not self._signals.count:
            self._turn(None)
        self._close_stdout()

    def _close_stdout(self) -> None:
        if self._answers.sink >= 0:
            self._answers.sink = -1
            _let_go_of(_STDOUT)

    # One turn of the loop

    def _turn(self, deadline: float | None) -> None:
        for fd, events in self._wait(deadline):
            if fd == self._answers.source:
                self._take("server", self._answers)
            elif fd == self._requests.source:
                self._take("client", self._requests)
                self._has_asked_all = self._requests.source < 0
            elif fd == self._answers.sink:
                self._push(self._answers, events)
            elif fd == self._requests.sink:
                self._push(self._requests, events)
            elif fd == self.pidfd:
                self.has_exited = True
        self._settle()

    def _settle(self) -> None:
        """Draw the consequences of what has happened."""
        if self.pidfd < 0:
            self.look_for_exit()
        if self._requests.is_done or self._requests.is_refused:
            self.close_stdin()
        if self._answers.is_done:
            self._close_stdout()
        if self._has_asked_all:
            # How long is waited now depends on what is still owed.
            self._recording.catch_up()

    def _take(self, side: Side, flow: Flow) -> None:
        self._moved_at = time.monotonic()
        if chunk := flow.receive():
            self._recording.hear(side, chunk)

    def _push(self, flow: Flow, events: int) -> None:
        self._moved_at = time.monotonic()
        if events & select.POLLOUT:
            flow.pass_on()
        else:
            flow.refuse()

    def _wait(self, deadline: float | None) -> list[tuple[int, int]]:
        """What is ready by the deadline; while nothing is, what has passed is recorded."""
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
        self.reap_adopted()
        if self.pidfd < 0:
            soon = time.monotonic() + _ASKING_S
            deadline = min(deadline, soon) if deadline is not None else soon
        if deadline is None:
            return self._poll.poll()
        # Rounded up, or the last millisecond would be spent asking.
        return self._poll.poll(int(max(0.0, deadline - time.monotonic()) * 1000) + 1)

    def _wait_briefly(self) -> list[tuple[int, int]]:
        """What follows at once upon what has just passed.

        Waking a core that has gone to sleep takes longer than a quick answer, so the first
        moments are spent asking, and letting others have this core if they want it.
        """
        for _ in range(_SPINS):
            if ready := self._poll.poll(0):
                return ready
            os.sched_yield()
        return self._poll.poll(_QUIET_MS)

    def _watch(self) -> None:
        wanted = self._wanted()
        if wanted != self._watched:
            for fd in self._watched.keys() - wanted.keys():
                self._poll.unregister(fd)
            for fd, events in wanted.items():
                self._poll.register(fd, events)
            self._watched = wanted

    def _wanted(self) -> dict[int, int]:
        """What to wait for. An end that is not written to still tells when nobody reads it."""
        requests, answers = self._requests, self._answers
        wanted = {}
        for flow in (answers, requests):
            if flow.source >= 0 and flow.has_room:
                wanted[flow.source] = select.POLLIN
        if requests.sink >= 0:
            wanted[requests.sink] = select.POLLOUT if requests.backlog else 0
        if answers.sink >= 0 and (answers.backlog or requests.source < 0):
            wanted[answers.sink] = select.POLLOUT if answers.backlog else 0
        if self.pidfd >= 0 and not self.has_exited:
            wanted[self.pidfd] = select.POLLIN
        if not self._signals.count:
            wanted[self._signals.fd] = select.POLLIN
        return wanted


def _let_go_of(fd: int) -> None:
    """Close a standard stream; its number stays taken, so that no other file gets it."""
    null = open_null()
    os.dup2(null, fd)
    os.close(null)


# Signals to a relay: the server behind it gets the same.


class RelayedSignals(Interrupts):
    """Interrupts that remember which signal came first; 0 while none has."""

    number = 0

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.number = self.number or number
        super()._handle(number, frame)
