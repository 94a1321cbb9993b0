"""Relay a session between a client and its server, unchanged, and record it.

The client has started this process instead of the server. Every byte is passed on in order and at
once; it is recorded while there is nothing else to do. Whatever one side does to us is done to the
other: a closed stream is closed, a signal is sent on, and we exit as the server did. A client is
gone when nothing reads our output any more; one that has only closed its input still gets the
answers to its requests.

Recording never disturbs the relay. It is only handed bytes, which are interpreted a line at a time
while there is nothing else to do; any error ends the capture, is reported at the end, and ends
nothing else.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections import deque

from mcptest.core.plan import DEFAULT_MAX_LINE_BYTES, ServerSpec
from mcptest.core.secrets import redact_all, redact_part, redactor
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt, printable_json
from mcptest.core.value_class import ABSENT
from mcptest.protocol import jsonrpc
from mcptest.protocol.capture import (
    SessionCapture,
    SessionRecorder,
    render_capture,
    render_exchange,
)
from mcptest.protocol.framing import Frame, LineDecoder, Overlong
from mcptest.transport import utc_now, wait_ready
from mcptest.transport.process.child import open_null
from mcptest.transport.process.signals import Interrupts
from mcptest.transport.process.stopping import Grace, ServerProcess, stop
from mcptest.transport.stdio import start_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType
    from typing import Any, Literal

    from mcptest.protocol.capture import Exchange
    from mcptest.transport.process.child import Guardian

    Side = Literal["client", "server"]
    # A message, or ABSENT and the text of a line that is not one; and how many bytes are kept.
    Line = tuple[Any, str, int]
    # Lines beside an exchange that the format has no place for, and their times, by kind.
    Extras = dict[str, list[tuple[str, float]]]

__all__ = [
    "CaptureFile",
    "ExchangeBuilder",
    "MessageLines",
    "Relay",
    "RelayCapture",
    "RelayedSignals",
]


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
        super().__init__(start_server(spec, mark, with_stderr=False), mark, guardian)
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
            deadline = self._silence_deadline()
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

    def _silence_deadline(self) -> float | None:
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


class RelayedSignals(Interrupts):
    """Interrupts that remember which signal came first; 0 while none has."""

    number = 0

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.number = self.number or number
        super()._handle(number, frame)


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


# The recording

# When this much waits to be interpreted, the relay waits for it.
_MAX_WAITING_BYTES = 2 * 1024 * 1024

# What a line counts for beside its bytes: interpreting it takes time, however short it is.
_LINE_COST_BYTES = 200

_BUFFERED_BYTES = 1 << 18


class RelayCapture:
    """Writes one session to a file; `problem` says why it has given up.

    `pid` is the server's, to be set when it has been started. Unless it `is_named`, the server is
    labelled with the name that it gives itself in its first answer.
    """

    def __init__(
        self,
        file: CaptureFile,
        server_label: str,
        secrets: Sequence[str] = (),
        *,
        is_named: bool = True,
    ) -> None:
        self.problem = ""
        self.pid = 0
        self._file = file
        self._server_label = server_label
        self._redact = redactor(secrets) if secrets else None
        self._exchanges = ExchangeBuilder(keeps_heads=not secrets)
        self._is_named = is_named
        self._has_begun = False
        # Written with the first exchange, when the server has said its name.
        self._prologue: dict[str, Any] | None = None
        self._chunks: deque[tuple[Side, bytes, int, float]] = deque()
        # How much of the first chunk has been interpreted.
        self._at = 0
        self._waiting_bytes = 0
        self._began = time.monotonic()
        self._started_at = utc_now()

    def add(self, side: Side, chunk: bytes) -> None:
        """Queue bytes that were relayed."""
        if not self.problem:
            size = len(chunk) + _LINE_COST_BYTES * (1 + chunk.count(b"\n"))
            self._chunks.append((side, chunk, size, self._ms()))
            self._waiting_bytes += size

    @property
    def has_work(self) -> bool:
        return bool(self._chunks)

    @property
    def is_behind(self) -> bool:
        """True if so much is queued that the relay has to wait for it."""
        return self._waiting_bytes > _MAX_WAITING_BYTES

    @property
    def is_owed(self) -> bool:
        """True if the client still waits for an answer, as far as is known."""
        return not self.problem and self._exchanges.is_owed

    def work(self) -> bool:
        """Interpret one line; False if there is nothing more to do."""
        try:
            side, chunk, size, ms = self._chunks[0]
            end = chunk.find(b"\n", self._at) + 1 or len(chunk)
            piece = chunk[self._at : end]
            if end == len(chunk):
                self._chunks.popleft()
                self._waiting_bytes -= size
                end = 0
            self._at = end
            self._exchanges.add(side, piece, ms)
            self._write(self._exchanges.take_ready())
            if not self._chunks:
                # So that little is lost if we are killed.
                self._file.flush()
        except Exception as error:  # noqa: BLE001  # no fault of ours may reach the relay
            self._give_up(error)
        return self.has_work

    def catch_up(self) -> None:
        """Interpret everything that is queued."""
        while self._chunks:
            self.work()

    def finish(self, exit_status: str, ended_by: str = "") -> None:
        """Write the rest, and move the capture to its place."""
        self.catch_up()
        if self.problem:
            return
        try:
            self._write(self._exchanges.finish(self._ms()))
            self._begin()
            session = SessionCapture(
                server_label=self._server_label,
                server_capabilities=self._exchanges.capabilities,
                protocol_version=self._exchanges.protocol_version,
                exit_status=exit_status,
                ended_by=ended_by,
            )
            names = ("server_capabilities", "protocol_version", "exit_status", "ended_by")
            self._file.complete(self._members(session, names))
        except Exception as error:  # noqa: BLE001  # as above
            self._give_up(error)

    def discard(self) -> None:
        """Leave no file: there was no session."""
        self._file.abandon()

    def _write(self, taken: list[tuple[Exchange, Extras]]) -> None:
        for exchange, extras in taken:
            shown = render_entry(exchange, extras, self._redact)
            if self._prologue is None:
                self._prologue = shown
                continue
            self._begin()
            self._file.append(shown)

    def _begin(self) -> None:
        """Write what comes before the exchanges, once."""
        if self._has_begun:
            return
        self._has_begun = True
        info = self._exchanges.server_info
        name = info.get("name") if isinstance(info, dict) and not self._is_named else None
        if isinstance(name, str) and name.strip():
            self._server_label = f"stdio://{excerpt(name, 100)}"
        session = SessionCapture(
            server_label=self._server_label,
            transport=f"stdio:{self.pid}@{self._started_at}",
            started_at=self._started_at,
        )
        head = self._members(session, ("server_label", "transport", "started_at"))
        self._file.begin(head | ({"prologue": self._prologue} if self._prologue else {}))

    def _members(self, session: SessionCapture, names: Sequence[str]) -> dict[str, object]:
        shown = render_capture(redact_all(session, self._redact) if self._redact else session)
        return {name: shown[name] for name in names if name in shown}

    def _give_up(self, error: Exception) -> None:
        self._chunks.clear()
        self._waiting_bytes = 0
        if isinstance(error, OSError) and error.strerror:
            self.problem = error.strerror
        else:
            self.problem = f"a fault of mcptest: {type(error).__name__}: {error}"
        left = self._file.abandon()
        if left:
            self.problem += f"; what was recorded before is in {left}: add ]}} at its end"

    def _ms(self) -> float:
        return (time.monotonic() - self._began) * 1000


class CaptureFile:
    """A capture that is written beside its target, and moved there when it is complete.

    Exchanges are written as they come, so that a long session needs no memory. What is left when
    we are killed lacks only its end: with `]}` added it is a capture. All methods except `abandon`
    may raise OSError.
    """

    def __init__(self, target: str, part: str) -> None:
        self.target = target
        self._part = part
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(part, flags, 0o600)
        self._pending = bytearray()
        self._count = 0
        # Up to here the file holds whole exchanges.
        self._sound_bytes = 0

    def begin(self, members: dict[str, object]) -> None:
        """Write what is known of the session before its exchanges."""
        self._pending += _encode(members)[:-1] + b',"exchanges":['

    def append(self, exchange: dict[str, object]) -> None:
        self._pending += b",\n" if self._count else b"\n"
        self._pending += _encode(exchange)
        self._count += 1
        if len(self._pending) > _BUFFERED_BYTES:
            self.flush()

    def flush(self) -> None:
        written = 0
        try:
            with memoryview(self._pending) as view:
                while written < len(view):
                    written += os.write(self._fd, view[written:])
        except OSError:
            # An exchange is a line, and those before the last comma are whole.
            self._sound_bytes += max(0, self._pending.rfind(b",\n", 0, written))
            raise
        self._sound_bytes += written
        self._pending.clear()

    def complete(self, members: dict[str, object]) -> None:
        """Write what is known at the end of the session, and replace the target."""
        self._pending += b"\n]," + _encode(members)[1:] + b"\n"
        self.flush()
        os.fsync(self._fd)
        os.replace(self._part, self.target)
        self._close()

    def abandon(self) -> str:
        """Write no more; the name of what is left, which lacks its end, or "" for nothing."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self._sound_bytes)
            os.fsync(self._fd)
        self._close()
        if self._count and self._sound_bytes and os.path.exists(self._part):
            return self._part
        with contextlib.suppress(OSError):
            os.unlink(self._part)
        return ""

    def _close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._fd)


