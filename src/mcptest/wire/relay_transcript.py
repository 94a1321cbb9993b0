"""What two sides of a relay said, as the exchanges of a capture. Pure.

Pieces of bytes go in, each with at most one end of a line; exchanges come out as soon as
nothing can be added to them. Whatever comes is kept: what is no message as a line beside the
exchange it came with. Only a line over the limit, and what comes beside an exchange without
end, is cut, and that is said in its place.
"""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.core.capture import render_exchange
from mcptest.core.framing import DEFAULT_MAX_LINE_BYTES
from mcptest.core.record import ABSENT
from mcptest.core.recorder import SessionRecorder
from mcptest.core.secrets import redact_all, redact_part
from mcptest.wire.relay_lines import Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcptest.core.capture import Exchange

    # What else was said beside an exchange: lines and their times, by the name of their kind.
    Asides = dict[str, list[tuple[str, float]]]

__all__ = ["Transcript", "rendered"]

# An answer is waited for while so many exchanges, or so many bytes of them, wait behind it.
MAX_WAITING = 1000
MAX_HELD_BYTES = 64 * 1024 * 1024

# How much may come beside one exchange: messages of the server's own, and noise.
MAX_BESIDE_BYTES = 64 * 1024 * 1024

# What a line takes up beside its bytes, roughly.
_LINE_BYTES = 500

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
            self._held_bytes += size + _LINE_BYTES
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
            self._held_bytes += size + _LINE_BYTES
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
        taken = self._beside_bytes + size + _LINE_BYTES
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
