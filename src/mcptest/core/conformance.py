"""What the rules say of captured sessions, as values that reports can show."""

from __future__ import annotations

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    VerdictStatus = Literal["pass", "fail", "warning", "not_applicable"]

VERDICTS: tuple[VerdictStatus, ...] = ("pass", "fail", "warning", "not_applicable")

__all__ = ["VERDICTS", "CaptureScore", "Hazard", "SessionScore", "Verdict", "merge_sessions"]


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


# The worst that a session shows is what counts of its server.
_WEIGHTS = {"not_applicable": 0, "pass": 1, "warning": 2, "fail": 3}


def merge_sessions(sessions: Iterable[SessionScore]) -> tuple[SessionScore, ...]:
    """One score for each server: of its sessions, the worst verdict of each rule."""
    servers: dict[str, dict[str, Verdict]] = {}
    for session in sessions:
        merged = servers.setdefault(session.server_label, {})
        for verdict in session.verdicts:
            merged[verdict.id] = _worse(merged.get(verdict.id), verdict)
    return tuple(
        SessionScore(server_label=label, verdicts=tuple(verdicts.values()))
        for label, verdicts in servers.items()
    )


def _worse(known: Verdict | None, other: Verdict) -> Verdict:
    if known is None:
        return other
    if known.status == other.status:
        return known.but(count=known.count + other.count)
    return max(known, other, key=lambda verdict: _WEIGHTS[verdict.status])
