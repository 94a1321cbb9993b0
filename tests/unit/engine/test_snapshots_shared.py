"""Shared snapshots: several tests, several runs at once, and tests that fail."""

from __future__ import annotations

import fcntl
import os
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest

from mcptest.core.events import CaseFinished, RunFinished
from mcptest.core.results import CaseResult, SnapshotReport, Summary, with_snapshots
from mcptest.core.text import trail_of
from mcptest.engine.snapshots import Snapshots, SnapshotWatch, is_snapshot_path, snapshot_path
from mcptest.formats.snapshots import read_snapshots, write_snapshots
from mcptest.matching.registry import ParameterError
from mcptest.matching.snapshots import snapshot_pattern
from mcptest.transport import files

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest.core.results import Finding, SnapshotMode, Status

DONE = RunFinished(summary=Summary(passed=1), duration_s=0.1)
PLACE, ELSEWHERE = trail_of(["tools", 0]), trail_of(["tools", 1])


@pytest.fixture
def suite(tmp_path: Path) -> str:
    return str(tmp_path / "mcptest.yaml")


def put(suite: str, **entries: object) -> None:
    os.makedirs(os.path.dirname(snapshot_path(suite)), exist_ok=True)
    with open(snapshot_path(suite), "w", encoding="utf-8") as file:
        file.write(write_snapshots(entries, "mcptest.yaml"))


def kept(suite: str) -> dict[str, object]:
    if not os.path.exists(snapshot_path(suite)):
        return {}
    with open(snapshot_path(suite), encoding="utf-8") as file:
        return read_snapshots(file.read(), "a")


class Scene:
    """Tests that run one after the other, each of which looks at some snapshots."""

    def __init__(self, mode: SnapshotMode, suite: str) -> None:
        self.snapshots = Snapshots(mode)
        self._suite = suite
        self._watch = SnapshotWatch(self.snapshots, is_whole=True)
        self.results: list[CaseResult] = []

    def run(self, name: str, status: Status = "passed", /, **values: object) -> None:
        book = self.snapshots.book(self._suite)
        for key, value in values.items():
            snapshot_pattern(book, "", key).is_met(value)
        result = CaseResult(name=name, status=status, line=1)
        result = with_snapshots(result, self.snapshots.pop_taken())
        self.results.append(result)
        self._watch.observe(CaseFinished(result=result))

    def end(self) -> tuple[SnapshotReport, tuple[Finding, ...]]:
        finished = self._watch.finish(DONE)
        assert finished.snapshots is not None
        return finished.snapshots, finished.findings


# Tests that fail


@pytest.mark.parametrize("mode", ["write_new", "update"])
@pytest.mark.parametrize("status", ["failed", "error"])
def test_snapshots_of_a_test_that_does_not_pass_are_held_back(
    suite: str, mode: SnapshotMode, status: Status
) -> None:
    put(suite, a=1)
    scene = Scene(mode, suite)
    scene.run("broken", status, b=2)
    scene.run("fine", a=1)
    report, problems = scene.end()
    assert (report, problems) == (SnapshotReport(held={suite: ("b",)}), ())
    assert kept(suite) == {"a": 1}
    assert scene.results[0].notes == (
        "held back, for only what passes is accepted: the snapshot b",
    )


def test_a_test_that_fails_at_what_is_stored_holds_nothing_back(suite: str) -> None:
    put(suite, a=1, b=1)
    scene = Scene("write_new", suite)
    scene.run("broken", "failed", a=1, b=2)
    assert scene.end() == (SnapshotReport(), ())
    assert scene.results[0].notes == ()


# Tests that share a name


@pytest.mark.parametrize("mode", ["write_new", "update"])
def test_two_values_of_two_tests_for_one_name_are_a_mistake_and_neither_is_kept(
    suite: str, mode: SnapshotMode
) -> None:
    scene = Scene(mode, suite)
    scene.run("greets", shared=1, own=1)
    scene.run("leaves", shared=2)
    report, [problem] = scene.end()
    assert report == SnapshotReport(written={suite: ("own",)}, clashing={suite: ("shared",)})
    assert problem.kind == "snapshot_shared"
    assert problem.message.startswith(
        'the tests "greets" and "leaves" have different values for one snapshot, "shared" of '
    )
    assert kept(suite) == {"own": 1}


@pytest.mark.parametrize("first", [1, 2])
def test_they_are_not_accepted_in_turn(suite: str, first: int) -> None:
    put(suite, shared=1)
    scene = Scene("update", suite)
    scene.run("greets", shared=first)
    scene.run("leaves", shared=3 - first)
    report, [problem] = scene.end()
    assert (report.clashing, problem.kind) == ({suite: ("shared",)}, "snapshot_shared")
    assert kept(suite) == {"shared": 1}


def test_two_tests_that_agree_may_share_a_name(suite: str) -> None:
    scene = Scene("update", suite)
    scene.run("greets", shared={"a": 1})
    scene.run("leaves", shared={"a": 1})
    assert scene.end() == (SnapshotReport(written={suite: ("shared",)}), ())


def test_a_test_may_vary_between_tries(suite: str) -> None:
    scene = Scene("update", suite)
    snapshot_pattern(scene.snapshots.book(suite), "", "a").is_met(1)
    scene.run("flaky", a=2)
    report, problems = scene.end()
    assert report == SnapshotReport(written={suite: ("a",)}, unstable={suite: ("a",)})
    assert (problems, kept(suite)) == ((), {"a": 2})


