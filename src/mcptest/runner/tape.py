"""Everything that is said in one session, for those who want a capture of it."""

from __future__ import annotations

import time

from mcptest.core.capture import Exchange, SessionCapture
from mcptest.core.framing import Frame
from mcptest.core.jsonrpc import id_key
from mcptest.core.record import ABSENT
from mcptest.core.recorder import SessionRecorder
from mcptest.core.strict_json import parse_json
from mcptest.core.trouble import Trouble
from mcptest.runner.log import line_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from mcptest.core.framing import Noise, Overlong

    Item = Frame | Noise | Overlong | Trouble

__all__ = ["Tape"]

# What has been said before anybody asked anything, where nothing was.
_SILENCE = Exchange(request=ABSENT)


class Tape:
    """Runs along with a session from its beginning."""

    def __init__(self) -> None:
        self.started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
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
            elif not isinstance(item, Trouble):
                self._recorder.noise(line_text(item), ms)
        self._exchanges += self._recorder.take_ready()

    def capture(
        self,
        label: str,
        transport: str,
        exit_status: str,
        *,
        is_stderr_utf8: bool | None,
        written_id: Callable[[object], object],
    ) -> SessionCapture:
        """All of it, once the session is over; requests have the ids that were written."""
        self._exchanges += self._recorder.finish()
        prologue, *rest = self._exchanges or [_SILENCE]
        exchanges = [_as_written(each, written_id) for each in rest]
        return SessionCapture(
            server_label=label,
            server_capabilities=self._recorder.capabilities,
            exchanges=tuple(exchanges),
            transport=transport,
            protocol_version=self._recorder.protocol_version,
            started_at=self.started_at,
            exit_status=exit_status,
            stderr_utf8=is_stderr_utf8,
            prologue=prologue if prologue != _SILENCE else None,
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
