"""The recording of a relay: what passes is taken down later, when nothing passes.

Whatever goes wrong here must not disturb what is passed on. So the relay only hands over the
bytes, which are understood and written while it has nothing else to do, a line at a time; and
any error ends the recording, is told at the end, and ends nothing else.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque

from mcptest.core.plan import DEFAULT_MAX_LINE_BYTES
from mcptest.core.record import ABSENT
from mcptest.core.secrets import redact_all, redact_part, redactor
from mcptest.core.strict_json import dump_json
from mcptest.core.text import printable_json
from mcptest.protocol import jsonrpc
from mcptest.protocol.capture import (
    SessionCapture,
    SessionRecorder,
    render_capture,
    render_exchange,
)
from mcptest.protocol.framing import Frame, LineDecoder, Overlong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, Literal

    from mcptest.protocol.capture import Exchange
    from mcptest.protocol.framing import Noise

    Side = Literal["client", "server"]
    # A message, or ABSENT and the text of a line that is none; and how much of it is kept.
    Line = tuple[Any, str, int]
    # What else was said beside an exchange: lines and their times, by the name of their kind.
    Asides = dict[str, list[tuple[str, float]]]

__all__ = ["Lines", "Recording", "Spool", "Transcript", "is_message", "rendered"]


# When this much waits to be taken down, passing on waits for it.
_MAX_WAITING_BYTES = 2 * 1024 * 1024

# What a line counts for beside its bytes: taking it down takes time, however short it is.
_LINE_BYTES = 200


class Recording:
    """Takes down one session into a spool; `problem` says why it has given up.

    `pid` is the server's, to be set when it has been started.
    """

    def __init__(self, spool: Spool, server_label: str, secrets: Sequence[str] = ()) -> None:
        self.problem = ""
        self.pid = 0
        self._spool = spool
        self._server_label = server_label
        self._redact = redactor(secrets) if secrets else None
        self._transcript = Transcript(keeps_heads=not secrets)
        self._has_begun = False
        self._chunks: deque[tuple[Side, bytes, int, float]] = deque()
        self._at = 0
        self._waiting_bytes = 0
        self._began = time.monotonic()
        self._started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def hear(self, side: Side, chunk: bytes) -> None:
        """Bytes have passed, and are taken down later."""
        if not self.problem:
            size = len(chunk) + _LINE_BYTES * (1 + chunk.count(b"\n"))
            self._chunks.append((side, chunk, size, self._ms()))
            self._waiting_bytes += size

    @property
    def has_work(self) -> bool:
        return bool(self._chunks)

    @property
    def is_behind(self) -> bool:
        """Whether so much waits that it has to be taken down now."""
        return self._waiting_bytes > _MAX_WAITING_BYTES

    @property
    def is_owed(self) -> bool:
        """Whether the client still waits for an answer, as far as is known."""
        return not self.problem and self._transcript.is_owed

    def work(self) -> bool:
        """Take down one line; False when there is nothing more to do."""
        try:
            self._take_down()
        except Exception as error:  # noqa: BLE001  # no fault of ours may reach the relay
            self._give_up(error)
        return self.has_work

    def catch_up(self) -> None:
        """Take down everything that has passed."""
        while self._chunks:
            self.work()

    def _take_down(self) -> None:
        side, chunk, size, ms = self._chunks[0]
        end = chunk.find(b"\n", self._at) + 1 or len(chunk)
        piece = chunk[self._at : end]
        if end == len(chunk):
            self._chunks.popleft()
            self._waiting_bytes -= size
            end = 0
        self._at = end
        hear = self._transcript.hear_client if side == "client" else self._transcript.hear_server
        hear(piece, ms)
        self._write(self._transcript.take_ready())
        if not self._chunks:
            # Little is lost when we are killed.
            self._spool.flush()

    def _write(self, taken: list[tuple[Exchange, Asides]]) -> None:
        for exchange, asides in taken:
            shown = rendered(exchange, asides, self._redact)
            if self._has_begun:
                self._spool.append(shown)
            else:
                self._has_begun = True
                self._spool.begin(self._head() | ({"prologue": shown} if shown else {}))

    def finish(self, exit_status: str) -> None:
        """Take down the rest, and put the capture in its place."""
        self.catch_up()
        if self.problem:
            return
        try:
            self._write(self._transcript.finish(self._ms()))
            self._spool.complete(self._tail(exit_status))
        except Exception as error:  # noqa: BLE001  # as above
            self._give_up(error)

    def _head(self) -> dict[str, object]:
        """What is known before the first exchange."""
        session = SessionCapture(
            server_label=self._server_label,
            transport=f"stdio:{self.pid}@{self._started_at}",
            started_at=self._started_at,
        )
        return self._members(session, ("server_label", "transport", "started_at"))

    def _tail(self, exit_status: str) -> dict[str, object]:
        """What is known in the end."""
        session = SessionCapture(
            server_label=self._server_label,
            server_capabilities=self._transcript.capabilities,
            protocol_version=self._transcript.protocol_version,
            exit_status=exit_status,
        )
        names = ("server_capabilities", "protocol_version", "exit_status")
        return self._members(session, names)

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
        left = self._spool.abandon()
        if left:
            self.problem += f"; what was recorded before is in {left}: add ]}} at its end"

    def discard(self) -> None:
        """There was no session: leave no trace."""
        self._spool.abandon()

    def _ms(self) -> float:
        return (time.monotonic() - self._began) * 1000


# One side's bytes as lines: messages, and texts that are none. Pure.


_MEMBERS = frozenset(["jsonrpc", "id", "method", "params", "result", "error"])


class Lines:
    """What one side has said. A text of which only the head is kept tells how long it was.

    Where secrets are to be blanked, even that head is left out.
    """

    def __init__(self, max_line_bytes: int, keeps_heads: bool) -> None:
        self._decoder = LineDecoder(max_line_bytes)
        self._keeps_heads = keeps_heads
        self._size = 0
        self._overlong: bytes | None = None

    @property
    def is_open(self) -> bool:
        """Whether a line has begun that has not ended."""
        return self._size > 0

    def feed(self, piece: bytes) -> Iterator[Line]:
        self._size += len(piece)
        for item in self._decoder.feed(piece):
            if isinstance(item, Overlong):
                # How long it is, is known at its end.
                self._overlong = item.raw
            else:
                yield self._line(item)
        if piece.endswith(b"\n"):
            if self._overlong is not None:
                yield ABSENT, self._shown(self._overlong, self._size - 1), len(self._overlong)
            self._overlong = None
            self._size = 0

    def _line(self, item: Frame | Noise) -> Line:
        if isinstance(item, Frame):
            if is_message(item.value):
                return item.value, "", self._size
            return ABSENT, dump_json(item.value), self._size
        return ABSENT, self._shown(item.raw, item.size), len(item.raw)

    def _shown(self, head: bytes, size: int) -> str:
        text = head.decode("utf-8", "backslashreplace")
        if size <= len(head):
            return text.removesuffix("\r")
        # Half a secret at the end of the head would not be recognised.
        return f"{text if self._keeps_heads else ''} … ({size:,} bytes in all)"


def is_message(value: object) -> bool:
    """Whether a line is a JSON-RPC message or a batch, as those who read captures want it."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, dict) and is_message(each) for each in value)
    if not isinstance(value, dict) or jsonrpc.message_kind(value) == "malformed":
        return False
    if not isinstance(value.get("method", ""), str):
        return False
    if "jsonrpc" in value:
        return True
    # The version is forgotten now and then. Without it, what looks like a log entry is one.
    has_sense = "method" in value or ("id" in value and ("result" in value or "error" in value))
    return has_sense and value.keys() <= _MEMBERS


