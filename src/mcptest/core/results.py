"""Results: of one case, of the rules, of snapshots, and the exit status of a run.

A mismatch is an expectation that was not met, a fault is how the server or the environment broke
a test, and a finding is a broken rule that does not fail a test.
"""

from __future__ import annotations

from enum import IntEnum

from mcptest.core.text import excerpt
from mcptest.core.value_class import ABSENT, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal

    from mcptest.core.events import RunFinished

    Status = Literal["passed", "failed", "error", "skipped"]
    Effect = Literal["definite", "indefinite"]
    Direction = Literal["sent", "received", "stderr", "noise"]
    # Which tests have a log: none, those that did not just pass, all.
    LogWish = Literal["", "failures", "all"]
    VerdictStatus = Literal["pass", "fail", "warning", "not_applicable"]
    SnapshotMode = Literal["check", "write_new", "update"]
    SnapshotStatus = Literal["same", "new", "updated", "different"]
    Keys = dict[str, tuple[str, ...]]

__all__ = [
    "FATAL",
    "FAULTS",
    "FINDINGS",
    "NOT_KEPT",
    "STATUSES",
    "STRICT",
    "VERDICTS",
    "WRITTEN",
    "CaptureScore",
    "CaseResult",
    "Conflict",
    "Evidence",
    "ExitCode",
    "FailedAttempt",
    "Fault",
    "Finding",
    "LogLine",
    "Mismatch",
    "SessionScore",
    "SnapshotReport",
    "SnapshotTaken",
    "Summary",
    "Verdict",
    "exit_code_of",
    "merge_findings",
    "merge_sessions",
    "merge_snapshots",
    "with_snapshots",
]


STATUSES: tuple[Status, ...] = ("passed", "failed", "error", "skipped")


class Mismatch(Record):
    """One expectation that was not met, and why.

    `expected` is what the file has at the path (a pattern as a string), `actual` what the answer
    has; ABSENT if there is nothing. `at` is where a pattern stops to match: the index in `expected`
    and that in `actual`. `is_described` says that `expected` is a string that describes
    what is wanted, such as `contains: sunny`, and not a value; a `match:` pattern shows it itself.
    """

    path: str
    expected: object
    actual: object
    message: str
    hint: str = ""
    at: tuple[int, int] | None = None
    is_described: bool = False


class Evidence(Record):
    """What is known about the server at the time of a fault, ready to be shown."""

    command: tuple[str, ...] = ()
    url: str = ""
    cwd: str = ""
    # How the process ended, in words, and its exit code; minus the number of the signal if it was
    # killed by one.
    exit_status: str = ""
    exit_code: int | None = None
    stderr_tail: str = ""
    stdout_tail: str = ""


class Fault(Record):
    """How a test was broken. `kind` is a stable word, `message` a sentence for a person.

    `effect` is "indefinite" if the call may still have had its effect. `code` is the error
    code or the HTTP status with which a server refused something; else 0.
    """

    kind: str
    message: str
    hint: str = ""
    effect: Effect = "definite"
    code: int = 0
    evidence: Evidence = Evidence()


class Finding(Record):
    """Something that the server did against a rule, without breaking a test."""

    kind: str
    server: str
    message: str
    quote: str = ""
    count: int = 1


def merge_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, with equal ones counted as one."""
    merged: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        key = (finding.server, finding.kind, finding.message)
        known = merged.get(key)
        merged[key] = known.but(count=known.count + finding.count) if known else finding
    return tuple(merged.values())


class LogLine(Record):
    """A message or line during a test, `at_s` seconds after it began.

    `text` is a message as one line of JSON, or a line of stderr or noise; it may be cut.
    """

    at_s: float
    direction: Direction
    text: str


class FailedAttempt(Record):
    """An attempt at a case that was retried; `kind` is that of its fault, "" for a mismatch."""

    kind: str
    message: str
    duration_s: float = 0.0


class CaseResult(Record):
    """The result of one case, with its reasons.

    `attempts` counts the attempts of a case that may be retried; one that passed after a failure
    is flaky; `earlier` are those before the last. `repeats` is how often it was run. `log` is empty
    unless requested. `not_run` marks a case that this version of mcptest cannot run. `times_s` are
    the response times, if measured; `snapshots` those that it used. `trace_id` is the trace of its
    last request, if tests send one.
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
    earlier: tuple[FailedAttempt, ...] = ()
    repeats: int = 1
    log: tuple[LogLine, ...] = ()
    not_run: bool = False
    times_s: tuple[float, ...] = ()
    snapshots: tuple[SnapshotTaken, ...] = ()
    trace_id: str = ""

    @property
    def is_flaky(self) -> bool:
        return self.status == "passed" and self.attempts > 1


