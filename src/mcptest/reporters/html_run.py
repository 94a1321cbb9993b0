"""What the page says about the run as a whole: verdict, filter, findings, warnings.

The first and the last event of a run go in, markup comes out. The tests themselves are
`html_case`'s.
"""

from __future__ import annotations

from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.exit_codes import ExitCode
from mcptest.core.text import plural, shorten
from mcptest.core.verdict import exit_code_of
from mcptest.reporters.closing_text import not_run_line
from mcptest.reporters.html_case import render_run_fault
from mcptest.reporters.html_markup import Markup, cut, element, joined
from mcptest.reporters.wording import render_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import RunFinished, RunStarted
    from mcptest.core.outcome import Finding, Summary

__all__ = [
    "page_title",
    "render_banner",
    "render_contents",
    "render_diagnostics",
    "render_filter",
    "render_findings",
]

MAX_NAME_CHARS = 300
MAX_TEXT_CHARS = 1_000
MAX_DIAGNOSTICS = 500
MAX_FINDINGS = 500

# Headline, look, and what the exit status means.
_VERDICTS = {
    ExitCode.PASSED: ("Passed", "good", "everything that was asked for ran and passed"),
    ExitCode.FAILED: ("Failed", "bad", "at least one test or check failed or ended in an error"),
    ExitCode.NO_SERVER: ("No server", "bad", "a server could not be opened: tests did not run"),
    ExitCode.GATE_MISSED: ("Gate missed", "bad", "the tests passed, but a gate was missed"),
    ExitCode.NOTHING_SELECTED: ("Nothing ran", "odd", "no test ran, which is never a success"),
    ExitCode.INTERRUPTED: ("Interrupted", "odd", "the run was stopped before its end"),
}


def page_title(started: RunStarted, finished: RunFinished) -> str:
    """What a browser tab shows: the verdict first."""
    headline = _VERDICTS[exit_code_of(finished)][0]
    return f"{headline}: {plural(finished.summary.total, 'test')} of {started.server} (mcptest)"


def render_banner(started: RunStarted, finished: RunFinished) -> Markup:
    """The verdict, the counts, and everything that explains the exit status."""
    status = exit_code_of(finished)
    headline, look, meaning = _VERDICTS[status]
    parts = [element("h1", headline), _counts(finished.summary), *_stops(started, finished)]
    parts += [
        element("p", "gate missed: ", cut(gate, MAX_TEXT_CHARS), class_="missed")
        for gate in finished.missed_gates
    ]
    if finished.not_run:
        parts.append(element("p", not_run_line(finished), class_="missed"))
    if finished.fault is not None:
        parts.append(render_run_fault(finished.fault))
    facts = [
        ("server", cut(started.server, MAX_NAME_CHARS)),
        ("started", cut(started.started_at, MAX_NAME_CHARS)),
        ("took", render_duration(finished.duration_s)),
        ("exit status", f"{int(status)}: {_because(finished) or meaning}"),
    ]
    pairs = (joined([element("dt", name), element("dd", text)]) for name, text in facts if text)
    return element("header", *parts, element("dl", *pairs, class_="facts"), class_=f"banner {look}")


def _because(finished: RunFinished) -> str:
    """Why a run failed in which no test did; nothing when there is no more to say."""
    has_failed = finished.summary.failed or finished.summary.errors
    if has_failed or not finished.not_run or exit_code_of(finished) is not ExitCode.FAILED:
        return ""
    return "declared tests cannot be run by this version"


def _counts(summary: Summary) -> Markup:
    counts = [
        ("passed", summary.passed, "passed"),
        ("failed", summary.failed, "failed"),
        ("error", summary.errors, "error" if summary.errors == 1 else "errors"),
        ("skipped", summary.skipped, "skipped"),
        ("flaky", summary.flaky, "flaky"),
    ]
    items = [element("li", plural(summary.total, "test"))]
    items += [
        element("li", f"{count:,} {word}", class_=f"is-{name}")
        for name, count, word in counts
        if count
    ]
    return element("ul", *items, class_="counts")


