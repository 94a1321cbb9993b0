"""The report for a browser: one page that loads nothing else and runs one script of ours.

Events go in; `render` returns the page. Each test is kept as markup. Failed tests have one budget
of characters and the messages of passed tests another; the page says how many are left out. Style
and script are the files in `assets/`; the policy in the head allows exactly these two, by their
hashes, and no requests.

Every text is escaped, and cut where a server could make it endless.
"""

from __future__ import annotations

from heapq import nlargest

from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.events import CaseFinished, RunFinished, RunStarted, SuiteStarted
from mcptest.core.results import STATUSES, ExitCode, Summary, exit_code_of
from mcptest.core.text import plural, shorten, show_json
from mcptest.core.value_class import ABSENT, Record
from mcptest.matching.diff import cut_sides
from mcptest.reporters.failure_text import (
    fault_details,
    fault_headline,
    headline,
    render_result,
    shown_server,
)
from mcptest.reporters.html import Markup, and_more, cut, element, joined, render_page, table
from mcptest.reporters.style import ending_line, not_run_line, percent_text, render_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest.core.coverage import CoveredOffer, ServerCoverage
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import Event
    from mcptest.core.results import CaseResult, Fault, Finding, LogLine, LogWish, Mismatch, Status
    from mcptest.matching.diff import DiffLine

__all__ = [
    "HtmlReporter",
    "render_failure_page",
]


_MAX_NAME_CHARS = 300
_MAX_TEXT_CHARS = 1_000
_MAX_TITLE_CHARS = 200
_MAX_CARDS_CHARS = 6_000_000
_MAX_LOGS_CHARS = 1_500_000
# Pages with more than these begin with details closed.
_MAX_OPEN_CARDS = 50
_MAX_OPEN_TESTS = 300


class HtmlReporter:
    """A listener that keeps each test as markup."""

    wants_log: LogWish = "all"

    def __init__(self, tool_version: str) -> None:
        self._tool_version = tool_version
        self._started = RunStarted(started_at="", server="", suites=0, total=0)
        self._finished: RunFinished | None = None
        self._suites: list[_Suite] = []
        self._cards: list[Markup] = []
        self._timings: list[_Timing] = []
        self._number = 0
        self._flaky = 0
        self._budget_for_cards = _Budget(_MAX_CARDS_CHARS)
        self._budget_for_logs = _Budget(_MAX_LOGS_CHARS)

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
            timing = _Timing(number=number, name=name, duration_s=result.duration_s)
            self._timings.append(timing)
        card = log = Markup("")
        if result.status in ("failed", "error"):
            is_open = len(self._cards) < _MAX_OPEN_CARDS
            card = _render_card(
                result, number, suite.name, suite.file, server=server, is_open=is_open
            )
            card = self._budget_for_cards.admit(card)
        if card:
            self._cards.append(card)
        else:
            log = _render_log(result.log, max_lines=_MAX_PASSED_LOG_LINES)
            log = self._budget_for_logs.admit(log)
        suite.add(result, _render_row(result, number, has_card=bool(card), log=log))

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
            *([("durations", _render_durations(self._timings))] if has_tests else []),
            ("coverage", _render_coverage(finished.coverage)),
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
        is_open = self._number <= _MAX_OPEN_TESTS
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
        element("p", element("strong", f"{kind}: "), cut(message, _MAX_NAME_CHARS * 4)),
        element("p", "started ", cut(started_at, _MAX_NAME_CHARS), class_="aside"),
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
            element("span", cut(self.name, _MAX_NAME_CHARS), class_="name"),
            _render_place(self.file),
            joined(
                ["· ", element("span", cut(self.started.server, _MAX_NAME_CHARS), class_="server")]
            ),
            f"· {counts or 'no tests'} ·",
            element("span", render_duration(self._duration_s), class_="time"),
        ]
        rows = element("ol", joined(self._rows, "\n"), class_="tests")
        head = element("summary", joined(parts, " "))
        return element("details", head, rows, class_="suite", open=is_open)


