"""Which failures are the same."""

from __future__ import annotations

import pytest
from sample_run import BROKEN, FAILED, GONE, MISSING, PASSED, SKIPPED, WRONG

from mcptest.core.results import CaseResult
from mcptest.reporters.failure_text import SeenFailures

LONG = "x" * 5_000


def is_folded(first: CaseResult, second: CaseResult) -> bool:
    folding = SeenFailures()
    assert folding.first_like(first, "first") is None
    return folding.first_like(second, "second") == "first"


@pytest.mark.parametrize("result", [FAILED, BROKEN, FAILED.but(mismatches=(WRONG, WRONG))])
def test_the_same_cause_is_folded_whatever_the_test_is_called(result: CaseResult) -> None:
    assert is_folded(result, result.but(name="other", line=99, duration_s=1.0))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (FAILED, FAILED.but(mismatches=(WRONG,))),
        (FAILED, FAILED.but(mismatches=(MISSING, WRONG))),
        (FAILED.but(mismatches=(WRONG,)), FAILED.but(mismatches=(WRONG.but(path="p"),))),
        (FAILED.but(mismatches=(WRONG,)), FAILED.but(mismatches=(WRONG.but(expected=True),))),
        (FAILED.but(mismatches=(WRONG,)), FAILED.but(mismatches=(WRONG.but(expected=1.0),))),
        (
            FAILED.but(mismatches=(WRONG.but(actual=LONG + "a"),)),
            FAILED.but(mismatches=(WRONG.but(actual=LONG + "b"),)),
        ),
        (BROKEN, BROKEN.but(fault=GONE.but(message="other"))),
        (BROKEN, BROKEN.but(mismatches=(WRONG,))),
    ],
)
def test_failures_that_differ_in_anything_shown_are_not_folded(
    first: CaseResult, second: CaseResult
) -> None:
    assert not is_folded(first, second)


@pytest.mark.parametrize("result", [PASSED, SKIPPED, FAILED.but(mismatches=(), reason="no reason")])
def test_failures_without_a_cause_are_never_folded(result: CaseResult) -> None:
    assert not is_folded(result, result)


def test_the_third_points_to_the_first_too() -> None:
    folding = SeenFailures()
    labels = [folding.first_like(FAILED, str(number)) for number in range(3)]
    assert labels == [None, "0", "0"]
