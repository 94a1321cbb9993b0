"""The report of a compliance run: text, Markdown, HTML, JSON, JUnit XML, SARIF, and a badge.

What they all say comes first, so that they say it in the same order and words.
"""

from __future__ import annotations

import json
import re

from mcptest.core.compliance import CHECK_VERDICTS
from mcptest.core.events import SuiteStarted
from mcptest.core.results import CaseResult
from mcptest.core.text import (
    defuse,
    defuse_markers,
    excerpt,
    list_names,
    plural,
    printable_json,
    visible,
)
from mcptest.core.value_class import Record
from mcptest.reporters.html import cut, element, escaped, joined, render_page, table
from mcptest.reporters.junit import render_suites
from mcptest.reporters.markdown import code_cell, code_span, fenced, render_table
from mcptest.reporters.sarif import location, make_result, render_sarif
from mcptest.reporters.style import encode_narrow, render_duration, status_marks, wrap_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcptest.core.compliance import CheckResult, ComplianceReport
    from mcptest.core.results import Fault
    from mcptest.reporters.html import Markup
    from mcptest.reporters.style import Paint

    Members = dict[str, object]

__all__ = [
    "group_findings",
    "open_checks",
    "render_badge",
    "render_html",
    "render_json",
    "render_junit",
    "render_markdown",
    "render_sarif_report",
    "render_text",
]


_SUBJECT = "MCP conformance"

_MAX_MESSAGE = 1_000
_MAX_SHOWN = 2
_MAX_LINES = 14
_MAX_IDS = 20
# Of a message on pages and for programs; terminals and Markdown have limits of their own.
_MAX_FULL_EVIDENCE_CHARS = 2_000
# The headers of an HTTP answer that findings are about; others say nothing about the protocol.
_HEADERS = (
    *("access-control-allow-origin:", "allow:", "content-type:", "location:", "mcp-"),
    *("set-cookie:", "www-authenticate:", "x-accel-buffering:"),
)
# The metadata of ordinary requests of the stateless era, which says nothing about a finding. What
# a check sends on purpose, such as an unknown version, does not match and is shown.
_METADATA = (
    r'"_meta":\{"io\.modelcontextprotocol/protocolVersion":"20[\d-]+",'
    r'"io\.modelcontextprotocol/clientCapabilities":\{\},'
    r'"io\.modelcontextprotocol/clientInfo":\{[^{}]*\}\}'
)


class _Finding(Record):
    """A check that did not pass, in every revision in which it did so in the same way."""

    check: CheckResult
    revisions: tuple[str, ...]

    @property
    def heading(self) -> str:
        revisions = ", ".join(self.revisions)
        return f"{self.check.id} {self.check.name} ({self.check.level}, {revisions})"


class _Group(Record):
    """Findings that are read together; `mark` is that of a test with this status."""

    name: str
    title: str
    fits: Callable[[CheckResult], bool]
    mark: str = "skipped"
    findings: tuple[_Finding, ...] = ()


# In the order of reports. A check belongs to the last group that fits.
_GROUPS = (
    _Group(name="failed", title="Failures", mark="failed", fits=lambda it: it.verdict == "failed"),
    _Group(name="warning", title="Warnings", mark="error", fits=lambda it: it.verdict == "warning"),
    _Group(
        name="shared",
        title="Deviations that all SDKs share, not counted",
        fits=lambda it: it.is_shared,
    ),
    _Group(name="expected", title="Expected failures", fits=lambda it: bool(it.expected)),
    _Group(
        name="pending",
        title="Pending: newer than the profile, not counted",
        fits=lambda it: it.is_pending,
    ),
)


def group_findings(report: ComplianceReport) -> list[_Group]:
    """The groups that have findings, the most important first."""
    found: dict[str, list[CheckResult]] = {}
    for check in report.checks:
        if check.verdict in ("failed", "warning"):
            group = next(group for group in reversed(_GROUPS) if group.fits(check))
            found.setdefault(group.name, []).append(check)
    return [
        group.but(findings=tuple(_merge(found[group.name])))
        for group in _GROUPS
        if group.name in found
    ]


