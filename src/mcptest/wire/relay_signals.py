"""Signals to a relay: the server behind it gets the same."""

from __future__ import annotations

from mcptest.wire.interrupts import Interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

__all__ = ["RelayedSignals"]


class RelayedSignals(Interrupts):
    """Interrupts that remember which signal came first; 0 while none has."""

    number = 0

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.number = self.number or number
        super()._handle(number, frame)
