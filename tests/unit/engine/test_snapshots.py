"""Snapshots on disk: read once, noted while tests run, written when all is over."""

from __future__ import annotations

import os
import pickle
import stat
from typing import TYPE_CHECKING

import pytest

from mcptest.cli.main import failure_kind, render_error, status_of_kind
from mcptest.core.errors import FormatError, RefusedError
from mcptest.core.results import ExitCode, SnapshotReport, SnapshotTaken
from mcptest.core.secrets import redactor
from mcptest.core.value_class import ABSENT
from mcptest.engine.snapshots import Snapshots, choose_mode, snapshot_path
from mcptest.formats.snapshots import read_snapshots, write_snapshots
from mcptest.formats.yaml import full, quick
from mcptest.matching.snapshots import snapshot_pattern

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest.core.results import SnapshotMode

NOTHING = SnapshotReport()


@pytest.fixture
def suite(tmp_path: Path) -> str:
    return str(tmp_path / "mcptest.yaml")


def put(suite: str, **entries: object) -> None:
    path = snapshot_path(suite)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(write_snapshots(entries, "mcptest.yaml"))


def kept(suite: str) -> dict[str, object]:
    with open(snapshot_path(suite), encoding="utf-8") as file:
        return read_snapshots(file.read(), "a")


def look(snapshots: Snapshots, suite: str, **values: object) -> list[bool]:
    """Whether each value passes as the snapshot of its name."""
    book = snapshots.book(suite)
    return [snapshot_pattern(book, key, True).is_met(value) for key, value in values.items()]


def ended(snapshots: Snapshots, *, is_complete: bool = True) -> SnapshotReport:
    report, problems = snapshots.finish(snapshots.pop_taken(), is_complete)
    assert problems == ()
    return report


def in_vain(snapshots: Snapshots) -> tuple[SnapshotReport, str]:
    """What is said of a run whose snapshots cannot be kept, for one reason."""
    report, (problem,) = snapshots.finish(snapshots.pop_taken(), is_complete=True)
    assert problem.kind == "snapshots_not_written"
    return report, problem.message


# The modes


@pytest.mark.parametrize(
    ("update", "force", "ci", "mode"),
    [
        (False, False, "", "write_new"),
        (False, False, "true", "check"),
        (False, False, "1", "check"),
        (False, False, "woodpecker", "check"),
        (False, False, "false", "write_new"),
        (False, False, "0", "write_new"),
        (True, False, "", "update"),
        (True, False, "False", "update"),
        (True, True, "true", "update"),
        (False, True, "true", "update"),
        (False, True, "", "update"),
    ],
)
def test_the_options_and_the_environment_decide_what_is_written(
    update: bool, force: bool, ci: str, mode: SnapshotMode
) -> None:
    assert choose_mode(update, force, {"CI": ci}) == mode


def test_without_the_variable_it_is_not_ci() -> None:
    assert choose_mode(False, False, {}) == "write_new"


def test_updating_where_ci_is_set_is_refused_with_exit_5() -> None:
    with pytest.raises(RefusedError) as caught:
        choose_mode(True, False, {"CI": "true"})
    assert failure_kind(caught.value) == ("refused", ExitCode.REFUSED)
    assert status_of_kind("refused") == ExitCode.REFUSED
    assert "help: " in render_error(caught.value)
    assert "--force-update-snapshots" in render_error(caught.value)


# Reading


def test_the_file_lies_in_a_folder_beside_the_suite() -> None:
    assert snapshot_path("shop/mcptest.yaml") == "shop/__snapshots__/mcptest.yaml.snap.yaml"
    assert snapshot_path("mcptest.yaml") == "__snapshots__/mcptest.yaml.snap.yaml"


def test_a_file_that_is_not_there_has_no_snapshots(suite: str) -> None:
    assert Snapshots("check").book(suite).stored("a") is ABSENT


