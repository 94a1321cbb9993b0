"""Stand between a client and its server, and pass everything on.

The client has started us in the place of the server. Every byte goes through unchanged, in
order and at once; what passes is recorded when nothing else is to do. One poll waits for both
sides, for room to write, for the end of the server and for signals to us.

Whatever one side does to us is done to the other. A closed end is closed, a signal is sent on,
and we end as the server did. The client is gone when nobody reads us any more; a client that
has only stopped asking still gets what it is owed.
"""

from __future__ import annotations

import os
import select
import time

from mcptest.wire.null_device import open_null
from mcptest.wire.relay_flow import Flow
from mcptest.wire.relay_process import RelayedProcess
from mcptest.wire.stopping import Grace, stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.wire.guardian import Guardian
    from mcptest.wire.relay_recording import Recording, Side
    from mcptest.wire.relay_signals import RelayedSignals

__all__ = ["Relay"]

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
