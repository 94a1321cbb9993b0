"""The report other programs read: one JSON object, version 1.

Events go in; `render` gives the object as text, one test per line. Encode it with
``errors="backslashreplace"``: a lone surrogate then becomes its JSON escape, and
the bytes are valid UTF-8 and valid JSON whatever a server has sent.

Values that would swell the report are cut: one beyond MAX_VALUE_CHARS is replaced
by the beginning of its JSON text, mismatches beyond MAX_MISMATCHES by a note.
"""

from __future__ import annotations

import json

from mcptest.core.events import CaseFinished, RunFinished, RunStarted, SuiteStarted
from mcptest.core.outcome import ABSENT, STATUSES, Summary
from mcptest.core.visible import printable_json
from mcptest.matching.shown import shown
from mcptest.reporters.wording import defused_markers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import Event
    from mcptest.core.outcome import CaseResult, Fault, Finding, Mismatch, Status

    Members = dict[str, object]

__all__ = ["JsonReporter", "render_failure", "render_validation"]

REPORT_VERSION = 1
MAX_VALUE_CHARS = 20_000
MAX_MISMATCHES = 200
MAX_TAIL_CHARS = 4_000


class JsonReporter:
    """A listener that keeps what the report needs, and no more."""

    def __init__(self, tool_version: str) -> None:
        self._tool_version = tool_version
        self._started = RunStarted(started_at="", server="", suites=0, total=0)
        self._finished: RunFinished | None = None
        self._suites: list[tuple[SuiteStarted, list[Members]]] = []
        self._counts: dict[Status, int] = dict.fromkeys(STATUSES, 0)

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseFinished):
            self._counts[event.result.status] += 1
            self._suites[-1][1].append(_test_members(event.result))
        elif isinstance(event, SuiteStarted):
            self._suites.append((event, []))
        elif isinstance(event, RunStarted):
            self._started = event
        elif isinstance(event, RunFinished):
            self._finished = event

    def render(self) -> str:
        """The report of what has happened so far; without a last event it says interrupted."""
        finished = self._finished or self._cut_short()
        fault = finished.fault
        # When no test could run there is nothing to report but the reason.
        suites = self._suites if fault is None else []
        report: Members = {
            **_head(self._tool_version, self._started.started_at),
            "duration_ms": _milliseconds(finished.duration_s),
            "summary": _summary_members(finished.summary),
            "suites": suites,
            "warnings": [_diagnostic_members(each) for each in self._started.warnings],
            "findings": [_finding_members(finding) for finding in finished.findings],
            "invariants": [],
            "error": None if fault is None else {**_fault_members(fault), "diagnostics": []},
            "interrupted": finished.interrupted,
            "interrupted_in": finished.interrupted_in or None,
            "bailed": finished.bailed,
            "selected": self._started.total,
        }
        return _render_report(report)

    def _cut_short(self) -> RunFinished:
        summary = Summary.of(self._counts)
        return RunFinished(summary=summary, duration_s=0.0, interrupted=True)


def render_failure(
    kind: str,
    message: str,
    diagnostics: Sequence[Diagnostic],
    tool_version: str,
    started_at: str,
) -> str:
    """The report of a run that never began: files, command line or server are at fault."""
    report: Members = {
        **_head(tool_version, started_at),
        "duration_ms": 0.0,
        "summary": _summary_members(Summary()),
        "suites": [],
        "warnings": [],
        "findings": [],
        "invariants": [],
        "error": {
            "kind": kind,
            "message": message,
            "diagnostics": [_diagnostic_members(each) for each in diagnostics],
        },
        "interrupted": False,
        "interrupted_in": None,
        "bailed": False,
        "selected": 0,
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
        "warnings": [_diagnostic_members(each) for each in warnings],
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


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _summary_members(summary: Summary) -> Members:
    return {
        "total": summary.total,
        "passed": summary.passed,
        "failed": summary.failed,
        "errors": summary.errors,
        "skipped": summary.skipped,
    }


def _test_members(result: CaseResult) -> Members:
    members: Members = {
        "name": result.name,
        "status": result.status,
        "duration_ms": _milliseconds(result.duration_s),
        "line": result.line,
        "mismatches": [_mismatch_members(each) for each in result.mismatches[:MAX_MISMATCHES]],
        "error": None if result.fault is None else _fault_members(result.fault),
    }
    if result.status == "skipped":
        members["reason"] = result.reason
    notes = list(result.notes)
    if len(result.mismatches) > MAX_MISMATCHES:
        left_out = len(result.mismatches) - MAX_MISMATCHES
        notes.append(f"{left_out:,} more mismatches are left out of this report")
    if notes:
        members["notes"] = notes
    return members


def _mismatch_members(mismatch: Mismatch) -> Members:
    return {
        "path": mismatch.path,
        "expected": _reported(mismatch.expected),
        "actual": _reported(mismatch.actual),
        "message": mismatch.message,
        "hint": mismatch.hint,
    }


def _fault_members(fault: Fault) -> Members:
    return {
        "kind": fault.kind,
        "message": fault.message,
        "hint": fault.hint,
        "effect": fault.effect,
        "exit_status": fault.evidence.exit_status,
        "stderr_tail": fault.evidence.stderr_tail[-MAX_TAIL_CHARS:],
        "stdout_tail": fault.evidence.stdout_tail[-MAX_TAIL_CHARS:],
    }


def _finding_members(finding: Finding) -> Members:
    return {
        "kind": finding.kind,
        "server": finding.server,
        "message": finding.message,
        "quote": finding.quote,
        "count": finding.count,
    }


def _diagnostic_members(diagnostic: Diagnostic) -> Members:
    return {
        "code": diagnostic.code,
        "file": diagnostic.file,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "message": diagnostic.message,
        "help": diagnostic.help,
    }


def _reported(value: object) -> object:
    """A value as JSON can hold it: absence as null, what is too long as text."""
    if value is ABSENT:
        return None
    if isinstance(value, bool | int | None):
        return value
    size = 0
    for length in _lengths(value):
        size += length
        if size > MAX_VALUE_CHARS:
            return shown(value, MAX_VALUE_CHARS)
    return _plain(value)


def _lengths(value: object) -> Iterator[int]:
    """About how many characters each part of a value takes as JSON, lazily."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield len(str(key)) + 4
            yield from _lengths(member)
    elif isinstance(value, list | tuple):
        for item in value:
            yield 2
            yield from _lengths(item)
    else:
        yield len(value) + 2 if isinstance(value, str) else 8


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str | int | None):
        return value
    # A file may hold what JSON has no word for: .nan, .inf, a date.
    is_number = isinstance(value, float) and value - value == 0
    return value if is_number else str(value)


def _render_report(report: Members) -> str:
    """One member per line, and one test per line: easy to read, search and compare."""
    members = []
    for name, value in report.items():
        text = _suites_text(value) if name == "suites" else _dumps(value)  # type: ignore[arg-type]
        members.append(f"  {_dumps(name)}: {text}")
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
        lines = ",\n".join(f"      {_dumps(test)}" for test in tests)
        body = f"[\n{lines}\n    ]" if tests else "[]"
        texts.append(f'    {_dumps(head)[:-1]}, "tests": {body}}}')
    return "[\n" + ",\n".join(texts) + "\n  ]" if texts else "[]"


def _dumps(value: object) -> str:
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    return defused_markers(printable_json(text))