def _merge(checks: Iterable[CheckResult]) -> Iterator[_Finding]:
    """One finding for all revisions in which the same happened, ordered by cause."""
    merged: dict[tuple[str, str, str], list[CheckResult]] = {}
    for check in checks:
        # What is said of two revisions may differ in the revision, and in what is quoted.
        message = re.split(r'[{["]', check.message.replace(check.revision, ""), maxsplit=1)[0]
        merged.setdefault((check.cause, check.id, message), []).append(check)
    # Python sorts stably: findings without a known cause first, the others by it.
    for _, same in sorted(merged.items(), key=lambda item: item[0][0]):
        yield _Finding(check=same[-1], revisions=tuple(check.revision for check in same))


def open_checks(report: ComplianceReport) -> list[tuple[str, str]]:
    """Why checks could not run, each reason with the ids of the checks."""
    reasons: dict[str, dict[str, None]] = {}
    for check in report.checks:
        if check.verdict == "could_not_run":
            reasons.setdefault(check.message, {})[check.id] = None
    return [(reason, list_names([*ids], _MAX_IDS)) for reason, ids in reasons.items()]


def _advise_hints(report: ComplianceReport) -> str:
    """What to do about checks that need a hint; "" if none does."""
    needs = {check.needs for check in report.checks}
    hints = sorted(each for each in needs if each and not each.startswith("--"))
    if not hints:
        return ""
    return (
        "hints are keys of a file for --hints that tell mcptest about the server; write "
        f"{hints[0]}: none there if it has no such thing (mcptest schema hints describes them)"
    )


def _describe_server(report: ComplianceReport) -> str:
    """The server, how it was reached, and in which revisions."""
    name = excerpt(f"{report.server} {report.version}".strip(), 120)
    over = {"stdio": "stdio", "http": "HTTP"}.get(report.transport, visible(report.transport))
    revisions = ", ".join(report.revisions)
    return f"{name} over {over}" + (f", MCP {revisions}" if revisions else "")


def _describe_grade(report: ComplianceReport) -> str:
    """The grade and the verdict, with the reason why the grade is not better."""
    reason = f": {visible(report.grade_reason)}" if report.grade_reason else ""
    grade = f"grade {report.grade}" if report.grade else "no grade"
    return f"{report.verdict}, {grade}{reason}"


def _describe_counts(report: ComplianceReport) -> str:
    """How many checks ended how."""
    expected = sum(check.verdict == "failed" and bool(check.expected) for check in report.checks)
    parts = [
        f"{report.count('passed'):,} passed",
        f"{report.count('failed'):,} failed" + (f" ({expected:,} expected)" if expected else ""),
        plural(report.count("warning"), "warning"),
        f"{report.count('could_not_run'):,} could not run",
        f"{report.count('not_applicable'):,} do not apply",
    ]
    each = " (each revision counted)" if len(report.revisions) > 1 else ""
    return f"{', '.join(parts)}{each}, in {render_duration(report.duration_s)}"


def _evidence_lines(messages: tuple[str, ...], max_chars: int) -> list[str]:
    """The first messages as lines that are safe to show, each cut.

    Later messages only show that the server still runs. Lines that are not messages come before
    the message that a finding is about.
    """
    lines: list[str] = []
    noise = next((at for at, each in enumerate(messages) if _is_message(each)), 0)
    shown = messages[:_MAX_SHOWN] if noise < _MAX_SHOWN else (messages[0], messages[noise])
    for message in shown:
        parts = _relevant_lines(re.sub(_METADATA, '"_meta":{…}', message))
        if lines and len(parts) > 1:
            lines.append("")
        lines += [excerpt(part, max_chars) for part in parts[:_MAX_LINES]]
        if len(parts) > _MAX_LINES:
            lines.append(f"… {plural(len(parts) - _MAX_LINES, 'more line')}")
    hidden = len(messages) - _MAX_SHOWN
    if hidden > 0:
        lines.append(f"… {plural(hidden, 'further message')}")
    return lines