@pytest.mark.parametrize("mode", ["write_new", "update"])
def test_one_test_with_two_values_for_one_name_is_the_same_mistake(
    suite: str, mode: SnapshotMode
) -> None:
    scene = Scene(mode, suite)
    book = scene.snapshots.book(suite)
    for place, value in ((PLACE, 1), (ELSEWHERE, 2)):
        snapshot_pattern(book, "", "twice", place).is_met(value)
    scene.run("greets")
    report, [problem] = scene.end()
    assert report == SnapshotReport(clashing={suite: ("twice",)})
    message = 'the test "greets" has different values for one snapshot, "twice" of '
    assert (problem.kind, problem.message.startswith(message)) == ("snapshot_shared", True)
    assert kept(suite) == {}


def test_one_value_may_be_at_two_places_of_a_test(suite: str) -> None:
    scene = Scene("update", suite)
    book = scene.snapshots.book(suite)
    for place in (PLACE, ELSEWHERE):
        snapshot_pattern(book, "", "twice", place).is_met(1)
    scene.run("greets")
    assert scene.end() == (SnapshotReport(written={suite: ("twice",)}), ())


# Tests that are tried again


def test_snapshots_of_a_failed_try_are_not_kept(suite: str) -> None:
    put(suite, old=1)
    scene = Scene("update", suite)
    book = scene.snapshots.book(suite)
    for key in ("a", "old", "varies"):
        snapshot_pattern(book, "", key).is_met(2)
    scene.snapshots.try_again()
    scene.run("flaky", varies=3)
    report, problems = scene.end()
    assert report == SnapshotReport(written={suite: ("varies",)}, unstable={suite: ("varies",)})
    assert (problems, kept(suite)) == ((), {"old": 1, "varies": 3})


def test_two_places_may_disagree_in_a_try_that_did_not_pass(suite: str) -> None:
    scene = Scene("write_new", suite)
    book = scene.snapshots.book(suite)
    for place, value in ((PLACE, 1), (ELSEWHERE, 2)):
        snapshot_pattern(book, "", "twice", place).is_met(value)
    scene.snapshots.try_again()
    for place in (PLACE, ELSEWHERE):
        snapshot_pattern(book, "", "twice", place).is_met(2)
    scene.run("flaky")
    report, problems = scene.end()
    assert (report.written, problems) == ({suite: ("twice",)}, ())


def test_a_name_that_was_made_for_two_places_is_refused(suite: str) -> None:
    book = Snapshots("check").book(suite)
    snapshot_pattern(book, "t > result", True, PLACE)
    with pytest.raises(ParameterError, match="has the same name as another one") as caught:
        snapshot_pattern(book, "t > result", {"ignore": ["a"]}, ELSEWHERE)
    assert caught.value.help


def test_the_same_place_may_be_read_again_and_a_given_name_be_anywhere(suite: str) -> None:
    book = Snapshots("check").book(suite)
    for _ in range(2):
        snapshot_pattern(book, "t > result", True, PLACE)
    snapshot_pattern(book, "u > result", "t > result", ELSEWHERE)
    for place in (PLACE, ELSEWHERE):
        snapshot_pattern(book, "any", "given", place)


# Several runs at once


def test_runs_that_end_at_once_lose_nothing_of_each_other(suite: str) -> None:
    runs = []
    for number in range(12):
        scene = Scene("write_new", suite)
        scene.run(f"test {number}", **{f"k{number}": number})
        runs.append(get_context("fork").Process(target=scene.end))
    for run in runs:
        run.start()
    for run in runs:
        run.join(60)
    assert [run.exitcode for run in runs] == [0] * 12
    assert kept(suite) == {f"k{number}": number for number in range(12)}


def test_a_folder_that_stays_locked_for_too_long_is_reported(
    suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(suite, a=1)
    monkeypatch.setattr(files, "PATIENCE_S", 0.0)
    scene = Scene("write_new", suite)
    scene.run("greets", b=1)
    fd = os.open(os.path.dirname(snapshot_path(suite)), os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        report, [problem] = scene.end()
    finally:
        os.close(fd)
    assert (report, kept(suite)) == (SnapshotReport(unwritten={suite: ("b",)}), {"a": 1})
    assert problem.message.endswith(
        "another run has its folder; let the other one end, and run this one again"
    )


def test_a_snapshot_that_another_run_accepted_first_stays_and_is_reported(suite: str) -> None:
    scene = Scene("write_new", suite)
    scene.run("greets", a=1, b=1, c=1)
    put(suite, a=1, b=2)
    report, problems = scene.end()
    assert report == SnapshotReport(written={suite: ("c",)}, unstable={suite: ("b",)})
    assert (problems, kept(suite)) == ((), {"a": 1, "b": 2, "c": 1})


def test_a_snapshot_that_another_run_added_is_not_stale(suite: str) -> None:
    put(suite, a=1, old=1)
    scene = Scene("update", suite)
    scene.run("greets", a=1)
    put(suite, a=1, old=1, theirs=1)
    assert scene.end() == (SnapshotReport(removed={suite: ("old",)}), ())
    assert kept(suite) == {"a": 1, "theirs": 1}


def test_no_lock_is_left_behind(suite: str) -> None:
    scene = Scene("write_new", suite)
    scene.run("greets", a=1)
    scene.end()
    folder = os.path.dirname(snapshot_path(suite))
    assert os.listdir(folder) == [os.path.basename(snapshot_path(suite))]
    with files.locked(folder, 0.0):
        pass


def test_the_files_of_snapshots_are_known_by_their_paths() -> None:
    assert is_snapshot_path(snapshot_path("/a/mcptest.yaml"))
    assert not is_snapshot_path("/a/mcptest.yaml")
    assert not is_snapshot_path("/a/b.snap.yaml")
    assert not is_snapshot_path("/a/__snapshots__/b.yaml")
