"""Make one ending out of the endings of several files. Pure."""

from __future__ import annotations

from mcptest.core.coverage import merge_coverage
from mcptest.core.events import RunFinished
from mcptest.core.outcome import Summary, merge_findings
from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.capture import SessionCapture

__all__ = ["Ending", "merge_endings"]


class Ending(Record):
    """How the run of one file ended, and what was captured in it."""

    finished: RunFinished
    captures: tuple[SessionCapture, ...] = ()


def merge_endings(endings: Sequence[Ending]) -> RunFinished:
    """The sum of them, in their order; a finding that several have is told once."""
    finished = [ending.finished for ending in endings]
    summaries = [each.summary for each in finished]
    return RunFinished(
        summary=Summary(
            passed=sum(each.passed for each in summaries),
            failed=sum(each.failed for each in summaries),
            errors=sum(each.errors for each in summaries),
            skipped=sum(each.skipped for each in summaries),
            flaky=sum(each.flaky for each in summaries),
        ),
        duration_s=0.0,
        findings=merge_findings(finding for each in finished for finding in each.findings),
        fault=next((each.fault for each in finished if each.fault), None),
        interrupted_in=next((each.interrupted_in for each in finished if each.interrupted_in), ""),
        coverage=merge_coverage(each.coverage for each in finished),
    )
