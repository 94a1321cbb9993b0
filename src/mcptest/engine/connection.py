"""The connection to one server process: send, receive, sort, record.

`Connection` owns the transport, the session, the `Inbox`, which sorts what arrives, and the
`Recording`. `Waiting` bounds a wait in time. Steps and dialogues are performed by
`mcptest.engine.server` and `mcptest.engine.dialogue`.
"""

from __future__ import annotations

import os
import re
import time
from itertools import count

from mcptest import __version__
from mcptest.core.errors import ServerError
from mcptest.core.results import Finding
from mcptest.core.secrets import redact_all
from mcptest.core.strict_json import dump_json
from mcptest.core.text import visible
from mcptest.core.value_class import ABSENT
from mcptest.engine import faults
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import Frame, Noise, TransportFault, encode_line
from mcptest.protocol.session import (
    ClientSession,
    EchoReceived,
    InputRequested,
    NotificationReceived,
    ProtocolViolated,
    RequestReceived,
    ResponseReceived,
    UnexpectedResponse,
)
from mcptest.rules.watch import RuleWatch
from mcptest.transport.process.stopping import describe_end
from mcptest.transport.stdio import StdioTransport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeVar

    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Fault, LogLine, SessionScore
    from mcptest.engine.recorder import MessageLog, TrafficRecorder
    from mcptest.engine.server import Launcher
    from mcptest.protocol.capture import SessionCapture
    from mcptest.protocol.framing import LineDecoder, Overlong
    from mcptest.protocol.session import Message, SessionEvent
    from mcptest.rules.scorer import SessionNames
    from mcptest.transport import Transport
    from mcptest.transport.process.stopping import Stopped

    Item = Frame | Noise | Overlong | TransportFault
    # Where a message begins and ends in the bytes sent so far.
    Place = tuple[int, int]
    Quoted = TypeVar("Quoted", UnexpectedResponse, ProtocolViolated)

__all__ = ["Connection", "Findings", "Inbox", "Recording", "Waiting"]


_TICK_S = 0.1

# The bytes that continue a character of UTF-8.
_CONTINUED = bytes(range(0x80, 0xC0))

# Tells sessions over HTTP apart, which may share a process.
_numbers = count(1)

# Checking rules on more than this takes noticeable time, and is postponed; on more than a huge
# amount it is not, to bound memory.
_LARGE_BYTES = 16 * 1024
_HUGE_BYTES = 4 * 1024 * 1024

# How much of what arrived before the deadline is still read after it, and for how long.
_LATE_BYTES = 2 * 1024 * 1024
_LATE_S = 2.0

# How many bytes of our replies a server may leave unread.
_MAX_UNREAD_REPLY_BYTES = 64 * 1024 * 1024