def _is_message(text: str) -> bool:
    """True for JSON and for what came over HTTP, false for a line of a log."""
    return text.startswith(("{", "[{", "HTTP "))


def _relevant_lines(message: str) -> list[str]:
    """The lines of a message. Of an HTTP answer only those that may concern a finding."""
    parts = message.split("\n")
    if not message.startswith("HTTP "):
        return parts
    end = parts.index("") if "" in parts else len(parts)
    headers = [line for line in parts[1:end] if line.lower().startswith(_HEADERS)]
    hidden = end - 1 - len(headers)
    body = [line for line in parts[end:] if line and not re.match(r"data: ?$", line)]
    if any(line.startswith("data:") for line in body):
        # Of an event stream, what the events hold.
        body = [line for line in body if line.startswith("data:")]
    shown = [parts[0], *headers]
    if hidden:
        shown.append(f"… {plural(hidden, 'further header')}")
    return [*shown, *([""] if body else ()), *body]


# Text, for a terminal

_COLUMNS = 80
_LABEL = 10
_MAX_TERMINAL_EVIDENCE_CHARS = 240

# The groups whose evidence is shown only with -v.
_BRIEF = ("shared", "pending")


def render_text(
    report: ComplianceReport,
    paint: Paint,
    encoding: str = "",
    columns: int = _COLUMNS,
    *,
    is_verbose: bool = False,
) -> str:
    """The whole report; `encoding` is that of a stream which cannot take every character.

    Of findings that do not count, the evidence is shown only if it `is_verbose`.
    """
    columns = max(40, columns or _COLUMNS)
    lines = [paint.bold(_describe_server(report)), ""]
    whole = []
    if report.interrupted:
        whole.append("interrupted: this is the report of a part of the checks")
    whole += [f"expected failures: {visible(problem)}" for problem in report.problems]
    whole += [f"note: {excerpt(note, _MAX_MESSAGE)}" for note in report.notes]
    for text in whole:
        lines += [*wrap_line(text, columns), ""]
    marks = status_marks(paint, encoding)
    for group in group_findings(report):
        lines += [paint.bold(group.title), ""]
        for finding in group.findings:
            is_whole = is_verbose or group.name not in _BRIEF
            mark = marks[group.mark]
            lines += [*_finding_lines(finding, mark, paint, columns, is_whole), ""]
    reasons = open_checks(report)
    if reasons:
        lines += [paint.bold("Could not run"), ""]
        for reason, ids in reasons:
            text = f"  {excerpt(reason, _MAX_MESSAGE)}: {ids}"
            lines += wrap_line(text, columns, 4)
        if advice := _advise_hints(report):
            lines += [paint.dim(line) for line in wrap_line(f"  {advice}", columns)]
        lines.append("")
    lines += wrap_line(_describe_counts(report), columns)
    grade = _describe_grade(report)
    colour = paint.green if report.verdict == "conformant" else paint.red
    colour = paint.yellow if report.verdict == "incomplete" else colour
    lines += [colour(line) for line in wrap_line(grade, columns)]
    if report.profiles:
        lines.append(paint.dim(f"profile {report.profile}"))
    return encode_narrow(defuse("\n".join(lines)) + "\n", encoding)


