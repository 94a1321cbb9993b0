"""The report people open in a browser: one page, complete in itself, for any run.

Events go in; `render` gives the page as text. Each test becomes markup as it ends, so what
is kept of a run is what the page will hold, and that is bounded: a test that did not pass
is told in full until MAX_CARDS_CHARS are used up, the messages of tests that passed until
MAX_LOGS_CHARS are. What is left out is counted on the page.
"""

from __future__ import annotations

from mcptest.core.events import CaseFinished, RunFinished, RunStarted, SuiteStarted
from mcptest.core.outcome import STATUSES, Summary
from mcptest.core.text import plural
from mcptest.reporters.headline import server_of
from mcptest.reporters.html_case import render_card, render_log, render_place, render_row
from mcptest.reporters.html_charts import Timing, render_durations
from mcptest.reporters.html_coverage import render_coverage
from mcptest.reporters.html_markup import Markup, cut, element, joined
from mcptest.reporters.html_page import render_page
from mcptest.reporters.html_run import (
    page_title,
    render_banner,
    render_contents,
    render_diagnostics,
    render_filter,
    render_findings,
)
from mcptest.reporters.wording import render_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import Event
    from mcptest.core.outcome import CaseResult, LogWish, Status

__all__ = ["HtmlReporter", "render_failure"]

MAX_CARDS_CHARS = 6_000_000
MAX_LOGS_CHARS = 1_500_000
# Of a test that passed, the first messages say enough.
MAX_PASSED_LOG_LINES = 20
MAX_NAME_CHARS = 300
# Beyond these, what is long begins closed.
MAX_OPEN_CARDS = 50
MAX_OPEN_TESTS = 300


class HtmlReporter:
    """A listener that keeps each test as the markup it will be."""

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
        self._room_for_cards = _Room(MAX_CARDS_CHARS)
        self._room_for_logs = _Room(MAX_LOGS_CHARS)

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
        if result.status != "skipped":
            server = server_of(self._started, suite.started)
            name = f"{result.name} (on {server})" if server else result.name
            timing = Timing(number=number, name=name, duration_s=result.duration_s)
            self._timings.append(timing)
        has_card = result.status in ("failed", "error") and self._add_card(result, number, suite)
        log = Markup("")
        if not has_card:
            log = render_log(result.log, max_lines=MAX_PASSED_LOG_LINES)
            log = self._room_for_logs.admitted(log)
        suite.add(result, render_row(result, number, has_card=has_card, log=log))

    def _add_card(self, result: CaseResult, number: int, suite: _Suite) -> bool:
        is_open = len(self._cards) < MAX_OPEN_CARDS
        server = server_of(self._started, suite.started)
        card = render_card(result, number, suite.name, suite.file, server=server, is_open=is_open)
        card = self._room_for_cards.admitted(card)
        if card:
            self._cards.append(card)
        return bool(card)

    def render(self) -> str:
        """The page of what has happened so far; without a last event it says interrupted."""
        finished = self._finished or self._cut_short()
        # When no test could run there is nothing to report but the reason.
        has_tests = finished.fault is None and self._number > 0
        sections = self._sections_of_tests() if has_tests else []
        sections += [
            ("coverage", render_coverage(finished.coverage)),
            ("findings", render_findings(finished.findings, self._started.server)),
            ("warnings", render_diagnostics("Warnings", self._started.warnings)),
        ]
        sections = [(id_, markup) for id_, markup in sections if markup]
        controls = render_filter(finished.summary) if has_tests else Markup("")
        body = [
            render_banner(self._started, finished),
            *([render_contents([id_ for id_, _ in sections])] if sections else []),
            element("main", controls, *(markup for _, markup in sections)),
        ]
        title = page_title(self._started, finished)
        return render_page(title, joined(body, "\n"), self._tool_version)

    def _sections_of_tests(self) -> list[tuple[str, Markup]]:
        return [
            ("failures", self._failures()),
            ("tests", self._tests()),
            ("durations", render_durations(self._timings)),
        ]

    def _cut_short(self) -> RunFinished:
        counts: dict[Status, int] = dict.fromkeys(STATUSES, 0)
        for suite in self._suites:
            for status, count in suite.counts.items():
                counts[status] += count
        summary = Summary.of(counts).but(flaky=self._flaky)
        return RunFinished(summary=summary, duration_s=0.0, interrupted=True)

    def _failures(self) -> Markup:
        if not self._cards:
            return Markup("")
        parts = [element("h2", "Failures"), *self._cards]
        left_out = self._room_for_cards.turned_away
        if left_out:
            text = f"… {plural(left_out, 'more test')} did not pass; the list below names them"
            parts.append(element("p", text, class_="aside"))
        return element("section", joined(parts, "\n"), id="failures")

    def _tests(self) -> Markup:
        is_open = self._number <= MAX_OPEN_TESTS
        parts = [element("h2", "Tests"), *(suite.render(is_open) for suite in self._suites)]
        left_out = self._room_for_logs.turned_away
        if left_out:
            text = f"The message logs of {plural(left_out, 'test')} are left out of this page."
            parts.insert(1, element("p", text, class_="aside"))
        return element("section", joined(parts, "\n"), id="tests")


def render_failure(
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
    body = [banner, element("main", render_diagnostics("Mistakes", diagnostics))]
    return render_page(f"Nothing ran: {kind} (mcptest)", joined(body, "\n"), tool_version)


class _Room:
    """How many more characters of one kind the page takes."""

    def __init__(self, chars: int) -> None:
        self._left = chars
        self.turned_away = 0

    def admitted(self, markup: Markup) -> Markup:
        """The markup, or nothing when there is no room for it."""
        if len(markup) > self._left:
            self.turned_away += 1
            return Markup("")
        self._left -= len(markup)
        return markup


class _Suite:
    """The tests of one suite, already as markup, and their counts."""

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
