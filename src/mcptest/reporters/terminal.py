"""The report that a person reads while the run goes on, with a progress line on a terminal.

Events go in, text goes to the stream, one write per event. The caller finds out whether the stream
is a terminal, how wide it is and whether it takes colour. Nothing from a server or a file reaches
the stream unescaped. What only some runs need is imported where it is used.
"""

from __future__ import annotations

import time

from mcptest.core.events import (
    CaseFinished,
    CaseStarted,
    RunFinished,
    RunStarted,
    ServerStarting,
    SuiteFinished,
    SuiteStarted,
)
from mcptest.core.text import defuse, excerpt, plural, visible
from mcptest.reporters.style import (
    Paint,
    coverage_lines,
    encode_narrow,
    ending_line,
    narrow_encoding,
    not_run_line,
    render_duration,
    snapshot_counts,
    status_marks,
    times,
    totals,
    wrap_detail,
    wrap_line,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import Event
    from mcptest.core.results import CaseResult, Finding, LogWish, SnapshotReport
    from mcptest.reporters.failure_text import SeenFailures
    from mcptest.reporters.style import TextSink

__all__ = [
    "Progress",
    "TerminalReporter",
    "finding_lines",
    "snapshot_lines",
]


_DETAIL_INDENT = " " * 6
# The columns taken by _DETAIL_INDENT and the label in front of a value.
_VALUE_COLUMN = 18
_MAX_NAME_CHARS = 80
_MAX_MESSAGE_CHARS = 1_000
_MAX_QUOTE_CHARS = 300


class TerminalReporter:
    """A listener that writes each event of a run to `stream` as text.

    With `quiet`, only tests that did not pass are shown, and no coverage. `durations` is the number
    of slowest tests to list at the end; 0 lists all.
    """

    wants_log: LogWish = ""

    def __init__(
        self,
        stream: TextSink,
        *,
        colour: bool,
        live: bool,
        width: int,
        verbose: bool,
        quiet: bool = False,
        durations: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._paint = Paint(on=colour)
        self._live = live
        self._width = width
        self._verbose = verbose
        self._quiet = quiet
        self._durations = durations
        # How long each test took, and its suite, if the slowest are to be listed.
        self._took: list[tuple[float, SuiteStarted, CaseResult]] = []
        # The title of a suite of which nothing is shown yet.
        self._title: list[str] = []
        self._clock = clock
        self._encoding = narrow_encoding(stream)
        self._marks = status_marks(self._paint, self._encoding)
        self._progress: Progress | None = None
        self._run = RunStarted(started_at="", server="", suites=0, total=0)
        self._suite = SuiteStarted(name="", file="", format="", server="", total=0)
        self._finished = 0
        self._seen: SeenFailures | None = None
        # The warnings to show, if not all of them are to be shown.
        self.warnings: tuple[Diagnostic, ...] | None = None
        # True if the last line written is empty, or nothing is written yet.
        self._after_gap = True

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseFinished):
            self._case_finished(event.result)
        elif isinstance(event, CaseStarted):
            self._case_started(event)
        elif isinstance(event, SuiteStarted):
            self._suite_started(event)
        elif isinstance(event, SuiteFinished):
            self._stream.flush()
        elif isinstance(event, RunStarted):
            self._run_started(event)
        elif isinstance(event, ServerStarting):
            self._announce_start(0)
        elif isinstance(event, RunFinished):
            lines = self._wrapped(self._closing_lines(event))
            self._write([*self._gap(), *lines])
            self._stream.flush()

    def tick(self) -> None:
        """Redraw the progress line if it is due; call this while waiting."""
        if self._progress is not None:
            text = self._progress.draw(self._clock())
            if text:
                self._stream.write(encode_narrow(text, self._encoding))
                self._stream.flush()

    def _run_started(self, event: RunStarted) -> None:
        self._run = event
        lines: list[str] = []
        for warning in event.warnings if self.warnings is None else self.warnings:
            from mcptest.core.diagnostics import render_diagnostic  # noqa: PLC0415  # rare

            first, *rest = render_diagnostic(warning).split("\n")
            lines += [self._paint.yellow(first), *rest, ""]
        if event.server and not self._quiet:
            lines += [self._paint.bold(visible(event.server)), ""]
        self._write(lines)
        self._announce_start(event.total)

    def _announce_start(self, total: int) -> None:
        """Show what is done before the first case begins."""
        if self._live:
            self._progress = Progress(width=self._width, total=total, now=self._clock())
            self._progress.announce(encode_narrow("starting the server …", self._encoding))

    def _suite_started(self, event: SuiteStarted) -> None:
        self._suite = event
        title = self._paint.bold(visible(event.name))
        if event.file != event.name:
            title += f"  {self._paint.dim(visible(event.file))}"
        if event.server not in ("", self._run.server):
            title += f"  {self._paint.dim('on ' + visible(event.server))}"
        if self._quiet:
            self._title = [title]
        else:
            self._write([*self._gap(), title])

    def _case_started(self, event: CaseStarted) -> None:
        if self._progress is not None:
            # Escaped before it is measured: an escape is longer than its character.
            names = (visible(self._suite.name), visible(event.name))
            suite, case = (encode_narrow(name, self._encoding) for name in names)
            self._progress.show(self._finished + 1, suite, case)
            self.tick()

    def _case_finished(self, result: CaseResult) -> None:
        self._finished += 1
        has_failed = result.status in ("failed", "error")
        if self._durations is not None and result.status != "skipped":
            self._took.append((result.duration_s, self._suite, result))
        if self._quiet and not has_failed:
            return
        same_as, details = "", list[str]()
        if has_failed or result.notes or self._verbose:
            same_as, details = self._details(result)
        paint = self._paint
        # After the name, how long the test took, or why it was skipped.
        if result.status == "skipped":
            word = "not run" if result.not_run else "skipped"
            reason = f": {visible(result.reason)}" if result.reason else ""
            note = paint.yellow(f"({word}{reason})")
        else:
            note = render_duration(result.duration_s)
            if result.attempts > 1:
                note += f", {plural(result.attempts, 'attempt')}"
            if result.repeats > 1:
                note += f", {result.repeats:,} times"
            note = paint.dim(f"({note}){same_as}")
            if result.is_flaky:
                note += f" {paint.yellow('flaky')}"
        title = f"  {self._marks[result.status]} {visible(result.name)} {note}"
        lines = self._wrapped([title]) + details
        if has_failed and len(lines) > 1:
            lines.append("")
        if self._title:
            lines = [*self._gap(), *self._title, *lines]
            self._title = []
        self._write(lines)

    def _details(self, result: CaseResult) -> tuple[str, list[str]]:
        """Which earlier failure has the same cause, "" if none; and the lines below the title."""
        from mcptest.reporters.failure_text import (  # noqa: PLC0415  # not for runs that pass
            SeenFailures,
            note_lines,
            place_line,
            render_result,
            shown_server,
            stderr_lines,
        )

        if self._seen is None:
            self._seen = SeenFailures()
        same_as: str | None = None
        if result.fault is not None:
            same_as = self._seen.first_like(result, " same cause as above")
        # With -v every test shows what it sent and what came back.
        elif result.mismatches and not self._verbose:
            name = excerpt(result.name, _MAX_NAME_CHARS)
            server = shown_server(self._run, self._suite)
            label = f' same as "{name}"' + (f" on {server}" if server else "")
            same_as = self._seen.first_like(result, label)
        new_stderr = self._seen.new_stderr(result)
        if same_as is None and result.status in ("failed", "error"):
            columns, verbose = self._width - _VALUE_COLUMN, self._verbose
            lines = render_result(result, columns=columns, verbose=verbose, is_on_terminal=True)
            lines.insert(0, place_line(self._suite.file, result.line))
        else:
            lines = note_lines(result)
            if same_as is None and self._verbose:
                lines += stderr_lines(result.stderr)
            lines += stderr_lines(new_stderr)
        if self._live:
            columns = self._width - len(_DETAIL_INDENT)
            lines = [
                line.but(text=part) for line in lines for part in wrap_detail(line.text, columns)
            ]
        painted = [
            _DETAIL_INDENT + self._paint.diff_line(line) if line.text else "" for line in lines
        ]
        return same_as or "", painted

    def _closing_lines(self, finished: RunFinished) -> list[str]:
        """Everything after the last case."""
        paint = self._paint
        lines: list[str] = []
        for finding in finished.findings:
            lines += [*finding_lines(finding, self._run.server, paint), ""]
        fault = finished.fault
        if fault is not None:
            from mcptest.reporters.failure_text import fault_details  # noqa: PLC0415  # as above

            is_shown = self._seen is not None and self._seen.has_shown(fault)
            above = " (see above)" if is_shown else ""
            details = [] if is_shown else fault_details(fault, verbose=True)
            lines.append(f"{paint.red('error:')} {_cut(fault.message)}{above}")
            lines += [*(paint.diff_line(line) for line in details), ""]
        coverage = () if self._quiet else finished.coverage
        lines += _section(coverage_lines(coverage, whole=self._verbose))
        if finished.matrix:
            from mcptest.reporters.matrix import matrix_lines  # noqa: PLC0415  # rare

            lines += _section(matrix_lines(finished.matrix, paint))
        if self._verbose:
            lines += _section(
                f"{visible(each.server)}  {visible(each.url) or 'stdio'}, {visible(each.revision)}"
                for each in finished.server_revisions
            )
        lines += _section(self._slowest())
        lines.append(totals(finished.summary, finished.duration_s, paint))
        if finished.broken_rules:
            lines.append(paint.red(f"rules broken: {_cut_list(finished.broken_rules)}"))
        if finished.snapshots:
            lines += snapshot_lines(finished.snapshots, paint)
        lines += [paint.red(f"gate missed: {_cut(gate)}") for gate in finished.missed_gates]
        not_run = not_run_line(finished)
        if not_run:
            lines.append(paint.yellow(not_run) if finished.may_leave_out else paint.red(not_run))
        ending = ending_line(self._run, finished)
        if ending:
            lines.append(paint.red(ending) if finished.interrupted else paint.yellow(ending))
        if finished.interrupted and finished.interrupted_in:
            name = excerpt(finished.interrupted_in, _MAX_QUOTE_CHARS)
            lines.append(f'  in the middle of "{name}"; its call may have taken effect')
        return lines

    def _slowest(self) -> list[str]:
        """The slowest tests, slowest first."""
        took = sorted(self._took, key=lambda each: -each[0])[: self._durations or None]
        if not took:
            return []
        title = "the slowest test:" if len(took) == 1 else f"the {len(took):,} slowest tests:"
        lines = [self._paint.bold(title)]
        for seconds, suite, result in took:
            place = self._paint.dim(f"{visible(suite.file)}:{result.line}")
            lines.append(f"  {render_duration(seconds):>8}  {visible(result.name)}  {place}")
        return lines

    def _wrapped(self, lines: list[str]) -> list[str]:
        """On a terminal, lines that fit; programs get them whole."""
        if not self._live:
            return lines
        return [part for line in lines for part in wrap_line(line, self._width)]

    def _gap(self) -> list[str]:
        return [] if self._after_gap else [""]

    def _write(self, lines: list[str]) -> None:
        """Everything but the progress line is written here, made safe to print."""
        if not lines:
            return
        self._after_gap = not lines[-1]
        text = encode_narrow(defuse("\n".join(lines)) + "\n", self._encoding)
        if self._progress is None:
            self._stream.write(text)
            return
        self._stream.write(self._progress.clear() + text)
        self._stream.flush()


# Lines of the report


def finding_lines(finding: Finding, server: str, paint: Paint) -> list[str]:
    """One finding, with its server unless that is the one of the run."""
    text = _cut(finding.message) + times(finding.count)
    if finding.server not in ("", server):
        text += f" [{visible(finding.server)}]"
    lines = [f"{paint.yellow('note:')} {text}"]
    if finding.quote:
        lines.append(f"      {excerpt(finding.quote, _MAX_QUOTE_CHARS)}")
    return lines


def snapshot_lines(report: SnapshotReport, paint: Paint) -> list[str]:
    """Counts of snapshots, and those that are stale, held back or unstable."""
    yellow = paint.yellow
    lines = snapshot_counts(report)
    for file, keys in report.stale.items():
        text = f"{plural(len(keys), 'stale snapshot')} of {visible(file)}: {_cut_list(keys)}"
        lines.append(yellow(f"{text} (--update-snapshots removes what no test asks for)"))
    for file, keys in report.held.items():
        text = f"{plural(len(keys), 'snapshot')} of {visible(file)} held back: {_cut_list(keys)}"
        lines.append(yellow(f"{text} (only what a test passes with is accepted)"))
    for file, keys in report.unstable.items():
        text = f"snapshots of {visible(file)} that varied: {_cut_list(keys)}"
        lines.append(yellow(text))
    return lines


def _section(lines: Iterable[str]) -> list[str]:
    """The lines and a gap; nothing if there are none."""
    found = list(lines)
    return [*found, ""] if found else []


def _cut_list(names: Iterable[str]) -> str:
    return _cut(", ".join(names))


def _cut(text: str) -> str:
    return excerpt(text, _MAX_MESSAGE_CHARS)


# The progress line

# A short run needs no progress line, and it must not flash.
_FIRST_AFTER_S = 0.2
_REDRAW_EVERY_S = 0.1

_BETWEEN = " › "


class Progress:
    """The wanted and the drawn content of the line, and when it may change."""

    def __init__(self, *, width: int, total: int, now: float) -> None:
        # The last column stays empty: some terminals wrap when it is filled.
        self._cells = max(width - 1, 1)
        self._total = total
        self._due = now + _FIRST_AFTER_S
        self._wanted: tuple[str, str, str] | None = None
        self._drawn = 0

    def show(self, number: int, suite: str, case: str) -> None:
        """Set the running case; `draw` writes it. Both names must be safe to print."""
        digits = len(str(self._total))
        self._wanted = f"  [{number:>{digits}}/{self._total}] ", suite, case

    def announce(self, text: str) -> None:
        """Set what is done before the first case begins."""
        self._wanted = "  ", "", text

    def draw(self, now: float) -> str:
        """What to write to update the line; "" if it is too early."""
        if not self._wanted or now < self._due:
            return ""
        self._due = now + _REDRAW_EVERY_S
        line, cells = _render_progress(*self._wanted, self._cells)
        self._wanted = None
        text = self.erase() + line
        self._drawn = cells
        return text

    def clear(self) -> str:
        """What to write before anything else is printed."""
        self._wanted = None
        return self.erase()

    def erase(self) -> str:
        text = f"\r{' ' * self._drawn}\r" if self._drawn else ""
        self._drawn = 0
        return text


def _render_progress(head: str, suite: str, case: str, limit: int) -> tuple[str, int]:
    """The line cut to `limit` cells, and the cells it takes.

    The name of the suite is cut first, since it changes less often, but keeps a third of the room.
    """
    room = limit - _count_cells(head)
    where = f"{suite}{_BETWEEN}" if suite else ""
    left = max(room - _count_cells(case), room // 3)
    if _count_cells(where) > left:
        name, _ = _fit(suite, left - _count_cells(f"…{_BETWEEN}"))
        where = f"{name.rstrip()}…{_BETWEEN}" if name else ""
    return _fit(f"{head}{where}{case}", limit)


def _fit(text: str, limit: int) -> tuple[str, int]:
    """`text` cut to `limit` cells, and the cells it takes.

    Every character outside ASCII counts as two: too many is harmless, too few wraps the line,
    and a wrapped line cannot be erased.
    """
    cells = 0
    for position, char in enumerate(text):
        cells += 1 if char.isascii() else 2
        if cells > limit:
            return text[:position], limit
    return text, cells


def _count_cells(text: str) -> int:
    return sum(1 if char.isascii() else 2 for char in text)