def _finding_lines(
    finding: _Finding, mark: str, paint: Paint, columns: int, is_whole: bool
) -> Iterator[str]:
    check = finding.check
    indent = "    "
    yield f"  {mark} {paint.bold(finding.heading)}"
    yield from wrap_line(f"{indent}{excerpt(check.message, _MAX_MESSAGE)}", columns, len(indent))
    if check.expected:
        yield from _label("expected", excerpt(check.expected, _MAX_MESSAGE), columns)
    if check.cause:
        yield from _label("cause", visible(check.cause), columns)
    if not is_whole:
        yield f"{indent}{'repeat':{_LABEL}}{visible(check.repeat)}"
        return
    if check.reference.page:
        yield from _label("spec", f"{check.reference.page}, {check.reference.section}", columns)
        yield f"{indent}{'':{_LABEL}}{paint.dim(check.reference.url)}"
    for label, messages in (("sent", check.sent), ("received", check.received)):
        # Messages have few spaces, so they are broken anywhere.
        room = columns - _LABEL - len(indent)
        for line in _evidence_lines(messages, _MAX_TERMINAL_EVIDENCE_CHARS):
            for start in range(0, max(1, len(line)), room):
                yield f"{indent}{label:{_LABEL}}{line[start : start + room]}"
                label = ""
    # Commands are on one line each, so that they can be copied.
    for label, command in (("repeat", check.repeat), ("curl", check.curl)):
        if command:
            yield f"{indent}{label:{_LABEL}}{visible(command)}"


def _label(label: str, text: str, columns: int) -> list[str]:
    lead = f"    {label:{_LABEL}}"
    return wrap_line(f"{lead}{text}", columns, len(lead))


# Markdown

# A comment on GitHub holds 65,536 characters.
_MAX_MARKDOWN_FINDINGS = 40
_MAX_MARKDOWN_EVIDENCE_CHARS = 400


def render_markdown(report: ComplianceReport) -> str:
    """The page; text from the server is in code spans and fences, where it is not markup."""
    name = code_span(f"{report.server} {report.version}".strip())
    blocks = [f"## {_SUBJECT} of {name}: {_describe_grade(report).partition(':')[0]}"]
    if report.grade_reason:
        blocks.append(code_span(report.grade_reason))
    revisions = ", ".join(report.revisions) or "none"
    profile = f"; profile {report.profile}" if report.profiles else ""
    blocks.append(f"{_describe_counts(report)}. Revisions: {revisions}{profile}.")
    if report.interrupted:
        blocks.append("**Interrupted**: this is the report of a part of the checks.")
    blocks += [f"- expected failures: {code_span(problem)}" for problem in report.problems]
    left = _MAX_MARKDOWN_FINDINGS
    for group in group_findings(report):
        blocks.append(f"### {group.title}")
        blocks += map(_render_markdown_finding, group.findings[:left])
        hidden = len(group.findings) - left
        if hidden > 0:
            blocks.append(f"… and {hidden:,} more")
        left = max(0, left - len(group.findings))
    reasons = open_checks(report)
    if reasons:
        rows = [(code_cell(reason), ids) for reason, ids in reasons]
        blocks += ["### Could not run", render_table(("why", "checks"), rows)]
        blocks += [code_span(advice)] if (advice := _advise_hints(report)) else []
    return defuse("\n\n".join(blocks)) + "\n"


def _render_markdown_finding(finding: _Finding) -> str:
    check = finding.check
    where = f" ([{check.reference.section}]({check.reference.url}))" if check.reference.page else ""
    lines = [f"- **{finding.heading}**{where}: {code_span(check.message)}"]
    if check.expected:
        lines.append(f"  expected: {code_span(check.expected)}")
    if check.cause:
        lines.append(f"  cause: {code_span(check.cause)}")
    shown = []
    for label, messages in (("sent", check.sent), ("received", check.received)):
        for line in _evidence_lines(messages, _MAX_MARKDOWN_EVIDENCE_CHARS):
            shown.append(f"{label:<9} {line}".rstrip())
            label = ""
    commands = [("repeat", check.repeat), ("curl", check.curl)]
    shown += [f"{label:<9} {visible(command)}" for label, command in commands if command]
    if shown:
        block = fenced(shown).replace("\n", "\n  ")
        lines += ["", f"  {block}"]
    return "\n".join(lines)


# HTML

_LOOKS = {"conformant": "good", "not conformant": "bad", "incomplete": "odd"}


