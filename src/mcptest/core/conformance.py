"""What the rules say of captured sessions, as values that reports can show."""

from __future__ import annotations

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    VerdictStatus = Literal["pass", "fail", "warning", "not_applicable"]

__all__ = ["CaptureScore", "Hazard", "SessionScore", "Verdict"]


class Verdict(Record):
    """What one rule says of one session. `exchange` is where the first breach is, None for all
    of the session; `count` how many there are."""

    id: str
    category: str
    status: VerdictStatus
    message: str
    exchange: int | None = None
    count: int = 0


class SessionScore(Record):
    """The verdicts on one session, in the order of the rules."""

    server_label: str
    verdicts: tuple[Verdict, ...]

    def count(self, status: VerdictStatus) -> int:
        return sum(verdict.status == status for verdict in self.verdicts)


class Hazard(Record):
    """A clash between sessions. `what` are the names or ids that clash."""

    kind: str
    message: str
    servers: tuple[str, ...]
    what: tuple[object, ...]


class CaptureScore(Record):
    """What the rules say of a whole capture."""

    sessions: tuple[SessionScore, ...] = ()
    hazards: tuple[Hazard, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether no rule is broken and nothing clashes; a warning breaks nothing."""
        return not self.hazards and not any(session.count("fail") for session in self.sessions)
