"""The report for a browser: one page that loads nothing else and runs one script of ours.

Events go in; `render` returns the page. Each test is kept as markup, within limits: failed tests
are shown in full up to MAX_CARDS_CHARS, the messages of passed tests up to MAX_LOGS_CHARS, and the
page says how many are left out. Style and script are the files in `assets/`; the policy in the head
allows exactly these two, by their hashes, and no requests.
"""

from __future__ import annotations

from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.events import CaseFinished, RunFinished, RunStarted, SuiteStarted
from mcptest.core.results import STATUSES, ExitCode, Summary, exit_code_of
from mcptest.core.text import plural, shorten
from mcptest.reporters.html import Markup, and_more, cut, element, joined, render_page, table
from mcptest.reporters.html.parts import (
    Timing,
    render_card,
    render_coverage,
    render_durations,
    render_log,
    render_place,
    render_row,
    render_run_fault,
)
from mcptest.reporters.style import ending_line, not_run_line, render_duration
from mcptest.reporters.text import shown_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import Event
    from mcptest.core.results import CaseResult, Finding, LogWish, Status

__all__ = ["HtmlReporter", "render_failure_page"]

MAX_CARDS_CHARS = 6_000_000
MAX_LOGS_CHARS = 1_500_000
# For a test that passed the first messages are enough.
MAX_PASSED_LOG_LINES = 20
MAX_NAME_CHARS = 300
# Pages with more than these begin with details closed.
MAX_OPEN_CARDS = 50
MAX_OPEN_TESTS = 300
MAX_TEXT_CHARS = 1_000
MAX_DIAGNOSTICS = 500
MAX_FINDINGS = 500
MAX_TITLE_CHARS = 200


class HtmlReporter:
    """A listener that keeps each test as markup."""

    wants_log: LogWish = "all"

    def __init__(self, tool_version: str) -> None:
        self._tool_version = tool_version
        self._started = RunStarted(started_at="", server="", suites=0, total=0)
        self._finished: RunFinished | None = None
        self._suites: list[_Suite] = []
        self._cards: list[Markup] = []
        self._timings: list[Timing] = []
        self._number = 0
        self._flaky = 0
        self._budget_for_cards = _Budget(MAX_CARDS_CHARS)
        self._budget_for_logs = _Budget(MAX_LOGS_CHARS)

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseFinished):
            self._add(event.result)
        elif isinstance(event, SuiteStarted):
            self._suites.append(_Suite(event))
        elif isinstance(event, RunStarted):
            self._started = event
        elif isinstance(event, RunFinished):
            self._finished = event

    def _add(self, result: CaseResult) -> None:
        self._number += 1
        number, suite = self._number, self._suites[-1]
        self._flaky += result.is_flaky
        server = shown_server(self._started, suite.started)
        if result.status != "skipped":
            name = f"{result.name} (on {server})" if server else result.name
            timing = Timing(number=number, name=name, duration_s=result.duration_s)
            self._timings.append(timing)
        card = log = Markup("")
        if result.status in ("failed", "error"):
            is_open = len(self._cards) < MAX_OPEN_CARDS
            card = render_card(
                result, number, suite.name, suite.file, server=server, is_open=is_open
            )
            card = self._budget_for_cards.admit(card)
        if card:
            self._cards.append(card)
        else:
            log = render_log(result.log, max_lines=MAX_PASSED_LOG_LINES)
            log = self._budget_for_logs.admit(log)
        suite.add(result, render_row(result, number, has_card=bool(card), log=log))

    def render(self) -> str:
        """The page of what has happened so far; without a last event it is interrupted."""
        finished = self._finished
        if finished is None:
            counts: dict[Status, int] = dict.fromkeys(STATUSES, 0)
            for suite in self._suites:
                for status, count in suite.counts.items():
                    counts[status] += count
            summary = Summary.of(counts).but(flaky=self._flaky)
            finished = RunFinished(summary=summary, duration_s=0.0, interrupted=True)
        # If no test could run only the reason is reported.
        has_tests = finished.fault is None and self._number > 0
        sections = [
            *([("failures", self._failures()), ("tests", self._tests())] if has_tests else []),
            *([("durations", render_durations(self._timings))] if has_tests else []),
            ("coverage", render_coverage(finished.coverage)),
            ("findings", _render_findings(finished.findings, self._started.server)),
            ("warnings", _render_diagnostics("Warnings", self._started.warnings)),
        ]
        sections = [(id_, markup) for id_, markup in sections if markup]
        links = [element("a", id_.capitalize(), href=f"#{id_}") for id_, _ in sections]
        controls = _render_filter(finished.summary) if has_tests else Markup("")
        body = [
            _render_banner(self._started, finished),
            *([element("nav", joined(links, "\n"), aria_label="Sections")] if sections else []),
            element("main", controls, *(markup for _, markup in sections)),
        ]
        # For the browser tab, the verdict first.
        tests = f"{plural(finished.summary.total, 'test')} of {self._started.server}"
        title = f"{_VERDICTS[exit_code_of(finished)][0]}: {tests} (mcptest)"
        return _render_document(title, joined(body, "\n"), self._tool_version)

    def _failures(self) -> Markup:
        if not self._cards:
            return Markup("")
        parts = [element("h2", "Failures"), *self._cards]
        left_out = self._budget_for_cards.left_out
        if left_out:
            text = f"… {plural(left_out, 'more test')} did not pass; the list below names them"
            parts.append(element("p", text, class_="aside"))
        return element("section", joined(parts, "\n"), id="failures")

    def _tests(self) -> Markup:
        is_open = self._number <= MAX_OPEN_TESTS
        parts = [element("h2", "Tests"), *(suite.render(is_open) for suite in self._suites)]
        left_out = self._budget_for_logs.left_out
        if left_out:
            text = f"The message logs of {plural(left_out, 'test')} are left out of this page."
            parts.insert(1, element("p", text, class_="aside"))
        return element("section", joined(parts, "\n"), id="tests")