class Connection:
    """The connection to one server under test."""

    def __init__(self, spec: ServerSpec, launcher: Launcher) -> None:
        self.spec = spec
        self.launcher = launcher
        self.findings = Findings(spec.name)
        offer = spec.spec_version or spec.protocol_version
        self.session = ClientSession(offer, __version__, spec.client)
        self.wire = _open_wire(spec, launcher)
        self.inbox = Inbox(self.session, self.findings, self.wire.redact, spec.line_limit)
        self.inbox.on_notification = launcher.on_notification
        self.recording = Recording(self.wire, self.session, launcher)
        self._replied_bytes = 0
        self._bytes_before = 0
        self._log: MessageLog | None = None
        # How long stderr was when the step began.
        self.stderr_mark = 0
        # How long stderr was at the first step of the test; None before it. What the server writes
        # while it starts belongs to no test, also if it is started for one.
        self._test_start: int | None = None
        # The trace context for requests of the test, "" for none; and the trace of its last one.
        self.traceparent = ""
        self.trace_id = ""
        self.wire.repeats_trace = launcher.traces

    @property
    def is_lost(self) -> bool:
        """Whether the process has ended or its stdout has."""
        return self.wire.is_closed or self.wire.has_exited

    @property
    def size(self) -> int:
        """How many bytes have arrived since the step began."""
        return self.wire.stdout_tail.total - self._bytes_before

    def start_step(self, *, is_handshake: bool = False) -> None:
        """What arrives from here on belongs to the next step."""
        self.inbox.start_step()
        if self.launcher.keeps_log:
            from mcptest.engine.recorder import MessageLog  # noqa: PLC0415  # most runs keep none

            self._log = MessageLog()
        self.stderr_mark = self.wire.stderr.total
        if self._test_start is None and not is_handshake:
            self._test_start = self.stderr_mark
        self._bytes_before = self.wire.mark_stdout()
        self._replied_bytes = 0

    def open_request(self, line: bytes, id: object, *, keeps_id: bool = False) -> bytes:
        """Prepare to send a request; the line to send. ServerError if the server has failed.

        The caller has polled: what arrived before cannot be its answer.
        """
        session = self.session
        if self.inbox.is_broken:
            self.raise_broken()
        if session.ids.take_early(id):
            self.findings.add("early_response", faults.STRAYS["early_response"])
            self.inbox.add_hint(faults.describe_early_response(id))
        line = session.open_request(id, line, keeps_id=keeps_id)
        if begun := self.wire.begun_line:
            self.inbox.sent_during_line(id, begun)
        return line

    def send(self, line: bytes, *, is_private: bool = False) -> Place:
        """Send a line, and record it unless it is private; its place in the bytes sent."""
        if self.session.revision.is_stateless:
            line = self.session.add_metadata(line)
        written = line
        if self.traceparent and not is_private:
            line, context = self.session.add_trace(line, self.traceparent)
            if context:
                # version-trace-parent-flags; what a test writes itself may be anything.
                _, _, rest = context.partition("-")
                self.trace_id = rest.partition("-")[0] or context
        if self._log:
            self._log.sent(line)
        if not is_private:
            # As written: a trace is of one run, and captures are compared and replayed.
            self.recording.sent(written)
        begin = self.wire.sent_bytes
        self.wire.send(line)
        return begin, self.wire.sent_bytes

    def take_last(self, items: Sequence[Item]) -> None:
        """Take what arrived while the server was being stopped."""
        items = self._redact_noise(items)
        self.recording.received(items, self.size)
        self.inbox.take(items)

    # Receiving

    def receive(self, deadline: float) -> Sequence[Item]:
        """What arrives by the deadline; meanwhile rules are checked and progress is shown."""
        self.recording.work()
        tick = self.launcher.while_waiting
        if tick is None:
            return self.wire.receive(deadline)
        while True:
            pause = min(deadline, time.monotonic() + _TICK_S)
            items = self.wire.receive(pause)
            if items or self.wire.is_closed:
                return items
            # At the deadline, too: it may raise because more than this wait is over.
            tick()
            if pause == deadline:
                return items

    def take(self, items: Sequence[Item]) -> None:
        """Sort what has arrived, and send the replies that the server expects."""
        items, size = self._redact_noise(items), self.size
        self.recording.received(items, size)
        if self._log:
            self._log.received(items)
        for reply in self.inbox.take(items):
            line = encode_line(reply)
            self._replied_bytes += len(line)
            self.send(line)
        limits, messages = self.spec.limits, self.inbox.messages
        if messages > limits.max_messages_per_call or size > limits.max_bytes_per_call:
            raise ServerError(faults.output_budget_fault(limits, messages, size, self.wire))
        if self._replied_bytes and (
            min(self._replied_bytes, self.wire.unsent_bytes) > _MAX_UNREAD_REPLY_BYTES
        ):
            raise ServerError(faults.unread_replies_fault(self.wire))
        # If the answer has arrived already, the next step raises the fault.
        if self.inbox.is_waiting:
            self.raise_broken()

    def _redact_noise(self, items: Sequence[Item]) -> Sequence[Item]:
        """Remove secrets from lines that are not messages.

        Messages are compared as they arrived; reporters remove secrets from them.
        """
        if self.wire.redact is None:
            return items
        return [
            item
            if isinstance(item, (Frame, TransportFault))
            else item.but(raw=self.wire.redact_output(item.raw))
            for item in items
        ]

    def poll(self) -> None:
        """Take what has arrived, without waiting."""
        if not self.wire.is_closed:
            items = self.wire.receive(0.0)
            if items:
                self.take(items)

    def raise_broken(self) -> None:
        """Raise the fault that makes it impossible to go on, if there is one."""
        fault = self.inbox.take_fault()
        if fault:
            self.recording.reported_kinds.add(fault.kind)
            raise ServerError(faults.with_evidence(fault, self.wire))

    # What is kept

    def stderr_since(self, mark: int) -> str:
        if self.wire.stderr.total == mark:
            return ""
        kept, lost = self.wire.stderr.since(mark)
        if lost:
            # It may begin in the middle of a secret.
            kept = self.wire.redact_output(kept)
        text = kept.decode("utf-8", "backslashreplace")
        return f"[{lost:,} earlier bytes not kept]\n{text}" if lost else text

    def start_test(self) -> None:
        """The next step is the first of another test."""
        self._test_start = None
        self.traceparent = self.trace_id = ""

    def stderr_of_test(self) -> str:
        """What the server has written to stderr since the first step of the test."""
        if self._test_start is None:
            return ""
        self.wire.drain_stderr()
        return self.stderr_since(self._test_start)

    def log(self) -> tuple[LogLine, ...]:
        """The messages since the step began, if a log is kept."""
        if self._log is None:
            return ()
        stderr = self.stderr_since(self.stderr_mark)
        # Before it is cut into lines: a secret may span several.
        redact = self.wire.redact
        stderr = redact(stderr) if redact else stderr
        return self._log.lines(stderr, self.size, self.session.ids)


