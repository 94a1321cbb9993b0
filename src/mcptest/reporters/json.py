"""The reports for other programs: one JSON object, version 1, or one object per event (NDJSON).

Events go in; `render` returns the object as text, one test per line. Encode it with
``errors="backslashreplace"``: a lone surrogate becomes its JSON escape, so the bytes are valid
UTF-8 and valid JSON whatever a server has sent.

A value that is too long is replaced by the beginning of its JSON text, too many mismatches by a
note. Optional keys of a test are left out when they are empty.
"""

from __future__ import annotations

import json

from mcptest.core.coverage import KINDS
from mcptest.core.events import (
    CaseFinished,
    CaseStarted,
    RunFinished,
    RunStarted,
    SuiteFinished,
    SuiteStarted,
)
from mcptest.core.results import STATUSES, Summary
from mcptest.core.text import defuse_markers, printable_json, shorten, show_json
from mcptest.core.value_class import ABSENT
from mcptest.protocol.revisions import REVISIONS
from mcptest.reporters.style import percent_shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mcptest.core.coverage import MeasuredGates, ServerCoverage
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import Event, Matrix, ReportedShard, Way, WayRun
    from mcptest.core.results import (
        CaptureScore,
        CaseResult,
        Conflict,
        Fault,
        LogWish,
        Mismatch,
        Status,
    )
    from mcptest.core.value_class import Record

    Members = dict[str, object]

__all__ = [
    "OFFER_LISTS",
    "REPORT_VERSION",
    "JsonReporter",
    "NdjsonReporter",
    "conflict_members",
    "render_failure",
    "render_validation",
    "summary_members",
]

REPORT_VERSION = 1

_MAX_VALUE_CHARS = 20_000
_MAX_MISMATCHES = 200
_MAX_TAIL_CHARS = 4_000
_MAX_LOG_LINES = 500

# The key under which each kind of offer is listed.
OFFER_LISTS = {kind.unit: kind.name for kind in KINDS.values()}


class JsonReporter:
    """A listener that keeps only what the report needs."""

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
            members = _case_members(event.result, all_logs=self._all_logs)
            self._suites[-1][1].append(members)
        elif isinstance(event, SuiteStarted):
            self._suites.append((event, []))
        elif isinstance(event, RunStarted):
            self._started = event
        elif isinstance(event, RunFinished):
            self._finished = event

    def render(self) -> str:
        """The report of what has happened so far; without a last event it is interrupted."""
        started, finished = self._started, self._finished
        if finished is None:
            summary = Summary.of(self._counts).but(flaky=self._flaky)
            finished = RunFinished(
                summary=summary, duration_s=0.0, interrupted=True, not_run=self._not_run
            )
        mistakes = [each for each in started.warnings if each.severity == "error"]
        warnings = [each for each in started.warnings if each.severity != "error"]
        started = started.but(warnings=tuple(warnings))
        if finished.fault is None:
            return _render_report(started, finished, self._tool_version, suites=self._suites)
        # No test could run, so there are no suites to report.
        error = _fault_members(finished.fault)
        error["diagnostics"] = [_diagnostic_members(each) for each in mistakes]
        return _render_report(started, finished, self._tool_version, error=error)


class NdjsonReporter:
    """A listener that passes each event to `write` as one line of text.

    The members are those of the JSON report; `event` says what a line is about.
    """

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
            self._write(_dump_line(members) + "\n")

    def _members(self, event: Event) -> Members:
        if isinstance(event, SuiteStarted):
            self._suite = event
            return {"event": "suite_started", **_suite_members(event), "selected": event.total}
        # The suite of a test: a file can have one for each of several servers.
        origin = {"file": self._suite.file, "server": self._suite.server}
        if isinstance(event, CaseFinished):
            test = _case_members(event.result, all_logs=self._all_logs)
            return {"event": "test_finished", **origin, **test}
        if isinstance(event, CaseStarted):
            return {"event": "test_started", "name": event.name, **origin, "line": event.line}
        if isinstance(event, SuiteFinished):
            origin["file"] = event.file
            return {"event": "suite_finished", "name": event.name, **origin}
        if isinstance(event, RunStarted):
            return {
                "event": "run_started",
                **_head_members(self._tool_version),
                "started_at": event.started_at,
                "server": event.server,
                "suites": event.suites,
                "selected": event.total,
                "warnings": [_diagnostic_members(each) for each in event.warnings],
                **_shard_members(event.shard),
            }
        if isinstance(event, RunFinished):
            return {
                "event": "run_finished",
                "duration_ms": _milliseconds(event.duration_s),
                "summary": summary_members(event.summary),
                "findings": [dict(finding.fields()) for finding in event.findings],
                "coverage": _coverage_members(event.coverage),
                "gates": list(event.missed_gates),
                "not_run": event.not_run,
                "not_run_allowed": event.may_leave_out,
                "error": None if event.fault is None else _fault_members(event.fault),
                "interrupted": event.interrupted,
                "interrupted_in": event.interrupted_in or None,
                "bailed": event.bailed,
            }
        return {}