def _encode(value: dict[str, object]) -> bytes:
    # Lone surrogates become JSON escapes.
    return printable_json(dump_json(value)).encode("utf-8", "backslashreplace")


def render_entry(
    exchange: Exchange, extras: Extras, redact: Callable[[str], str] | None
) -> dict[str, Any]:
    """An exchange as the capture holds it, without secrets."""
    if redact:
        # The next line of noise may hold the rest of a secret.
        noise = (each.but(value=redact_part(str(each.value), redact)) for each in exchange.noise)
        exchange = redact_all(exchange.but(noise=tuple(noise)), redact)
    shown: dict[str, Any] = render_exchange(exchange)
    for kind, noted in extras.items():
        shown[kind] = [redact_part(text, redact) if redact else text for text, _ in noted]
        shown.setdefault("ms", {})[kind] = [ms for _, ms in noted]
    return shown


# From bytes to exchanges. Pure.

# How many later exchanges, or how many bytes of them, an unanswered request may hold back.
_MAX_HELD = 1000
_MAX_HELD_BYTES = 64 * 1024 * 1024

# How much may come beside one exchange: messages of the server's own, and noise.
_MAX_BESIDE_BYTES = 64 * 1024 * 1024

# What a line takes up beside its bytes, roughly.
_LINE_OVERHEAD_BYTES = 500