class Recording:
    """What is kept of one session: its capture, and the verdicts of the rules on it."""

    def __init__(self, wire: Transport, session: ClientSession, launcher: Launcher) -> None:
        self._wire = wire
        self._ids = session.ids
        self._label = wire.label
        self._recorder: TrafficRecorder | None = None
        if launcher.keeps_traffic:
            # Most runs record nothing.
            from mcptest.engine.recorder import TrafficRecorder  # noqa: PLC0415

            self._recorder = TrafficRecorder()
        self._suffix = "" if wire.is_pipe else f"#{os.getpid()}.{next(_numbers)}"
        self._watch: RuleWatch | None = None
        if launcher.judges:
            self._watch = RuleWatch(self._label, self._transport, session.ids.written)
        # The ids of requests that no test sends: neither they nor their answers, however late, are
        # recorded.
        self.private_ids: set[str] = set()
        # The kinds of the faults that tests report, and what the answer to initialize lacks.
        self.reported_kinds: set[str] = set()
        self.gaps: tuple[str, ...] = ()

    @property
    def _transport(self) -> str:
        """The transport, with a mark that is unique to this session."""
        started_at = self._recorder.started_at if self._recorder else ""
        return f"{self._wire.transport}@{started_at}{self._suffix}"

    def sent(self, line: bytes) -> None:
        if self._recorder:
            self._recorder.sent(line)
        if self._watch:
            self._watch.sent(line)

    def received(self, items: Sequence[Item], size: int) -> None:
        """Record what has arrived; `size` is how much has arrived since the step began."""
        if self.private_ids:
            items = [item for item in items if not self._is_private(item)]
        if self._watch:
            self._watch.received(items)
            if size > _HUGE_BYTES:
                self._watch.catch_up()
            elif size > _LARGE_BYTES:
                self._watch.is_behind = True
        if self._recorder:
            self._recorder.received(items)

    def _is_private(self, item: Item) -> bool:
        value = item.value if isinstance(item, Frame) else None
        if not isinstance(value, dict) or "method" in value:
            return False
        id = value.get("id")
        return isinstance(id, str) and id in self.private_ids

    def work(self) -> None:
        """Check rules while an answer is awaited."""
        if self._watch:
            self._watch.work()

    @property
    def is_behind(self) -> bool:
        """Whether checking rules has been postponed."""
        return self._watch is not None and self._watch.is_behind

    def put_off_rules(self) -> None:
        """Postpone checking rules to the time between two tests."""
        if self._watch:
            self._watch.is_behind = True

    def catch_up(self) -> None:
        """Check rules on what was postponed."""
        if self._watch:
            self._watch.catch_up()

    def note_expected_error(self, method: str) -> None:
        """A call of this method was answered with an error, as its test expects."""
        if self._watch:
            self._watch.note_expected_error(method)

    def score(self, exit_status: str, ended_by: str) -> tuple[SessionScore, SessionNames] | None:
        """The verdicts of the rules on the session; None if they are not checked."""
        if self._watch is None:
            return None
        score, member = self._watch.finish(
            exit_status, ended_by=ended_by, is_stderr_utf8=self._is_stderr_utf8()
        )
        kinds, gaps = self.reported_kinds, self.gaps
        if not kinds and not gaps:
            return score, member
        # Mark the verdicts on mistakes that a fault or a finding reports.
        reported = {id: kind for kind in kinds for id in faults.REPORTED_RULES.get(kind, ())}
        if any("result.capabilities" in gap for gap in gaps):
            reported["INV-003"] = "protocol_violation"
        for verdict in score.verdicts:
            if verdict.id == "BASE-41" and verdict.count <= len(gaps):
                reported[verdict.id] = "protocol_violation"
        verdicts = (
            each.but(reported_by=reported[each.id])
            if each.status == "fail" and each.id in reported
            else each
            for each in score.verdicts
        )
        return score.but(verdicts=tuple(verdicts)), member

    def capture(self, exit_status: str, ended_by: str) -> SessionCapture | None:
        """The capture of the session, if traffic is kept."""
        if self._recorder is None:
            return None
        # Which of the two transports over HTTP was used is known only now.
        return self._recorder.capture(
            self._label,
            self._transport,
            exit_status,
            ended_by=ended_by,
            is_stderr_utf8=self._is_stderr_utf8(),
            written_id=self._ids.written_id,
        )

    def _is_stderr_utf8(self) -> bool | None:
        """Whether stderr is valid UTF-8; None when it is empty."""
        kept = self._wire.stderr.tail()
        if not kept:
            return None
        try:
            # The kept part may begin in the middle of a character.
            kept.lstrip(_CONTINUED).decode("utf-8")
        except UnicodeDecodeError as error:
            # It may end in one, because the server was stopped.
            return error.reason == "unexpected end of data"
        return True


