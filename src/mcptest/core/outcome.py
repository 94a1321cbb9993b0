"""What came out: mismatches, faults, findings, and the result of one case."""

from __future__ import annotations

from mcptest.core.record import ABSENT, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal

    from mcptest.core.snapshots import SnapshotTaken

    Status = Literal["passed", "failed", "error", "skipped"]
    Effect = Literal["definite", "indefinite"]
    Direction = Literal["sent", "received", "stderr", "noise"]
    # Whose log is wanted: nobody's, that of tests that did not just pass, everybody's.
    LogWish = Literal["", "failures", "all"]

__all__ = [
    "STATUSES",
    "CaseResult",
    "Evidence",
    "Fault",
    "Finding",
    "LogLine",
    "Mismatch",
    "Summary",
    "merge_findings",
]


STATUSES: tuple[Status, ...] = ("passed", "failed", "error", "skipped")


class Mismatch(Record):
    """One expectation that was not met, and why.

    `expected` is what the file says there (a pattern as its text), `actual` what
    arrived; either is ABSENT when that side has nothing at the path.
    """

    path: str
    expected: object
    actual: object
    message: str
    hint: str = ""


class Evidence(Record):
    """What the server left behind when something broke, ready to be shown."""

    command: tuple[str, ...] = ()
    url: str = ""
    cwd: str = ""
    exit_status: str = ""
    stderr_tail: str = ""
    stdout_tail: str = ""


class Fault(Record):
    """How the world broke. `kind` is a stable word, `message` a sentence for a person.

    `effect` is "indefinite" when the call may have had its effect all the same. `code` is that
    of the error, or the status of HTTP, with which a server refused something; else 0.
    """

    kind: str
    message: str
    hint: str = ""
    effect: Effect = "definite"
    code: int = 0
    evidence: Evidence = Evidence()


class Finding(Record):
    """Something the server did that breaks a rule without breaking a test."""

    kind: str
    server: str
    message: str
    quote: str = ""
    count: int = 1


def merge_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One of each: those of one kind about one server that say the same are added up."""
    merged: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        key = (finding.server, finding.kind, finding.message)
        known = merged.get(key)
        merged[key] = known.but(count=known.count + finding.count) if known else finding
    return tuple(merged.values())


class LogLine(Record):
    """One thing that was said during a test, `at_s` seconds after it began.

    `text` is a message as one line of JSON, or a line of stderr or noise; what is very long
    has been cut.
    """

    at_s: float
    direction: Direction
    text: str


class CaseResult(Record):
    """The verdict on one case, with its reasons.

    `attempts` counts the tries of a test that may be tried again; one that passed after a
    failure is flaky. `log` is empty unless somebody asked for it. `not_run` marks one that this
    version of mcptest cannot run. `times_s` are those of its answers, where they are measured;
    `snapshots` those that it looked at.
    """

    name: str
    status: Status
    line: int
    duration_s: float = 0.0
    mismatches: tuple[Mismatch, ...] = ()
    fault: Fault | None = None
    reason: str = ""
    sent: str = ""
    expected: object = ABSENT
    actual: object = ABSENT
    notes: tuple[str, ...] = ()
    stderr: str = ""
    tags: tuple[str, ...] = ()
    attempts: int = 1
    log: tuple[LogLine, ...] = ()
    not_run: bool = False
    times_s: tuple[float, ...] = ()
    snapshots: tuple[SnapshotTaken, ...] = ()

    @property
    def is_flaky(self) -> bool:
        return self.status == "passed" and self.attempts > 1


class Summary(Record):
    """How many cases ended how. Those that are flaky are among those that passed."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    flaky: int = 0

    @classmethod
    def of(cls, counts: Mapping[Status, int], flaky: int = 0) -> Summary:
        return cls(
            passed=counts["passed"],
            failed=counts["failed"],
            errors=counts["error"],
            skipped=counts["skipped"],
            flaky=flaky,
        )

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.errors + self.skipped