class Summary(Record):
    """How many cases have which status. Flaky ones are counted as passed, too."""

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


# The kinds of faults and findings. docs/faults.md explains each.

# A test with one of these is an error.
FAULTS = frozenset(
    [
        "spawn_failed",
        "exited_early",
        "handshake_timeout",
        "handshake_refused",
        "unsupported_version",
        "exited_during_call",
        "early_response",
        "timeout",
        "stdin_blocked",
        "malformed_line",
        "protocol_violation",
        "line_too_long",
        "output_budget",
        "name_lookup",
        "connect_failed",
        "tls_failed",
        "redirect_refused",
        "auth_failed",
        "http_status",
        "content_type",
        "http_body",
        "event_stream",
        "malformed_json",
        "session_lost",
        "server_raised",
        "pattern_too_slow",
        "schema_undecided",
        "missing_capture",
        "unusable_capture",
        "no_batches",
        "hook_failed",
        "plugin_failed",
        "worker_lost",
        "incomplete_report",
        "interrupted",
    ]
)

# These break a rule without breaking a test.
FINDINGS = frozenset(
    [
        "malformed_line",
        "protocol_violation",
        "line_too_long",
        "unknown_id",
        "duplicate_response",
        "early_response",
        "late_response",
        "misplaced_response",
        "unattributed_error",
        "crlf",
        "blank_line",
        "unclean_end",
        "needed_term",
        "needed_kill",
        "left_behind",
        "server_raised",
        "bad_schema",
        "unchecked_output",
        "listed_twice",
        "teardown_failed",
        "snapshots_not_written",
        "snapshot_shared",
        "gates_not_asked",
        "shard_missing",
        "http_status",
        "content_type",
        "http_body",
        "event_stream",
        "malformed_json",
        "connect_failed",
        "redirect_refused",
        "auth_failed",
        "session_lost",
        "tls_unverified",
        "way_broken",
        "foreign_listener",
    ]
)

# Snapshots were to be accepted and are not.
NOT_KEPT = frozenset(["snapshots_not_written", "snapshot_shared"])

# With these, no run succeeds.
FATAL = frozenset(["bad_schema", "way_broken"]) | NOT_KEPT

# With these, no strict run succeeds: something was not checked.
STRICT = frozenset(["unchecked_output", "listed_twice"])


# Verdicts of the rules on sessions

VERDICTS: tuple[VerdictStatus, ...] = ("pass", "fail", "warning", "not_applicable")


class Verdict(Record):
    """The verdict of one rule on one session.

    `exchange` is the index of the first violation, None if it is the session as a whole; `count`
    is the number of violations. `reported_by` is what reports the same mistakes, so that each is
    reported once: a rule, and the status is then "not_applicable", or the kind of the fault in
    which a test ended.
    """

    id: str
    category: str
    status: VerdictStatus
    message: str
    exchange: int | None = None
    count: int = 0
    reported_by: str = ""


class SessionScore(Record):
    """The verdicts on one session, in the order of the rules."""

    server_label: str
    verdicts: tuple[Verdict, ...]

    def count(self, status: VerdictStatus) -> int:
        return sum(verdict.status == status for verdict in self.verdicts)


class Conflict(Record):
    """Sessions that use the same tool names or ids; `what` are these."""

    kind: str
    message: str
    servers: tuple[str, ...]
    what: tuple[object, ...]


class CaptureScore(Record):
    """The verdicts of the rules on a whole capture."""

    sessions: tuple[SessionScore, ...] = ()
    conflicts: tuple[Conflict, ...] = ()

    @property
    def passed(self) -> bool:
        """True if no rule is broken and there are no conflicts; warnings do not count."""
        return not self.conflicts and not any(session.count("fail") for session in self.sessions)


# The worst verdict of its sessions counts for a server.
_WEIGHTS = {"not_applicable": 0, "pass": 1, "warning": 2, "fail": 3}


