"""What there is to say about a migration: what was left behind, and what to know."""

from __future__ import annotations

from mcptest.core.record import Record

__all__ = ["LeftBehindError", "Remark"]


class LeftBehindError(Exception):
    """Something that cannot be said in the other format; the sentence says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Remark(Record):
    """One sentence about a place in a source. `what` names the test, "" for none.

    With `is_loss` something was left behind; otherwise it is only good to know.
    """

    file: str
    line: int
    what: str
    reason: str
    is_loss: bool = True