def render_failure_page(
    kind: str,
    message: str,
    diagnostics: Sequence[Diagnostic],
    tool_version: str,
    started_at: str,
) -> str:
    """The page of a run that never began: files, command line or server are at fault."""
    banner = element(
        "header",
        element("h1", "Nothing ran"),
        element("p", element("strong", f"{kind}: "), cut(message, MAX_NAME_CHARS * 4)),
        element("p", "started ", cut(started_at, MAX_NAME_CHARS), class_="aside"),
        class_="banner bad",
    )
    body = [banner, element("main", _render_diagnostics("Mistakes", diagnostics))]
    return _render_document(f"Nothing ran: {kind} (mcptest)", joined(body, "\n"), tool_version)


class _Budget:
    """Limits how many characters of one kind the page contains."""

    def __init__(self, chars: int) -> None:
        self._left = chars
        self.left_out = 0

    def admit(self, markup: Markup) -> Markup:
        """The markup, or nothing if it exceeds the limit."""
        if len(markup) > self._left:
            self.left_out += 1
            return Markup("")
        self._left -= len(markup)
        return markup


class _Suite:
    """The tests of one suite as markup, and their counts."""

    def __init__(self, started: SuiteStarted) -> None:
        self.started = started
        self.name = started.name
        self.file = started.file
        self.counts: dict[Status, int] = dict.fromkeys(STATUSES, 0)
        self._rows: list[Markup] = []
        self._duration_s = 0.0

    def add(self, result: CaseResult, row: Markup) -> None:
        self.counts[result.status] += 1
        self._duration_s += result.duration_s
        self._rows.append(row)

    def render(self, is_open: bool) -> Markup:
        counts = ", ".join(f"{count:,} {status}" for status, count in self.counts.items() if count)
        parts = [
            element("span", cut(self.name, MAX_NAME_CHARS), class_="name"),
            render_place(self.file),
            joined(
                ["· ", element("span", cut(self.started.server, MAX_NAME_CHARS), class_="server")]
            ),
            f"· {counts or 'no tests'} ·",
            element("span", render_duration(self._duration_s), class_="time"),
        ]
        rows = element("ol", joined(self._rows, "\n"), class_="tests")
        head = element("summary", joined(parts, " "))
        return element("details", head, rows, class_="suite", open=is_open)


