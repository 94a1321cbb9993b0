"""The endings of several files become the ending of the run."""

from __future__ import annotations

from mcptest.core.events import RunFinished
from mcptest.core.results import Finding, Summary
from mcptest.engine.run import Ending, merge_endings


def ending(**members: object) -> Ending:
    finished = RunFinished(summary=Summary(passed=1, failed=2, flaky=1), duration_s=5.0)
    return Ending(finished=finished.but(**members))


def test_counts_add_up_and_a_shared_finding_is_reported_once() -> None:
    crlf = Finding(kind="crlf", server="s", message="m", count=2)
    other = crlf.but(server="t")
    merged = merge_endings([ending(findings=(crlf,)), ending(findings=(other, crlf))])
    assert merged.summary == Summary(passed=2, failed=4, flaky=2)
    assert merged.findings == (crlf.but(count=4), other)


def test_nothing_merged_is_nothing() -> None:
    assert merge_endings([]).summary == Summary()