def render_html(report: ComplianceReport, tool_version: str) -> str:
    """One page that needs no other file, to be shown to anyone."""
    groups = group_findings(report)
    sections = []
    for group in groups:
        cards = [_render_card(finding, group.mark) for finding in group.findings]
        head = element("h2", group.title)
        sections.append(element("section", head, *cards, id=group.name))
    reasons = open_checks(report)
    if reasons:
        rows = [
            element("tr", element("td", cut(reason, _MAX_MESSAGE)), element("td", ids))
            for reason, ids in reasons
        ]
        whole = element("div", table(("why", "checks"), rows), class_="scroll")
        advice = _advise_hints(report)
        more = [element("p", advice, class_="aside")] if advice else []
        head = element("h2", "Could not run")
        sections.append(element("section", head, whole, *more, id="open"))
    sections.append(_render_checks(report))
    links = [
        element("a", group.title.partition(":")[0].partition(",")[0], href=f"#{group.name}")
        for group in groups
    ]
    if reasons:
        links.append(element("a", "Could not run", href="#open"))
    links.append(element("a", "All checks", href="#checks"))
    body = [
        _render_banner(report),
        element("nav", joined(links, "\n"), aria_label="Sections"),
        element("main", *sections),
    ]
    heading = f"{_SUBJECT} of {report.server}: {report.verdict} (mcptest)"
    return render_page(
        "mcptest.reporters.html",
        title=cut(heading, 200),
        body=joined(body, "\n"),
        footer=joined(["made by mcptest ", element("span", tool_version, class_="version")]),
    )


def _render_banner(report: ComplianceReport) -> Markup:
    grade = report.grade or "–"
    parts = [
        element("p", grade, class_="grade", aria_label=f"grade {report.grade or 'none'}"),
        element("p", _SUBJECT, class_="subject"),
        element("h1", report.verdict.capitalize()),
        element("p", _describe_server(report), class_="server"),
    ]
    if report.grade_reason:
        parts.append(element("p", cut(report.grade_reason, _MAX_MESSAGE)))
    if report.interrupted:
        text = "Interrupted: this is the report of a part of the checks."
        parts.append(element("p", text, class_="stopped"))
    parts += [
        element("p", "expected failures: ", cut(problem, _MAX_MESSAGE), class_="missed")
        for problem in report.problems
    ]
    parts += [element("p", cut(note, _MAX_MESSAGE)) for note in report.notes]
    facts = {
        "checks": [_describe_counts(report).rpartition(", in ")[0]],
        "profile": [f"{each.id} ({each.digest})" for each in report.profiles],
        "started": [report.started_at],
        "took": [render_duration(report.duration_s)],
    }
    pairs = [
        joined([element("dt", name), *(element("dd", text) for text in texts)])
        for name, texts in facts.items()
        if any(texts)
    ]
    parts.append(element("dl", *pairs, class_="facts"))
    return element("header", *parts, class_=f"banner {_LOOKS[report.verdict]}")


def _render_card(finding: _Finding, status: str) -> Markup:
    """A finding that looks like a test with this status."""
    check = finding.check
    head = [
        element("span", check.level, class_="status"),
        " ",
        element("span", f"{check.id} {check.name}", class_="name"),
        " ",
        element("span", ", ".join(finding.revisions), class_="tag"),
    ]
    parts = [element("p", *head), element("p", cut(check.message, _MAX_MESSAGE))]
    for label, text in (("expected", check.expected), ("cause", check.cause)):
        if text:
            words = f"{label.capitalize()}: "
            parts.append(element("p", words, cut(text, _MAX_MESSAGE), class_="aside"))
    if check.reference.page:
        words = f"{check.reference.page}, {check.reference.section}"
        link = element("a", words, href=check.reference.url, rel="noreferrer")
        parts.append(element("p", "Specification: ", link, class_="aside"))
    blocks = []
    for label, messages in (("Sent", check.sent), ("Received", check.received)):
        lines = _evidence_lines(messages, _MAX_FULL_EVIDENCE_CHARS)
        if lines:
            spans = (element("span", line) for line in lines)
            blocks += [element("h3", label), element("pre", *spans, tabindex=0)]
    for label, command in (("Repeat", check.repeat), ("Without mcptest", check.curl)):
        if command:
            code = element("pre", element("span", command), tabindex=0)
            blocks += [element("h3", label), code]
    if blocks:
        parts.append(element("details", element("summary", "Evidence"), *blocks))
    return element("div", *parts, class_=f"failure finding {status}")