def _stops(started: RunStarted, finished: RunFinished) -> list[Markup]:
    """Why not everything ran that was to run."""
    ran, total = finished.summary.total, started.total
    parts = []
    if finished.interrupted:
        parts.append(f"interrupted: {ran:,} of {plural(total, 'test')} ran")
        if finished.interrupted_in:
            name = shorten(finished.interrupted_in, MAX_NAME_CHARS)
            parts.append(f'in the middle of "{name}", whose call may have had its effect')
    elif finished.bailed:
        left = f"{max(0, total - ran):,} of {plural(total, 'test')} not run"
        parts.append(f"stopped after the first failure: {left}")
    return [element("p", part, class_="stopped") for part in parts]


def render_contents(ids: Sequence[str]) -> Markup:
    """Links to the sections that this page has; each is called what its id says."""
    links = (element("a", id_.capitalize(), href=f"#{id_}") for id_ in ids)
    return element("nav", joined(links, "\n"), aria_label="Sections")


def render_filter(summary: Summary) -> Markup:
    """The search box and the buttons. Hidden until the script is there that they need."""
    counts = {
        "all": summary.total,
        "failed": summary.failed,
        "error": summary.errors,
        "passed": summary.passed,
        "skipped": summary.skipped,
        "flaky": summary.flaky,
    }
    buttons = (
        element("button", f"{name} {count:,}", type="button", value=name, aria_pressed=pressed)
        for name, count in counts.items()
        if count or name == "all"
        for pressed in ["true" if name == "all" else "false"]
    )
    hint = "name, file, tag or status"
    box = element("input", type="search", placeholder=hint, autocomplete="off", spellcheck="false")
    return element(
        "form",
        element("label", "Search ", box),
        element("fieldset", *buttons, aria_label="Show tests by status"),
        element("button", "open all", type="button", class_="open-all"),
        element("button", "close all", type="button", class_="close-all"),
        element("output", role="status"),
        class_="filter",
        role="search",
        hidden=True,
    )


def render_findings(findings: Sequence[Finding], server: str) -> Markup:
    """What the servers did that breaks a rule without breaking a test."""
    if not findings:
        return Markup("")
    words = ("kind", "what happened", "times")
    heads = element("tr", *(element("th", word, scope="col") for word in words))
    rows = [_finding_row(finding, server) for finding in findings[:MAX_FINDINGS]]
    hidden = len(findings) - MAX_FINDINGS
    if hidden > 0:
        rows.append(element("tr", element("td", f"… and {hidden:,} more", colspan=len(words))))
    table = element("table", element("thead", heads), element("tbody", *rows))
    inside = element("div", table, class_="scroll")
    return element("section", element("h2", "Findings"), inside, id="findings")


def _finding_row(finding: Finding, server: str) -> Markup:
    told = [element("div", cut(finding.message, MAX_TEXT_CHARS))]
    if finding.server not in ("", server):
        told.append(element("div", "server: ", cut(finding.server, MAX_NAME_CHARS)))
    if finding.quote:
        told.append(element("div", element("code", cut(finding.quote, MAX_TEXT_CHARS))))
    return element(
        "tr",
        element("td", cut(finding.kind, MAX_NAME_CHARS)),
        element("td", *told),
        element("td", f"{finding.count:,}", class_="number"),
    )


def render_diagnostics(title: str, diagnostics: Sequence[Diagnostic]) -> Markup:
    """Mistakes or slips in files, each with its place and its line."""
    if not diagnostics:
        return Markup("")
    blocks = [
        element("pre", *_diagnostic_lines(diagnostic), tabindex=0)
        for diagnostic in diagnostics[:MAX_DIAGNOSTICS]
    ]
    hidden = len(diagnostics) - MAX_DIAGNOSTICS
    if hidden > 0:
        blocks.append(element("p", f"… and {hidden:,} more", class_="aside"))
    return element("section", element("h2", title), *blocks, id=title.lower())


def _diagnostic_lines(diagnostic: Diagnostic) -> list[Markup]:
    lines = render_diagnostic(diagnostic).split("\n")
    return [element("span", cut(line, MAX_TEXT_CHARS)) for line in lines]
