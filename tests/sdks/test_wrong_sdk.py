"""The kit itself: it accepts an SDK that is right, rejects every fault, and says what it holds."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from kit_judge import KINDS, KIT, ROOT, Judge, Row, Sdk, judge_sdk, make_report, read_rows
from wrong_sdk import FAULTS

WRONG = Path(__file__).parent / "wrong_sdk.py"
ROWS = {row.name: row for row in read_rows()}


def sdk_with(fault: str = "") -> Sdk:
    words = (sys.executable, "-S", "-E", str(WRONG), *([fault] if fault else []))
    return Sdk("wrong", WRONG.parent, words)


@pytest.mark.long
def test_without_a_fault_every_row_passes() -> None:
    report = judge_sdk(sdk_with())
    assert report.is_good, str(report)
    assert (report.rows, report.beyond) == (len(ROWS), {})


def test_there_are_many_faults() -> None:
    assert len(FAULTS) >= 34
    assert set(FAULTS.values()) <= set(ROWS)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS)
def test_the_kit_rejects(fault: str, tmp_path: Path) -> None:
    judge = Judge(sdk_with(fault), tmp_path)
    try:
        assert judge.play(ROWS[FAULTS[fault]]), "the kit does not notice it"
    finally:
        judge.close()


def play(sdk: Sdk, rows: list[Row], folder: Path) -> dict[str, list[str]]:
    judge = Judge(sdk, folder)
    try:
        return {row.name: judge.play(row) for row in rows}
    finally:
        judge.close()


def test_an_inability_excuses_its_rows_and_no_others(tmp_path: Path) -> None:
    fault = "duplicate keys are accepted"
    sdk = replace(sdk_with(fault), cannot={"strict keys": "its parser does not say"})
    rows = [ROWS[FAULTS[fault]], ROWS["calls: list_tools"]]
    report = make_report(sdk, rows, play(sdk, rows, tmp_path), is_whole=True)
    assert (report.is_good, list(report.beyond)) == (True, [FAULTS[fault]])
    assert str(report).endswith("wrong: 2 kit rows, 1 beyond its abilities")


def test_an_inability_that_the_sdk_does_not_have_fails(tmp_path: Path) -> None:
    sdk = replace(sdk_with(), cannot={"strict keys": "its parser does not say"})
    rows = [row for row in ROWS.values() if "strict keys" in row.needs]
    report = make_report(sdk, rows, play(sdk, rows, tmp_path), is_whole=True)
    assert not report.is_good
    assert "declares that it cannot do 'strict keys', and it can" in str(report)


# The page of the kit

README = (KIT / "README.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return re.split(r"(?m)^##+ ", README.partition(f"# {title}\n")[2])[0]


def verbs_in(steps: list[dict[str, object]]) -> set[str]:
    found = set()
    for step in steps:
        verb = next(key for key in step if key not in ("after_ms", "cancel_ms"))
        inner = step[verb]
        found |= {verb} | (verbs_in(inner) if verb == "parallel" else set())  # type: ignore[arg-type]  # steps
    return found


def test_the_page_lists_every_step_kind_and_ability() -> None:
    rows = list(ROWS.values())
    verbs = set().union(*(verbs_in(row.play["do"]) for row in rows))
    # The first column.
    steps = re.findall(r"(?m)^\| (`\{.+?) \| ", section("Steps"))
    assert set(re.findall(r'`\{"(\w+)"', " ".join(steps))) == verbs
    assert {kind for kind in KINDS if f"`{kind}`" not in section("Steps")} == set()
    abilities = set(re.findall(r"(?m)^\| `([^`]+)` \|", section("Abilities")))
    assert abilities == {need for row in rows for need in row.needs}


def test_the_checklist_names_every_topic_and_rows_that_there_are() -> None:
    topics = {name.partition(":")[0] for name in ROWS}
    named = re.findall(r"`([^`]+)`", section("Checklist").partition("|---|---|")[2])
    texts = [text.strip("… ") for text in named if text.partition(":")[0] in topics]
    assert topics - {"request"} == {text.partition(":")[0] for text in texts}
    assert [text for text in texts if not any(name.startswith(text) for name in ROWS)] == []


def test_the_example_of_a_report_has_the_number_of_rows() -> None:
    assert f"`go: {len(ROWS)} kit rows, " in README


def test_every_entry_of_an_sdk_is_complete() -> None:
    table = json.loads((ROOT / "sdks" / "sdks.json").read_text(encoding="utf-8"))
    wanted = {"folder", "toolchain", "build", "lint", "test", "adapter", "runners", "pin", "cannot"}
    known = {need for row in ROWS.values() for need in row.needs}
    for name, entry in table.items():
        assert wanted <= entry.keys(), name
        assert entry["test"] or name == "python", "pytest tests this one"
        assert entry["toolchain"].keys() >= {"name", "version", "oldest"}, name
        assert (ROOT / entry["pin"]).is_file(), name
        assert entry["cannot"].keys() <= known, name
        assert all(entry["cannot"].values()), "each inability has its reason"