# How many unanswered requests are remembered, to know whether the client still waits.
_MAX_OWED = 10_000


class ExchangeBuilder:
    """Turns the bytes of both sides into exchanges, each returned once nothing can be added to it.

    Everything is kept: a line that is not a message is kept beside the exchange it came with. Only
    a line over the limit, and what comes beside an exchange without end, is cut, and the capture
    says so. `ms` is always the time since the session began.
    """

    def __init__(
        self,
        *,
        max_line_bytes: int = DEFAULT_MAX_LINE_BYTES,
        max_beside_bytes: int = _MAX_BESIDE_BYTES,
        max_held_bytes: int = _MAX_HELD_BYTES,
        max_waiting: int = _MAX_HELD,
        keeps_heads: bool = True,
    ) -> None:
        self._lines: dict[Side, MessageLines] = {
            "client": MessageLines(max_line_bytes, keeps_heads),
            "server": MessageLines(max_line_bytes, keeps_heads),
        }
        self._recorder = SessionRecorder(max_waiting=max_waiting)
        self._max_beside_bytes = max_beside_bytes
        self._max_held_bytes = max_held_bytes
        self._held_bytes = 0
        self._beside_bytes = 0
        self._left_out_lines = 0
        self._left_out_bytes = 0
        self._owed: set[jsonrpc.IdKey] = set()
        # Exchanges are counted; the prologue is number 0.
        self._begun = 0
        self._taken = 0
        self._extras: dict[int, Extras] = {}

    @property
    def is_owed(self) -> bool:
        """True if a request of the client was neither answered nor cancelled."""
        return bool(self._owed)

    @property
    def capabilities(self) -> object:
        return self._recorder.capabilities

    @property
    def server_info(self) -> object:
        return self._recorder.server_info

    @property
    def protocol_version(self) -> str:
        return self._recorder.protocol_version

    def add(self, side: Side, piece: bytes, ms: float) -> None:
        """Add bytes of one side, at most to the end of a line."""
        for message, text, size in self._lines[side].feed(piece):
            self._held_bytes += size + _LINE_OVERHEAD_BYTES
            if message is not ABSENT:
                add = self._add_from_client if side == "client" else self._add_from_server
                add(message, size, ms)
            elif not self._has_room(size):
                continue
            elif side == "server":
                self._recorder.noise(text, ms)
            else:
                self._add_extra("client_noise", text, ms)

    def take_ready(self) -> list[tuple[Exchange, Extras]]:
        """The exchanges to which nothing can be added; the very first is the prologue."""
        holds_too_much = self._held_bytes > self._max_held_bytes
        ready = self._recorder.take_ready(gives_up=holds_too_much)
        if not self._recorder.holds_back:
            self._held_bytes = 0
        return [self._with_extras(exchange) for exchange in ready]

    def finish(self, ms: float) -> list[tuple[Exchange, Extras]]:
        """All that is left. A last line without a line feed counts as a line."""
        for side, lines in self._lines.items():
            if lines.is_open:
                self.add(side, b"\n", ms)
        self._note_left_out(ms)
        return [self._with_extras(exchange) for exchange in self._recorder.finish()]

    def _add_from_client(self, message: Any, size: int, ms: float) -> None:
        begun = [each for each in _parts(message) if "method" in each or "id" not in each]
        if not begun:
            # Answers to requests of the server are kept beside the current exchange.
            if self._has_room(size):
                self._recorder.client(message, ms)
            return
        self._note_left_out(ms)
        self._beside_bytes = 0
        self._begun += len(begun)
        self._recorder.client(message, ms)
        for each in begun:
            params = each.get("params")
            if "id" in each:
                if len(self._owed) < _MAX_OWED:
                    self._owed.add(jsonrpc.id_key(each["id"]))
            elif each.get("method") == "notifications/cancelled" and isinstance(params, dict):
                self._owed.discard(jsonrpc.id_key(params.get("requestId")))

    def _add_from_server(self, message: Any, size: int, ms: float) -> None:
        keys = {jsonrpc.id_key(each.get("id")) for each in _parts(message) if "method" not in each}
        is_answer = not keys.isdisjoint(self._owed)
        self._owed -= keys
        if is_answer or self._has_room(size):
            self._recorder.server(message, ms)

    def _has_room(self, size: int) -> bool:
        """Take room for something beside the current exchange; False if it must be left out."""
        taken = self._beside_bytes + size + _LINE_OVERHEAD_BYTES
        if taken <= self._max_beside_bytes:
            self._beside_bytes = taken
            return True
        self._left_out_lines += 1
        self._left_out_bytes += size
        return False

    def _note_left_out(self, ms: float) -> None:
        if self._left_out_lines:
            lines, size = self._left_out_lines, self._left_out_bytes
            words = f"{lines:,} lines of {size:,} bytes in all were passed on and not recorded"
            self._add_extra("left_out", words, ms)
            self._left_out_lines = self._left_out_bytes = 0

    def _add_extra(self, kind: str, text: str, ms: float) -> None:
        # Without a number in the order of the session, which readers count themselves.
        extras = self._extras.setdefault(self._begun, {})
        extras.setdefault(kind, []).append((text, round(ms, 3)))

    def _with_extras(self, exchange: Exchange) -> tuple[Exchange, Extras]:
        self._taken += 1
        return exchange, self._extras.pop(self._taken - 1, {})