class Waiting:
    """Waits for a server with a time limit.

    The time that we spend on what arrives does not count, up to the limit itself; nor does the
    time for which this process was suspended.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._interrupts = connection.launcher.interrupts
        self.begin(0.0)

    def begin(self, limit_s: float, *, is_timed: bool = False) -> float:
        """Start another wait; its deadline. With `is_timed`, `elapsed_s` is exact."""
        self._limit_s = limit_s
        self._is_timed = is_timed
        self._own_s = 0.0
        self._stopped_before_s = self._interrupts.stopped_s
        # When what was taken last had arrived.
        self._arrived_at = now = time.monotonic()
        # Up to how many bytes of stdout, and until when, we read on after the deadline.
        self._late_limits: tuple[int, float] | None = None
        if is_timed:
            # Checking rules would delay the moment at which an answer is noticed.
            self._connection.recording.put_off_rules()
        return now + limit_s

    def take(self, deadline: float) -> bool:
        """Take what arrives by the deadline; False when the time is up.

        What the server had sent by then is still taken.
        """
        stopped_s = self._interrupts.stopped_s - self._stopped_before_s
        deadline += min(self._own_s, self._limit_s) + stopped_s
        connection = self._connection
        items: Sequence[Item] = ()
        if self._is_timed and self._own_s:
            # What is there already arrived while we were busy with what came before. It counts as
            # if it had arrived together with that.
            items = connection.wire.receive(0.0)
            came = time.monotonic()
        if not items:
            items = connection.receive(deadline)
            came = self._arrived_at = time.monotonic()
        connection.take(items)
        if items:
            self._own_s += time.monotonic() - came
        if came < deadline:
            return True
        total = connection.wire.stdout_tail.total
        if self._late_limits is None:
            self._late_limits = total + _LATE_BYTES, came + _LATE_S
        max_total, until = self._late_limits
        return bool(items) and total <= max_total and came < until

    def elapsed_s(self, began: float) -> float:
        """The time from this moment to the last arrival, without that of a suspension."""
        return self._arrived_at - began - (self._interrupts.stopped_s - self._stopped_before_s)


# How many oddities during one call are remembered as possible reasons for a missing answer.
_MAX_HINTS = 1000

_TOOLS_CHANGED = "notifications/tools/list_changed"

# How many notifications of one step are kept for its expectations.
_MAX_NOTIFICATIONS = 10_000


class Inbox:
    """Sorts what arrives into answers, faults, findings and hints. Pure.

    `answer` is that of the awaited call, ABSENT until it arrives.
    """

    def __init__(
        self,
        session: ClientSession,
        findings: Findings,
        redact: Callable[[str], str] | None,
        line_limit: str,
    ) -> None:
        self._session = session
        self._findings = findings
        self._line_limit = line_limit
        self._redact = redact
        self._awaited: object = ABSENT
        self._broken: Fault | None = None
        self._forgiven: set[jsonrpc.IdKey] = set()
        # By wire id, the calls that were sent while a line was arriving, and its number.
        self._sent_during: dict[jsonrpc.IdKey, int] = {}
        self.answer: Any = ABSENT
        self.hints: list[str] = []
        self.noise: list[str] = []
        self.messages = 0
        self.notifications: list[Any] = []
        self._keeps_notifications = False
        # How often the server has announced that its tools changed.
        self.tool_changes = 0
        self.on_notification: Callable[[Message], None] | None = None
        # Gets each event first; if it returns true, the event is not processed further.
        self.listener: Callable[[SessionEvent], bool] | None = None

    def start_step(self) -> None:
        """What arrives from here on belongs to the next step."""
        self.messages = 0
        self._keeps_notifications = False
        if self.hints:
            # New lists: the old ones may still be in use.
            self.hints, self.noise = [], []
        if self.notifications:
            self.notifications = []

    def keep_notifications(self) -> None:
        """Keep notifications for the expectations of this step."""
        self._keeps_notifications = True

    def expect(self, id: object) -> None:
        """A call with this id is sent, and its answer is waited for."""
        self._awaited, self.answer = id, ABSENT

    def sent_during_line(self, id: object, line: int) -> None:
        """A call with this id is sent while the line with this number is arriving."""
        self._sent_during[jsonrpc.id_key(self._session.wire_id(id))] = line

    def stop_expecting(self) -> None:
        self._awaited = ABSENT

    def forgive(self, id: object) -> None:
        """Do not report a late answer to this call, which we abandoned before its timeout."""
        self._forgiven.add(jsonrpc.id_key(self._session.wire_id(id)))

    @property
    def is_waiting(self) -> bool:
        return self._awaited is not ABSENT and self.answer is ABSENT

    @property
    def is_broken(self) -> bool:
        return self._broken is not None

    def take(self, items: Iterable[Item]) -> list[Message]:
        """Sort what has arrived; the replies that the server expects."""
        owed: list[Message] = []
        for item in items:
            self.messages += 1
            if isinstance(item, Frame):
                if self._sent_during and self._is_early(item):
                    self._findings.add("early_response", faults.STRAYS["early_response"])
                    continue
                for event in self._session.receive(item.value, item.answers):
                    self._take_event(event, owed)
            elif isinstance(item, Noise):
                self._take_noise(item)
            elif isinstance(item, TransportFault):
                self._take_transport_fault(item)
            else:
                self.break_off(faults.line_too_long_fault(item, self._line_limit))
        return owed

    def take_fault(self) -> Fault | None:
        """The fault that makes it impossible to go on; returned once."""
        broken, self._broken = self._broken, None
        return broken

    def break_off(self, fault: Fault) -> None:
        """Remember a fault that makes it impossible to go on; the next wait raises it."""
        # The first fault is the cause of later ones.
        self._broken = self._broken or fault

    def _is_early(self, frame: Frame) -> bool:
        """Whether a line answers a call that was sent after the line had begun."""
        keys = {key for key, line in self._sent_during.items() if line == frame.line}
        self._sent_during = {
            key: line for key, line in self._sent_during.items() if line > frame.line
        }
        values: list[Any] = frame.value if isinstance(frame.value, list) else [frame.value]
        return any(
            isinstance(value, dict)
            and "method" not in value
            and jsonrpc.id_key(value.get("id")) in keys
            for value in values
        )

    def _take_event(self, event: SessionEvent, owed: list[Message]) -> None:
        # The listener gets an unexpected response as it was written.
        if self.listener and not isinstance(event, UnexpectedResponse) and self.listener(event):
            return
        if isinstance(event, ResponseReceived):
            id, awaited = event.id, self._awaited
            if id is awaited or jsonrpc.id_key(id) == jsonrpc.id_key(awaited):
                self.answer = event.message
        elif isinstance(event, UnexpectedResponse):
            self._take_stray(event)
        elif isinstance(event, RequestReceived):
            owed.append(event.reply)
        elif isinstance(event, InputRequested):
            owed.append(event.request)
        elif isinstance(event, NotificationReceived):
            self._take_notification(event)
        elif isinstance(event, EchoReceived):
            self.break_off(faults.echo_fault())
        elif isinstance(event, ProtocolViolated):
            self._take_violation(self._without_secrets(event))

    def _take_stray(self, event: UnexpectedResponse) -> None:
        is_late = event.kind == "late_response"
        if is_late and jsonrpc.id_key(event.message.get("id")) in self._forgiven:
            return
        as_written = event.but(message=self._session.ids.as_written(event.message))
        if self.listener:
            self.listener(as_written)
        wire_id = self._session.wire_id(self._awaited)
        self.add_hint(faults.describe_unmatched_response(self._without_secrets(event), wire_id))
        self._findings.add(
            event.kind,
            faults.STRAYS[event.kind],
            quote=lambda: faults.quote_message(self._without_secrets(as_written).message),
        )

    def _take_notification(self, event: NotificationReceived) -> None:
        if event.message["method"] == _TOOLS_CHANGED:
            self.tool_changes += 1
        if self.on_notification:
            self.on_notification(event.message)
        if self._keeps_notifications and len(self.notifications) < _MAX_NOTIFICATIONS:
            self.notifications.append(event.message)

    def _without_secrets(self, event: Quoted) -> Quoted:
        if self._redact is None:
            return event
        cleaned: Quoted = redact_all(event, self._redact)
        return cleaned

    def _take_violation(self, event: ProtocolViolated) -> None:
        if event.id is not ABSENT:
            self.break_off(faults.violation_fault(event))
            return
        if len(self.hints) < _MAX_HINTS:
            self.add_hint(faults.describe_violation(event, with_quote=True))
        self._findings.add(
            "protocol_violation",
            faults.describe_violation(event),
            quote=lambda: faults.quote_message(event.message),
        )

    def _take_transport_fault(self, fault: TransportFault) -> None:
        key = jsonrpc.id_key(self._session.awaited_id(fault.id))
        if fault.id is not ABSENT:
            self._session.mark_unreadable(fault.id)
        is_awaited = fault.id is not ABSENT and key == jsonrpc.id_key(self._awaited)
        if is_awaited or fault.is_refusal:
            self.break_off(faults.channel_fault(fault))
            return
        self.add_hint(fault.message)
        self._findings.add(fault.kind, fault.message)

    def _take_noise(self, noise: Noise) -> None:
        self._findings.add_noise(noise)
        wire_id = self._session.wire_id(self._awaited)
        if self._awaited is not ABSENT and _is_meant_for(noise.raw, wire_id):
            self._session.mark_unreadable(wire_id)
            self.break_off(faults.malformed_line_fault(noise))
            return
        if len(self.hints) < _MAX_HINTS or len(self.noise) < _MAX_HINTS:
            quote = faults.quote_line(noise.raw, noise.size)
            hint = f"it wrote a line that is not JSON ({noise.reason}): {quote}"
            self.add_hint(hint)
            if len(self.noise) < _MAX_HINTS:
                self.noise.append(hint)

    def add_hint(self, hint: str) -> None:
        """Remember an oddity as a possible reason for a missing answer."""
        if len(self.hints) < _MAX_HINTS:
            self.hints.append(hint)


def _is_meant_for(raw: bytes, id: object) -> bool:
    """Whether a malformed line carries the id that we wait for."""
    # Without NULs, UTF-16 is readable enough.
    text = raw.replace(b"\0", b"")
    is_json = text.lstrip().startswith((b"{", b"[", b'"'))
    if not is_json and b'"result"' not in text and b'"error"' not in text:
        # A line of a log may contain any id.
        return False
    wanted = re.escape(dump_json(id).encode("utf-8", "backslashreplace"))
    return re.search(rb'"id"\s*:\s*' + wanted + rb"\s*[,}]", text) is not None


# How many different findings are kept for one server.
_MAX_KINDS = 50


class Findings:
    """What a server did wrong without breaking a test: each thing once, with a count."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._found: dict[tuple[str, str], Finding] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def __iter__(self) -> Iterator[Finding]:
        return (found.but(count=self._counts[key]) for key, found in self._found.items())

    def count(self, kind: str) -> int:
        return sum(count for (found, _), count in self._counts.items() if found == kind)

    def add(
        self, kind: str, message: str, *, quote: str | Callable[[], str] = "", count: int = 1
    ) -> None:
        """Count one more. Only the first is quoted; a function spares the others that work."""
        key = (kind, message)
        if key in self._found:
            self._counts[key] += count
        elif len(self._found) < _MAX_KINDS:
            self._counts[key] = count
            quote = quote if isinstance(quote, str) else quote()
            self._found[key] = Finding(kind=kind, server=self._server, message=message, quote=quote)

    def add_noise(self, noise: Noise) -> None:
        self.add(
            "malformed_line",
            faults.NOISE,
            quote=lambda: f"{faults.quote_line(noise.raw, noise.size)} ({noise.reason})",
        )

    def note_ending(self, stopped: Stopped, decoder: LineDecoder, is_reported: bool) -> None:
        """Add what is known only when the server has ended.

        `is_reported` says that a test has reported the end.
        """
        # Whether it ends just before or after we close stdin is chance: a bad status counts
        # either way.
        is_its_own_end = stopped.ended_by in ("exited", "stdin")
        if is_its_own_end and stopped.exit_code and not is_reported:
            self.add("unclean_end", f"the server {describe_end(stopped.exit_code)}")
        elif stopped.ended_by == "exited" and not is_reported:
            self.add("unclean_end", "the server ended before it was asked to")
        if decoder.crlf_lines:
            message = "the server ends its lines with CR LF; messages end with LF alone"
            self.add("crlf", message, count=decoder.crlf_lines)
        if decoder.blank_lines:
            self.add("blank_line", "the server wrote blank lines", count=decoder.blank_lines)
        if stopped.ended_by == "term":
            self.add("needed_term", "the server did not end when its stdin closed; SIGTERM did it")
        if stopped.ended_by == "kill":
            self.add(
                "needed_kill", "the server ignored its closed stdin and SIGTERM; it was killed"
            )
        for pid, command in stopped.left_behind.items():
            message = "the server left processes behind; they were killed"
            if pid in stopped.unmarked and stopped.suspects:
                others = " or ".join(map(visible, stopped.suspects))
                message = f"the server or {others} left processes behind; they were killed"
            self.add("left_behind", message, quote=f"{pid}: {visible(command)}")


def _open_wire(spec: ServerSpec, launcher: Launcher) -> Transport:
    """Connect to a server, starting it if needed: over pipes, over HTTP or in this process."""
    if launcher.memory is not None:
        return launcher.memory.wire(spec, launcher.interrupts)
    if spec.http is None:
        return StdioTransport(spec, launcher.guardian, launcher.interrupts)
    # Loads sockets, which most runs do not need.
    from mcptest.transport.http.transport import HttpTransport  # noqa: PLC0415

    return HttpTransport(spec, launcher.guardian, launcher.interrupts)
