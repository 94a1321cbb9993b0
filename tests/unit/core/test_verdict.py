"""Which exit status the end of a run means. The numbers are a contract."""

from __future__ import annotations

import pytest

from mcptest.core.events import Matrix, RunFinished, Way, WayRun
from mcptest.core.results import ExitCode, Fault, Summary, exit_code_of

FAULT = Fault(kind="spawn_failed", message="no such program")
HTTP = Way(transport="http", revision="2026-07-28")


def test_the_numbers_are_those_of_the_contract() -> None:
    assert {code.name: code.value for code in ExitCode} == {
        "PASSED": 0,
        "FAILED": 1,
        "BAD_INPUT": 2,
        "NO_SERVER": 3,
        "OUR_FAULT": 4,
        "REFUSED": 5,
        "GATE_MISSED": 6,
        "NOTHING_SELECTED": 7,
        "INTERRUPTED": 130,
    }


@pytest.mark.parametrize(
    ("finished", "code"),
    [
        (RunFinished(summary=Summary(passed=3), duration_s=1.0), 0),
        (RunFinished(summary=Summary(passed=3, skipped=1), duration_s=1.0), 0),
        (RunFinished(summary=Summary(passed=3, failed=1), duration_s=1.0), 1),
        (RunFinished(summary=Summary(passed=3, errors=1), duration_s=1.0), 1),
        (RunFinished(summary=Summary(failed=1), duration_s=1.0, bailed=True), 1),
        (RunFinished(summary=Summary(), duration_s=1.0, fault=FAULT), 3),
        (RunFinished(summary=Summary(errors=2), duration_s=1.0, fault=FAULT), 3),
        (RunFinished(summary=Summary(), duration_s=1.0), 7),
        (RunFinished(summary=Summary(passed=3), duration_s=1.0, interrupted=True), 130),
        (RunFinished(summary=Summary(failed=3), duration_s=1.0, interrupted=True), 130),
    ],
)
def test_each_ending_has_its_exit_status(finished: RunFinished, code: int) -> None:
    assert exit_code_of(finished) == code


@pytest.mark.parametrize(
    ("way", "failed", "code"),
    [
        (WayRun(way=HTTP, error="status 500"), 0, 3),
        (WayRun(way=HTTP, error="status 500"), 1, 1),
        (WayRun(way=HTTP, refusal="not that one"), 0, 0),
    ],
)
def test_a_way_that_broke_fails_and_a_failed_test_has_precedence(
    way: WayRun, failed: int, code: int
) -> None:
    finished = RunFinished(
        summary=Summary(passed=3, failed=failed),
        duration_s=1.0,
        matrix=Matrix(ways=(way,)),
    )
    assert exit_code_of(finished) == code


@pytest.mark.parametrize("code", [ExitCode.REFUSED, ExitCode.GATE_MISSED])
def test_a_reserved_exit_status_is_not_yet_the_meaning_of_any_ending(code: ExitCode) -> None:
    endings = [
        RunFinished(
            summary=Summary(passed=passed, failed=failed, errors=errors),
            duration_s=0.0,
            fault=fault,
            interrupted=interrupted,
        )
        for passed in (0, 1)
        for failed in (0, 1)
        for errors in (0, 1)
        for fault in (None, FAULT)
        for interrupted in (False, True)
    ]
    assert code not in {exit_code_of(finished) for finished in endings}
