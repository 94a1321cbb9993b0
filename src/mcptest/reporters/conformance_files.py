"""What the rules say of captured sessions, as JSON, JUnit XML and SARIF."""

from __future__ import annotations

import json

from mcptest.core.events import CaseFinished, RunFinished, RunStarted, SuiteStarted
from mcptest.core.outcome import CaseResult, Summary
from mcptest.core.text import defuse_markers, printable_json
from mcptest.reporters.junit import JunitReporter
from mcptest.reporters.members import hazard_members
from mcptest.reporters.sarif import SCHEMA, location, result_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.conformance import CaptureScore, Verdict

    Members = dict[str, object]

__all__ = [
    "conformance_members",
    "render_conformance_json",
    "render_conformance_junit",
    "render_conformance_sarif",
    "verdict_members",
]


def render_conformance_json(score: CaptureScore) -> str:
    text = json.dumps(conformance_members(score), indent=1, ensure_ascii=False)
    return defuse_markers(printable_json(text)) + "\n"


def conformance_members(score: CaptureScore) -> Members:
    """The score as a JSON object."""
    return {
        "sessions": [
            {
                "server_label": session.server_label,
                "invariants": [verdict_members(verdict) for verdict in session.verdicts],
            }
            for session in score.sessions
        ],
        "composition": [hazard_members(hazard) for hazard in score.hazards],
        "passed": score.passed,
    }


def verdict_members(verdict: Verdict) -> Members:
    return {
        "id": verdict.id,
        "category": verdict.category,
        "status": verdict.status,
        "message": verdict.message,
        "exchange": verdict.exchange,
    }


# JUnit: a suite for each session, a case for each rule.


def render_conformance_junit(score: CaptureScore, file: str) -> str:
    reporter = JunitReporter()
    total = sum(len(session.verdicts) for session in score.sessions)
    reporter(RunStarted(started_at="", server="", suites=len(score.sessions), total=total))
    for session in score.sessions:
        reporter(_suite(session.server_label, file, len(session.verdicts)))
        for verdict in session.verdicts:
            reporter(CaseFinished(result=_case(verdict)))
    if len(score.sessions) > 1:
        reporter(_suite("composition", file, len(score.hazards) or 1))
        for result in _hazard_cases(score):
            reporter(CaseFinished(result=result))
    reporter(RunFinished(summary=Summary(), duration_s=0.0))
    return reporter.render()


def _suite(name: str, file: str, total: int) -> SuiteStarted:
    return SuiteStarted(name=name, file=file, format="capture", server=name, total=total)


def _case(verdict: Verdict) -> CaseResult:
    if verdict.status == "not_applicable":
        return CaseResult(name=verdict.id, status="skipped", line=0, reason=verdict.message)
    if verdict.status != "fail":
        notes = (f"should: {verdict.message}",) if verdict.status == "warning" else ()
        return CaseResult(name=verdict.id, status="passed", line=0, notes=notes)
    return CaseResult(
        name=verdict.id, status="failed", line=0, reason=f"{verdict.message}{_at(verdict)}"
    )


def _hazard_cases(score: CaptureScore) -> Iterator[CaseResult]:
    if not score.hazards:
        yield CaseResult(name="nothing clashes", status="passed", line=0)
    for hazard in score.hazards:
        yield CaseResult(name=hazard.kind, status="failed", line=0, reason=hazard.message)


# SARIF: a result for each breach.


def render_conformance_sarif(score: CaptureScore, file: str, tool_version: str) -> str:
    results = [*_breaches(score, file), *_clashes(score, file)]
    ids = list(dict.fromkeys(str(result["ruleId"]) for result in results))
    driver: Members = {
        "name": "mcptest",
        "version": tool_version,
        "rules": [{"id": id, "shortDescription": {"text": f"Rule {id}"}} for id in ids],
    }
    run: Members = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return defuse_markers(json.dumps(document, indent=1)) + "\n"


def _breaches(score: CaptureScore, file: str) -> Iterator[Members]:
    for session in score.sessions:
        for verdict in session.verdicts:
            if verdict.status in ("fail", "warning"):
                level = "error" if verdict.status == "fail" else "warning"
                text = f"{session.server_label}: {verdict.message}{_at(verdict)}"
                yield result_of(verdict.id, level, text, location(file, 1))


def _at(verdict: Verdict) -> str:
    return "" if verdict.exchange is None else f" (exchange {verdict.exchange})"


def _clashes(score: CaptureScore, file: str) -> Iterator[Members]:
    for hazard in score.hazards:
        yield result_of(f"composition/{hazard.kind}", "error", hazard.message, location(file, 1))
