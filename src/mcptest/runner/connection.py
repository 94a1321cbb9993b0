"""What goes to one server process and what comes from it: sent, taken in, counted and kept.

The connection knows the pipe, the session and the inbox behind it. What a step or a dialogue
makes of what has come is for those who drive the server.
"""

from __future__ import annotations

import os
import time
from itertools import count

from mcptest import __version__
from mcptest.core.errors import ServerError
from mcptest.core.framing import Frame, encode_line
from mcptest.core.session import ClientSession
from mcptest.core.trouble import Trouble
from mcptest.rules.watch import RuleWatch
from mcptest.runner import faults
from mcptest.runner.findings import Findings
from mcptest.runner.inbox import Inbox
from mcptest.runner.wires import wire_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcptest.core.capture import SessionCapture
    from mcptest.core.conformance import SessionScore
    from mcptest.core.framing import Noise, Overlong
    from mcptest.core.outcome import LogLine
    from mcptest.core.plan import ServerSpec
    from mcptest.rules.composition import Member
    from mcptest.runner.launcher import Launcher
    from mcptest.runner.log import MessageLog
    from mcptest.runner.tape import Tape

    Item = Frame | Noise | Overlong | Trouble

__all__ = ["Connection", "Waiting"]

_TICK_S = 0.1

# The bytes of which all but the first of a character are made.
_CONTINUED = bytes(range(0x80, 0xC0))

# Over pipes each session has a process of its own; over HTTP this tells one from another.
_numbers = count(1)

# More than this takes so long to be judged that it matters to whoever looks at times.
_LARGE_BYTES = 16 * 1024
_HUGE_BYTES = 4 * 1024 * 1024

# What a pipe may hold when the time for an answer is up, and is still looked at.
_LATE_BYTES = 2 * 1024 * 1024

# How much may wait to be read by a server that asks us things and does not listen.
_MAX_UNREAD_REPLY_BYTES = 64 * 1024 * 1024