def merge_sessions(sessions: Iterable[SessionScore]) -> tuple[SessionScore, ...]:
    """One score per server: the worst verdict of each rule in its sessions."""
    servers: dict[str, dict[str, Verdict]] = {}
    for session in sessions:
        merged = servers.setdefault(session.server_label, {})
        for verdict in session.verdicts:
            known = merged.get(verdict.id)
            if known is None:
                merged[verdict.id] = verdict
            elif (known.status, not known.reported_by) == (verdict.status, not verdict.reported_by):
                merged[verdict.id] = known.but(count=known.count + verdict.count)
            else:
                merged[verdict.id] = max(known, verdict, key=_weight)
    return tuple(
        SessionScore(server_label=label, verdicts=tuple(verdicts.values()))
        for label, verdicts in servers.items()
    )


def _weight(verdict: Verdict) -> float:
    is_covered = verdict.reported_by and verdict.status == "not_applicable"
    # Worse than a rule that was kept: it was broken, and another rule reports that.
    return _WEIGHTS["pass"] + 0.5 if is_covered else _WEIGHTS[verdict.status]


# Snapshots

# Written if the test passes.
WRITTEN = ("new", "updated")

_MAX_NAMES = 300


class SnapshotTaken(Record):
    """One use of a snapshot by a test. `value` is set only if it is to be written.

    `turn` is the index of the test among all that were run: two tests may have the same name.
    `place` is the path of the expectation in the file. With `is_past`, the test was retried
    afterwards, so that this is not the attempt that passed.
    """

    file: str
    key: str
    status: SnapshotStatus
    value: object = ABSENT
    test: str = ""
    turn: int = 0
    place: tuple[str | int, ...] = ()
    is_past: bool = False


class SnapshotReport(Record):
    """The names of snapshots by the file of their suite; files without any are left out.

    `stale` snapshots belong to no test. `unstable` ones had several values: they vary between
    attempts, or another run wrote them meanwhile. `held` ones are not accepted because their test
    did not pass, `clashing` ones because several tests have different values. `unwritten` ones
    could not be written.
    """

    written: Keys = {}  # noqa: RUF012  # nothing of a record changes
    updated: Keys = {}  # noqa: RUF012  # as above
    removed: Keys = {}  # noqa: RUF012  # as above
    stale: Keys = {}  # noqa: RUF012  # as above
    unstable: Keys = {}  # noqa: RUF012  # as above
    held: Keys = {}  # noqa: RUF012  # as above
    clashing: Keys = {}  # noqa: RUF012  # as above
    unwritten: Keys = {}  # noqa: RUF012  # as above


def with_snapshots(result: CaseResult, taken: tuple[SnapshotTaken, ...]) -> CaseResult:
    """The result with its snapshots, and a note about those that are held back."""
    result = result.but(snapshots=taken)
    held = dict.fromkeys(each.key for each in taken if each.status in WRITTEN)
    if result.status == "passed" or not held:
        return result
    names = excerpt(", ".join(held), _MAX_NAMES)
    note = f"held back, for only what passes is accepted: the snapshot {names}"
    return result.but(notes=(*result.notes, note))


def merge_snapshots(reports: Iterable[SnapshotReport | None]) -> SnapshotReport | None:
    """One report from several about different files; None if there are none."""
    found = [report for report in reports if report is not None]
    if not found:
        return None
    merged: dict[str, Keys] = {name: {} for name, _ in found[0].fields()}
    for report in found:
        for name, keys in report.fields():
            merged[name] |= keys
    return SnapshotReport(**merged)


class ExitCode(IntEnum):
    """The exit statuses of all commands. They are never reused."""

    PASSED = 0
    FAILED = 1
    BAD_INPUT = 2
    NO_SERVER = 3
    OUR_FAULT = 4
    REFUSED = 5
    GATE_MISSED = 6
    NOTHING_SELECTED = 7
    INTERRUPTED = 130


def exit_code_of(finished: RunFinished) -> ExitCode:
    if finished.interrupted:
        return ExitCode.INTERRUPTED
    if finished.fault:
        return ExitCode.NO_SERVER
    has_failed = finished.summary.failed or finished.summary.errors
    if finished.matrix and finished.matrix.broken and not has_failed:
        # The tests passed, but not in every way.
        return ExitCode.NO_SERVER
    if has_failed or finished.broken_rules:
        return ExitCode.FAILED
    if finished.not_run and not finished.may_leave_out:
        return ExitCode.FAILED
    if finished.missed_gates:
        return ExitCode.GATE_MISSED
    if not finished.summary.passed:
        # Nothing was selected, or everything was skipped.
        return ExitCode.NOTHING_SELECTED
    return ExitCode.PASSED