def render_failure(
    kind: str,
    message: str,
    diagnostics: Sequence[Diagnostic],
    tool_version: str,
    started_at: str,
    shard: ReportedShard | None = None,
) -> str:
    """The report of a run that never began: files, command line or server are at fault."""
    started = RunStarted(started_at=started_at, server="", suites=0, total=0, shard=shard)
    finished = RunFinished(summary=Summary(), duration_s=0.0)
    listed = [_diagnostic_members(each) for each in diagnostics]
    error: Members = {"kind": kind, "message": message, "diagnostics": listed}
    return _render_report(started, finished, tool_version, error=error)


def render_validation(
    files: int,
    tests: int,
    warnings: Sequence[Diagnostic],
    tool_version: str,
    *,
    notes: Sequence[str] = (),
    error: tuple[str, str, Sequence[Diagnostic]] | None = None,
) -> str:
    """The report of `mcptest validate`, with or without mistakes.

    `files` and `tests` count what could be read; `error` is a kind, a message and the mistakes.
    """
    failure: Members | None = None
    if error:
        kind, message, mistakes = error
        listed = [_diagnostic_members(each) for each in mistakes]
        failure = {"kind": kind, "message": message, "diagnostics": listed}
    report: Members = {
        **_head_members(tool_version),
        "files": files,
        "tests": tests,
        "warnings": [_diagnostic_members(each) for each in warnings],
        "notes": list(notes),
        "error": failure,
    }
    return _render_lines({name: _dump_line(value) for name, value in report.items()})


def _render_report(
    started: RunStarted,
    finished: RunFinished,
    tool_version: str,
    *,
    suites: Sequence[tuple[SuiteStarted, list[Members]]] = (),
    error: Members | None = None,
) -> str:
    report: Members = {
        **_head_members(tool_version),
        "started_at": started.started_at,
        "duration_ms": _milliseconds(finished.duration_s),
        "server": started.server,
        "summary": summary_members(finished.summary),
        # In its place; written below.
        "suites": [],
        "warnings": [_diagnostic_members(each) for each in started.warnings],
        "findings": [dict(finding.fields()) for finding in finished.findings],
        "invariants": _invariant_members(finished.conformance),
        "composition": [conflict_members(each) for each in finished.conformance.conflicts],
        "coverage": _coverage_members(finished.coverage),
        "gates": list(finished.missed_gates),
        "broken_rules": list(finished.broken_rules),
        "not_run": finished.not_run,
        "not_run_allowed": finished.may_leave_out,
        "error": error,
        "interrupted": finished.interrupted,
        "interrupted_in": finished.interrupted_in or None,
        "bailed": finished.bailed,
        "selected": started.total,
        **_shard_members(started.shard),
    }
    if finished.server_revisions:
        report["spoken"] = [dict(each.fields()) for each in finished.server_revisions]
    if finished.unasked_gates:
        report["unasked_gates"] = [_gate_members(each) for each in finished.unasked_gates]
    if finished.snapshots:
        report["snapshots"] = {
            name: {file: list(keys) for file, keys in by_file.items()}
            for name, by_file in finished.snapshots.fields()
        }
    if finished.matrix:
        report["matrix"] = _matrix_members(finished.matrix)
    lines = {name: _dump_line(value) for name, value in report.items()}
    texts = []
    for suite, tests in suites:
        rows = ",\n".join(f"      {_dump_line(test)}" for test in tests)
        body = f"[\n{rows}\n    ]" if tests else "[]"
        texts.append(f'    {_dump_line(_suite_members(suite))[:-1]}, "tests": {body}}}')
    if texts:
        lines["suites"] = "[\n" + ",\n".join(texts) + "\n  ]"
    return _render_lines(lines)


def _render_lines(members: Mapping[str, str]) -> str:
    """An object with one member per line: easy to read, search and compare."""
    lines = ",\n".join(f"  {_dump_line(name)}: {text}" for name, text in members.items())
    return "{\n" + lines + "\n}\n"


# The parts of a report: one function for each record. saved.py reads them back.


