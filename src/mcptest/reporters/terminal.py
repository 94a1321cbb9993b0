"""The report a person reads while the run goes on.

Events go in, text goes to the stream, one write per event. Whether the stream is
a terminal, how wide it is and whether it takes colour, the caller has found out.
Nothing from a server or a file reaches the stream raw.
"""

from __future__ import annotations

import time

from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.events import (
    CaseFinished,
    CaseStarted,
    RunFinished,
    RunStarted,
    SuiteFinished,
    SuiteStarted,
)
from mcptest.core.visible import visible
from mcptest.reporters.closing_text import closing_lines
from mcptest.reporters.failure_text import (
    note_lines,
    painted,
    place_line,
    render_result,
    stderr_lines,
)
from mcptest.reporters.paint import Paint
from mcptest.reporters.progress import Progress
from mcptest.reporters.wording import defused, render_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from mcptest.core.events import Event
    from mcptest.core.outcome import CaseResult
    from mcptest.matching.diff import DiffLine

    class TextSink(Protocol):
        """What is needed of a stream; `sys.stdout` is one."""

        @property
        def encoding(self) -> str: ...
        def write(self, text: str, /) -> int: ...
        def flush(self) -> None: ...


__all__ = ["TerminalReporter"]

MARKS = {"passed": "✓", "failed": "✗", "error": "!", "skipped": "-"}
# Padded, so that names stand in one column.
ASCII_MARKS = {"passed": "ok   ", "failed": "FAIL ", "error": "ERROR", "skipped": "skip "}
ASCII_FORMS = {ord("…"): "...", ord("›"): ">"}

DETAIL_INDENT = " " * 6
# The columns taken by DETAIL_INDENT and the label in front of a value.
VALUE_COLUMN = 18


class TerminalReporter:
    """A listener that writes each event of a run to `stream` as text."""

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
        self._encoding = _narrow_encoding(stream)
        self._marks = _painted_marks(ASCII_MARKS if self._encoding else MARKS, self._paint)
        self._progress: Progress | None = None
        self._run = RunStarted(started_at="", server="", suites=0, total=0)
        self._suite = SuiteStarted(name="", file="", format="", server="", total=0)
        self._finished = 0
        self._causes: set[tuple[str, str]] = set()
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
            self._progress = Progress(width=self._width, total=event.total, now=self._clock())
        lines: list[str] = []
        for warning in event.warnings:
            first, *rest = render_diagnostic(warning).split("\n")
            lines += [self._paint.yellow(first), *rest, ""]
        if event.server:
            lines += [self._paint.bold(visible(event.server)), ""]
        self._write(lines)

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
        is_known = self._is_known_cause(result)
        remark = self._remark(result, is_known)
        lines = [f"  {self._marks[result.status]} {visible(result.name)} {remark}"]
        for line in self._details(result, is_known):
            lines.append(DETAIL_INDENT + painted(line, self._paint) if line.text else "")
        if result.status in ("failed", "error") and len(lines) > 1:
            lines.append("")
        self._write(lines)

    def _remark(self, result: CaseResult, is_known: bool) -> str:
        if result.status == "skipped":
            reason = f": {visible(result.reason)}" if result.reason else ""
            return self._paint.yellow(f"(skipped{reason})")
        same = " same cause as above" if is_known else ""
        return self._paint.dim(f"({render_duration(result.duration_s)}){same}")

    def _is_known_cause(self, result: CaseResult) -> bool:
        """Whether the same fault has been printed before: a dead server fails every test."""
        if result.fault is None or result.mismatches:
            return False
        cause = (result.fault.kind, result.fault.message)
        if cause in self._causes:
            return True
        self._causes.add(cause)
        return False

    def _details(self, result: CaseResult, is_known: bool) -> list[DiffLine]:
        """The lines below the title of a case; none for most."""
        if is_known:
            return note_lines(result)
        if result.status in ("failed", "error"):
            place = place_line(self._suite.file, result.line)
            columns = self._width - VALUE_COLUMN
            return [place, *render_result(result, columns=columns, verbose=self._verbose)]
        return note_lines(result) + (stderr_lines(result.stderr) if self._verbose else [])

    def _run_finished(self, event: RunFinished) -> None:
        self._write([*self._gap(), *closing_lines(self._run, event, self._paint)])
        self._stream.flush()

    def _gap(self) -> list[str]:
        return [] if self._after_gap else [""]

    def _write(self, lines: list[str]) -> None:
        """The only way to the stream: whatever leaves here is safe to print."""
        if not lines:
            return
        self._after_gap = not lines[-1]
        text = self._encodable(defused("\n".join(lines)) + "\n")
        if self._progress is None:
            self._stream.write(text)
            return
        self._stream.write(self._progress.clear() + text)
        self._stream.flush()

    def _encodable(self, text: str) -> str:
        if not self._encoding or text.isascii():
            return text
        text = text.translate(ASCII_FORMS)
        return text.encode(self._encoding, "backslashreplace").decode(self._encoding)


def _narrow_encoding(stream: TextSink) -> str:
    """The encoding of a stream that cannot take every character, else nothing."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return "" if encoding.lower().replace("_", "-").startswith("utf") else encoding


def _painted_marks(marks: dict[str, str], paint: Paint) -> dict[str, str]:
    return {
        "passed": paint.green(marks["passed"]),
        "failed": paint.red(marks["failed"]),
        "error": paint.red(marks["error"]),
        "skipped": paint.yellow(marks["skipped"]),
    }
