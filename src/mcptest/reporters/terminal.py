"""The report a person reads while the run goes on.

Events go in, text goes to the stream, one write per event. Whether the stream is
a terminal, how wide it is and whether it takes colour, the caller has found out.
Nothing from a server or a file reaches the stream raw.
"""

from __future__ import annotations

import time

from mcptest.core.events import (
    CaseFinished,
    CaseStarted,
    RunFinished,
    RunStarted,
    SuiteFinished,
    SuiteStarted,
)
from mcptest.core.text import defuse, plural, visible
from mcptest.reporters.closing_text import closing_lines
from mcptest.reporters.marks import encodable, narrow_encoding, painted_marks
from mcptest.reporters.paint import Paint
from mcptest.reporters.wording import render_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.core.events import Event
    from mcptest.core.outcome import CaseResult, LogWish
    from mcptest.reporters.case_details import CaseDetails
    from mcptest.reporters.marks import TextSink
    from mcptest.reporters.progress import Progress

__all__ = ["TerminalReporter"]


class TerminalReporter:
    """A listener that writes each event of a run to `stream` as text."""

    wants_log: LogWish = ""

    def __init__(
        self,
        stream: TextSink,
        *,
        colour: bool,
        live: bool,
        width: int,
        verbose: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._paint = Paint(on=colour)
        self._live = live
        self._width = width
        self._verbose = verbose
        self._clock = clock
        self._encoding = narrow_encoding(stream)
        self._marks = painted_marks(self._paint, self._encoding)
        self._progress: Progress | None = None
        self._run = RunStarted(started_at="", server="", suites=0, total=0)
        self._suite = SuiteStarted(name="", file="", format="", server="", total=0)
        self._finished = 0
        self._details: CaseDetails | None = None
        # Whether the last line written is empty, or nothing is written yet.
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
        elif isinstance(event, RunFinished):
            self._run_finished(event)

    def tick(self) -> None:
        """Bring the progress line up to date while nothing happens; call it at leisure."""
        if self._progress is not None:
            text = self._progress.draw(self._clock())
            if text:
                self._stream.write(self._encodable(text))
                self._stream.flush()

    def _run_started(self, event: RunStarted) -> None:
        self._run = event
        if self._live:
            # Only for those who look on.
            from mcptest.reporters.progress import Progress  # noqa: PLC0415

            self._progress = Progress(width=self._width, total=event.total, now=self._clock())
        lines: list[str] = []
        for warning in event.warnings:
            from mcptest.core.diagnostics import render_diagnostic  # noqa: PLC0415  # few have some

            first, *rest = render_diagnostic(warning).split("\n")
            lines += [self._paint.yellow(first), *rest, ""]
        if event.server:
            lines += [self._paint.bold(visible(event.server)), ""]
        self._write(lines)
        if self._progress is not None:
            self._progress.announce(self._encodable("starting the server …"))

    def _suite_started(self, event: SuiteStarted) -> None:
        self._suite = event
        title = self._paint.bold(visible(event.name))
        if event.file != event.name:
            title += f"  {self._paint.dim(visible(event.file))}"
        if event.server not in ("", self._run.server):
            title += f"  {self._paint.dim('on ' + visible(event.server))}"
        self._write([*self._gap(), title])

    def _case_started(self, event: CaseStarted) -> None:
        if self._progress is not None:
            # Escaped before it is measured: an escape is longer than its character.
            suite, case = map(self._encodable, map(visible, (self._suite.name, event.name)))
            self._progress.show(self._finished + 1, suite, case)
            self.tick()

    def _case_finished(self, result: CaseResult) -> None:
        self._finished += 1
        has_failed = result.status in ("failed", "error")
        # Most tests pass, and there is no more to be said of them.
        has_more = has_failed or result.notes or self._verbose
        details = self._known_details() if has_more else None
        same_as = details.first_like(result, self._run, self._suite) if details else None
        remark = self._remark(result, same_as)
        title = f"  {self._marks[result.status]} {visible(result.name)} {remark}"
        lines = self._wrapped([title])
        if details:
            lines += details.lines(result, self._suite.file, is_known=same_as is not None)
        if has_failed and len(lines) > 1:
            lines.append("")
        self._write(lines)

    def _remark(self, result: CaseResult, same_as: str | None) -> str:
        if result.status == "skipped":
            word = "not run" if result.not_run else "skipped"
            reason = f": {visible(result.reason)}" if result.reason else ""
            return self._paint.yellow(f"({word}{reason})")
        took = render_duration(result.duration_s)
        tries = f", {plural(result.attempts, 'attempt')}" if result.attempts > 1 else ""
        remark = self._paint.dim(f"({took}{tries}){same_as or ''}")
        return f"{remark} {self._paint.yellow('flaky')}" if result.is_flaky else remark

    def _known_details(self) -> CaseDetails:
        if self._details is None:
            # What failures are told with is of no use to a run that passes.
            from mcptest.reporters.case_details import CaseDetails  # noqa: PLC0415

            self._details = CaseDetails(self._paint, self._width, verbose=self._verbose)
        return self._details

    def _run_finished(self, event: RunFinished) -> None:
        lines = closing_lines(self._run, event, self._paint, verbose=self._verbose)
        self._write([*self._gap(), *self._wrapped(lines)])
        self._stream.flush()

    def _wrapped(self, lines: list[str]) -> list[str]:
        """Lines that fit, where somebody looks at them; programs that read them want them whole."""
        if not self._live:
            return lines
        # Nobody looks at most runs.
        from mcptest.reporters.wrapping import wrapped  # noqa: PLC0415

        return [part for line in lines for part in wrapped(line, self._width)]

    def _gap(self) -> list[str]:
        return [] if self._after_gap else [""]

    def _write(self, lines: list[str]) -> None:
        """The only way to the stream: whatever leaves here is safe to print."""
        if not lines:
            return
        self._after_gap = not lines[-1]
        text = self._encodable(defuse("\n".join(lines)) + "\n")
        if self._progress is None:
            self._stream.write(text)
            return
        self._stream.write(self._progress.clear() + text)
        self._stream.flush()

    def _encodable(self, text: str) -> str:
        return encodable(text, self._encoding)
