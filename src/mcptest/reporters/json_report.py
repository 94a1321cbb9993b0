"""The report other programs read: one JSON object, version 1.

Events go in; `render` gives the object as text, one test per line. Encode it with
``errors="backslashreplace"``: a lone surrogate then becomes its JSON escape, and
the bytes are valid UTF-8 and valid JSON whatever a server has sent.

Values that would swell the report are cut: one beyond MAX_VALUE_CHARS is replaced
by the beginning of its JSON text, mismatches beyond MAX_MISMATCHES by a note.
"""

from __future__ import annotations

from mcptest.core.events import CaseFinished, RunFinished, RunStarted, SuiteStarted
from mcptest.core.outcome import STATUSES, Summary
from mcptest.reporters.matrix_members import matrix_members
from mcptest.reporters.members import (
    case_members,
    coverage_members,
    diagnostic_members,
    dumped,
    fault_members,
    finding_members,
    gate_members,
    hazard_members,
    invariant_members,
    milliseconds,
    shard_members,
    summary_members,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import Event, ReportedShard
    from mcptest.core.outcome import LogWish, Status

    Members = dict[str, object]

__all__ = ["REPORT_VERSION", "JsonReporter", "render_failure", "render_validation"]

REPORT_VERSION = 1


class JsonReporter:
    """A listener that keeps what the report needs, and no more."""

    wants_log: LogWish = "failures"

    def __init__(self, tool_version: str, *, all_logs: bool = False) -> None:
        self._tool_version = tool_version
        self._all_logs = all_logs
        self._started = RunStarted(started_at="", server="", suites=0, total=0)
        self._finished: RunFinished | None = None
        self._suites: list[tuple[SuiteStarted, list[Members]]] = []
        self._counts: dict[Status, int] = dict.fromkeys(STATUSES, 0)
        self._flaky = 0
        self._not_run = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseFinished):
            self._counts[event.result.status] += 1
            self._flaky += event.result.is_flaky
            self._not_run += event.result.not_run
            members = case_members(event.result, all_logs=self._all_logs)
            self._suites[-1][1].append(members)
        elif isinstance(event, SuiteStarted):
            self._suites.append((event, []))
        elif isinstance(event, RunStarted):
            self._started = event
        elif isinstance(event, RunFinished):
            self._finished = event

    def render(self) -> str:
        """The report of what has happened so far; without a last event it says interrupted."""
        finished = self._finished or self._cut_short()
        # When no test could run there is nothing to report but the reason.
        suites = self._suites if finished.fault is None else []
        mistakes = [each for each in self._started.warnings if each.severity == "error"]
        warnings = [each for each in self._started.warnings if each.severity != "error"]
        error: Members | None = None
        if finished.fault is not None:
            diagnostics = [diagnostic_members(each) for each in mistakes]
            error = {**fault_members(finished.fault), "diagnostics": diagnostics}
        report: Members = {
            **_head(self._tool_version, self._started.started_at),
            "duration_ms": milliseconds(finished.duration_s),
            "server": self._started.server,
            "summary": summary_members(finished.summary),
            "suites": suites,
            "warnings": [diagnostic_members(each) for each in warnings],
            "findings": [finding_members(finding) for finding in finished.findings],
            "invariants": invariant_members(finished.conformance),
            "composition": [hazard_members(each) for each in finished.conformance.hazards],
            "coverage": coverage_members(finished.coverage),
            "gates": list(finished.missed_gates),
            "broken_rules": list(finished.broken_rules),
            "not_run": finished.not_run,
            "not_run_allowed": finished.may_leave_out,
            "error": error,
            "interrupted": finished.interrupted,
            "interrupted_in": finished.interrupted_in or None,
            "bailed": finished.bailed,
            "selected": self._started.total,
            **shard_members(self._started.shard),
        }
        if finished.spoken:
            report["spoken"] = [dict(each.fields()) for each in finished.spoken]
        if finished.unasked_gates:
            report["unasked_gates"] = [gate_members(each) for each in finished.unasked_gates]
        if finished.snapshots:
            named = dict(finished.snapshots.fields())
            report["snapshots"] = {word: _listed(named[word]) for word in named}
        if finished.matrix:
            report["matrix"] = matrix_members(finished.matrix)
        return _render_report(report)

    def _cut_short(self) -> RunFinished:
        summary = Summary.of(self._counts).but(flaky=self._flaky)
        return RunFinished(summary=summary, duration_s=0.0, interrupted=True, not_run=self._not_run)


def _listed(by_file: dict[str, tuple[str, ...]]) -> Members:
    return {file: list(keys) for file, keys in by_file.items()}


def render_failure(
    kind: str,
    message: str,
    diagnostics: Sequence[Diagnostic],
    tool_version: str,
    started_at: str,
    shard: ReportedShard | None = None,
) -> str:
    """The report of a run that never began: files, command line or server are at fault."""
    report: Members = {
        **_head(tool_version, started_at),
        "duration_ms": 0.0,
        "server": "",
        "summary": summary_members(Summary()),
        "suites": [],
        "warnings": [],
        "findings": [],
        "invariants": [],
        "composition": [],
        "coverage": None,
        "gates": [],
        "broken_rules": [],
        "not_run": 0,
        "not_run_allowed": False,
        "error": {
            "kind": kind,
            "message": message,
            "diagnostics": [diagnostic_members(each) for each in diagnostics],
        },
        "interrupted": False,
        "interrupted_in": None,
        "bailed": False,
        "selected": 0,
        **shard_members(shard),
    }
    return _render_report(report)


def render_validation(
    files: int, tests: int, warnings: Sequence[Diagnostic], tool_version: str
) -> str:
    """The report of files that have no mistakes; those that have are `render_failure`'s."""
    report: Members = {
        "version": REPORT_VERSION,
        "tool": "mcptest",
        "tool_version": tool_version,
        "files": files,
        "tests": tests,
        "warnings": [diagnostic_members(each) for each in warnings],
        "error": None,
    }
    return _render_report(report)


def _head(tool_version: str, started_at: str) -> Members:
    return {
        "version": REPORT_VERSION,
        "tool": "mcptest",
        "tool_version": tool_version,
        "started_at": started_at,
    }


def _render_report(report: Members) -> str:
    """One member per line, and one test per line: easy to read, search and compare."""
    members = []
    for name, value in report.items():
        text = _suites_text(value) if name == "suites" else dumped(value)  # type: ignore[arg-type]
        members.append(f"  {dumped(name)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def _suites_text(suites: Iterable[tuple[SuiteStarted, list[Members]]]) -> str:
    texts = []
    for suite, tests in suites:
        head = {
            "name": suite.name,
            "file": suite.file,
            "format": suite.format,
            "server": suite.server,
        }
        lines = ",\n".join(f"      {dumped(test)}" for test in tests)
        body = f"[\n{lines}\n    ]" if tests else "[]"
        texts.append(f'    {dumped(head)[:-1]}, "tests": {body}}}')
    return "[\n" + ",\n".join(texts) + "\n  ]" if texts else "[]"
