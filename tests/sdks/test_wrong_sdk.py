"""The kit is worth something: it accepts an SDK that is right, and no fault of one that is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from kit_judge import Judge, Sdk, judge_sdk, read_rows
from wrong_sdk import FAULTS

WRONG = Path(__file__).parent / "wrong_sdk.py"
ROWS = {row.name: row for row in read_rows()}


def sdk_with(fault: str = "") -> Sdk:
    words = (sys.executable, "-S", "-E", str(WRONG), *([fault] if fault else []))
    return Sdk("wrong", WRONG.parent, words)


def test_without_a_fault_every_row_passes() -> None:
    report = judge_sdk(sdk_with())
    assert report.is_good, str(report)
    assert (report.rows, report.beyond) == (len(ROWS), {})


def test_there_are_many_faults() -> None:
    assert len(FAULTS) >= 34
    assert set(FAULTS.values()) <= set(ROWS)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_kit_rejects(fault: str, tmp_path: Path) -> None:
    judge = Judge(sdk_with(fault), tmp_path)
    try:
        assert judge.play(ROWS[FAULTS[fault]]), "the kit does not notice it"
    finally:
        judge.close()
