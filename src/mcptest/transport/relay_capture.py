"""The capture of a relayed session: bytes are interpreted and written while nothing is relayed.

Nothing here may disturb the relay. It only hands over bytes, which are interpreted a line at a
time while it has nothing else to do; any error ends the capture, is reported at the end, and ends
nothing else.
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
from mcptest.core.text import excerpt, printable_json
from mcptest.protocol import jsonrpc
from mcptest.protocol.capture import (
    SessionCapture,
    SessionRecorder,
    render_capture,
    render_exchange,
)
from mcptest.protocol.framing import Frame, LineDecoder, Overlong
from mcptest.transport import utc_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, Literal

    from mcptest.protocol.capture import Exchange

    Side = Literal["client", "server"]
    # A message, or ABSENT and the text of a line that is not one; and how many bytes are kept.
    Line = tuple[Any, str, int]
    # Lines beside an exchange that the format has no place for, and their times, by kind.
    Extras = dict[str, list[tuple[str, float]]]

__all__ = ["CaptureFile", "ExchangeBuilder", "MessageLines", "RelayCapture"]


# When this much waits to be interpreted, the relay waits for it.
_MAX_WAITING_BYTES = 2 * 1024 * 1024

# What a line counts for beside its bytes: interpreting it takes time, however short it is.
_LINE_COST_BYTES = 200

_BUFFERED_BYTES = 1 << 18

# How many later exchanges, or how many bytes of them, an unanswered request may hold back.
_MAX_HELD = 1000
_MAX_HELD_BYTES = 64 * 1024 * 1024

# How much may come beside one exchange: messages of the server's own, and noise.
_MAX_BESIDE_BYTES = 64 * 1024 * 1024

# What a line takes up beside its bytes, roughly.
_LINE_OVERHEAD_BYTES = 500

# How many unanswered requests are remembered, to know whether the client still waits.
_MAX_OWED = 10_000


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


class _Recorder(SessionRecorder):
    """Stops waiting for an answer also when too much is held back for it."""

    holds_too_much = False

    @property
    def holds_back(self) -> bool:
        return len(self._waiting) > 1

    def _is_done(self, place: int) -> bool:
        return self.holds_too_much or super()._is_done(place)


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
        self._recorder.holds_too_much = self._held_bytes > self._max_held_bytes
        ready = self._recorder.take_ready()
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
