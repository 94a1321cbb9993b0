"""What a security scan found: findings, what became of each rule, and the whole report."""

from __future__ import annotations

import re

from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from mcptest.core.plan import ServerSpec

    Severity = Literal["critical", "high", "medium", "low"]
    # Bytes, effects and differences prove; words do not.
    Confidence = Literal["proven", "worded"]
    RuleStatus = Literal["ran", "not_applicable", "not_run", "skipped"]

__all__ = [
    "RULE_IDS",
    "SEVERITIES",
    "BaselineEntry",
    "RuleOutcome",
    "ScanReport",
    "ScanWish",
    "ScannedServer",
    "SecurityFinding",
    "stable_path",
]

# From the lightest to the gravest.
SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high", "critical")

# The rules; `mcptest.security.rules` says what they are.
RULE_IDS = tuple(
    f"SEC-{number:03}" for numbers in ((1, 15), (20, 25), (30, 34)) for number in range(*numbers)
)


def _is_at_least(severity: str, limit: str) -> bool:
    """True if a severity is this grave; nothing is as grave as "never"."""
    names: tuple[str, ...] = SEVERITIES
    return limit in names and names.index(severity) >= names.index(limit)


class SecurityFinding(Record):
    """Something about a server that can harm its users.

    `path` leads to it: `tools[3].description`. `fingerprint` is a hash of the definition that it is
    about. In `message` and `evidence` every character can be seen, and no secret is complete.
    """

    id: str
    severity: Severity
    confidence: Confidence
    path: str
    message: str
    fingerprint: str
    evidence: str = ""
    server: str = ""


class RuleOutcome(Record):
    """What became of a rule: it ran, or `reason` says why it did not."""

    id: str
    title: str
    status: RuleStatus
    reason: str = ""


class ScannedServer(Record):
    """A server that was scanned; `entries` is how many definitions were read."""

    name: str
    version: str = ""
    transport: str = ""
    revision: str = ""
    entries: int = 0
    called: tuple[str, ...] = ()


class BaselineEntry(Record):
    """A finding that is accepted, and why."""

    id: str
    path: str
    fingerprint: str
    reason: str
    server: str = ""


class ScanWish(Record):
    """What a suite asks for. With `others`, servers are compared, and nothing else is judged.

    `is_one_of_several` says that the suite has other servers, too.
    """

    fail_on: str = "high"
    skip: tuple[str, ...] = ()
    baseline: tuple[BaselineEntry, ...] = ()
    others: tuple[ServerSpec, ...] = ()
    is_one_of_several: bool = False


class ScanReport(Record):
    """The result of a scan.

    `findings` are those that are not `accepted`; `stale` are entries of the baseline that no longer
    accept anything, `unread` lists of a server that could not be read: what was not seen does not
    pass. An interrupted scan has what was found until then.
    """

    servers: tuple[ScannedServer, ...]
    findings: tuple[SecurityFinding, ...]
    rules: tuple[RuleOutcome, ...]
    fail_on: str = "high"
    accepted: tuple[tuple[SecurityFinding, str], ...] = ()
    stale: tuple[BaselineEntry, ...] = ()
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    interrupted: bool = False
    started_at: str = ""

    @property
    def failing(self) -> tuple[SecurityFinding, ...]:
        """The findings that fail the scan."""
        return tuple(each for each in self.findings if _is_at_least(each.severity, self.fail_on))

    @property
    def passed(self) -> bool:
        return not (self.failing or self.stale or self.unread or self.interrupted)

    def count(self, severity: str) -> int:
        return sum(each.severity == severity for each in self.findings)

    def with_baseline(self, entries: Sequence[BaselineEntry]) -> ScanReport:
        """The report in which the findings of the baseline are accepted.

        An entry is known by its rule, its path without the number of the definition, which changes
        when others are added, and the fingerprint of the definition.
        """
        used: set[BaselineEntry] = set()
        kept: list[SecurityFinding] = []
        accepted = list(self.accepted)
        for finding in self.findings:
            entry = next((each for each in entries if _accepts(each, finding)), None)
            if entry:
                used.add(entry)
                accepted.append((finding, entry.reason))
            else:
                kept.append(finding)
        ran = {rule.id for rule in self.rules if rule.status == "ran"}
        # What was not looked for is not gone.
        stale = [each for each in entries if each not in used and each.id in ran]
        return self.but(
            findings=tuple(kept),
            accepted=tuple(accepted),
            stale=() if self.interrupted or self.unread else tuple(stale),
        )


def _accepts(entry: BaselineEntry, finding: SecurityFinding) -> bool:
    return (
        entry.id == finding.id
        and entry.fingerprint == finding.fingerprint
        and entry.server in ("", finding.server)
        and stable_path(entry.path) == stable_path(finding.path)
    )


def stable_path(path: str) -> str:
    """A path without the number of the definition, which changes when others are added."""
    return re.sub(r"^(\w+)\[\d+\]", r"\1[]", path)
