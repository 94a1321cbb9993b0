"""JSON"""

from __future__ import annotations

import json

from mcptest.core.events import CaseFinished, RunFinished, RunStarted, SuiteStarted
from mcptest.core.matrix import (
    Matrix,
    SeenResult,
    SeenValue,
    Way,
    WayRun,
)
from mcptest.core.offer_kinds import KINDS
from mcptest.core.outcome import ABSENT, STATUSES, Summary
from mcptest.core.revisions import REVISIONS
from mcptest.core.visible import defused_markers, printable_json, shorten
from mcptest.matching.shown import shown
from mcptest.reporters.summary import percent_shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Members = dict[str, object]
    from collections.abc import Iterable, Sequence

    from mcptest.core.conformance import CaptureScore, Hazard
    from mcptest.core.coverage import CoveredOffer, ServerCoverage
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import Event, ReportedShard
    from mcptest.core.measured_gates import MeasuredGates
    from mcptest.core.outcome import (
        CaseResult,
        Fault,
        Finding,
        LogLine,
        LogWish,
        Mismatch,
        Status,
        Summary,
    )

__all__ = [
    "OFFER_LISTS",
    "REPORT_VERSION",
    "JsonReporter",
    "case_members",
    "coverage_members",
    "diagnostic_members",
    "dump_line",
    "fault_members",
    "finding_members",
    "hazard_members",
    "milliseconds",
    "render_failure",
    "render_validation",
    "shard_members",
    "summary_members",
]

MAX_VALUE_CHARS = 20_000


def side_members(sides: Mapping[str, object]) -> Members:
    """Values by name; `missing` lists those that are not there, `cut` those shown in part."""
    members: Members = {name: reported(value) for name, value in sides.items()}
    missing = [name for name, value in sides.items() if value is ABSENT]
    cut = [name for name, value in sides.items() if is_long(value)]
    if missing:
        members["missing"] = missing
    if cut:
        members["cut"] = cut
    return members


def reported(value: object) -> object:
    """A value as JSON can hold it: absence as null, what is too long as the start of its text."""
    if value is ABSENT:
        return None
    if isinstance(value, bool | int | None):
        return value
    return shown(value, MAX_VALUE_CHARS) if is_long(value) else _plain(value)


def is_long(value: object) -> bool:
    size = 0
    for length in _lengths(value):
        size += length
        if size > MAX_VALUE_CHARS:
            return True
    return False


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


MAX_MISMATCHES = 200
MAX_TAIL_CHARS = 4_000
MAX_LOG_LINES = 500

# What each kind of offer is listed under.
OFFER_LISTS = {kind.unit: kind.name for kind in KINDS.values()}