# The file of a capture while it grows, and the moment it takes its place.
#
# Exchanges are written beside the target as they come, so that a long session needs no memory.
# At the end the rest is added, and the whole takes the place of the target at once. What is left
# when we are killed lacks only its end: with `]}` added it is a capture.


_BUFFERED_BYTES = 1 << 18


class Spool:
    """One capture in the making; all but `abandon` may end in an OSError."""

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
        """What is known of the session before its exchanges."""
        self._pending += _encoded(members)[:-1] + b',"exchanges":['

    def append(self, exchange: dict[str, object]) -> None:
        """One exchange more."""
        self._pending += b",\n" if self._count else b"\n"
        self._pending += _encoded(exchange)
        self._count += 1
        if len(self._pending) > _BUFFERED_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered."""
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
        """Add what else a session has, and put the capture in its place."""
        self._pending += b"\n]," + _encoded(members)[1:] + b"\n"
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


def _encoded(value: dict[str, object]) -> bytes:
    # Lone surrogates travel as JSON escapes.
    return printable_json(dump_json(value)).encode("utf-8", "backslashreplace")


# What two sides of a relay said, as the exchanges of a capture. Pure.
#
# Pieces of bytes go in, each with at most one end of a line; exchanges come out as soon as
# nothing can be added to them. Whatever comes is kept: what is no message as a line beside the
# exchange it came with. Only a line over the limit, and what comes beside an exchange without
# end, is cut, and that is said in its place.


# An answer is waited for while so many exchanges, or so many bytes of them, wait behind it.
MAX_WAITING = 1000
MAX_HELD_BYTES = 64 * 1024 * 1024

# How much may come beside one exchange: messages of the server's own, and noise.
MAX_BESIDE_BYTES = 64 * 1024 * 1024

# What a line takes up beside its bytes, roughly.
_MAX_TRANSCRIPT_LINE_BYTES = 500

# So many open requests are remembered, to know whether the client still waits for something.
_MAX_OWED = 10_000


class _Recorder(SessionRecorder):
    """Gives up waiting for an answer also when too much is held back for it."""

    is_pressed = False

    @property
    def holds_back(self) -> bool:
        return len(self._waiting) > 1

    def _is_done(self, place: int) -> bool:
        return self.is_pressed or super()._is_done(place)


class Transcript:
    """Listens to both sides of one session. `ms` is always the time since it began."""

    def __init__(
        self,
        *,
        max_line_bytes: int = DEFAULT_MAX_LINE_BYTES,
        max_beside_bytes: int = MAX_BESIDE_BYTES,
        max_held_bytes: int = MAX_HELD_BYTES,
        max_waiting: int = MAX_WAITING,
        keeps_heads: bool = True,
    ) -> None:
        self._client_lines = Lines(max_line_bytes, keeps_heads)
        self._server_lines = Lines(max_line_bytes, keeps_heads)
        self._recorder = _Recorder(max_waiting=max_waiting)
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
        self._asides: dict[int, Asides] = {}

    @property
    def is_owed(self) -> bool:
        """Whether the client has asked something that was neither answered nor cancelled."""
        return bool(self._owed)

    @property
    def capabilities(self) -> object:
        return self._recorder.capabilities

    @property
    def protocol_version(self) -> str:
        return self._recorder.protocol_version

    # The client

    def hear_client(self, piece: bytes, ms: float) -> None:
        """Bytes of the client, at most to the end of a line."""
        for message, text, size in self._client_lines.feed(piece):
            self._held_bytes += size + _MAX_TRANSCRIPT_LINE_BYTES
            if message is not ABSENT:
                self._take_from_client(message, size, ms)
            elif self._has_place(size):
                self._put_aside("client_noise", text, ms)

    def _take_from_client(self, message: Any, size: int, ms: float) -> None:
        begun = [each for each in _parts(message) if "method" in each or "id" not in each]
        if not begun:
            # Answers to what the server asked stand beside the exchange at hand.
            if self._has_place(size):
                self._recorder.client(message, ms)
            return
        self._tell_left_out(ms)
        self._beside_bytes = 0
        self._begun += len(begun)
        self._recorder.client(message, ms)
        for each in begun:
            self._note_call(each)

    def _note_call(self, call: dict[str, Any]) -> None:
        params = call.get("params")
        if "id" in call:
            if len(self._owed) < _MAX_OWED:
                self._owed.add(jsonrpc.id_key(call["id"]))
        elif call.get("method") == "notifications/cancelled" and isinstance(params, dict):
            self._owed.discard(jsonrpc.id_key(params.get("requestId")))

    # The server

    def hear_server(self, piece: bytes, ms: float) -> None:
        """Bytes of the server, at most to the end of a line."""
        for message, text, size in self._server_lines.feed(piece):
            self._held_bytes += size + _MAX_TRANSCRIPT_LINE_BYTES
            if message is not ABSENT:
                if self._is_answer(message) or self._has_place(size):
                    self._recorder.server(message, ms)
            elif self._has_place(size):
                self._recorder.noise(text, ms)

    def _is_answer(self, message: Any) -> bool:
        keys = {jsonrpc.id_key(each.get("id")) for each in _parts(message) if "method" not in each}
        is_owed = not keys.isdisjoint(self._owed)
        self._owed -= keys
        return is_owed

    # What stands beside

    def _has_place(self, size: int) -> bool:
        """Whether something of this size may still stand beside the exchange at hand."""
        taken = self._beside_bytes + size + _MAX_TRANSCRIPT_LINE_BYTES
        if taken <= self._max_beside_bytes:
            self._beside_bytes = taken
            return True
        self._left_out_lines += 1
        self._left_out_bytes += size
        return False

    def _tell_left_out(self, ms: float) -> None:
        if self._left_out_lines:
            lines, size = self._left_out_lines, self._left_out_bytes
            words = f"{lines:,} lines of {size:,} bytes in all were passed on and not recorded"
            self._put_aside("left_out", words, ms)
            self._left_out_lines = self._left_out_bytes = 0

    def _put_aside(self, kind: str, text: str, ms: float) -> None:
        # Without a number in the order of the session: readers know those of their own only.
        aside = self._asides.setdefault(self._begun, {})
        aside.setdefault(kind, []).append((text, round(ms, 3)))

    # Taking out

    def take_ready(self) -> list[tuple[Exchange, Asides]]:
        """The exchanges to which nothing can be added; the very first is the prologue."""
        self._recorder.is_pressed = self._held_bytes > self._max_held_bytes
        ready = self._recorder.take_ready()
        if not self._recorder.holds_back:
            self._held_bytes = 0
        return [self._with_asides(exchange) for exchange in ready]

    def finish(self, ms: float) -> list[tuple[Exchange, Asides]]:
        """All that is left. A last line without an end is a line all the same."""
        if self._client_lines.is_open:
            self.hear_client(b"\n", ms)
        if self._server_lines.is_open:
            self.hear_server(b"\n", ms)
        self._tell_left_out(ms)
        return [self._with_asides(exchange) for exchange in self._recorder.finish()]

    def _with_asides(self, exchange: Exchange) -> tuple[Exchange, Asides]:
        self._taken += 1
        return exchange, self._asides.pop(self._taken - 1, {})


def _parts(message: Any) -> list[dict[str, Any]]:
    return message if isinstance(message, list) else [message]


def rendered(
    exchange: Exchange, asides: Asides, redact: Callable[[str], str] | None
) -> dict[str, Any]:
    """An exchange as the capture holds it, without secrets."""
    if redact:
        # Of lines that are no messages, the next one may have the rest of a secret.
        noise = (each.but(value=redact_part(str(each.value), redact)) for each in exchange.noise)
        exchange = redact_all(exchange.but(noise=tuple(noise)), redact)
    shown: dict[str, Any] = render_exchange(exchange)
    for kind, noted in asides.items():
        shown[kind] = [redact_part(text, redact) if redact else text for text, _ in noted]
        shown.setdefault("ms", {})[kind] = [ms for _, ms in noted]
    return shown