class Connection:
    """The line to one server under test."""

    def __init__(self, spec: ServerSpec, launcher: Launcher) -> None:
        self.spec = spec
        self.launcher = launcher
        self.findings = Findings(spec.name)
        offer = spec.spec_version or spec.protocol_version
        self.session = ClientSession(offer, __version__, spec.client)
        self.wire = wire_to(spec, launcher)
        self.inbox = Inbox(self.session, self.findings, self.wire.redact)
        self._label = self.wire.label
        self._tape = _new_tape() if launcher.keeps_traffic else None
        self._mark = "" if self.wire.is_pipe else f"#{os.getpid()}.{next(_numbers)}"
        self._watch = (
            RuleWatch(self._label, self._transport, self.session.written_ids)
            if launcher.judges
            else None
        )
        self._hears = bool(self._watch or self._tape)
        # A question of our own, which is nobody's traffic, and the ids of all of them so far:
        # neither are their answers, also those that come too late.
        self._own_question = b""
        self._own_ids: set[str] = set()
        self._replied_bytes = 0
        self._bytes_before = 0
        self._log: MessageLog | None = None
        self._log_mark = 0

    @property
    def _transport(self) -> str:
        """The channel of this session, which no other has."""
        started_at = self._tape.started_at if self._tape else ""
        return f"{self.wire.transport}@{started_at}{self._mark}"

    @property
    def is_lost(self) -> bool:
        """Whether the process has ended or its stdout has."""
        return self.wire.is_closed or self.wire.has_exited

    @property
    def size(self) -> int:
        """How many bytes have come since the step began."""
        return self.wire.stdout_tail.total - self._bytes_before

    @property
    def is_behind(self) -> bool:
        """Whether something is left to be judged until nobody waits."""
        return self._watch is not None and self._watch.is_behind

    def put_off_rules(self) -> None:
        """Leave everything to be judged for the time between two tests."""
        if self._watch:
            self._watch.is_behind = True

    def catch_up(self) -> None:
        """Judge what is left, while nobody waits."""
        if self._watch:
            self._watch.catch_up()

    def ask_privately(self, line: bytes, id: str) -> None:
        """This line is a question of our own; what else is said meanwhile is not."""
        self._own_question = line
        self._own_ids.add(id)

    def _is_for_us(self, item: Item) -> bool:
        value = item.value if isinstance(item, Frame) else None
        if not isinstance(value, dict) or "method" in value:
            return False
        id = value.get("id")
        return isinstance(id, str) and id in self._own_ids

    def start_step(self) -> None:
        """What comes from here on belongs to the next step."""
        self.inbox.start_step()
        self._log = _new_log() if self.launcher.keeps_log else None
        self._log_mark = self.wire.stderr.total
        self._bytes_before = self.wire.mark_stdout()
        self._replied_bytes = 0

    def open_request(self, line: bytes, id: object, *, keeps_id: bool = False) -> bytes:
        """Prepare to send a request; the line to send. ServerError if the server has failed.

        The caller has looked around: what has arrived before cannot be its answer.
        """
        session = self.session
        if self.inbox.is_broken:
            self.raise_broken()
        if session.early_ids and session.take_early(id):
            self.findings.add("early_response", faults.STRAYS["early_response"])
            self.inbox.suspect(faults.early_clue(id))
        line = session.opened(id, line, keeps_id=keeps_id)
        if begun := self.wire.begun_line:
            self.inbox.sent_during_line(id, begun)
        return line

    def send(self, line: bytes) -> None:
        """Send a line; it is in the log of the step and in the capture, when they are kept."""
        is_own = line is self._own_question
        if self.session.is_stateless:
            line = self.session.dressed(line)
        if self._log:
            self._log.sent(line)
        if self._tape and not is_own:
            self._tape.sent(line)
        self.wire.send(line)
        if self._watch and not is_own:
            self._watch.sent(line)

    def _record(self, items: Sequence[Item]) -> None:
        if self._own_ids:
            items = [item for item in items if not self._is_for_us(item)]
        if self._watch:
            self._watch.received(items)
            if self.size > _HUGE_BYTES:
                # So much is not kept for later: it is judged as it comes.
                self._watch.catch_up()
            elif self.size > _LARGE_BYTES:
                self._watch.is_behind = True
        if self._tape:
            self._tape.received(items)

    def hear_out(self, items: Sequence[Item]) -> None:
        """Take what came while the server was being stopped; nobody waits for it any more."""
        items = self._cleaned(items)
        self._record(items)
        self.inbox.take(items)

    # Receiving

    def receive(self, deadline: float, *, works: bool = True) -> Sequence[Item]:
        """What comes by the deadline. Progress is shown meanwhile, where it is.

        Rules are asked while we wait, unless that could be taken for time of the server.
        """
        if self._watch and works:
            self._watch.work()
        tick = self.launcher.while_waiting
        if tick is None:
            return self.wire.receive(deadline)
        while True:
            pause = min(deadline, time.monotonic() + _TICK_S)
            items = self.wire.receive(pause)
            if items or self.wire.is_closed or pause == deadline:
                return items
            tick()

    def take(self, items: Sequence[Item]) -> None:
        """Sort what has come, and give the server what it is owed for it."""
        items = self._cleaned(items)
        if self._hears:
            self._record(items)
        if self._log:
            self._log.received(items)
        for reply in self.inbox.take(items):
            line = encode_line(reply)
            self._replied_bytes += len(line)
            self.send(line)
        self._check_budget()
        # A step whose answer came right stands; the next one is told.
        if self.inbox.is_waiting:
            self.raise_broken()

    def _cleaned(self, items: Sequence[Item]) -> Sequence[Item]:
        """The same, but no secret in what is no message, where the next line may have its rest.

        Messages are compared as they came; whoever tells of them blanks what is in them.
        """
        if self.wire.redact is None:
            return items
        return [
            item
            if isinstance(item, (Frame, Trouble))
            else item.but(raw=self.wire.cleaned(item.raw))
            for item in items
        ]

    def look_around(self) -> None:
        """Take, without waiting, whatever has arrived or happened since the last look."""
        if not self.wire.is_closed:
            items = self.wire.receive(0.0)
            if items:
                self.take(items)

    def raise_broken(self) -> None:
        """Raise what has made it impossible to go on, if anything has."""
        fault = self.inbox.take_fault()
        if fault:
            raise ServerError(faults.with_evidence(fault, self.wire))

    def _check_budget(self) -> None:
        limits, messages, size = self.spec.limits, self.inbox.messages, self.size
        if messages > limits.max_messages_per_call or size > limits.max_bytes_per_call:
            raise ServerError(faults.over_budget(limits, messages, size, self.wire))
        # Few servers ask us anything; then nothing of ours can be left unread.
        if self._replied_bytes and (
            min(self._replied_bytes, self.wire.unsent_bytes) > _MAX_UNREAD_REPLY_BYTES
        ):
            raise ServerError(faults.asks_and_never_listens(self.wire))

    # What is kept

    def stderr_since(self, mark: int) -> str:
        if self.wire.stderr.total == mark:
            return ""
        kept, lost = self.wire.stderr.since(mark)
        if lost:
            # It begins anywhere, in the middle of a secret perhaps.
            kept = self.wire.cleaned(kept)
        text = kept.decode("utf-8", "backslashreplace")
        return f"[{lost:,} earlier bytes not kept]\n{text}" if lost else text

    def log(self) -> tuple[LogLine, ...]:
        """What has been said since the step began, when a log is kept."""
        if self._log is None:
            return ()
        stderr = self.stderr_since(self._log_mark)
        # Before it is cut into lines, over which a secret may be spread.
        redact = self.wire.redact
        stderr = redact(stderr) if redact else stderr
        return self._log.lines(stderr, self.size, self.session)

    def _is_stderr_utf8(self) -> bool | None:
        """Whether what is kept of stderr can be read; None when there is nothing."""
        kept = self.wire.stderr.tail()
        if not kept:
            return None
        try:
            # Its beginning may have been cut off in the middle of a character.
            kept.lstrip(_CONTINUED).decode("utf-8")
        except UnicodeDecodeError as error:
            # So may its end, when the server was stopped.
            return error.reason == "unexpected end of data"
        return True

    def score(self, exit_status: str) -> tuple[SessionScore, Member] | None:
        """What the rules say of the session, which is over; None when they were not asked."""
        if self._watch is None:
            return None
        return self._watch.finish(exit_status, is_stderr_utf8=self._is_stderr_utf8())

    def capture(self, exit_status: str) -> SessionCapture | None:
        """Everything that was said, when traffic is kept."""
        if self._tape is None:
            return None
        # Which of the two transports over HTTP it is, is known only by now.
        return self._tape.capture(
            self._label,
            self._transport,
            exit_status,
            is_stderr_utf8=self._is_stderr_utf8(),
            written_id=self.session.written_id,
        )


