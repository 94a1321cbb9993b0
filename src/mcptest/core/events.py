"""The events of a run, which the engine emits and reporters read."""

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
    "ServerNamed",
    "ServerRevision",
    "ServerStarting",
    "SuiteFinished",
    "SuiteStarted",
]


class Event(Record):
    """The root of all events."""


class ReportedShard(Record):
    """Which of the `count` parts of a sharded selection a run has: one, or several if merged.

    `selection` is the digest of the whole selection; "" if the run failed before it was known.
    """

    indexes: tuple[int, ...]
    count: int
    selection: str = ""


class ServerStarting(Event):
    """A server that no file names is started; `RunStarted` follows when its own name is known."""


class ServerNamed(Event):
    """A server that no file names has said its own name. Only the engine handles this event."""

    server: str
    name: str


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
    started_at: str = ""


class CaseStarted(Event):
    name: str
    line: int


class CaseFinished(Event):
    result: CaseResult


class SuiteFinished(Event):
    name: str
    file: str


class ServerRevision(Record):
    """The protocol revision that was used with a server, and its URL; "" for stdio."""

    server: str
    revision: str
    url: str = ""


class RunFinished(Event):
    """The run is over. `fault` is set if no test could be run at all.

    `coverage` has an entry for each server whose offers are known, `missed_gates` a sentence for
    each gate that was missed. `conformance` are the verdicts of the rules on the sessions of the
    run, `broken_rules` those that fail a strict run. `not_run` counts the tests that this version
    cannot run, with which a run fails unless it `may_leave_out` them. `unasked_gates` are those of
    suites that were run only in part. `matrix` is set if the tests were run in several ways.
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
