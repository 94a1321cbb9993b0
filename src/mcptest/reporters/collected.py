"""A whole run as one value: what reports that are written at the end read.

Events go in and are kept, suite by suite; `replay` gives them out again. Nothing is rendered here.
"""

from __future__ import annotations

from mcptest.core.events import (
    CaseFinished,
    CaseStarted,
    RunFinished,
    RunStarted,
    SuiteFinished,
    SuiteStarted,
)
from mcptest.core.outcome import STATUSES, Fault, Summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import Event
    from mcptest.core.outcome import CaseResult, LogWish

__all__ = ["REPORT_FORMAT", "Collected", "failed_run", "summary_of"]

# The format of a suite that stands for the report of a run without tests, in a merged run.
REPORT_FORMAT = "report"


class Collected:
    """A listener that keeps everything a run said."""

    wants_log: LogWish = ""

    def __init__(self) -> None:
        self.started = RunStarted(started_at="", server="", suites=0, total=0)
        self.all_suites: list[tuple[SuiteStarted, list[CaseResult]]] = []
        self.last: RunFinished | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseFinished):
            self.all_suites[-1][1].append(event.result)
        elif isinstance(event, SuiteStarted):
            self.all_suites.append((event, []))
        elif isinstance(event, RunStarted):
            self.started = event
        elif isinstance(event, RunFinished):
            self.last = event

    @property
    def finished(self) -> RunFinished:
        """The last event; when there was none the run was cut short, and this says so."""
        if self.last is not None:
            return self.last
        results = [result for _, results in self.all_suites for result in results]
        not_run = sum(result.not_run for result in results)
        summary = summary_of(results)
        return RunFinished(summary=summary, duration_s=0.0, interrupted=True, not_run=not_run)

    @property
    def suites(self) -> Sequence[tuple[SuiteStarted, list[CaseResult]]]:
        """The suites; none when no test could run, for then the reason is all there is."""
        return [] if self.finished.fault else self.all_suites

    def results(self) -> Iterator[tuple[SuiteStarted, CaseResult]]:
        for suite, results in self.suites:
            for result in results:
                yield suite, result

    def failures(self) -> list[tuple[SuiteStarted, CaseResult]]:
        return [pair for pair in self.results() if pair[1].status in ("failed", "error")]

    def flaky(self) -> list[tuple[SuiteStarted, CaseResult]]:
        return [pair for pair in self.results() if pair[1].is_flaky]

    def not_run(self) -> list[tuple[SuiteStarted, CaseResult]]:
        """What is declared, and cannot be run by this version."""
        return [pair for pair in self.results() if pair[1].not_run]

    def replay(self) -> Iterator[Event]:
        """The events once more, in the order of a run."""
        yield self.started
        for suite, results in self.all_suites:
            yield suite
            for result in results:
                yield CaseStarted(name=result.name, line=result.line)
                yield CaseFinished(result=result)
            yield SuiteFinished(name=suite.name, file=suite.file)
        yield self.finished


def summary_of(results: Iterable[CaseResult]) -> Summary:
    counts = dict.fromkeys(STATUSES, 0)
    flaky = 0
    for result in results:
        counts[result.status] += 1
        flaky += result.is_flaky
    return Summary.of(counts).but(flaky=flaky)


def failed_run(
    fault: Fault, diagnostics: Sequence[Diagnostic], started_at: str
) -> tuple[RunStarted, RunFinished]:
    """The events of a run that never began: files, command line or server are at fault."""
    return (
        RunStarted(
            started_at=started_at, server="", suites=0, total=0, warnings=tuple(diagnostics)
        ),
        RunFinished(summary=Summary(), duration_s=0.0, fault=fault),
    )
