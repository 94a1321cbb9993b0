"""One test on the page: a row in the list of its suite, and a card when it did not pass.

A result goes in, markup comes out: escaped, and cut where a server could make it endless.
How many of them there are, and in which order, is not known here.
"""

from __future__ import annotations

from mcptest.core.record import ABSENT
from mcptest.core.text import plural, show_json
from mcptest.reporters.failure_text import fault_details, fault_headline, render_result
from mcptest.reporters.headline import headline
from mcptest.reporters.html_markup import Markup, cut, element, joined
from mcptest.reporters.wording import render_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest.core.outcome import CaseResult, Fault, LogLine, Mismatch
    from mcptest.matching.diff import DiffLine

__all__ = [
    "render_card",
    "render_lines",
    "render_log",
    "render_output",
    "render_place",
    "render_row",
    "render_run_fault",
]

MAX_NAME_CHARS = 300
MAX_TEXT_CHARS = 1_000
MAX_TAGS = 20
MAX_NOTES = 50
MAX_MISMATCHES = 200
MAX_VALUE_CHARS = 2_000
MAX_ANSWER_CHARS = 20_000
MAX_LINE_CHARS = 2_000
MAX_LOG_LINES = 200
MAX_LOG_CHARS = 2_000
MAX_OUTPUT_LINES = 200
MAX_OUTPUT_CHARS = 1_000
# Nothing wraps in a diff on the page, so carets may stand under any value shown whole.
COLUMNS = 300

_LINE_CLASSES = {"-": "wanted", "+": "came", "^": "pointer", "…": "aside"}
_DIRECTIONS = {"sent": "→ sent", "received": "← received", "stderr": "stderr", "noise": "noise"}


def render_row(result: CaseResult, number: int, *, has_card: bool, log: Markup) -> Markup:
    """A test in the list. One that has a card leads there, any other opens in place."""
    head = [_status(result), " ", _name(result, number if has_card else 0), *_marks(result)]
    head.append(_time(result))
    more = Markup("") if has_card else joined([*_row_reason(result), *_notes(result), log])
    inner = element("details", element("summary", *head), more) if more else joined(head)
    return element("li", inner, class_=_classes(result), id=f"t{number}")


def render_card(
    result: CaseResult, number: int, suite: str, file: str, *, server: str, is_open: bool = True
) -> Markup:
    """Everything there is to say about a test that failed or broke.

    `server` is "" where it goes without saying.
    """
    origin = [cut(suite, MAX_NAME_CHARS), " · ", render_place(file, result.line)]
    if server:
        origin += [" · ", element("span", "on ", cut(server, MAX_NAME_CHARS), class_="server")]
    words = [_status(result), " ", _name(result), *_marks(result), _time(result)]
    head = element("summary", *words, element("span", *origin, class_="origin"))
    body = [
        *_reasons(result),
        *_fault_parts(result.fault),
        *_difference(result),
        *_mismatch_table(result.mismatches),
        render_log(result.log),
        *_conversation(result),
        *_stderr(result),
        *_notes(result),
    ]
    classes = f"failure {_classes(result)}"
    return element("details", head, *body, class_=classes, id=f"f{number}", open=is_open)


def render_run_fault(fault: Fault) -> Markup:
    """What kept every test from running."""
    return joined(_fault_parts(fault))


def render_place(file: str, line: int = 0) -> Markup:
    """Where a test is written, in the form that editors take."""
    place = cut(file, MAX_NAME_CHARS)
    return element("span", Markup(f"{place}:{line}") if line else place, class_="place")


def render_log(log: Sequence[LogLine], *, max_lines: int = MAX_LOG_LINES) -> Markup:
    """What was said during a test, and when; nothing when nobody listened."""
    if not log:
        return Markup("")
    rows = [_log_row(line) for line in log[:max_lines]]
    if len(log) > max_lines:
        left_out = f"{plural(len(log) - max_lines, 'later line')} left out of this report"
        rows.append(element("tr", element("td", f"… {left_out}", colspan=3)))
    heads = element("tr", *(element("th", word, scope="col") for word in ("at", "what", "text")))
    table = element("table", element("thead", heads), element("tbody", *rows), class_="log")
    return _folded(f"Message log ({plural(len(log), 'line')})", table)


def render_output(label: str, text: str) -> Markup:
    """The last lines of what a server has written."""
    lines = text.rstrip("\n").split("\n")
    hidden = len(lines) - MAX_OUTPUT_LINES
    if hidden > 0:
        lines = [f"… {plural(hidden, 'earlier line')}", *lines[hidden:]]
    shown_lines = (element("span", cut(line, MAX_OUTPUT_CHARS)) for line in lines)
    return joined([element("h3", label), element("pre", *shown_lines, tabindex=0)])


def render_lines(lines: Iterable[DiffLine]) -> Markup:
    """Lines of the reports for people, in the colour of their kind."""
    spans = (
        element("span", cut(line.text, MAX_LINE_CHARS), class_=_LINE_CLASSES.get(line.sign, False))
        for line in lines
    )
    # Reached with the keyboard, because a long line has to be scrolled.
    return element("pre", *spans, tabindex=0)


def _classes(result: CaseResult) -> str:
    return f"{result.status} flaky" if result.is_flaky else result.status


def _status(result: CaseResult) -> Markup:
    return element("span", result.status, class_="status")


def _name(result: CaseResult, card: int = 0) -> Markup:
    name = cut(result.name, MAX_NAME_CHARS)
    return element("span", element("a", name, href=f"#f{card}") if card else name, class_="name")