class Waiting:
    """Waits for a server for a limited time, which is the server's alone.

    Our own work on what has come prolongs the wait, by at most the limit itself. So does the time
    for which we were stopped.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._interrupts = connection.launcher.interrupts
        self.begin(0.0)

    def begin(self, limit_s: float) -> None:
        """Another wait begins, with this limit."""
        self._limit_s = limit_s
        self._own_s = 0.0
        self._stopped_s = self._interrupts.stopped_s
        self._late_from = -1

    def take(self, deadline: float, receive: Callable[[float], Sequence[Item]]) -> bool:
        """Take what comes by the deadline; False when the time is up.

        What the server has sent by then is still taken, and no more.
        """
        stopped_s = self._interrupts.stopped_s - self._stopped_s
        deadline += min(self._own_s, self._limit_s) + stopped_s
        items = receive(deadline)
        came = time.monotonic()
        self._connection.take(items)
        if items:
            self._own_s += time.monotonic() - came
        if came < deadline:
            return True
        total = self._connection.wire.stdout_tail.total
        self._late_from = total if self._late_from < 0 else self._late_from
        return bool(items) and total <= self._late_from + _LATE_BYTES


# Most runs keep neither of these.


def _new_tape() -> Tape:
    from mcptest.runner.tape import Tape  # noqa: PLC0415

    return Tape()


def _new_log() -> MessageLog:
    from mcptest.runner.log import MessageLog  # noqa: PLC0415

    return MessageLog()
