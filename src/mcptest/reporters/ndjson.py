"""The report for programs that follow a run: one JSON object per line, written at each event.

The members are those of the JSON report; `event` says what a line is about.
"""

from __future__ import annotations

from mcptest.core.events import (
    CaseFinished,
    CaseStarted,
    RunFinished,
    RunStarted,
    SuiteFinished,
    SuiteStarted,
)
from mcptest.reporters.json import (
    REPORT_VERSION,
    case_members,
    coverage_members,
    diagnostic_members,
    dump_line,
    fault_members,
    finding_members,
    milliseconds,
    shard_members,
    summary_members,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.core.events import Event
    from mcptest.core.results import LogWish

    Members = dict[str, object]

__all__ = ["NdjsonReporter"]


class NdjsonReporter:
    """A listener that passes each event to `write` as one line of text."""

    wants_log: LogWish = "failures"

    def __init__(
        self, write: Callable[[str], None], tool_version: str, *, all_logs: bool = False
    ) -> None:
        self._write = write
        self._tool_version = tool_version
        self._all_logs = all_logs
        self._suite = SuiteStarted(name="", file="", format="", server="", total=0)

    def __call__(self, event: Event) -> None:
        members = self._members(event)
        if members:
            self._write(dump_line(members) + "\n")

    def _members(self, event: Event) -> Members:
        members: Members = {}
        if isinstance(event, CaseFinished):
            test = case_members(event.result, all_logs=self._all_logs)
            members = {"event": "test_finished", **self._origin(), **test}
        elif isinstance(event, CaseStarted):
            place = {**self._origin(), "line": event.line}
            members = {"event": "test_started", "name": event.name, **place}
        elif isinstance(event, SuiteStarted):
            self._suite = event
            members = _suite_members(event)
        elif isinstance(event, SuiteFinished):
            origin = {"file": event.file, "server": self._suite.server}
            members = {"event": "suite_finished", "name": event.name, **origin}
        elif isinstance(event, RunStarted):
            members = self._started_members(event)
        elif isinstance(event, RunFinished):
            members = _finished_members(event)
        return members

    def _origin(self) -> Members:
        """The suite of a test: a file can have one for each of several servers."""
        return {"file": self._suite.file, "server": self._suite.server}

    def _started_members(self, event: RunStarted) -> Members:
        return {
            "event": "run_started",
            "version": REPORT_VERSION,
            "tool": "mcptest",
            "tool_version": self._tool_version,
            "started_at": event.started_at,
            "server": event.server,
            "suites": event.suites,
            "selected": event.total,
            "warnings": [diagnostic_members(each) for each in event.warnings],
            **shard_members(event.shard),
        }


def _suite_members(event: SuiteStarted) -> Members:
    return {
        "event": "suite_started",
        "name": event.name,
        "file": event.file,
        "format": event.format,
        "server": event.server,
        "selected": event.total,
    }


def _finished_members(event: RunFinished) -> Members:
    return {
        "event": "run_finished",
        "duration_ms": milliseconds(event.duration_s),
        "summary": summary_members(event.summary),
        "findings": [finding_members(finding) for finding in event.findings],
        "coverage": coverage_members(event.coverage),
        "gates": list(event.missed_gates),
        "not_run": event.not_run,
        "not_run_allowed": event.may_leave_out,
        "error": None if event.fault is None else fault_members(event.fault),
        "interrupted": event.interrupted,
        "interrupted_in": event.interrupted_in or None,
        "bailed": event.bailed,
    }
