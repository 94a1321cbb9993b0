"""The report of a conformance run for other programs: JSON, JUnit XML, SARIF, and a badge."""

from __future__ import annotations

import json

from mcptest.core.conformance import CHECK_VERDICTS
from mcptest.core.events import SuiteStarted
from mcptest.core.results import CaseResult
from mcptest.core.text import defuse_markers, printable_json
from mcptest.reporters.conformance.text import evidence_lines, group_findings
from mcptest.reporters.html import escaped
from mcptest.reporters.junit import render_suites
from mcptest.reporters.sarif import location, render_sarif, result_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.conformance import CheckResult, ConformanceReport
    from mcptest.core.results import Fault

    Members = dict[str, object]

__all__ = ["render_badge", "render_json", "render_junit", "render_sarif_report"]

_MAX_EVIDENCE_CHARS = 2_000


def render_json(report: ConformanceReport, tool_version: str, fault: Fault | None = None) -> str:
    """The report as one JSON object; docs/compliance.md describes its members.

    With a fault the server could not be started, and `error` says why.
    """
    summary: Members = {"total": len(report.checks)}
    summary |= {verdict: report.count(verdict) for verdict in CHECK_VERDICTS}
    summary["expected"] = sum(bool(check.expected) for check in report.checks)
    summary["pending"] = sum(check.is_pending for check in report.checks)
    members: Members = {
        "version": 1,
        "tool": "mcptest",
        "tool_version": tool_version,
        "started_at": report.started_at,
        "duration_ms": round(report.duration_s * 1000, 1),
        "server": {"name": report.server, "version": report.version},
        "transport": report.transport,
        "revisions": list(report.revisions),
        "profile": report.profile,
        "profiles": [{"id": each.id, "digest": each.digest} for each in report.profiles],
        "grade": report.grade or None,
        "grade_reason": report.grade_reason,
        "verdict": report.verdict,
        "interrupted": report.interrupted,
        "checks": [_check_members(check) for check in report.checks],
        "summary": summary,
        "notes": list(report.notes),
        "problems": list(report.problems),
        "error": {"kind": fault.kind, "message": fault.message} if fault else None,
    }
    text = json.dumps(members, indent=1, ensure_ascii=False)
    return defuse_markers(printable_json(text)) + "\n"


def _check_members(check: CheckResult) -> Members:
    reference = check.reference
    return {
        "id": check.id,
        "name": check.name,
        "family": check.family,
        "level": check.level,
        "revision": check.revision,
        "transport": check.transport,
        "verdict": check.verdict,
        "message": check.message,
        "property": check.property,
        "spec": {"page": reference.page, "section": reference.section, "url": reference.url},
        "sent": list(check.sent),
        "received": list(check.received),
        "repeat": check.repeat,
        "curl": check.curl,
        "passive": check.is_passive,
        "shared": check.is_shared,
        "pending": check.is_pending,
        "expected": check.expected,
        "cause": check.cause,
        "needs": check.needs,
    }


def render_junit(report: ConformanceReport, fault: Fault | None = None) -> str:
    """A suite for each revision, and a case for each check."""
    name = f"{report.server} {report.version}".strip()
    by_revision: dict[str, list[CaseResult]] = {}
    for check in report.checks:
        by_revision.setdefault(f"MCP {check.revision}", []).append(_case(check))
    problems = [
        CaseResult(
            name="the expected failures are up to date", status="failed", line=0, reason=each
        )
        for each in report.problems
    ]
    if problems:
        by_revision["expected failures"] = problems
    suites = [
        (SuiteStarted(name=title, file="", format="suite", server=name, total=len(cases)), cases)
        for title, cases in by_revision.items()
    ]
    return render_suites(
        suites,
        started_at=report.started_at,
        server=name,
        total=sum(map(len, by_revision.values())),
        duration_s=report.duration_s,
        interrupted=report.interrupted,
        fault=fault,
    )