def _render_document(title: str, body: Markup, tool_version: str) -> str:
    """The whole document."""
    return render_page(
        "mcptest.reporters.html",
        title=cut(title, _MAX_TITLE_CHARS),
        body=body,
        footer=joined(["made by mcptest ", element("span", tool_version, class_="version")]),
    )


# The head of the page

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
        name = shorten(finished.interrupted_in, _MAX_NAME_CHARS)
        stops.append(f'in the middle of "{name}"; its call may have taken effect')
    parts = [element("h1", headline), _count_list(summary)]
    parts += [element("p", stop, class_="stopped") for stop in stops if stop]
    parts += [
        element("p", "gate missed: ", cut(gate, _MAX_TEXT_CHARS), class_="missed")
        for gate in finished.missed_gates
    ]
    if finished.not_run:
        parts.append(element("p", not_run_line(finished), class_="missed"))
    parts += _fault_parts(finished.fault)
    facts = [
        ("server", cut(started.server, _MAX_NAME_CHARS)),
        ("started", cut(started.started_at, _MAX_NAME_CHARS)),
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


# One test

_MAX_TAGS = 20
_MAX_NOTES = 50
_MAX_MISMATCHES = 200
_MAX_VALUE_CHARS = 2_000
_MAX_ANSWER_CHARS = 20_000
_MAX_LINE_CHARS = 2_000
_MAX_LOG_LINES = 200
_MAX_LOG_CHARS = 2_000
# For a test that passed the first messages are enough.
_MAX_PASSED_LOG_LINES = 20
_MAX_OUTPUT_LINES = 200
_MAX_OUTPUT_CHARS = 1_000
# Lines do not wrap on the page, so a caret line fits below any value that is shown whole.
_COLUMNS = 300

_LINE_CLASSES = {"-": "wanted", "+": "came", "^": "pointer", "…": "aside"}
_DIRECTIONS = {"sent": "→ sent", "received": "← received", "stderr": "stderr", "noise": "noise"}


def _render_row(result: CaseResult, number: int, *, has_card: bool, log: Markup) -> Markup:
    """A test in the list. One that has a card links to it, any other opens in place."""
    head = [_status(result), " ", _name(result, number if has_card else 0), *_marks(result)]
    head.append(_time(result))
    more = Markup("")
    if not has_card:
        # Why a test was skipped; or why it failed, if the page has no room for its card.
        why = headline(result) if result.status in ("failed", "error") else result.reason
        reason = [element("p", cut(why, _MAX_TEXT_CHARS))] if why else []
        more = joined([*reason, *_notes(result), log])
    inner = element("details", element("summary", *head), more) if more else joined(head)
    return element("li", inner, class_=_classes(result), id=f"t{number}")


def _render_card(
    result: CaseResult, number: int, suite: str, file: str, *, server: str, is_open: bool = True
) -> Markup:
    """Everything about a failed test; `server` is "" if it need not be named."""
    origin = [cut(suite, _MAX_NAME_CHARS), " · ", _render_place(file, result.line)]
    if server:
        origin += [" · ", element("span", "on ", cut(server, _MAX_NAME_CHARS), class_="server")]
    words = [_status(result), " ", _name(result), *_marks(result), _time(result)]
    head = element("summary", *words, element("span", *origin, class_="origin"))
    body = [
        *([element("p", cut(result.reason, _MAX_TEXT_CHARS))] if result.reason else []),
        *_fault_parts(result.fault),
        *_difference(result),
        *_mismatch_table(result.mismatches),
        _render_log(result.log),
    ]
    if result.sent and not result.log:
        body.append(_fold("Request", _output("Sent", result.sent)))
    if result.actual is not ABSENT and not result.log:
        answer = element("span", show_json(result.actual, _MAX_ANSWER_CHARS))
        body.append(_fold("Answer", element("pre", answer, tabindex=0)))
    if result.stderr.strip() and not (result.fault and result.fault.evidence.stderr_tail):
        body.append(_output("Standard error during this test", result.stderr))
    body += _notes(result)
    classes = f"failure {_classes(result)}"
    return element("details", head, *body, class_=classes, id=f"f{number}", open=is_open)


def _render_place(file: str, line: int = 0) -> Markup:
    """`file:line`, which editors accept."""
    place = cut(file, _MAX_NAME_CHARS)
    return element("span", Markup(f"{place}:{line}") if line else place, class_="place")


def _classes(result: CaseResult) -> str:
    return f"{result.status} flaky" if result.is_flaky else result.status


def _status(result: CaseResult) -> Markup:
    return element("span", result.status, class_="status")


def _name(result: CaseResult, card: int = 0) -> Markup:
    name = cut(result.name, _MAX_NAME_CHARS)
    return element("span", element("a", name, href=f"#f{card}") if card else name, class_="name")


def _marks(result: CaseResult) -> list[Markup]:
    marks = []
    if result.is_flaky:
        marks.append(_mark(f"flaky: passed at attempt {result.attempts:,}"))
    elif result.attempts > 1:
        marks.append(_mark(f"{result.attempts:,} attempts"))
    if result.not_run:
        marks.append(_mark("not run: this version cannot"))
    for tag in result.tags[:_MAX_TAGS]:
        marks.append(joined([" ", element("span", cut(tag, _MAX_NAME_CHARS), class_="tag")]))
    if more := and_more(result.tags, _MAX_TAGS, "tag"):
        marks.append(element("span", f" {more}", class_="aside"))
    return marks


def _mark(text: str) -> Markup:
    return joined([" ", element("span", text, class_="mark")])


def _time(result: CaseResult) -> Markup:
    if result.status == "skipped":
        return Markup("")
    return joined([" ", element("span", render_duration(result.duration_s), class_="time")])


def _notes(result: CaseResult) -> list[Markup]:
    notes = [
        element("p", "note: ", cut(note, _MAX_TEXT_CHARS), class_="aside")
        for note in result.notes[:_MAX_NOTES]
    ]
    if more := and_more(result.notes, _MAX_NOTES, "note"):
        notes.append(element("p", more, class_="aside"))
    return notes


def _fault_parts(fault: Fault | None) -> list[Markup]:
    if fault is None:
        return []
    # Longer excerpts of the server's output fit here than in a terminal.
    evidence = fault.evidence
    bare = fault.but(evidence=evidence.but(stderr_tail="", stdout_tail=""))
    details = fault_details(bare, verbose=True)
    outputs = (
        ("stderr", evidence.stderr_tail),
        ("body" if evidence.url else "stdout", evidence.stdout_tail),
    )
    return [
        element("p", element("strong", fault_headline(fault), class_="is-error")),
        *([_lines(details)] if details else []),
        *(_output(f"Last {label}", text) for label, text in outputs if text.strip()),
    ]


def _difference(result: CaseResult) -> list[Markup]:
    """The lines of the terminal report: each mismatch, then its place in the answer."""
    if not result.mismatches:
        return []
    bare = result.but(reason="", fault=None, stderr="", notes=())
    lines = render_result(bare, columns=_COLUMNS, verbose=False)
    return [_lines(lines[1:] if lines and not lines[0].text else lines)]


def _lines(lines: Iterable[DiffLine]) -> Markup:
    """Lines of the terminal report, in the colour of their kind."""
    spans = (
        element("span", cut(line.text, _MAX_LINE_CHARS), class_=_LINE_CLASSES.get(line.sign, False))
        for line in lines
    )
    # Focusable, so that long lines can be scrolled with the keyboard.
    return element("pre", *spans, tabindex=0)


def _mismatch_table(mismatches: Sequence[Mismatch]) -> list[Markup]:
    if not mismatches:
        return []
    words = ("path", "expected", "actual", "why", "hint")
    rows = []
    for mismatch in mismatches[:_MAX_MISMATCHES]:
        path = cut(mismatch.path, _MAX_NAME_CHARS) or Markup("(the whole answer)")
        cells = [element("th", element("code", path), scope="row")]
        for side in cut_sides(mismatch, _MAX_VALUE_CHARS - 4):
            value = "(nothing)" if side is ABSENT else show_json(side, _MAX_VALUE_CHARS)
            cells.append(element("td", element("code", value)))
        for text in (mismatch.message, mismatch.hint):
            cells.append(element("td", cut(text, _MAX_TEXT_CHARS)))
        rows.append(element("tr", *cells))
    noun = "mismatch" if len(mismatches) == 1 else "mismatches"
    left_out = and_more(mismatches, _MAX_MISMATCHES)
    values = table(words, rows, left_out=left_out, class_="values")
    return [_fold(f"Table of {len(mismatches):,} {noun}", values)]


def _render_log(log: Sequence[LogLine], *, max_lines: int = _MAX_LOG_LINES) -> Markup:
    """The messages of a test with their times; nothing if they were not kept."""
    if not log:
        return Markup("")
    rows = [
        element(
            "tr",
            element("td", f"{line.at_s * 1000:,.1f} ms", class_="number"),
            element("td", _DIRECTIONS[line.direction], class_="direction"),
            element("td", element("code", cut(line.text, _MAX_LOG_CHARS))),
            class_=line.direction,
        )
        for line in log[:max_lines]
    ]
    hidden = len(log) - max_lines
    left_out = f"… {plural(hidden, 'later line')} left out of this report" if hidden > 0 else ""
    log_table = table(("at", "what", "text"), rows, left_out=left_out, class_="log")
    return _fold(f"Message log ({plural(len(log), 'line')})", log_table)


def _output(label: str, text: str) -> Markup:
    """The last lines of a server's output."""
    lines = text.rstrip("\n").split("\n")
    hidden = len(lines) - _MAX_OUTPUT_LINES
    if hidden > 0:
        lines = [f"… {plural(hidden, 'earlier line')}", *lines[hidden:]]
    shown_lines = (element("span", cut(line, _MAX_OUTPUT_CHARS)) for line in lines)
    return joined([element("h3", label), element("pre", *shown_lines, tabindex=0)])


def _fold(title: str, inner: Markup) -> Markup:
    inside = element("div", inner, class_="scroll")
    return element("details", element("summary", title), inside)


# Durations

_SLOWEST = 10
_MAX_CHART_NAME_CHARS = 120

# Upper ends of the columns, in seconds, each about three times the one before.
_ENDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, float("inf"))

