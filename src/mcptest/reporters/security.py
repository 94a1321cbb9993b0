"""The report of a security scan: as text, JSON, SARIF, JUnit XML and Markdown.

Messages and evidence are safe to show when they get here: the scan escapes what a server sent.
"""

from __future__ import annotations

import json
from itertools import groupby

from mcptest.core.events import SuiteStarted
from mcptest.core.results import CaseResult
from mcptest.core.security import SEVERITIES, stable_path
from mcptest.core.text import defuse, defuse_markers, plural, printable_json, visible
from mcptest.reporters.junit import render_suites
from mcptest.reporters.markdown import code_cell, code_span, render_table
from mcptest.reporters.sarif import location, make_result, render_sarif
from mcptest.reporters.style import encode_narrow, status_marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcptest.core.security import RuleOutcome, ScannedServer, ScanReport
    from mcptest.reporters.style import Paint

    Members = dict[str, object]

__all__ = ["FORMATS", "render_rules", "render_scan"]

FORMATS = ("text", "json", "sarif", "junit", "markdown")

_LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}
# What code scanning shows as critical, high, medium and low.
_SCORES = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "3.0"}
_GRAVEST_FIRST = tuple(reversed(SEVERITIES))


def render_scan(
    report: ScanReport, format: str, paint: Paint, encoding: str, place: str, tool_version: str
) -> str:
    """The report in one of the formats; `place` is the file that SARIF and JUnit name."""
    if format == "json":
        return _render_json(report, tool_version)
    if format == "sarif":
        return _render_sarif(report, place, tool_version)
    if format == "junit":
        return _render_junit(report, place)
    if format == "markdown":
        return defuse("\n".join([*_markdown_lines(report), ""]))
    return encode_narrow(defuse("\n".join([*_text_lines(report, paint, encoding), ""])), encoding)


def render_rules(rules: Sequence[tuple[str, str, str, str]], paint: Paint) -> str:
    """The rules: id, severity, confidence and title of each."""
    lines = [
        f"{paint.bold(id)}  {severity.ljust(8)}  {confidence.ljust(6)}  {title}"
        for id, severity, confidence, title in rules
    ]
    return "\n".join([*lines, ""])


# Text


def _text_lines(report: ScanReport, paint: Paint, encoding: str) -> Iterator[str]:
    marks = status_marks(paint, encoding)
    for server in report.servers:
        yield from _server_lines(report, server, paint, marks)
        yield ""
    for finding, reason in report.accepted:
        yield paint.dim(f"accepted: {finding.id} {finding.path}: {visible(reason)}")
    for entry in report.stale:
        what = f"{entry.id} {entry.path}"
        yield f"{marks['failed']} stale in the baseline: {visible(what)} was not found again"
    for problem in report.unread:
        yield f"{marks['failed']} not judged: {visible(problem)}"
    grouped = groupby(report.rules, key=lambda rule: (rule.status, rule.reason))
    for (status, reason), rules in grouped:
        if status in ("not_run", "not_applicable"):
            ids = [rule.id for rule in rules]
            listed = f"{ids[0]} to {ids[-1]}" if len(ids) > 2 else ", ".join(ids)
            yield paint.dim(f"not run: {listed}: {visible(reason)}")
    for note in report.notes:
        yield paint.dim(f"note: {visible(note)}")
    if report.interrupted:
        yield paint.red("interrupted: this report is not complete")
    text = _summary(report)
    yield paint.green(text) if report.passed else paint.red(text)


def _server_lines(
    report: ScanReport, server: ScannedServer, paint: Paint, marks: Mapping[str, str]
) -> Iterator[str]:
    title = visible(f"{server.name} {server.version}".strip())
    facts = [server.transport, plural(server.entries, "definition")]
    facts += [f"{plural(len(server.called), 'tool')} called"] if server.called else []
    yield f"{paint.bold(title)} ({', '.join(facts)})"
    mine = [each for each in report.findings if each.server == server.name]
    for finding in mine:
        is_failing = finding in report.failing
        mark = marks["failed" if is_failing else "error"]
        in_colour = paint.red if is_failing else paint.yellow
        severity = in_colour(finding.severity.upper().ljust(8))
        yield f"  {mark} {severity} {finding.id} {paint.dim(finding.confidence)} {finding.path}"
        yield f"      {finding.message}"
        if finding.evidence:
            yield paint.dim(f"      {finding.evidence}")
    is_unread = any(each.startswith(f"{server.name}: ") for each in report.unread)
    if mine or is_unread:
        return
    if report.interrupted:
        yield f"  {marks['skipped']} nothing found until it was interrupted"
    else:
        yield f"  {marks['passed']} nothing found"


def _summary(report: ScanReport) -> str:
    counts = [
        f"{report.count(severity):,} {severity}"
        for severity in _GRAVEST_FIRST
        if report.count(severity)
    ]
    total = plural(len(report.findings), "finding")
    text = f"{total}: {', '.join(counts)}" if counts else total
    more = [f"{len(report.accepted):,} accepted"] if report.accepted else []
    more += [f"{len(report.stale):,} stale in the baseline"] if report.stale else []
    more += [f"fails on {report.fail_on}"]
    return f"{text} ({', '.join(more)})"


# JSON