def _case(check: CheckResult) -> CaseResult:
    name = f"{check.id} {check.name}"
    if check.verdict == "passed":
        return CaseResult(name=name, status="passed", line=0)
    if check.verdict == "warning" or (check.verdict == "failed" and check.is_pending):
        return CaseResult(name=name, status="passed", line=0, notes=(f"should: {check.message}",))
    if check.verdict == "failed" and not check.expected:
        return CaseResult(name=name, status="failed", line=0, reason=_in_full(check))
    why = f"expected to fail: {check.expected}" if check.expected else check.message
    return CaseResult(name=name, status="skipped", line=0, reason=why)


def _in_full(check: CheckResult) -> str:
    """What happened, with its evidence, as one text."""
    lines = [check.message]
    if check.reference.page:
        lines.append(f"specification: {check.reference.url}")
    for label, messages in (("sent", check.sent), ("received", check.received)):
        lines += [f"{label}: {line}" for line in evidence_lines(messages, _MAX_EVIDENCE_CHARS)]
    lines += [f"repeat: {check.repeat}"] if check.repeat else []
    return "\n".join(lines)


def render_sarif_report(report: ConformanceReport, file: str, tool_version: str) -> str:
    """A result for each finding; `file` is what describes or is the server, "" if not known."""
    server = f"{report.server}@{report.version}" if report.version else report.server
    results: list[Members] = []
    rules: dict[str, str] = {}
    links: dict[str, str] = {}
    levels = {"failed": "error", "warning": "warning"}
    for group in group_findings(report):
        for finding in group.findings:
            check = finding.check
            level = levels.get(group.verdict, "note")
            place = location(file, 1) if file else None
            text = f"{server} ({', '.join(finding.revisions)}): {_in_full(check)}"
            result = result_of(check.id, level, text, place)
            logical = {"fullyQualifiedName": server, "kind": "resource"}
            result["locations"] = [{**(place or {}), "logicalLocations": [logical]}]
            result["partialFingerprints"] = {"check/v1": f"{report.server}#{check.id}"}
            results.append(result)
            rules[check.id] = check.property or check.name
            if check.reference.url:
                links[check.id] = check.reference.url
    invocation: Members = {"executionSuccessful": not report.interrupted}
    if report.started_at:
        invocation["startTimeUtc"] = report.started_at
    return render_sarif(results, rules, invocation, tool_version, links)


# A badge

_COLOURS = {
    "A+": "#2c7a3f",
    "A": "#2c7a3f",
    "B": "#5c7a1e",
    "C": "#8a6100",
    "D": "#a8441c",
    "F": "#ae2219",
}
_NO_GRADE = "#596069"
_LABEL = "MCP conformance"
# The width of a character of the font, and the room around a text.
_CHAR_PX = 6.6
_ROOM_PX = 12


def render_badge(report: ConformanceReport) -> str:
    """A picture of the grade, for a README: SVG without scripts, fonts or links."""
    grade = report.grade or "no grade"
    colour = _COLOURS.get(report.grade, _NO_GRADE)
    left = round(len(_LABEL) * _CHAR_PX) + _ROOM_PX
    right = round(len(grade) * _CHAR_PX) + _ROOM_PX
    title = f"{_LABEL}: {grade} ({report.profile or 'no profile'})"
    texts = ((left / 2, _LABEL), (left + right / 2, grade))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" '
            f'role="img" aria-label="{escaped(title)}">',
            f"<title>{escaped(title)}</title>",
            f'<rect width="{left + right}" height="20" rx="3" fill="#3a4047"/>',
            f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{left}z" '
            f'fill="{colour}"/>',
            '<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" '
            'text-anchor="middle">',
            *(f'<text x="{middle:g}" y="14">{escaped(text)}</text>' for middle, text in texts),
            "</g>",
            "</svg>",
            "",
        ]
    )