_LABELS = (
    "under 1 ms",
    "1 to 3 ms",
    "3 to 10 ms",
    "10 to 30 ms",
    "30 to 100 ms",
    "100 to 300 ms",
    "0.3 to 1 s",
    "1 to 3 s",
    "3 to 10 s",
    "10 s and more",
)


class _Timing(Record):
    """How long the test with this number on the page took."""

    number: int
    name: str
    duration_s: float


def _render_durations(timings: Sequence[_Timing]) -> Markup:
    """The slowest tests, and how durations are distributed; nothing if no test ran."""
    if not timings:
        return Markup("")
    slowest = nlargest(_SLOWEST, timings, key=lambda timing: timing.duration_s)
    longest = slowest[0].duration_s
    slow_rows = [
        _bar_row(
            element("a", cut(timing.name, _MAX_CHART_NAME_CHARS), href=f"#t{timing.number}"),
            timing.duration_s / longest if longest else 0.0,
            render_duration(timing.duration_s),
        )
        for timing in slowest
    ]
    counts = [0] * len(_ENDS)
    for timing in timings:
        counts[next(at for at, end in enumerate(_ENDS) if timing.duration_s < end)] += 1
    filled = [at for at, count in enumerate(counts) if count]
    rows = [
        _bar_row(_LABELS[at], counts[at] / max(counts), f"{counts[at]:,}")
        for at in range(filled[0], filled[-1] + 1)
    ]
    charts = element(
        "div",
        _chart("Slowest tests", ("test", "took"), slow_rows),
        _chart("All tests by duration", ("took", "tests"), rows),
        class_="charts",
    )
    return element("section", element("h2", "Durations"), charts, id="durations")


