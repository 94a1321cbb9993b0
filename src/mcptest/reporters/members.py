"""The parts of the JSON report, version 1, as plain members: one function for each record.

The JSON report and the NDJSON report write them, `mcptest.reporters.saved_run` reads them back.
Members that have nothing to say are left out of a test: those of a test that simply passed are
few.
"""

from __future__ import annotations

import json

from mcptest.core.offer_kinds import KINDS
from mcptest.core.record import ABSENT
from mcptest.core.text import defuse_markers, printable_json, shorten
from mcptest.reporters.coverage_text import percent_shown
from mcptest.reporters.reported_value import MAX_VALUE_CHARS, side_members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.core.conformance import CaptureScore, Hazard
    from mcptest.core.coverage import CoveredOffer, ServerCoverage
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import ReportedShard
    from mcptest.core.measured_gates import MeasuredGates
    from mcptest.core.outcome import CaseResult, Fault, Finding, LogLine, Mismatch, Summary

    Members = dict[str, object]

__all__ = [
    "OFFER_LISTS",
    "case_members",
    "coverage_members",
    "diagnostic_members",
    "dumped",
    "fault_members",
    "finding_members",
    "gate_members",
    "hazard_members",
    "invariant_members",
    "milliseconds",
    "shard_members",
    "summary_members",
]

MAX_MISMATCHES = 200
MAX_TAIL_CHARS = 4_000
MAX_LOG_LINES = 500

# What each kind of offer is listed under.
OFFER_LISTS = {kind.unit: kind.name for kind in KINDS.values()}


def dumped(value: object) -> str:
    """One line of JSON that acts on nothing: neither on a terminal nor on a CI system."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    return defuse_markers(printable_json(text))


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
