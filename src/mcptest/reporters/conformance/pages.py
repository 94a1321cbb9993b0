"""The report of a conformance run as a page: Markdown for a job summary, HTML to hand on."""

from __future__ import annotations

from mcptest.core.text import defuse, visible
from mcptest.reporters.conformance.text import (
    MAX_MESSAGE,
    count_words,
    describe_grade,
    evidence_lines,
    group_findings,
    hint_advice,
    open_checks,
    title,
)
from mcptest.reporters.html import cut, element, joined, render_page, table
from mcptest.reporters.markdown import code_cell, code_span, fenced, render_table
from mcptest.reporters.style import render_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.conformance import ConformanceReport
    from mcptest.reporters.conformance.text import Finding
    from mcptest.reporters.html import Markup

__all__ = ["render_html", "render_markdown"]

_MAX_EVIDENCE_CHARS = 2_000
# A comment on GitHub holds 65,536 characters.
_MAX_MARKDOWN_FINDINGS = 40


# Markdown


def render_markdown(report: ConformanceReport) -> str:
    """The page; text from the server is in code spans and fences, where it is not markup."""
    name = code_span(f"{report.server} {report.version}".strip())
    blocks = [f"## MCP conformance of {name}: {describe_grade(report).partition(':')[0]}"]
    if report.grade_reason:
        blocks.append(code_span(report.grade_reason))
    revisions = ", ".join(report.revisions) or "none"
    profile = f"; profile {report.profile}" if report.profiles else ""
    blocks.append(f"{count_words(report)}. Revisions: {revisions}{profile}.")
    if report.interrupted:
        blocks.append("**Interrupted**: this is the report of a part of the checks.")
    blocks += [f"- expected failures: {code_span(problem)}" for problem in report.problems]
    left = _MAX_MARKDOWN_FINDINGS
    for group in group_findings(report):
        blocks.append(f"### {group.title}")
        blocks += map(_markdown_finding, group.findings[:left])
        hidden = len(group.findings) - left
        if hidden > 0:
            blocks.append(f"… and {hidden:,} more")
        left = max(0, left - len(group.findings))
    reasons = open_checks(report)
    if reasons:
        rows = [(code_cell(reason), ids) for reason, ids in reasons]
        blocks += ["### Could not run", render_table(("why", "checks"), rows)]
        blocks += [code_span(advice)] if (advice := hint_advice(report)) else []
    return defuse("\n\n".join(blocks)) + "\n"


def _markdown_finding(finding: Finding) -> str:
    check = finding.check
    where = f" ([{check.reference.section}]({check.reference.url}))" if check.reference.page else ""
    lines = [f"- **{finding.heading}**{where}: {code_span(check.message)}"]
    if check.expected:
        lines.append(f"  expected: {code_span(check.expected)}")
    if check.cause:
        lines.append(f"  cause: {code_span(check.cause)}")
    shown = []
    for label, messages in (("sent", check.sent), ("received", check.received)):
        for line in evidence_lines(messages, 400):
            shown.append(f"{label:<9} {line}".rstrip())
            label = ""
    commands = [("repeat", check.repeat), ("curl", check.curl)]
    shown += [f"{label:<9} {visible(command)}" for label, command in commands if command]
    if shown:
        block = fenced(shown).replace("\n", "\n  ")
        lines += ["", f"  {block}"]
    return "\n".join(lines)


# HTML

_SUBJECT = "MCP conformance"
_LOOKS = {"conformant": "good", "not conformant": "bad", "incomplete": "odd"}
_HEADLINES = {
    "conformant": "Conformant",
    "not conformant": "Not conformant",
    "incomplete": "Incomplete",
}


def render_html(report: ConformanceReport, tool_version: str) -> str:
    """One page that needs no other file, to be shown to anyone."""
    groups = group_findings(report)
    sections = []
    for group in groups:
        cards = [_card(finding, group.verdict) for finding in group.findings]
        head = element("h2", group.title)
        sections.append(element("section", head, *cards, id=group.verdict))
    reasons = open_checks(report)
    if reasons:
        rows = [
            element("tr", element("td", cut(reason, MAX_MESSAGE)), element("td", ids))
            for reason, ids in reasons
        ]
        whole = element("div", table(("why", "checks"), rows), class_="scroll")
        advice = hint_advice(report)
        more = [element("p", advice, class_="aside")] if advice else []
        head = element("h2", "Could not run")
        sections.append(element("section", head, whole, *more, id="open"))
    sections.append(_check_section(report))
    links = [
        element("a", group.title.partition(":")[0].partition(",")[0], href=f"#{group.verdict}")
        for group in groups
    ]
    if reasons:
        links.append(element("a", "Could not run", href="#open"))
    links.append(element("a", "All checks", href="#checks"))
    body = [
        _banner(report),
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


def _banner(report: ConformanceReport) -> Markup:
    grade = report.grade or "–"
    parts = [
        element("p", grade, class_="grade", aria_label=f"grade {report.grade or 'none'}"),
        element("p", _SUBJECT, class_="subject"),
        element("h1", _HEADLINES[report.verdict]),
        element("p", title(report), class_="server"),
    ]
    if report.grade_reason:
        parts.append(element("p", cut(report.grade_reason, MAX_MESSAGE)))
    if report.interrupted:
        text = "Interrupted: this is the report of a part of the checks."
        parts.append(element("p", text, class_="stopped"))
    parts += [
        element("p", "expected failures: ", cut(problem, MAX_MESSAGE), class_="missed")
        for problem in report.problems
    ]
    parts += [element("p", cut(note, MAX_MESSAGE)) for note in report.notes]
    facts = {
        "checks": [count_words(report).rpartition(", in ")[0]],
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


def _card(finding: Finding, verdict: str) -> Markup:
    check = finding.check
    status = {"failed": "failed", "warning": "error"}.get(verdict, "skipped")
    head = [
        element("span", check.level, class_="status"),
        " ",
        element("span", f"{check.id} {check.name}", class_="name"),
        " ",
        element("span", ", ".join(finding.revisions), class_="tag"),
    ]
    parts = [element("p", *head), element("p", cut(check.message, MAX_MESSAGE))]
    for label, text in (("expected", check.expected), ("cause", check.cause)):
        if text:
            words = f"{label.capitalize()}: "
            parts.append(element("p", words, cut(text, MAX_MESSAGE), class_="aside"))
    if check.reference.page:
        words = f"{check.reference.page}, {check.reference.section}"
        link = element("a", words, href=check.reference.url, rel="noreferrer")
        parts.append(element("p", "Specification: ", link, class_="aside"))
    blocks = []
    for label, messages in (("Sent", check.sent), ("Received", check.received)):
        lines = evidence_lines(messages, _MAX_EVIDENCE_CHARS)
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


def _check_section(report: ConformanceReport) -> Markup:
    """Every check with its verdict, folded."""
    rows = [
        element(
            "tr",
            element("td", check.id),
            element("td", check.level),
            element("td", check.revision),
            element("td", check.verdict.replace("_", " ")),
            element("td", cut(check.message, MAX_MESSAGE)),
        )
        for check in report.checks
    ]
    heads = ("id", "level", "revision", "verdict", "what")
    whole = element("div", table(heads, rows), class_="scroll results")
    fold = element("details", element("summary", f"{len(rows):,} results"), whole)
    return element("section", element("h2", "All checks"), fold, id="checks")