def test_nothing_is_read_before_it_is_needed(suite: str) -> None:
    book = Snapshots("check").book(suite)
    put(suite, a=1)
    assert book.stored("a") == 1
    put(suite, a=2)
    assert book.stored("a") == 1


def test_a_folder_instead_of_the_file_is_reported(suite: str) -> None:
    os.makedirs(snapshot_path(suite))
    with pytest.raises(FormatError) as caught:
        Snapshots("check").book(suite).stored("a")
    assert [found.code for found in caught.value.diagnostics] == ["F001"]


# Writing


def test_check_writes_nothing(suite: str) -> None:
    put(suite, a=1)
    before = os.stat(snapshot_path(suite)).st_mtime_ns
    snapshots = Snapshots("check")
    assert look(snapshots, suite, a=1, b=2) == [True, False]
    assert [taken.status for taken in snapshots.pop_taken()] == ["same", "different"]
    assert ended(snapshots) == NOTHING
    assert os.stat(snapshot_path(suite)).st_mtime_ns == before


def test_check_makes_no_folder(suite: str, tmp_path: Path) -> None:
    snapshots = Snapshots("check")
    assert look(snapshots, suite, a=1) == [False]
    assert ended(snapshots) == NOTHING
    assert list(tmp_path.iterdir()) == []


def test_write_new_adds_what_is_missing_and_leaves_the_rest(suite: str) -> None:
    put(suite, a=1)
    snapshots = Snapshots("write_new")
    assert look(snapshots, suite, a=2, b=3) == [False, True]
    assert ended(snapshots) == SnapshotReport(written={suite: ("b",)})
    assert kept(suite) == {"a": 1, "b": 3}


def test_update_accepts_everything(suite: str) -> None:
    put(suite, a=1, same=5)
    snapshots = Snapshots("update")
    assert look(snapshots, suite, a=2, b=3, same=5) == [True, True, True]
    assert ended(snapshots) == SnapshotReport(written={suite: ("b",)}, updated={suite: ("a",)})
    assert kept(suite) == {"a": 2, "b": 3, "same": 5}


def test_a_file_in_which_nothing_changes_is_not_touched(suite: str) -> None:
    put(suite, a={"y": 1, "x": 2})
    path = snapshot_path(suite)
    with open(path, "a", encoding="utf-8") as file:
        file.write("# a remark of mine\n")
    snapshots = Snapshots("update")
    assert look(snapshots, suite, a={"x": 2, "y": 1}) == [True]
    assert ended(snapshots) == NOTHING
    with open(path, encoding="utf-8") as file:
        assert file.read().endswith("# a remark of mine\n")


def test_the_mode_of_the_file_stays_and_no_other_file_is_left(suite: str) -> None:
    put(suite, a=1)
    os.chmod(snapshot_path(suite), 0o640)
    snapshots = Snapshots("update")
    look(snapshots, suite, a=2)
    ended(snapshots)
    assert stat.S_IMODE(os.stat(snapshot_path(suite)).st_mode) == 0o640
    assert os.listdir(os.path.dirname(snapshot_path(suite))) == ["mcptest.yaml.snap.yaml"]


def test_changes_by_others_during_the_run_are_kept(suite: str) -> None:
    put(suite, a=1)
    snapshots = Snapshots("write_new")
    look(snapshots, suite, a=1, b=2)
    put(suite, a=1, theirs=3)
    assert ended(snapshots).written == {suite: ("b",)}
    assert kept(suite) == {"a": 1, "b": 2, "theirs": 3}


def test_a_file_that_turned_into_a_folder_meanwhile_is_reported(suite: str) -> None:
    snapshots = Snapshots("write_new")
    look(snapshots, suite, a=1)
    os.makedirs(snapshot_path(suite))
    report, problem = in_vain(snapshots)
    assert report == SnapshotReport(unwritten={suite: ("a",)})
    assert problem.startswith(f"cannot keep the snapshots of {suite}: ")