def _chart(title: str, heads: tuple[str, str], rows: list[Markup]) -> Markup:
    # The bars repeat the next column, so their column has no header.
    label, value = heads
    return element("div", element("h3", title), table((label, "", value), rows))


def _bar_row(label: str, share: float, value: str) -> Markup:
    return element(
        "tr",
        element("th", label, scope="row"),
        element("td", _bar(share), class_="chart"),
        element("td", value, class_="number"),
    )


def _bar(share: float, class_: str = "") -> Markup:
    """A bar that fills this part (0 to 1) of its box. The value is written beside it."""
    # A small value must not look like none.
    width = f"{max(0.5, 100 * share):.1f}" if share else "0"
    rectangle = element("rect", width=width, height=8)
    box = {"viewBox": "0 0 100 8", "preserveAspectRatio": "none"}
    return element("svg", rectangle, aria_hidden="true", class_=class_ or False, **box)


# Coverage

_MAX_OFFERS = 1_000
_MAX_PROPERTIES = 100

_KINDS = {
    "tool": "tool",
    "resource": "resource",
    "resourceTemplate": "resource template",
    "prompt": "prompt",
}


def _render_coverage(coverage: Sequence[ServerCoverage]) -> Markup:
    """A table for each server; nothing if coverage was not measured."""
    if not coverage:
        return Markup("")
    parts = [element("h2", "Coverage")]
    for server in coverage:
        parts.append(element("h3", cut(server.server, _MAX_NAME_CHARS), class_="name"))
        hit, whole = server.points
        if not whole:
            parts.append(element("p", "This server offers nothing."))
            continue
        counts = f"{hit:,} of {whole:,} offers and input properties exercised"
        rows = [_offer_row(offer) for offer in server.offers[:_MAX_OFFERS]]
        words = ("kind", "name", "calls", "input properties")
        offers = table(words, rows, left_out=and_more(server.offers, _MAX_OFFERS))
        parts += [
            element("p", f"{percent_text([server])}: {counts}"),
            _bar(hit / whole, "share"),
            element("div", offers, class_="scroll"),
        ]
    return element("section", *parts, id="coverage")