def _parts(message: Any) -> list[dict[str, Any]]:
    return message if isinstance(message, list) else [message]


class MessageLines:
    """One side's bytes as messages, and texts of lines that are not messages.

    Of a long text the head is kept, and its length. Where secrets are to be blanked the head is
    left out, too: half a secret at its end would not be recognised.
    """

    def __init__(self, max_line_bytes: int, keeps_heads: bool) -> None:
        self._decoder = LineDecoder(max_line_bytes)
        self._keeps_heads = keeps_heads
        self._size = 0
        self._overlong: bytes | None = None

    @property
    def is_open(self) -> bool:
        """True if a line has begun that has not ended."""
        return self._size > 0

    def feed(self, piece: bytes) -> Iterator[Line]:
        self._size += len(piece)
        for item in self._decoder.feed(piece):
            if isinstance(item, Overlong):
                # Its length is known at its end.
                self._overlong = item.raw
            elif not isinstance(item, Frame):
                yield ABSENT, self._shorten(item.raw, item.size), len(item.raw)
            elif jsonrpc.is_message_or_batch(item.value):
                yield item.value, "", self._size
            else:
                yield ABSENT, dump_json(item.value), self._size
        if piece.endswith(b"\n"):
            if self._overlong is not None:
                yield ABSENT, self._shorten(self._overlong, self._size - 1), len(self._overlong)
            self._overlong = None
            self._size = 0

    def _shorten(self, head: bytes, size: int) -> str:
        text = head.decode("utf-8", "backslashreplace")
        if size <= len(head):
            return text.removesuffix("\r")
        return f"{text if self._keeps_heads else ''} … ({size:,} bytes in all)"
