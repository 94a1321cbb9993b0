"""The grade of a server, and the profiles by which it is given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from case_tables import each_case

from mcptest.compliance.checks import CHECKS
from mcptest.compliance.report import (
    Profile,
    best_profiles,
    give_grade,
    give_verdict,
    load_profiles,
    profile_text,
)
from mcptest.core.compliance import CheckResult
from mcptest.protocol.revisions import REVISIONS
from mcptest.rules.all_rules import RULES
from tools import profiles as tool

if TYPE_CHECKING:
    from pathlib import Path

REVISION = "2025-11-25"

# A released profile never changes. After `python -m tools.profiles` the new ones are added here.
DIGESTS = {
    "2024-11-05.1": "sha256:667c851d94792fede927f66faf881ea47e828b82501f815746adb5c53cf7feba",
    "2025-03-26.1": "sha256:69b11518d95b1c38d5f22dc2c08a0fff02ad4e24da4d6c5c2c15865d950aa58f",
    "2025-06-18.1": "sha256:77c153a3974427d06160fee99ab2b6550a0fafe58a9c882343c3b6f617d64b6e",
    "2025-11-25.1": "sha256:275830f64d2314fcd6962e5016f822b3542548eaeb4dd508f82689f28355e68c",
    "2026-07-28.1": "sha256:82fe4cfa35414157eabeaccac092df7ddc8e60888e16f97c7924af63cca25b62",
}


def result(id: str, verdict: Any, level: Any = "MUST", **more: Any) -> CheckResult:
    return CheckResult(
        id=id,
        name="a-check",
        family=id.partition("-")[0],
        level=level,
        revision=REVISION,
        transport="stdio",
        verdict=verdict,
        message="",
        **more,
    )


def graded(*results: CheckResult, has_session: bool = True) -> str:
    levels = {each.id: each.level for each in results}
    profile = Profile(id=f"{REVISION}.1", revision=REVISION, checks=dict(levels))
    return give_grade(results, {REVISION: profile}, has_session=has_session).letter


def passed(count: int, level: str = "MUST") -> list[CheckResult]:
    return [result(f"{level}-{number}", "passed", level) for number in range(count)]


@each_case(
    ("results", "grade"),
    [
        (passed(3), "A+"),
        ([*passed(3), result("BASE-01", "not_applicable")], "A+"),
        ([*passed(99), result("BASE-01", "failed")], "C"),
        ([*passed(99), result("BASE-01", "failed"), result("BASE-02", "failed")], "C"),
        ([*passed(99), result("BASE-01", "failed"), result("TOOL-03", "failed")], "D"),
        ([*passed(99), result("HTTP-02", "failed")], "D"),
        ([*passed(99), result("STDIO-01", "failed")], "D"),
        ([*passed(99), result("TOOL-16", "failed")], "D"),
        ([*passed(1), result("BASE-01", "failed"), result("BASE-02", "failed")], "F"),
        # What could not run has not passed.
        ([*passed(99), result("BASE-01", "could_not_run")], "B"),
        ([*passed(4), result("BASE-01", "could_not_run")], "C"),
        ([*passed(1), result("BASE-01", "could_not_run")], "D"),
        # Of SHOULD, nine in ten are enough for an A.
        ([*passed(3), *passed(9, "SHOULD"), result("LOG-04", "warning", "SHOULD")], "A"),
        ([*passed(3), *passed(8, "SHOULD"), result("LOG-04", "warning", "SHOULD")], "B"),
        # A hint that is missing says nothing about the server.
        ([*passed(3), result("CANC-02", "could_not_run", needs="slow_tool")], "A"),
        # What is not counted.
        ([*passed(3), result("BASE-42", "failed", is_pending=True)], "A+"),
        ([*passed(3), result("PAGE-03", "warning", "SHOULD", is_shared=True)], "A+"),
    ],
)
def test_a_grade_is_given_by_the_weakest_point(results: list[CheckResult], grade: str) -> None:
    assert graded(*results) == grade


def test_a_server_without_a_session_has_an_f() -> None:
    assert graded(*passed(3), has_session=False) == "F"


def test_a_finding_below_the_level_of_its_check_does_not_count_as_a_must() -> None:
    profile = Profile(id="x.1", revision=REVISION, checks={"BASE-19": "MUST", "MUST-0": "MUST"})
    results = [*passed(1), result("BASE-19", "warning", "SHOULD")]
    assert give_grade(results, {REVISION: profile}, has_session=True).letter == "B"


@pytest.mark.parametrize(
    ("results", "is_whole", "verdict"),
    [
        (passed(2), True, "conformant"),
        (passed(2), False, "incomplete"),
        ([], True, "incomplete"),
        ([*passed(2), result("BASE-01", "failed")], False, "not conformant"),
        ([*passed(2), result("BASE-01", "could_not_run")], True, "incomplete"),
        ([*passed(2), result("BASE-01", "failed", is_pending=True)], True, "conformant"),
    ],
)
def test_a_verdict_says_whether_the_server_conforms(
    results: list[CheckResult], is_whole: bool, verdict: str
) -> None:
    assert give_verdict(results, is_whole=is_whole) == verdict


# Profiles


def test_released_profiles_have_not_changed() -> None:
    found = {id: profile.name.digest for id, profile in load_profiles().items()}
    assert found == DIGESTS


def test_every_revision_has_a_profile_whose_checks_exist_at_their_level() -> None:
    known = {check.id for check in CHECKS} | {rule.id for rule in RULES}
    for version, profile in best_profiles(()).items():
        now = tool.current_checks(version)
        assert set(profile.checks) <= known
        assert {id: now[id] for id in profile.checks} == profile.checks
    assert [*best_profiles(())] == [*REVISIONS]


def test_a_profile_that_is_asked_for_replaces_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    older = Profile(id=f"{REVISION}.1", revision=REVISION, checks={})
    newer = older.but(id=f"{REVISION}.10", checks={"BASE-01": "MUST"})
    two = {older.id: older, newer.id: newer}
    monkeypatch.setattr("mcptest.compliance.report.load_profiles", lambda: two)
    assert best_profiles(()) == {REVISION: newer}
    assert best_profiles([older.id]) == {REVISION: older}


def test_the_tool_writes_the_next_number_only_if_something_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {
        f"{version}.1": Profile(
            id=f"{version}.1", revision=version, checks=tool.current_checks(version)
        )
        for version in REVISIONS
    }
    known[f"{REVISION}.1"] = known[f"{REVISION}.1"].but(checks={"BASE-01": "MUST"})
    monkeypatch.setattr(tool, "load_profiles", lambda: known)
    monkeypatch.setattr(tool, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["profiles"])
    assert tool.main() == 0
    assert [path.name for path in tmp_path.iterdir()] == [f"{REVISION}.2.json"]
    written = (tmp_path / f"{REVISION}.2.json").read_text(encoding="utf-8")
    assert written == profile_text(
        Profile(id=f"{REVISION}.2", revision=REVISION, checks=tool.current_checks(REVISION))
    )
    assert f'"{REVISION}.2": "sha256:' in capsys.readouterr().out