# Headline, look, and what the exit status means.
_VERDICTS = {
    ExitCode.PASSED: ("Passed", "good", "everything that was asked for ran and passed"),
    ExitCode.FAILED: ("Failed", "bad", "at least one test or check failed or ended in an error"),
    ExitCode.NO_SERVER: ("No server", "bad", "a server could not be opened: tests did not run"),
    ExitCode.GATE_MISSED: ("Gate missed", "bad", "the tests passed, but a gate was missed"),
    ExitCode.NOTHING_SELECTED: ("Nothing ran", "odd", "no test ran, which is never a success"),
    ExitCode.INTERRUPTED: ("Interrupted", "odd", "the run was stopped before its end"),
}


def _render_banner(started: RunStarted, finished: RunFinished) -> Markup:
    """The verdict, the counts, and everything that explains the exit status."""
    status, summary = exit_code_of(finished), finished.summary
    headline, look, meaning = _VERDICTS[status]
    if status is ExitCode.FAILED and finished.not_run and not summary.failed + summary.errors:
        meaning = "declared tests cannot be run by this version"
    stops = [ending_line(started, finished)]
    if finished.interrupted and finished.interrupted_in:
        name = shorten(finished.interrupted_in, MAX_NAME_CHARS)
        stops.append(f'in the middle of "{name}"; its call may have taken effect')
    parts = [element("h1", headline), _count_list(summary)]
    parts += [element("p", stop, class_="stopped") for stop in stops if stop]
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
        ("exit status", f"{int(status)}: {meaning}"),
    ]
    pairs = (joined([element("dt", name), element("dd", text)]) for name, text in facts if text)
    return element("header", *parts, element("dl", *pairs, class_="facts"), class_=f"banner {look}")


def _count_list(summary: Summary) -> Markup:
    counts = [
        ("passed", summary.passed, "passed"),
        ("failed", summary.failed, "failed"),
        ("error", summary.errors, "error" if summary.errors == 1 else "errors"),
        ("skipped", summary.skipped, "skipped"),
        ("flaky", summary.flaky, "flaky"),
    ]
    items = (
        element("li", f"{count:,} {word}", class_=f"is-{name}")
        for name, count, word in counts
        if count
    )
    return element("ul", element("li", plural(summary.total, "test")), *items, class_="counts")


def _render_filter(summary: Summary) -> Markup:
    """The search box and the buttons, hidden until the script runs."""
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


def _render_findings(findings: Sequence[Finding], server: str) -> Markup:
    """The rules that servers broke without failing a test."""
    if not findings:
        return Markup("")
    rows = []
    for finding in findings[:MAX_FINDINGS]:
        what = [element("div", cut(finding.message, MAX_TEXT_CHARS))]
        if finding.server not in ("", server):
            what.append(element("div", "server: ", cut(finding.server, MAX_NAME_CHARS)))
        if finding.quote:
            what.append(element("div", element("code", cut(finding.quote, MAX_TEXT_CHARS))))
        kind = element("td", cut(finding.kind, MAX_NAME_CHARS))
        count = element("td", f"{finding.count:,}", class_="number")
        rows.append(element("tr", kind, element("td", *what), count))
    words = ("kind", "what happened", "times")
    whole = table(words, rows, left_out=and_more(findings, MAX_FINDINGS))
    inside = element("div", whole, class_="scroll")
    return element("section", element("h2", "Findings"), inside, id="findings")


def _render_diagnostics(title: str, diagnostics: Sequence[Diagnostic]) -> Markup:
    """Diagnostics, each with its place and source line."""
    if not diagnostics:
        return Markup("")
    blocks = [
        element(
            "pre",
            *(
                element("span", cut(line, MAX_TEXT_CHARS))
                for line in render_diagnostic(diagnostic).split("\n")
            ),
            tabindex=0,
        )
        for diagnostic in diagnostics[:MAX_DIAGNOSTICS]
    ]
    if more := and_more(diagnostics, MAX_DIAGNOSTICS):
        blocks.append(element("p", more, class_="aside"))
    return element("section", element("h2", title), *blocks, id=title.lower())


def _render_document(title: str, body: Markup, tool_version: str) -> str:
    """The whole document."""
    return render_page(
        "mcptest.reporters.html",
        title=cut(title, MAX_TITLE_CHARS),
        body=body,
        footer=joined(["made by mcptest ", element("span", tool_version, class_="version")]),
    )
