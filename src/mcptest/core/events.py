"""What happened during a run, in the past tense. Runners emit, reporters read."""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.core.results import CaptureScore, CaseResult, Fault, Finding, Summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.core.coverage import MeasuredGates, ServerCoverage
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.matrix import Matrix
    from mcptest.core.results import SnapshotReport

    Listener = Callable[["Event"], None]

__all__ = [
    "CaseFinished",
    "CaseStarted",
    "Event",
    "ReportedShard",
    "RunFinished",
    "RunStarted",
    "ServerRevision",
    "SuiteFinished",
    "SuiteStarted",
]


class Event(Record):
    """The root of all events."""


class ReportedShard(Record):
    """Which of the `count` parts of a sharded selection a run has: one, or several merged ones.

    `selection` is the digest of the whole selection; "" when the run failed before it was known.
    """

    indexes: tuple[int, ...]
    count: int
    selection: str = ""


class RunStarted(Event):
    """`total` cases in `suites` suites were selected and are about to run."""

    started_at: str
    server: str
    suites: int
    total: int
    warnings: tuple[Diagnostic, ...] = ()
    shard: ReportedShard | None = None


class SuiteStarted(Event):
    name: str
    file: str
    format: str
    server: str
    total: int


class CaseStarted(Event):
    name: str
    line: int


class CaseFinished(Event):
    result: CaseResult


class SuiteFinished(Event):
    name: str
    file: str


class ServerRevision(Record):
    """In which revision a server was spoken to, and at which URL; "" for one on pipes."""

    server: str
    revision: str
    url: str = ""


class RunFinished(Event):
    """The run is over. `fault` is set when no test could run at all.

    `coverage` has an entry for each server that could say what it offers; `missed_gates`
    a sentence for each gate (`--min-coverage`) that was not reached. `conformance` is what the
    rules say of the sessions of the run, `broken_rules` what of it fails a strict run.
    `not_run` counts what was declared and cannot be run by this version; unless the user
    said that it `may_leave_out` such, the run is no success. `unasked_gates` are those of
    suites of which this run had only a part. `matrix` is set when it went over several ways.
    `server_revisions` has an entry for each server and revision.
    """

    summary: Summary
    duration_s: float
    findings: tuple[Finding, ...] = ()
    fault: Fault | None = None
    interrupted: bool = False
    interrupted_in: str = ""
    bailed: bool = False
    coverage: tuple[ServerCoverage, ...] = ()
    missed_gates: tuple[str, ...] = ()
    conformance: CaptureScore = CaptureScore()
    broken_rules: tuple[str, ...] = ()
    not_run: int = 0
    may_leave_out: bool = False
    snapshots: SnapshotReport | None = None
    unasked_gates: tuple[MeasuredGates, ...] = ()
    matrix: Matrix | None = None
    server_revisions: tuple[ServerRevision, ...] = ()