def test_one_unwritable_file_does_not_prevent_other_files_from_being_written(
    tmp_path: Path,
) -> None:
    bad, good = str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")
    snapshots = Snapshots("write_new")
    look(snapshots, bad, x=1)
    look(snapshots, good, x=2)
    os.makedirs(snapshot_path(bad))
    report, _ = in_vain(snapshots)
    assert report == SnapshotReport(written={good: ("x",)}, unwritten={bad: ("x",)})
    assert kept(good) == {"x": 2}


def test_more_than_a_file_can_hold_is_refused_and_the_old_file_stays(
    suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(suite, a=1)
    for reader in (full, quick):
        monkeypatch.setattr(reader, "MAX_NODES", 1_000)
    snapshots = Snapshots("update")
    book = snapshots.book(suite)
    book.record("b", [0] * 1_001, is_same=False)
    _, problem = in_vain(snapshots)
    assert problem.startswith("cannot keep the snapshots of ")
    assert "take snapshots of smaller parts" in problem
    assert kept(suite) == {"a": 1}


# Names that are not used


@pytest.mark.parametrize(
    ("mode", "is_complete"),
    [("update", False), ("write_new", True), ("write_new", False), ("check", True)],
)
def test_else_it_is_only_named(suite: str, mode: SnapshotMode, is_complete: bool) -> None:
    put(suite, a=1, old=2)
    snapshots = Snapshots(mode)
    look(snapshots, suite, a=1)
    assert ended(snapshots, is_complete=is_complete) == SnapshotReport(stale={suite: ("old",)})
    assert kept(suite) == {"a": 1, "old": 2}


def test_the_snapshot_of_a_test_that_did_not_get_so_far_is_not_stale(suite: str) -> None:
    put(suite, a=1, broke=2)
    snapshots = Snapshots("update")
    snapshot_pattern(snapshots.book(suite), "broke", True)
    look(snapshots, suite, a=1)
    assert ended(snapshots) == NOTHING
    assert kept(suite) == {"a": 1, "broke": 2}


def test_the_last_snapshot_takes_its_file_along(suite: str) -> None:
    put(suite, old=2)
    snapshots = Snapshots("update")
    snapshots.book(suite)
    assert ended(snapshots) == SnapshotReport(removed={suite: ("old",)})
    assert not os.path.exists(snapshot_path(suite))


# Several looks, several processes


def test_the_last_look_counts(suite: str) -> None:
    put(suite, a=1)
    snapshots = Snapshots("update")
    look(snapshots, suite, a=2)
    look(snapshots, suite, a=1)
    assert ended(snapshots) == NOTHING
    assert kept(suite) == {"a": 1}


def test_a_name_for_two_values_is_called_unstable(suite: str) -> None:
    snapshots = Snapshots("write_new")
    look(snapshots, suite, a=1, b=1)
    look(snapshots, suite, a=2, b=1)
    report = ended(snapshots)
    assert report == SnapshotReport(written={suite: ("a", "b")}, unstable={suite: ("a",)})
    assert kept(suite) == {"a": 2, "b": 1}


def test_collected_snapshots_are_returned_once(suite: str) -> None:
    snapshots = Snapshots("write_new")
    look(snapshots, suite, a=1)
    assert snapshots.pop_taken() == (SnapshotTaken(file=suite, key="a", status="new", value=1),)
    assert snapshots.pop_taken() == ()


def test_a_value_travels_only_when_it_is_to_be_written(suite: str) -> None:
    put(suite, a=1, b=2)
    snapshots = Snapshots("write_new")
    look(snapshots, suite, a=1, b=3, c=4)
    assert [(taken.status, taken.value) for taken in snapshots.pop_taken()] == [
        ("same", ABSENT),
        ("different", ABSENT),
        ("new", 4),
    ]


def test_snapshots_of_several_processes_are_merged_into_one_file_each(tmp_path: Path) -> None:
    first, second = str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")
    parent = Snapshots("write_new")
    sent = []
    for suite, value in ((first, 1), (second, "\ud800")):
        worker = Snapshots("write_new")
        look(worker, suite, x=value)
        sent.append(pickle.dumps(worker.pop_taken()))
    taken = [each for raw in sent for each in pickle.loads(raw)]
    report, problems = parent.finish(taken, is_complete=True)
    assert (report, problems) == (SnapshotReport(written={first: ("x",), second: ("x",)}), ())
    assert (kept(first), kept(second)) == ({"x": 1}, {"x": "\ud800"})


# Secrets and hostile values


def test_a_secret_reaches_neither_the_file_nor_the_comparison(suite: str) -> None:
    snapshots = Snapshots("write_new")
    book = snapshots.book(suite)
    asked = snapshot_pattern(book, "a", True)
    snapshots.redact = redactor(["hunter2-and-more"])
    assert asked.is_met({"key": "my hunter2-and-more", "hunter2-and-more": 1})
    ended(snapshots)
    with open(snapshot_path(suite), encoding="utf-8") as file:
        assert "hunter2" not in file.read()
    again = Snapshots("check", redactor(["hunter2-and-more"]))
    assert look(again, suite, a={"key": "my hunter2-and-more", "hunter2-and-more": 1}) == [True]


def test_values_given_directly_to_the_snapshot_book_are_blanked_as_well(suite: str) -> None:
    snapshots = Snapshots("write_new", redactor(["hunter2-and-more"]))
    snapshots.book(suite).record("a", "hunter2-and-more", is_same=False)
    assert [taken.value for taken in snapshots.pop_taken()] == ["[secret]"]


@pytest.mark.parametrize("mode", ["write_new", "update"])
def test_a_secret_that_is_in_the_file_already_is_taken_out(suite: str, mode: SnapshotMode) -> None:
    put(suite, a="hunter2-and-more")
    snapshots = Snapshots(mode, redactor(["hunter2-and-more"]))
    assert look(snapshots, suite, a="hunter2-and-more") == [True]
    assert ended(snapshots) == SnapshotReport(updated={suite: ("a",)})
    assert kept(suite) == {"a": "[secret]"}


def deep(levels: int) -> object:
    value: object = "\x00"
    for _ in range(levels):
        value = [{"a": value}]
    return value


@pytest.mark.parametrize(
    "value",
    [
        "\ud800",
        {"\udfff": ["\ud800x"]},
        "\x00\x1b[2J\u202e\u2028\x85\ufeff",
        "---\n...\n<<<<<<< a\n",
        "line\n" * 50_000,
        deep(100),
        {"k" * 5000: {"": {"": "<<"}}},
        [0.1, -0.0, 1e300, 10**100, 1.0, True, None, {}, [], ""],
        {"<<": {"a": 1}, "~": "~", "yes": "no", "match:type": "match:exists"},
    ],
    ids=["half", "halves", "unseen", "marks", "long", "deep", "keys", "scalars", "words"],
)
def test_a_hostile_value_is_kept_and_known_again(suite: str, value: object) -> None:
    name = "a\x00\x1b\n: 'x' \"y\" # z"
    snapshots = Snapshots("write_new")
    assert snapshot_pattern(snapshots.book(suite), name, True).is_met(value)
    assert ended(snapshots).written == {suite: (name,)}
    again = Snapshots("check")
    assert snapshot_pattern(again.book(suite), name, True).is_met(value)
    assert ended(again) == NOTHING


def test_half_a_character_in_a_name_does_no_harm(suite: str) -> None:
    for mode in ("write_new", "check"):
        snapshots = Snapshots(mode)
        assert snapshot_pattern(snapshots.book(suite), "a\ud800", True).is_met(1)
        ended(snapshots)
    assert kept(suite) == {"a\\ud800": 1}
