"""The events of a run, which the engine emits and reporters read.

A run of the same tests in several ways also has a matrix: its results, and how the ways differ.
"""

from __future__ import annotations

import re

from mcptest.core.results import CaptureScore, CaseResult, Fault, Finding, Summary
from mcptest.core.value_class import ABSENT, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.core.coverage import MeasuredGates, ServerCoverage
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.results import SnapshotReport, Status

    Listener = Callable[["Event"], None]

__all__ = [
    "CaseFinished",
    "CaseStarted",
    "Event",
    "Matrix",
    "OfferDifference",
    "ReportedShard",
    "ResultDifference",
    "RunFinished",
    "RunStarted",
    "SeenResult",
    "SeenValue",
    "ServerNamed",
    "ServerRevision",
    "ServerStarting",
    "SuiteFinished",
    "SuiteStarted",
    "Way",
    "WayRun",
    "names_a_way",
]


_WAY = r" \[(?:stdio|http), \d{4}-\d\d-\d\d\]"


class Way(Record):
    """A way to reach a server: a transport and a revision."""

    transport: str
    revision: str

    @property
    def label(self) -> str:
        return f"{self.transport}, {self.revision}"

    def named(self, server: str) -> str:
        """The name of a server in this way."""
        return f"{server} [{self.label}]"


def names_a_way(server: str) -> bool:
    """True if the name of a server includes a way."""
    return server.endswith("]") and bool(re.search(_WAY, server[-len(" [stdio, 0000-00-00]") :]))


class WayRun(Record):
    """The result of one way.

    `refusal` is set if the server does not support it, `error` if the server failed to open.
    `summary` is None if no test was run.
    """

    way: Way
    refusal: str = ""
    error: str = ""
    summary: Summary | None = None


class SeenResult(Record):
    """The result of one test in one way; `status` is None if it was not run."""

    way: Way
    status: Status | None
    reason: str = ""


class ResultDifference(Record):
    """A test whose result is not the same in all ways."""

    suite: str
    file: str
    line: int
    test: str
    seen: tuple[SeenResult, ...]


class SeenValue(Record):
    """What the server declares in one way; ABSENT if nothing."""

    way: Way
    value: object = ABSENT


class OfferDifference(Record):
    """Something that the server does not declare alike in all ways.

    `member` is the part that differs; "" if some ways do not have it at all.
    """

    what: str
    seen: tuple[SeenValue, ...]
    member: str = ""


class Matrix(Record):
    """The result of a run in several ways.

    `total` are the tests of one way, `compared` those of them that ran in more than one.
    `more_offers` counts differences that are not in `offers`, because there are so many.
    `unread` has a sentence for each list that could not be compared.
    """

    ways: tuple[WayRun, ...] = ()
    total: int = 0
    compared: int = 0
    differences: tuple[ResultDifference, ...] = ()
    offers: tuple[OfferDifference, ...] = ()
    more_offers: int = 0
    unread: tuple[str, ...] = ()

    @property
    def taken(self) -> tuple[Way, ...]:
        """The ways in which tests were run."""
        return tuple(run.way for run in self.ways if run.summary is not None)

    @property
    def broken(self) -> tuple[Way, ...]:
        """The ways in which the server failed to open."""
        return tuple(run.way for run in self.ways if run.error)


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