def dump_line(value: object) -> str:
    """One line of JSON that acts on nothing: neither on a terminal nor on a CI system."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    return defused_markers(printable_json(text))


def milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


def summary_members(summary: Summary) -> Members:
    return {
        "total": summary.total,
        "passed": summary.passed,
        "failed": summary.failed,
        "errors": summary.errors,
        "skipped": summary.skipped,
        "flaky": summary.flaky,
    }


def shard_members(shard: ReportedShard | None) -> Members:
    """The member that says which part of a sharded selection this is; none for a whole run."""
    if shard is None:
        return {}
    parts = {"index": shard.indexes[0]} if len(shard.indexes) == 1 else {"indexes": shard.indexes}
    return {"shard": {**parts, "count": shard.count, "selection": shard.selection or None}}


def case_members(result: CaseResult, *, all_logs: bool) -> Members:
    """One test. Its log is left out when it passed at once, unless all are wanted."""
    members: Members = {
        "name": result.name,
        "status": result.status,
        "duration_ms": milliseconds(result.duration_s),
        "line": result.line,
        "mismatches": [_mismatch_members(each) for each in result.mismatches[:MAX_MISMATCHES]],
        "error": None if result.fault is None else fault_members(result.fault),
    }
    if result.status == "skipped" or result.reason:
        members["reason"] = result.reason
    if result.not_run:
        members["not_run"] = True
    if result.tags:
        members["tags"] = list(result.tags)
    if result.attempts > 1:
        members |= {"attempts": result.attempts, "flaky": result.is_flaky}
    log = result.log if all_logs or result.status != "passed" or result.is_flaky else ()
    notes = [*result.notes, *_left_out(result.mismatches, log)]
    if notes:
        members["notes"] = notes
    members |= _conversation(result)
    if log:
        members["log"] = [_log_members(line) for line in log[-MAX_LOG_LINES:]]
    return members


def _left_out(mismatches: Sequence[Mismatch], log: Sequence[LogLine]) -> Iterator[str]:
    if len(mismatches) > MAX_MISMATCHES:
        more = len(mismatches) - MAX_MISMATCHES
        yield f"{more:,} more mismatches are left out of this report"
    if len(log) > MAX_LOG_LINES:
        earlier = len(log) - MAX_LOG_LINES
        yield f"{earlier:,} earlier lines of the log are left out of this report"


def _conversation(result: CaseResult) -> Members:
    """What was sent, wanted and answered as a whole, and what went to stderr meanwhile."""
    members: Members = {}
    if result.sent:
        members["sent"] = shorten(result.sent, MAX_VALUE_CHARS)
    sides = {"expected": result.expected, "actual": result.actual}
    members |= side_members({name: side for name, side in sides.items() if side is not ABSENT})
    if result.stderr:
        members["stderr"] = result.stderr[-MAX_TAIL_CHARS:]
    return members


def _log_members(line: LogLine) -> Members:
    return {"at_ms": milliseconds(line.at_s), "direction": line.direction, "text": line.text}


def _mismatch_members(mismatch: Mismatch) -> Members:
    sides = side_members({"expected": mismatch.expected, "actual": mismatch.actual})
    return {"path": mismatch.path, **sides, "message": mismatch.message, "hint": mismatch.hint}


def fault_members(fault: Fault) -> Members:
    evidence = fault.evidence
    members: Members = {
        "kind": fault.kind,
        "message": fault.message,
        "hint": fault.hint,
        "effect": fault.effect,
        "exit_status": evidence.exit_status,
        "stderr_tail": evidence.stderr_tail[-MAX_TAIL_CHARS:],
        "stdout_tail": evidence.stdout_tail[-MAX_TAIL_CHARS:],
        "command": list(evidence.command),
        "cwd": evidence.cwd,
    }
    return members | ({"url": evidence.url} if evidence.url else {})


def finding_members(finding: Finding) -> Members:
    return {
        "kind": finding.kind,
        "server": finding.server,
        "message": finding.message,
        "quote": finding.quote,
        "count": finding.count,
    }


def diagnostic_members(diagnostic: Diagnostic) -> Members:
    return {
        "code": diagnostic.code,
        "file": diagnostic.file,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "message": diagnostic.message,
        "help": diagnostic.help,
    }


def coverage_members(coverage: Sequence[ServerCoverage]) -> Members | None:
    """What was exercised of each server; None when nobody asked."""
    if not coverage:
        return None
    servers = [_server_members(server) for server in coverage]
    return {"percent": percent_shown(coverage), "servers": servers}


def _server_members(server: ServerCoverage) -> Members:
    members: Members = {"server": server.server, "percent": percent_shown([server])}
    if server.home:
        members["suite"] = server.home
    for kind, name in OFFER_LISTS.items():
        members[name] = [_offer_members(offer) for offer in server.offers if offer.kind == kind]
    return members


def _offer_members(offer: CoveredOffer) -> Members:
    members: Members = {"name": offer.name, "calls": offer.calls}
    if offer.kind in ("tool", "prompt"):
        parts = offer.properties
        members["properties"] = [{"name": part.name, "calls": part.calls} for part in parts]
    return members


def gate_members(gates: MeasuredGates) -> Members:
    """What a suite asks for, and what this run, which had only a part of it, has measured."""
    return {
        "suite": gates.home,
        "coverage": gates.coverage,
        "performance": gates.performance,
        "files": list(gates.files),
        "ran": list(gates.ran),
        "servers": [_server_members(server) for server in gates.servers],
        "silent": list(gates.silent),
        "idle": list(gates.idle),
        "took_ms": [round(took_ms, 3) for took_ms in gates.took_ms],
    }


def invariant_members(score: CaptureScore) -> list[Members]:
    """What the rules say of each server; of those that do not apply only the session's own."""
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


def hazard_members(hazard: Hazard) -> Members:
    what = "tool" if hazard.kind == "tool_overlap" else "ids"
    members: Members = {"kind": hazard.kind, "message": hazard.message}
    members["servers"] = list(hazard.servers)
    members[what] = hazard.what[0] if what == "tool" else list(hazard.what)
    return members


def matrix_members(matrix: Matrix) -> Members:
    """The ways, the tests that did not end the same in all of them, and what else differs."""
    return {
        "ways": [_way_run_members(run) for run in matrix.ways],
        "selected": matrix.total,
        "compared": matrix.compared,
        "differences": [
            {
                "suite": each.suite,
                "file": each.file,
                "line": each.line,
                "test": each.test,
                "results": [_result_members(seen) for seen in each.seen],
            }
            for each in matrix.differences
        ],
        "offers": [
            {
                "what": each.what,
                "member": each.member or None,
                "seen": [_way_members(seen.way) | _value_members(seen) for seen in each.seen],
            }
            for each in matrix.offers
        ],
        "more_offers": matrix.more_offers,
        "unread": list(matrix.unread),
    }


def _way_members(way: Way) -> Members:
    return {"transport": way.transport, "revision": way.revision}


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


def _result_members(seen: SeenResult) -> Members:
    members = _way_members(seen.way) | {"status": seen.status}
    return members | {"reason": seen.reason} if seen.reason else members


def _value_members(seen: SeenValue) -> Members:
    return side_members({"value": seen.value})


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
            report["snapshots"] = {word: _key_lists(named[word]) for word in named}
        if finished.matrix:
            report["matrix"] = matrix_members(finished.matrix)
        return _render_report(report)

    def _cut_short(self) -> RunFinished:
        summary = Summary.of(self._counts).but(flaky=self._flaky)
        return RunFinished(summary=summary, duration_s=0.0, interrupted=True, not_run=self._not_run)


def _key_lists(by_file: dict[str, tuple[str, ...]]) -> Members:
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
        text = _suites_text(value) if name == "suites" else dump_line(value)  # type: ignore[arg-type]
        members.append(f"  {dump_line(name)}: {text}")
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
        lines = ",\n".join(f"      {dump_line(test)}" for test in tests)
        body = f"[\n{lines}\n    ]" if tests else "[]"
        texts.append(f'    {dump_line(head)[:-1]}, "tests": {body}}}')
    return "[\n" + ",\n".join(texts) + "\n  ]" if texts else "[]"
