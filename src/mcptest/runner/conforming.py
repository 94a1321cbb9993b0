"""What the rules say of the sessions of a run, and what of it is told like other findings."""

from __future__ import annotations

from mcptest.core.conformance import CaptureScore, merge_sessions
from mcptest.core.outcome import Finding, merge_findings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest.core.conformance import SessionScore
    from mcptest.rules.composition import Member

    Scored = tuple[SessionScore, Member]

__all__ = ["conformance_of", "told_findings"]

# Rules whose breach has been told already, by the kind of finding that told it.
_TOLD_BY = {
    "malformed_line": frozenset(["STDIO-01", "STDIO-02"]),
    "protocol_violation": frozenset(
        ["BASE-01", "BASE-03", "BASE-04", "BASE-09", "BASE-11", "BASE-17", "INV-006"]
    ),
    "unknown_id": frozenset(["BASE-08"]),
    "duplicate_response": frozenset(["BASE-08"]),
    "late_response": frozenset(["BASE-08"]),
}


# Rules that say in general what others say of one thing.
_SAID_BY = {
    "BASE-37": frozenset(["SAMP-01", "ROOT-01", "ELIC-01"]),
    "BASE-11": frozenset(["INV-006"]),
}


def conformance_of(scores: Sequence[Scored]) -> CaptureScore:
    """What the rules say of each server, and of all of them together."""
    if not scores:
        return CaptureScore()
    # Loaded by now: it is what made the scores.
    from mcptest.rules.composition import find_hazards  # noqa: PLC0415

    return CaptureScore(
        sessions=merge_sessions(score for score, _ in scores),
        hazards=tuple(find_hazards([member for _, member in scores])),
    )


def told_findings(findings: Iterable[Finding], score: CaptureScore) -> tuple[Finding, ...]:
    """Findings, those of the rules among them; what several servers have is told once."""
    merged = merge_findings(findings)
    return (*merged, *_breaches(score, merged))


def _breaches(score: CaptureScore, findings: Iterable[Finding]) -> Iterator[Finding]:
    """A finding for each rule that is broken and each clash, unless one says the same."""
    told = {(finding.server, finding.kind) for finding in findings}
    for session in score.sessions:
        server = session.server_label.partition("://")[2] or session.server_label
        kinds = [kind for name, kind in told if name == server]
        known = frozenset(id for kind in kinds for id in _TOLD_BY.get(kind, ()))
        broken = {verdict.id for verdict in session.verdicts if verdict.status == "fail"}
        known |= frozenset(id for id, others in _SAID_BY.items() if broken & others)
        for verdict in session.verdicts:
            if verdict.status == "fail" and verdict.id not in known:
                message = f"{verdict.id}: {verdict.message}"
                yield Finding(kind=verdict.id, server=server, message=message, count=verdict.count)
    for hazard in score.hazards:
        yield Finding(kind=hazard.kind, server=", ".join(hazard.servers), message=hazard.message)