def _render_checks(report: ComplianceReport) -> Markup:
    """Every check with its verdict, folded."""
    rows = [
        element(
            "tr",
            element("td", check.id),
            element("td", check.level),
            element("td", check.revision),
            element("td", check.verdict.replace("_", " ")),
            element("td", cut(check.message, _MAX_MESSAGE)),
        )
        for check in report.checks
    ]
    heads = ("id", "level", "revision", "verdict", "what")
    whole = element("div", table(heads, rows), class_="scroll results")
    fold = element("details", element("summary", f"{len(rows):,} results"), whole)
    return element("section", element("h2", "All checks"), fold, id="checks")


# Other programs: JSON, JUnit XML, SARIF


def render_json(report: ComplianceReport, tool_version: str, fault: Fault | None = None) -> str:
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


def render_junit(report: ComplianceReport, fault: Fault | None = None) -> str:
    """A suite for each revision, and a case for each check."""
    name = f"{report.server} {report.version}".strip()
    by_revision: dict[str, list[CaseResult]] = {}
    for check in report.checks:
        by_revision.setdefault(f"MCP {check.revision}", []).append(_make_case_result(check))
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


def _make_case_result(check: CheckResult) -> CaseResult:
    name = f"{check.id} {check.name}"
    if check.verdict == "passed":
        return CaseResult(name=name, status="passed", line=0)
    if check.verdict == "warning" or (check.verdict == "failed" and check.is_pending):
        return CaseResult(name=name, status="passed", line=0, notes=(f"should: {check.message}",))
    if check.verdict == "failed" and not check.expected:
        return CaseResult(name=name, status="failed", line=0, reason=_describe_in_full(check))
    why = f"expected to fail: {check.expected}" if check.expected else check.message
    return CaseResult(name=name, status="skipped", line=0, reason=why)


def _describe_in_full(check: CheckResult) -> str:
    """What happened, with its evidence, as one text."""
    lines = [check.message]
    if check.reference.page:
        lines.append(f"specification: {check.reference.url}")
    for label, messages in (("sent", check.sent), ("received", check.received)):
        lines += [
            f"{label}: {line}" for line in _evidence_lines(messages, _MAX_FULL_EVIDENCE_CHARS)
        ]
    lines += [f"repeat: {check.repeat}"] if check.repeat else []
    return "\n".join(lines)


def render_sarif_report(report: ComplianceReport, file: str, tool_version: str) -> str:
    """A result for each finding; `file` is what describes or is the server, "" if not known."""
    server = f"{report.server}@{report.version}" if report.version else report.server
    results: list[Members] = []
    rules: dict[str, str] = {}
    links: dict[str, str] = {}
    levels = {"failed": "error", "warning": "warning"}
    for group in group_findings(report):
        for finding in group.findings:
            check = finding.check
            level = levels.get(group.name, "note")
            place = location(file, 1) if file else None
            text = f"{server} ({', '.join(finding.revisions)}): {_describe_in_full(check)}"
            result = make_result(check.id, level, text, place)
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
# The width of a character of the font, and the room around a text.
_CHAR_PX = 6.6
_ROOM_PX = 12


def render_badge(report: ComplianceReport) -> str:
    """A picture of the grade, for a README: SVG without scripts, fonts or links."""
    grade = report.grade or "no grade"
    colour = _COLOURS.get(report.grade, _NO_GRADE)
    left = round(len(_SUBJECT) * _CHAR_PX) + _ROOM_PX
    right = round(len(grade) * _CHAR_PX) + _ROOM_PX
    title = f"{_SUBJECT}: {grade} ({report.profile or 'no profile'})"
    texts = ((left / 2, _SUBJECT), (left + right / 2, grade))
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
