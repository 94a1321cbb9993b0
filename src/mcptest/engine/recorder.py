"""Record traffic: the log of one step, the notifications and the capture of a whole session."""

from __future__ import annotations

import time
from collections import deque

from mcptest.core.results import LogLine
from mcptest.core.strict_json import dump_json, parse_json
from mcptest.core.text import show_json
from mcptest.core.value_class import ABSENT
from mcptest.protocol.capture import Exchange, SessionCapture, SessionRecorder
from mcptest.protocol.framing import KEPT_BYTES, Frame, Noise, TransportFault
from mcptest.protocol.jsonrpc import id_key
from mcptest.transport import utc_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from mcptest.protocol.framing import Overlong
    from mcptest.protocol.session import RequestIds

    Item = Frame | Noise | Overlong | TransportFault

__all__ = ["MessageLog", "NotificationLog", "TrafficRecorder"]


_MAX_LINES = 200
_MAX_CHARS = 4000

# Larger answers are cut while they are rendered, not afterwards.
_LARGE_BYTES = 64 * 1024


class MessageLog:
    """The messages of one step, from the moment it began; bounded, and rendered on demand."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._kept: list[tuple[float, bytes | Item]] = []
        self._left_out = 0

    def sent(self, line: bytes) -> None:
        self._keep(line)

    def received(self, items: Sequence[Item]) -> None:
        for item in items:
            self._keep(item)

    def _keep(self, what: bytes | Item) -> None:
        if len(self._kept) < _MAX_LINES:
            self._kept.append((time.monotonic() - self._began, what))
        else:
            self._left_out += 1

    def lines(self, stderr: str, size: int, ids: RequestIds) -> tuple[LogLine, ...]:
        """The log of a step whose stdout had `size` bytes, with ids as the test has them.

        The times of lines on stderr are not known: they come last.
        """
        lines: list[LogLine] = []
        for at_s, what in self._kept:
            if isinstance(what, bytes):
                line = ids.line_as_written(what)
                text = line.decode("utf-8", "replace").rstrip("\n")
                lines.append(LogLine(at_s=at_s, direction="sent", text=_cut(text)))
            elif isinstance(what, Frame):
                value = ids.as_written(what.value)
                text = show_json(value, _MAX_CHARS) if size > _LARGE_BYTES else dump_json(value)
                lines.append(LogLine(at_s=at_s, direction="received", text=_cut(text)))
            else:
                lines.append(LogLine(at_s=at_s, direction="noise", text=_cut(_line_text(what))))
        at_s = time.monotonic() - self._began
        errors = stderr.splitlines()
        for each in errors[:_MAX_LINES]:
            lines.append(LogLine(at_s=at_s, direction="stderr", text=_cut(each)))
        left_out = self._left_out + max(0, len(errors) - _MAX_LINES)
        if left_out:
            note = f"[{left_out:,} more lines are not kept]"
            lines.append(LogLine(at_s=at_s, direction="noise", text=note))
        return tuple(lines)


def _line_text(line: Noise | Overlong | TransportFault) -> str:
    """A line that is not a message, with a note if only its beginning was kept."""
    if isinstance(line, TransportFault):
        return f"[{line.kind}] {line.message}"
    text = line.raw.decode("utf-8", "backslashreplace")
    if not isinstance(line, Noise):
        return f"{text} …"
    return f"{text} … ({line.size:,} bytes in all)" if line.size > KEPT_BYTES else text


def _cut(text: str) -> str:
    if len(text) <= _MAX_CHARS:
        return text
    return f"{text[:_MAX_CHARS]}… [{len(text) - _MAX_CHARS:,} more characters]"


# How many notifications of a session are kept, and how many bytes of them.
_MAX_NOTIFICATIONS = 1000
_MAX_NOTIFICATION_BYTES = 8 * 1024 * 1024


class NotificationLog:
    """The notifications of a session, numbered from 1. The newest are kept.

    Each is a dict of its `number`, `method` and `params`, which are {} if it has none.
    """

    def __init__(self) -> None:
        self._kept: deque[tuple[dict[str, Any], int]] = deque()
        self._bytes = 0
        self.count = 0

    def add(self, message: dict[str, Any]) -> None:
        self.count += 1
        params = message.get("params", {})
        kept = {"number": self.count, "method": message["method"], "params": params}
        size = len(dump_json(kept))
        self._kept.append((kept, size))
        self._bytes += size
        while len(self._kept) > _MAX_NOTIFICATIONS or self._bytes > _MAX_NOTIFICATION_BYTES:
            self._bytes -= self._kept.popleft()[1]

    def since(self, number: int = 0, method: str = "") -> list[dict[str, Any]]:
        """Those with a higher number, of this method if one is given."""
        kept = (each for each, _ in self._kept if each["number"] > number)
        return [each for each in kept if method in ("", each["method"])]

    def progress(self, token: str, since: int) -> list[dict[str, Any]]:
        """The progress of the request with this token, without the token."""
        found = (each["params"] for each in self.since(since, "notifications/progress"))
        return [
            {name: value for name, value in params.items() if name != "progressToken"}
            for params in found
            if isinstance(params, dict) and params.get("progressToken") == token
        ]


# The prologue of a session in which the server sent nothing before the first request.
_EMPTY_PROLOGUE = Exchange(request=ABSENT)


class TrafficRecorder:
    """Records everything that is sent and received in one session."""

    def __init__(self) -> None:
        self.started_at = utc_now()
        self._began = time.monotonic()
        self._recorder = SessionRecorder()
        self._exchanges: list[Exchange] = []

    def _ms(self) -> float:
        return (time.monotonic() - self._began) * 1000

    def sent(self, line: bytes) -> None:
        self._recorder.client(parse_json(line.decode("utf-8")), self._ms())

    def received(self, items: Sequence[Item]) -> None:
        ms = self._ms()
        for item in items:
            if isinstance(item, Frame):
                self._recorder.server(item.value, ms, item.http, item.answers)
            elif not isinstance(item, TransportFault):
                self._recorder.noise(_line_text(item), ms)
        self._exchanges += self._recorder.take_ready()

    def capture(
        self,
        label: str,
        transport: str,
        exit_status: str,
        *,
        ended_by: str,
        is_stderr_utf8: bool | None,
        written_id: Callable[[object], object],
    ) -> SessionCapture:
        """The capture, once the session is over; requests have the ids that tests gave them."""
        self._exchanges += self._recorder.finish()
        prologue, *rest = self._exchanges or [_EMPTY_PROLOGUE]
        exchanges = [_as_written(each, written_id) for each in rest]
        return SessionCapture(
            server_label=label,
            server_capabilities=self._recorder.capabilities,
            exchanges=tuple(exchanges),
            transport=transport,
            protocol_version=self._recorder.protocol_version,
            started_at=self.started_at,
            exit_status=exit_status,
            ended_by=ended_by,
            stderr_utf8=is_stderr_utf8,
            prologue=prologue if prologue != _EMPTY_PROLOGUE else None,
        )


def _as_written(exchange: Exchange, written_id: Callable[[object], object]) -> Exchange:
    request: Any = exchange.request
    if not isinstance(request, dict) or "method" not in request or "id" not in request:
        return exchange
    wire_id = request["id"]
    id = written_id(wire_id)
    if id_key(id) == id_key(wire_id):
        return exchange
    response: Any = exchange.response
    if (
        isinstance(response, dict)
        and "id" in response
        and id_key(response["id"]) == id_key(wire_id)
    ):
        response = {**response, "id": id}
    return exchange.but(request={**request, "id": id}, response=response, wire_id=wire_id)
