"""Turn signals into something a poll can wait for.

A handler that raises can tear any line of ours in half. These only count and
write one byte to a pipe that every wait watches, so a run stops between two
steps, cleans up and reports.

* first signal: stop, by the ladder
* second: every server is killed at once
* third: we leave; the guardian cleans up behind us
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

__all__ = ["Interrupts"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LEAVE_STATUS = 130


class Interrupts:
    """While entered, SIGINT, SIGTERM and SIGHUP are counted here."""

    def __init__(self) -> None:
        self.count = 0
        self.on_second: Callable[[], None] = lambda: None
        self.fd, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._previous: dict[int, object] = {}

    def __enter__(self) -> Interrupts:
        for number in _SIGNALS:
            # A signal the parent had us ignore (nohup) stays ignored.
            if signal.getsignal(number) != signal.SIG_IGN:
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # it came from signal()
        os.close(self.fd)
        os.close(self._writer)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count == 1:
            os.write(self._writer, b"!")
        elif self.count == 2:
            self.on_second()
        else:
            os._exit(_LEAVE_STATUS)