def _offer_row(offer: CoveredOffer) -> Markup:
    given, missing = [], []
    for each in offer.properties[:_MAX_PROPERTIES]:
        name = cut(each.name, _MAX_NAME_CHARS)
        if each.calls:
            given.append(joined([name, f" ({each.calls:,})"]))
        else:
            missing.append(name)
    properties = []
    if given:
        properties.append(element("div", "given: ", joined(given, ", ")))
    if missing:
        never = element("span", "never given: ", class_="never")
        properties.append(element("div", never, joined(missing, ", ")))
    if more := and_more(offer.properties, _MAX_PROPERTIES):
        properties.append(element("div", more, class_="aside"))
    return element(
        "tr",
        element("td", _KINDS[offer.kind]),
        element("th", cut(offer.name, _MAX_NAME_CHARS), scope="row"),
        element(
            "td",
            f"{offer.calls:,}" if offer.calls else element("span", "never called", class_="never"),
        ),
        element("td", *properties),
    )


# Findings and diagnostics

_MAX_FINDINGS = 500
_MAX_DIAGNOSTICS = 500


def _render_findings(findings: Sequence[Finding], server: str) -> Markup:
    """The rules that servers broke without failing a test."""
    if not findings:
        return Markup("")
    rows = []
    for finding in findings[:_MAX_FINDINGS]:
        what = [element("div", cut(finding.message, _MAX_TEXT_CHARS))]
        if finding.server not in ("", server):
            what.append(element("div", "server: ", cut(finding.server, _MAX_NAME_CHARS)))
        if finding.quote:
            what.append(element("div", element("code", cut(finding.quote, _MAX_TEXT_CHARS))))
        kind = element("td", cut(finding.kind, _MAX_NAME_CHARS))
        count = element("td", f"{finding.count:,}", class_="number")
        rows.append(element("tr", kind, element("td", *what), count))
    words = ("kind", "what happened", "times")
    whole = table(words, rows, left_out=and_more(findings, _MAX_FINDINGS))
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
                element("span", cut(line, _MAX_TEXT_CHARS))
                for line in render_diagnostic(diagnostic).split("\n")
            ),
            tabindex=0,
        )
        for diagnostic in diagnostics[:_MAX_DIAGNOSTICS]
    ]
    if more := and_more(diagnostics, _MAX_DIAGNOSTICS):
        blocks.append(element("p", more, class_="aside"))
    return element("section", element("h2", title), *blocks, id=title.lower())