def _marks(result: CaseResult) -> list[Markup]:
    marks = []
    if result.is_flaky:
        marks.append(_mark(f"flaky: passed at attempt {result.attempts:,}"))
    elif result.attempts > 1:
        marks.append(_mark(f"{result.attempts:,} attempts"))
    if result.not_run:
        marks.append(_mark("not run: this version cannot"))
    for tag in result.tags[:MAX_TAGS]:
        marks.append(joined([" ", element("span", cut(tag, MAX_NAME_CHARS), class_="tag")]))
    hidden = len(result.tags) - MAX_TAGS
    if hidden > 0:
        marks.append(element("span", f" … and {plural(hidden, 'more tag')}", class_="aside"))
    return marks


def _mark(text: str) -> Markup:
    return joined([" ", element("span", text, class_="mark")])


def _time(result: CaseResult) -> Markup:
    if result.status == "skipped":
        return Markup("")
    return joined([" ", element("span", render_duration(result.duration_s), class_="time")])


def _reasons(result: CaseResult) -> list[Markup]:
    return [element("p", cut(result.reason, MAX_TEXT_CHARS))] if result.reason else []


def _row_reason(result: CaseResult) -> list[Markup]:
    """Why a test was skipped; or why it did not pass, where no card has room to tell."""
    is_bad = result.status in ("failed", "error")
    text = headline(result) if is_bad else result.reason
    return [element("p", cut(text, MAX_TEXT_CHARS))] if text else []


def _notes(result: CaseResult) -> list[Markup]:
    notes = [
        element("p", "note: ", cut(note, MAX_TEXT_CHARS), class_="aside")
        for note in result.notes[:MAX_NOTES]
    ]
    hidden = len(result.notes) - MAX_NOTES
    if hidden > 0:
        notes.append(element("p", f"… and {plural(hidden, 'more note')}", class_="aside"))
    return notes


def _fault_parts(fault: Fault | None) -> list[Markup]:
    if fault is None:
        return []
    # What the server wrote has more room here than in a terminal.
    evidence = fault.evidence
    bare = fault.but(evidence=evidence.but(stderr_tail="", stdout_tail=""))
    details = fault_details(bare, verbose=True)
    outputs = (
        ("stderr", evidence.stderr_tail),
        ("body" if evidence.url else "stdout", evidence.stdout_tail),
    )
    return [
        element("p", element("strong", fault_headline(fault), class_="is-error")),
        *([render_lines(details)] if details else []),
        *(render_output(f"Last {label}", text) for label, text in outputs if text.strip()),
    ]


def _difference(result: CaseResult) -> list[Markup]:
    """The same lines as in the terminal: each mismatch, then its place in the answer."""
    if not result.mismatches:
        return []
    bare = result.but(reason="", fault=None, stderr="", notes=())
    lines = render_result(bare, columns=COLUMNS, verbose=False)
    return [render_lines(lines[1:] if lines and not lines[0].text else lines)]


def _mismatch_table(mismatches: Sequence[Mismatch]) -> list[Markup]:
    if not mismatches:
        return []
    words = ("path", "expected", "actual", "why", "hint")
    heads = element("tr", *(element("th", word, scope="col") for word in words))
    rows = [_mismatch_row(mismatch) for mismatch in mismatches[:MAX_MISMATCHES]]
    hidden = len(mismatches) - MAX_MISMATCHES
    if hidden > 0:
        rows.append(element("tr", element("td", f"… and {hidden:,} more", colspan=len(words))))
    table = element("table", element("thead", heads), element("tbody", *rows), class_="values")
    noun = "mismatch" if len(mismatches) == 1 else "mismatches"
    return [_folded(f"Table of {len(mismatches):,} {noun}", table)]


def _mismatch_row(mismatch: Mismatch) -> Markup:
    path = cut(mismatch.path, MAX_NAME_CHARS) or Markup("(the whole answer)")
    sides = [_value(side) for side in (mismatch.expected, mismatch.actual)]
    words = [cut(text, MAX_TEXT_CHARS) for text in (mismatch.message, mismatch.hint)]
    return element(
        "tr",
        element("th", element("code", path), scope="row"),
        *(element("td", element("code", side)) for side in sides),
        *(element("td", text) for text in words),
    )


def _value(value: object) -> str:
    return "(nothing)" if value is ABSENT else show_json(value, MAX_VALUE_CHARS)


def _log_row(line: LogLine) -> Markup:
    return element(
        "tr",
        element("td", f"{line.at_s * 1000:,.1f} ms", class_="number"),
        element("td", _DIRECTIONS[line.direction], class_="direction"),
        element("td", element("code", cut(line.text, MAX_LOG_CHARS))),
        class_=line.direction,
    )


def _conversation(result: CaseResult) -> list[Markup]:
    """What was sent and answered, for a test that has no log to show it."""
    if result.log:
        return []
    parts = []
    if result.sent:
        parts.append(_folded("Request", render_output("Sent", result.sent)))
    if result.actual is not ABSENT:
        answer = element(
            "pre", element("span", show_json(result.actual, MAX_ANSWER_CHARS)), tabindex=0
        )
        parts.append(_folded("Answer", answer))
    return parts


def _stderr(result: CaseResult) -> list[Markup]:
    has_told = result.fault is not None and result.fault.evidence.stderr_tail
    if has_told or not result.stderr.strip():
        return []
    return [render_output("Standard error during this test", result.stderr)]


def _folded(title: str, inner: Markup) -> Markup:
    inside = element("div", inner, class_="scroll")
    return element("details", element("summary", title), inside)