def _render_json(report: ScanReport, tool_version: str) -> str:
    servers = [dict(server.fields()) for server in report.servers]
    counts: dict[str, int] = {severity: report.count(severity) for severity in _GRAVEST_FIRST}
    members: Members = {
        "version": 1,
        "tool_version": tool_version,
        "started_at": report.started_at,
        "server": servers[0] if servers else {},
        "servers": servers,
        "findings": [dict(finding.fields()) for finding in report.findings],
        "accepted": [
            {**dict(finding.fields()), "reason": reason} for finding, reason in report.accepted
        ],
        "stale": [dict(entry.fields()) for entry in report.stale],
        "rules": [dict(rule.fields()) for rule in report.rules],
        "notes": list(report.notes),
        "unread": list(report.unread),
        "summary": {
            "total": len(report.findings),
            **counts,
            "accepted": len(report.accepted),
            "stale": len(report.stale),
            "fail_on": report.fail_on,
            "failing": len(report.failing),
            "passed": report.passed,
            "interrupted": report.interrupted,
        },
    }
    text = json.dumps(members, indent=1, ensure_ascii=False)
    return defuse_markers(printable_json(text)) + "\n"


# SARIF


def _render_sarif(report: ScanReport, place: str, tool_version: str) -> str:
    """One result for each finding, with its path as the logical location."""
    titles = {rule.id: rule.title for rule in report.rules}
    findings = [
        *((finding, "") for finding in report.findings),
        *report.accepted,
    ]
    ids = list(dict.fromkeys(finding.id for finding, _ in findings))
    results = []
    for finding, reason in findings:
        text = "\n".join(part for part in (finding.message, finding.evidence) if part)
        result = make_result(finding.id, _LEVELS[finding.severity], text, location(place, 1))
        result["ruleIndex"] = ids.index(finding.id)
        result["locations"] = [
            {
                **location(place, 1),
                "logicalLocations": [
                    {"fullyQualifiedName": f"{finding.server}/{finding.path}", "kind": "member"}
                ],
            }
        ]
        result["partialFingerprints"] = {
            "definition/v1": "#".join(
                (finding.id, finding.server, stable_path(finding.path), finding.fingerprint)
            )
        }
        result["properties"] = {"confidence": finding.confidence, "severity": finding.severity}
        if reason:
            result["suppressions"] = [{"kind": "external", "justification": visible(reason)}]
        results.append(result)
    is_whole = not (report.interrupted or report.unread)
    invocation: Members = {"executionSuccessful": is_whole}
    if report.started_at:
        invocation["startTimeUtc"] = report.started_at
    notices = [_notice(text) for text in (*report.unread, *report.notes)]
    notices += [
        _notice(f"{rule.id} did not run: {rule.reason}")
        for rule in report.rules
        if rule.status == "not_run"
    ]
    notices += [_notice(f"stale in the baseline: {each.id} {each.path}") for each in report.stale]
    if notices:
        invocation["toolExecutionNotifications"] = notices
    rules = {id: f"{titles[id][:1].upper()}{titles[id][1:]}." for id in ids}
    # Code scanning sorts by the score of a rule, so it is that of its gravest finding.
    more: dict[str, Members] = {}
    for finding, _ in sorted(findings, key=lambda each: SEVERITIES.index(each[0].severity)):
        more[finding.id] = {
            "defaultConfiguration": {"level": _LEVELS[finding.severity]},
            "properties": {
                "security-severity": _SCORES[finding.severity],
                "tags": ["security", finding.confidence],
            },
        }
    return render_sarif(results, rules, invocation, tool_version, more=more)


def _notice(text: str) -> Members:
    return {"level": "note", "message": {"text": visible(text)}}


# JUnit


def _render_junit(report: ScanReport, place: str) -> str:
    """A suite for each server, a case for each rule."""
    suites = []
    for server in report.servers:
        name = server.name
        results = [_case(rule, name, report) for rule in report.rules]
        results += [
            CaseResult(name="lists", status="failed", line=0, reason=problem)
            for problem in report.unread
            if problem.startswith(f"{name}: ")
        ]
        suite = SuiteStarted(
            name=name, file=place, format="security", server=name, total=len(results)
        )
        suites.append((suite, results))
    return render_suites(suites, interrupted=report.interrupted)


def _case(rule: RuleOutcome, server: str, report: ScanReport) -> CaseResult:
    found = [each for each in report.findings if (each.id, each.server) == (rule.id, server)]
    failing = [each for each in found if each in report.failing]
    said = tuple(f"{each.severity}: {each.path}: {each.message}" for each in found)
    stale = [f"stale in the baseline: {each.path}" for each in report.stale if each.id == rule.id]
    if failing or stale:
        reason = "\n".join([*said, *stale])
        return CaseResult(name=rule.id, status="failed", line=0, reason=reason)
    if rule.status != "ran" and not found:
        return CaseResult(name=rule.id, status="skipped", line=0, reason=rule.reason)
    return CaseResult(name=rule.id, status="passed", line=0, notes=said)


# Markdown


def _markdown_lines(report: ScanReport) -> Iterator[str]:
    yield f"## mcptest security: {_summary(report)}"
    yield ""
    if report.interrupted:
        yield "**Interrupted: this report is not complete.**"
        yield ""
    for server in report.servers:
        title = f"{server.name} {server.version}".strip()
        yield f"### {code_span(title)}: {plural(server.entries, 'definition')}"
        yield ""
        rows = [
            (
                each.severity,
                f"{each.id} ({each.confidence})",
                code_cell(each.path),
                code_cell(" ".join(part for part in (each.message, each.evidence) if part)),
            )
            for each in report.findings
            if each.server == server.name
        ]
        header = ("severity", "rule", "where", "what")
        yield render_table(header, rows) if rows else "Nothing found."
        yield ""
    for entry in report.stale:
        yield f"* stale in the baseline: {entry.id} {code_span(entry.path)}"
    for problem in report.unread:
        yield f"* not judged: {code_span(problem)}"
