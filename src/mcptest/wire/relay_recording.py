"""The recording of a relay: what passes is taken down later, when nothing passes.

Whatever goes wrong here must not disturb what is passed on. So the relay only hands over the
bytes, which are understood and written while it has nothing else to do, a line at a time; and
any error ends the recording, is told at the end, and ends nothing else.
"""

from __future__ import annotations

import time
from collections import deque

from mcptest.core.capture import SessionCapture, render_capture
from mcptest.core.secrets import redact_all, redactor
from mcptest.wire.relay_transcript import Transcript, rendered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from mcptest.core.capture import Exchange
    from mcptest.wire.relay_spool import Spool
    from mcptest.wire.relay_transcript import Asides

    Side = Literal["client", "server"]

__all__ = ["Recording"]

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
