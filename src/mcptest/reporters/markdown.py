"""The report for a job summary or a comment: Markdown that is the same wherever it is shown.

Events go in, text comes out. Strings from a file or a server are in code spans and fences, where
they are neither markup nor HTML, mention no one and link to nothing.
"""

from __future__ import annotations

import re

from mcptest.core.text import defuse, excerpt, plural
from mcptest.reporters.failure_text import (
    SeenFailures,
    case_place,
    case_title,
    diagnostic_line,
    fault_details,
    fault_headline,
    render_result,
    shown_server,
    stderr_lines,
)
from mcptest.reporters.run_model import CollectedRun
from mcptest.reporters.style import (
    ending_line,
    never_exercised,
    not_run_line,
    percent_text,
    render_duration,
    times,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest.core.events import SuiteStarted
    from mcptest.core.results import CaseResult

__all__ = ["MarkdownReporter", "code_cell", "code_span", "fenced", "render_table"]

_COLUMNS = 100
# A comment on GitHub holds 65,536 characters; the rest is left for the tables.
_MAX_FAILURE_CHARS = 40_000
_MAX_FAILURES = 50
_MAX_ROWS = 100
_MAX_NAMES = 20
_MAX_TEXT_CHARS = 400


class MarkdownReporter(CollectedRun):
    """A listener that renders verdict, tables and failures."""

    def render(self) -> str:
        """The page of what has happened so far."""
        blocks = [f"## mcptest: {self._verdict()}", *self._run_blocks()]
        if self.suites:
            blocks.append(self._suite_table())
        blocks += self._failure_blocks()
        blocks += self._list_blocks()
        offering = [server for server in self.finished.coverage if server.offers]
        if offering:
            rows = []
            for server in offering[:_MAX_ROWS]:
                never = []
                for label, names in never_exercised(server):
                    hidden = len(names) - _MAX_NAMES
                    more = f", … and {hidden:,} more" if hidden > 0 else ""
                    never.append(f"{label}: {', '.join(map(code_cell, names[:_MAX_NAMES]))}{more}")
                left = "; ".join(never) or "nothing is left"
                rows.append((code_cell(server.server), percent_text([server]), left))
            table = render_table(("server", "coverage", "not exercised"), rows)
            blocks += ["### Coverage", table]
        return defuse("\n\n".join(blocks) + "\n")

    def _verdict(self) -> str:
        finished, summary = self.finished, self.finished.summary
        bad = summary.failed + summary.errors
        flaky = f", {summary.flaky:,} of them flaky" if summary.flaky else ""
        skipped = f", {summary.skipped:,} skipped" if summary.skipped else ""
        passed = f"{plural(summary.passed, 'test')} passed{flaky}{skipped}"
        verdicts = (
            (finished.fault, "no test could run"),
            (bad, f"{bad:,} of {plural(summary.total, 'test')} did not pass"),
            (finished.interrupted, f"interrupted, {passed}"),
            (
                finished.not_run and not finished.may_leave_out,
                f"{passed}, but {plural(finished.not_run, 'declared test')} cannot be run",
            ),
            (finished.broken_rules, f"{passed}, but a rule was broken"),
            (finished.missed_gates, f"{passed}, but a gate was missed"),
            (not summary.passed, "no test ran"),
        )
        return next((verdict for holds, verdict in verdicts if holds), passed)

    def _run_blocks(self) -> Iterator[str]:
        """Problems of the whole run."""
        finished = self.finished
        mistakes = [each for each in self.started.warnings if each.severity == "error"]
        if finished.fault is not None:
            details = fault_details(finished.fault, verbose=True)
            yield fenced([fault_headline(finished.fault), *(line.text for line in details)])
        if mistakes:
            yield fenced([diagnostic_line(each) for each in mistakes[:_MAX_ROWS]])
        ending = ending_line(self.started, finished)
        if ending:
            yield f"**{ending[:1].upper()}{ending[1:]}.**"
        if finished.broken_rules:
            yield f"**Rules broken:** {code_span(', '.join(finished.broken_rules))}"
        for gate in finished.missed_gates:
            yield f"**Gate missed:** {code_span(gate)}"
        if finished.not_run:
            yield f"**{not_run_line(finished)}.**"

    def _suite_table(self) -> str:
        rows = []
        for suite, results in self.suites[:_MAX_ROWS]:
            name, server = code_cell(suite.name or suite.file), shown_server(self.started, suite)
            rows.append((f"{name} on {code_cell(server)}" if server else name, *_counts(results)))
        hidden = len(self.suites) - _MAX_ROWS
        if hidden > 0:
            rest = [result for _, results in self.suites[_MAX_ROWS:] for result in results]
            rows.append((f"… {plural(hidden, 'more suite')}", *_counts(rest)))
        everything = [result for _, results in self.suites for result in results]
        if len(self.suites) > 1:
            took = render_duration(self.finished.duration_s)
            rows.append(("all", *_counts(everything)[:-1], took))
        header = ("suite", "passed", "failed", "errors", "skipped", "time")
        return render_table(header, rows, is_numeric=True)

    def _failure_blocks(self) -> Iterator[str]:
        failures = self.failures()
        if not failures:
            return
        yield "### Failures"
        seen, room = SeenFailures(), _MAX_FAILURE_CHARS
        for at, (suite, result) in enumerate(failures):
            title = case_title(self.started, suite, result)
            same_as = seen.first_like(result, title)
            stderr = seen.new_stderr(result)
            block = f"#### {code_span(title)}\n\n{code_span(case_place(suite, result))}"
            if same_as is None:
                shown = render_result(result, columns=_COLUMNS, verbose=False)
                block += f"\n\n{fenced([line.text for line in shown])}"
            else:
                block += f": the same as {code_span(same_as)}"
                if shown := stderr_lines(stderr):
                    block += f"\n\n{fenced([line.text for line in shown])}"
            room -= len(block)
            if at == _MAX_FAILURES or room < 0:
                yield f"… and {plural(len(failures) - at, 'more failure')}."
                return
            yield block

    def _case_span(self, suite: SuiteStarted, result: CaseResult) -> str:
        return code_span(case_title(self.started, suite, result))

    def _list_blocks(self) -> Iterator[str]:
        lists = {
            "Flaky": [
                f"{self._case_span(suite, result)} passed on attempt {result.attempts:,}"
                for suite, result in self.flaky()
            ],
            "Notes about tests": [
                f"{self._case_span(suite, result)}: {code_span(note)}"
                for suite, result in self.noted()
                for note in result.notes
            ],
            "Not run": [
                f"{self._case_span(suite, result)}: {code_span(result.reason)}"
                for suite, result in self.not_run()
            ],
            "Notes about the server": [
                f"{code_span(each.message)}{times(each.count)}" for each in self.finished.findings
            ],
            "Warnings": [
                code_span(diagnostic_line(each))
                for each in self.started.warnings
                if each.severity != "error"
            ],
        }
        for title, items in lists.items():
            if items:
                hidden = len(items) - _MAX_ROWS
                more = [f"… and {hidden:,} more"] if hidden > 0 else []
                yield f"### {title}"
                yield "\n".join(f"- {item}" for item in (*items[:_MAX_ROWS], *more))


def _counts(results: Sequence[CaseResult]) -> tuple[str, ...]:
    statuses = [result.status for result in results]
    took = render_duration(sum(result.duration_s for result in results))
    counts = (statuses.count(each) for each in ("passed", "failed", "error", "skipped"))
    return (*(f"{count:,}" for count in counts), took)


def render_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, is_numeric: bool = False
) -> str:
    """A table of cells that are Markdown already; numbers are on the right of their cells."""
    others = "---:" if is_numeric else "---"
    rule = ["---", *[others] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


def code_span(text: str) -> str:
    """`text` between enough backticks, on one line, and never empty."""
    text = excerpt(text, _MAX_TEXT_CHARS).strip() or "(nothing)"
    ticks = "`" * (_longest_run(text) + 1)
    # A backtick at either end would join the delimiter.
    room = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{room}{text}{room}{ticks}"


def code_cell(text: str) -> str:
    """A code span for a table, where a bar ends the cell even inside code.

    A backslash before a bar would be removed with it, so it is doubled.
    """
    return code_span(text.replace("\\|", "\\\\|")).replace("|", "\\|")


def fenced(lines: Sequence[str], language: str = "text") -> str:
    """Lines in a fence that is longer than any inside."""
    body = "\n".join(lines).strip("\n")
    fence = "`" * max(3, _longest_run(body) + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