def _dump_line(value: object) -> str:
    """One line of JSON that neither a terminal nor a CI system takes for a command."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    return defuse_markers(printable_json(text))


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _head_members(tool_version: str) -> Members:
    return {"version": REPORT_VERSION, "tool": "mcptest", "tool_version": tool_version}


def _suite_members(suite: SuiteStarted) -> Members:
    members = _some_fields(suite, "name", "file", "format", "server")
    return members | ({"started_at": suite.started_at} if suite.started_at else {})


def _some_fields(record: Record, *names: str) -> Members:
    return {name: getattr(record, name) for name in names}


def summary_members(summary: Summary) -> Members:
    return {"total": summary.total, **dict(summary.fields())}


def _shard_members(shard: ReportedShard | None) -> Members:
    """The member that names the part of a sharded run; none for a whole run."""
    if shard is None:
        return {}
    parts = {"index": shard.indexes[0]} if len(shard.indexes) == 1 else {"indexes": shard.indexes}
    return {"shard": {**parts, "count": shard.count, "selection": shard.selection or None}}


def _case_members(result: CaseResult, *, all_logs: bool) -> Members:
    """One test. The log of a test that passed at once is left out unless `all_logs`."""
    members: Members = {
        "name": result.name,
        "status": result.status,
        "duration_ms": _milliseconds(result.duration_s),
        "line": result.line,
        "mismatches": [_mismatch_members(each) for each in result.mismatches[:_MAX_MISMATCHES]],
        "error": None if result.fault is None else _fault_members(result.fault),
    }
    if result.status == "skipped" or result.reason:
        members["reason"] = result.reason
    if result.not_run:
        members["not_run"] = True
    if result.tags:
        members["tags"] = list(result.tags)
    members |= _attempt_members(result)
    if result.trace_id:
        members["trace_id"] = result.trace_id
    log = result.log if all_logs or result.status != "passed" or result.is_flaky else ()
    left_out = (
        (len(result.mismatches) - _MAX_MISMATCHES, "more mismatches"),
        (len(log) - _MAX_LOG_LINES, "earlier lines of the log"),
    )
    notes = [*result.notes]
    notes += [f"{more:,} {what} are left out of this report" for more, what in left_out if more > 0]
    if notes:
        members["notes"] = notes
    if result.sent:
        members["sent"] = shorten(result.sent, _MAX_VALUE_CHARS)
    sides = {"expected": result.expected, "actual": result.actual}
    members |= _side_members({name: side for name, side in sides.items() if side is not ABSENT})
    if result.stderr:
        members["stderr"] = result.stderr[-_MAX_TAIL_CHARS:]
    if log:
        members["log"] = [
            {"at_ms": _milliseconds(line.at_s), "direction": line.direction, "text": line.text}
            for line in log[-_MAX_LOG_LINES:]
        ]
    return members


def _attempt_members(result: CaseResult) -> Members:
    """How often a test was tried or repeated, when more than once."""
    members: Members = {}
    if result.attempts > 1:
        members |= {"attempts": result.attempts, "flaky": result.is_flaky}
    if result.earlier:
        members["earlier"] = [
            {
                "kind": each.kind,
                "message": each.message,
                "duration_ms": _milliseconds(each.duration_s),
            }
            for each in result.earlier
        ]
    if result.repeats > 1:
        members["repeats"] = result.repeats
    return members


def _mismatch_members(mismatch: Mismatch) -> Members:
    expected, actual = mismatch.expected, mismatch.actual
    sides = _side_members({"expected": expected, "actual": actual})
    if "cut" in sides:
        from mcptest.matching.diff import cut_sides  # noqa: PLC0415  # rare

        shown = cut_sides(mismatch, _MAX_VALUE_CHARS - 4)
        sides |= {
            name: _reported(side) for name, side in zip(("expected", "actual"), shown, strict=True)
        }
    members = {
        "path": mismatch.path,
        **sides,
        "message": mismatch.message,
        "hint": mismatch.hint,
    }
    if mismatch.at and "cut" not in sides:
        members["at"] = {"expected": mismatch.at[0], "actual": mismatch.at[1]}
    if mismatch.is_described:
        members["described"] = True
    return members


def _fault_members(fault: Fault) -> Members:
    evidence = fault.evidence
    members = {
        **_some_fields(fault, "kind", "message", "hint", "effect"),
        "exit_status": evidence.exit_status,
        "stderr_tail": evidence.stderr_tail[-_MAX_TAIL_CHARS:],
        "stdout_tail": evidence.stdout_tail[-_MAX_TAIL_CHARS:],
        "command": list(evidence.command),
        "cwd": evidence.cwd,
    }
    return members | ({"url": evidence.url} if evidence.url else {})


def _diagnostic_members(diagnostic: Diagnostic) -> Members:
    return _some_fields(diagnostic, "code", "file", "line", "column", "message", "help")


def _coverage_members(coverage: Sequence[ServerCoverage]) -> Members | None:
    """What was exercised of each server; None if it was not measured."""
    if not coverage:
        return None
    servers = [_server_members(server) for server in coverage]
    return {"percent": percent_shown(coverage), "servers": servers}


def _server_members(server: ServerCoverage) -> Members:
    members: Members = {"server": server.server, "percent": percent_shown([server])}
    if server.home:
        members["suite"] = server.home
    lists: dict[str, list[Members]] = {name: [] for name in OFFER_LISTS.values()}
    for offer in server.offers:
        entry: Members = {"name": offer.name, "calls": offer.calls}
        if offer.kind in ("tool", "prompt"):
            parts = offer.properties
            entry["properties"] = [{"name": part.name, "calls": part.calls} for part in parts]
        lists[OFFER_LISTS[offer.kind]].append(entry)
    return members | lists


def _gate_members(gates: MeasuredGates) -> Members:
    """The gates of a suite, and what this run, which had only a part of it, measured."""
    return {
        "suite": gates.home,
        **_some_fields(gates, "coverage", "performance"),
        "files": list(gates.files),
        "ran": list(gates.ran),
        "servers": [_server_members(server) for server in gates.servers],
        "silent": list(gates.silent),
        "idle": list(gates.idle),
        "took_ms": [round(took_ms, 3) for took_ms in gates.took_ms],
    }


def _invariant_members(score: CaptureScore) -> list[Members]:
    """The verdicts for each server. Of rules that do not apply only the INV family is listed."""
    return [
        {
            "id": verdict.id,
            "server": session.server_label,
            "status": verdict.status,
            "message": verdict.message,
        }
        for session in score.sessions
        for verdict in session.verdicts
        if verdict.status != "not_applicable" or verdict.id.startswith("INV-")
    ]


def conflict_members(conflict: Conflict) -> Members:
    what = "tool" if conflict.kind == "tool_overlap" else "ids"
    return {
        "kind": conflict.kind,
        "message": conflict.message,
        "servers": list(conflict.servers),
        what: conflict.what[0] if what == "tool" else list(conflict.what),
    }


def _matrix_members(matrix: Matrix) -> Members:
    """The ways, the tests whose results differ between them, and the offers that differ."""
    return {
        "ways": [_way_run_members(run) for run in matrix.ways],
        "selected": matrix.total,
        "compared": matrix.compared,
        "differences": [
            {
                **_some_fields(each, "suite", "file", "line", "test"),
                "results": [
                    _way_members(seen.way)
                    | {"status": seen.status}
                    | ({"reason": seen.reason} if seen.reason else {})
                    for seen in each.seen
                ],
            }
            for each in matrix.differences
        ],
        "offers": [
            {
                "what": each.what,
                "member": each.member or None,
                "seen": [
                    _way_members(seen.way) | _side_members({"value": seen.value})
                    for seen in each.seen
                ],
            }
            for each in matrix.offers
        ],
        "more_offers": matrix.more_offers,
        "unread": list(matrix.unread),
    }


def _way_members(way: Way) -> Members:
    return _some_fields(way, "transport", "revision")


def _way_run_members(run: WayRun) -> Members:
    members = _way_members(run.way)
    revision = REVISIONS.get(run.way.revision)
    members["era"] = "handshake" if revision is None or revision.has_handshake else "stateless"
    members["spoken"] = not (run.refusal or run.error)
    if run.refusal:
        members["reason"] = run.refusal
    if run.error:
        members["error"] = run.error
    members["summary"] = None if run.summary is None else summary_members(run.summary)
    return members


def _side_members(sides: Mapping[str, object]) -> Members:
    """Values by name; `missing` lists those that are absent, `cut` those that are shortened."""
    members: Members = {name: _reported(value) for name, value in sides.items()}
    missing = [name for name, value in sides.items() if value is ABSENT]
    cut = [name for name, value in sides.items() if _is_long(value)]
    if missing:
        members["missing"] = missing
    if cut:
        members["cut"] = cut
    return members


def _reported(value: object) -> object:
    """A value as JSON: null if it is absent, the start of its JSON text if it is too long."""
    if value is ABSENT:
        return None
    if isinstance(value, bool | int | None):
        return value
    return show_json(value, _MAX_VALUE_CHARS) if _is_long(value) else _plain(value)


def _is_long(value: object) -> bool:
    size = 0
    for length in _lengths(value):
        size += length
        if size > _MAX_VALUE_CHARS:
            return True
    return False


def _lengths(value: object) -> Iterator[int]:
    """The approximate length of each part of a value as JSON."""
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
    # YAML files may contain values that JSON lacks: .nan, .inf, a date.
    is_number = isinstance(value, float) and value - value == 0
    return value if is_number else str(value)
