"""The parts of a sharded run: what their reports say of it, and when they can be merged."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from console import ENVIRONMENT, PATIENCE_S, Ended, case, mcptest, write_config, write_suite

NAMES = ("a", "b", "c", "d")


def write_files(folder: Path) -> Path:
    write_config(folder / "conductor.config.json")
    for name in NAMES:
        write_suite(
            folder / "tests" / f"{name}.test.mcp.yml", case(f"{name} works"), case(f"{name} too")
        )
    return folder


def run_part(folder: Path, index: int, count: int, *words: str, name: str = "part") -> Ended:
    """One part of a run; its report is called after it."""
    report = f"json={name}-{index}.json"
    paths = () if any(word.startswith("tests") for word in words) else ("tests",)
    shard = ("--shard", f"{index}/{count}")
    return mcptest(folder, "run", *paths, *words, *shard, "--reporter", report)


def shard_in(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["shard"]
    return found


def merge(folder: Path, *words: str) -> Ended:
    return mcptest(folder, "report", "merge", *words)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three parts of a run of four files, in one folder with them."""
    folder = write_files(tmp_path_factory.mktemp("parts"))
    for index in (1, 2, 3):
        assert run_part(folder, index, 3).code == 0
    return folder


@pytest.fixture
def folder(parts: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(parts, tmp_path / "copy"))


# What a report says


def test_a_report_says_which_part_of_which_selection_it_is(parts: Path) -> None:
    shards = [shard_in(parts / f"part-{index}.json") for index in (1, 2, 3)]
    assert [(each["index"], each["count"]) for each in shards] == [(1, 3), (2, 3), (3, 3)]
    (digest,) = {each["selection"] for each in shards}
    assert len(digest) == 64


def test_a_report_of_a_whole_run_says_nothing_of_parts(folder: Path) -> None:
    assert "shard" not in mcptest(folder, "run", "tests", "--json").report()


def test_an_event_stream_says_it_as_well(folder: Path) -> None:
    ended = mcptest(folder, "run", "tests", "--shard", "2/3", "--reporter", "ndjson")
    started = json.loads(ended.out.splitlines()[0])
    assert started["shard"] == shard_in(folder / "part-2.json")


@pytest.mark.parametrize(
    "words",
    [
        ("tests/c.test.mcp.yml", "tests/b.test.mcp.yml", "tests/a.test.mcp.yml", "tests/d*"),
        ("tests/*",),
        ("tests", "-k", "too", "-k", "works"),
        ("tests", "--parallel", "2"),
    ],
)
def test_how_the_same_tests_are_named_does_not_matter(folder: Path, words: tuple[str, ...]) -> None:
    run_part(folder, 1, 3, *words, name="other")
    assert shard_in(folder / "other-1.json") == shard_in(folder / "part-1.json")


def test_where_the_files_are_does_not_matter(parts: Path, tmp_path: Path) -> None:
    there = write_files(tmp_path / "somewhere" / "else")
    words = ("--shard", "1/3", "--config", str(there / "conductor.config.json"), "--json")
    wanted = shard_in(parts / "part-1.json")
    assert mcptest(there, "run", "tests", *words).report()["shard"] == wanted
    assert mcptest(there / "tests", "run", ".", *words).report()["shard"] == wanted
    assert mcptest(tmp_path, "run", str(there / "tests"), *words).report()["shard"] == wanted


@pytest.mark.parametrize(
    "words", [("-k", "works"), ("tests/a.test.mcp.yml", "tests/b.test.mcp.yml")]
)
def test_another_selection_has_another_digest(folder: Path, words: tuple[str, ...]) -> None:
    run_part(folder, 1, 3, *words, name="other")
    other, part = shard_in(folder / "other-1.json"), shard_in(folder / "part-1.json")
    assert other["selection"] != part["selection"]


def test_a_test_more_makes_another_selection(folder: Path) -> None:
    write_suite(folder / "tests" / "a.test.mcp.yml", case("a works"), case("a too"), case("more"))
    run_part(folder, 2, 3, name="other")
    other, part = shard_in(folder / "other-2.json"), shard_in(folder / "part-2.json")
    assert other["selection"] != part["selection"]


def test_a_part_renders_again_as_the_part_it_is(folder: Path) -> None:
    saved = (folder / "part-1.json").read_text(encoding="utf-8")
    assert mcptest(folder, "report", "part-1.json", "--format", "json").out == saved


# Merging


def test_all_parts_make_a_whole_run(folder: Path) -> None:
    ended = merge(folder, "part-*.json", "-o", "all.json")
    assert (ended.code, ended.err) == (0, "")
    assert "8 tests: 8 passed" in ended.out
    report = json.loads((folder / "all.json").read_text(encoding="utf-8"))
    assert ("shard" in report, report["findings"]) == (False, [])


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (("part-1", "part-3"), "part 2 of 3 is missing"),
        (("part-3",), "parts 1, 2 of 3 are missing"),
    ],
)
def test_a_missing_part_is_named_and_nothing_is_merged(
    folder: Path, names: tuple[str, ...], missing: str
) -> None:
    ended = merge(folder, *(f"{name}.json" for name in names), "--format", "json")
    assert ended.code == 2
    assert ended.err.startswith(f"error: {missing}: no merged report has those tests\n")
    assert "--allow-missing" in ended.err
    report = ended.report()
    assert (report["suites"], report["error"]["kind"]) == ([], "usage")


def test_missing_parts_can_be_allowed_and_are_named_in_the_report(folder: Path) -> None:
    words = ("part-1.json", "part-3.json", "--allow-missing", "-o", "most.json")
    ended = merge(folder, *words)
    assert (ended.code, ended.err) == (0, "")
    assert "part 2 of 3 is missing" in ended.out
    report = json.loads((folder / "most.json").read_text(encoding="utf-8"))
    assert [each["kind"] for each in report["findings"]] == ["shard_missing"]
    assert (report["shard"]["indexes"], report["shard"]["count"]) == ([1, 3], 3)
    later = merge(folder, "most.json", "part-2.json", "--format", "json").report()
    assert (later["summary"]["total"], later["findings"]) == (8, [])
    assert merge(folder, "most.json", "part-1.json").code == 2


def test_allowing_missing_shards_is_only_for_merging(folder: Path) -> None:
    ended = mcptest(folder, "report", "part-1.json", "--allow-missing")
    assert ended.code == 2
    assert "--allow-missing is an option of mcptest report merge" in ended.err


@pytest.mark.parametrize("words", [(), ("--allow-missing",)])
def test_a_part_that_is_given_twice_is_refused(folder: Path, words: tuple[str, ...]) -> None:
    shutil.copy(folder / "part-1.json", folder / "part-1-again.json")
    ended = merge(folder, "part-*.json", *words)
    assert ended.code == 2
    assert "part-1-again.json and part-1.json are both part 1 of 3" in ended.err


def test_a_part_without_tests_that_is_given_twice_is_refused(folder: Path) -> None:
    for index in range(1, 6):
        run_part(folder, index, 5, name="five")
    shutil.copy(folder / "five-5.json", folder / "five-6.json")
    ended = merge(folder, "five-*.json")
    assert ended.code == 2
    assert "five-5.json and five-6.json are both part 5 of 5" in ended.err


@pytest.mark.parametrize("allowed", [(), ("--allow-missing",)])
@pytest.mark.parametrize("words", [("-k", "works"), ("tests/b.test.mcp.yml", "tests/d*")])
def test_parts_of_different_selections_are_refused(
    folder: Path, words: tuple[str, ...], allowed: tuple[str, ...]
) -> None:
    run_part(folder, 2, 3, *words)
    ended = merge(folder, "part-*.json", *allowed)
    assert ended.code == 2
    assert "part-1.json and part-2.json are parts of different selections" in ended.err


def test_parts_of_different_counts_are_refused(folder: Path) -> None:
    run_part(folder, 2, 4)
    ended = merge(folder, "part-1.json", "part-2.json", "part-3.json")
    assert ended.code == 2
    assert "part-1.json is part 1 of 3, but part-2.json is part 2 of 4" in ended.err


def test_parts_beside_a_report_that_is_none_are_refused(folder: Path) -> None:
    write_suite(folder / "more.test.mcp.yml", case("more"))
    mcptest(folder, "run", "more.test.mcp.yml", "--reporter", "json=more.json")
    ended = merge(folder, "more.json", "part-1.json", "part-2.json", "part-3.json")
    assert ended.code == 2
    assert "but more.json is not a part of any run" in ended.err
    assert merge(folder, "part-*.json", "-o", "all.json").code == 0
    assert "9 tests: 9 passed" in merge(folder, "more.json", "all.json").out


def test_reports_of_whole_runs_are_merged_as_before(folder: Path) -> None:
    for name in ("a", "b"):
        mcptest(folder, "run", f"tests/{name}.test.mcp.yml", "--reporter", f"json={name}.json")
    ended = merge(folder, "a.json", "b.json")
    assert (ended.code, "4 tests: 4 passed" in ended.out) == (0, True)


# Parts in which not everything ran


@pytest.mark.parametrize("by", ["file", "stdout"])
def test_a_shard_without_files_still_has_a_report(folder: Path, by: str) -> None:
    for index in range(1, 6):
        ended = run_part(folder, index, 5, *(["--json"] if by == "stdout" else []), name="five")
        assert ended.code == (7 if index == 5 else 0)
        if by == "stdout":
            (folder / f"five-{index}.json").write_text(ended.out, encoding="utf-8")
    assert shard_in(folder / "five-5.json") == shard_in(folder / "five-1.json") | {"index": 5}
    ended = merge(folder, "five-*.json")
    assert (ended.code, "8 tests: 8 passed" in ended.out) == (0, True)


def test_a_part_that_found_no_test_files_is_not_an_empty_part(folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    (empty / "tests").mkdir(parents=True)
    assert run_part(empty, 2, 3).code == 7
    shutil.copy(empty / "part-2.json", folder / "part-2.json")
    ended = merge(folder, "part-*.json")
    assert ended.code == 2
    assert "part-2.json is part 2 of 3, but its run found no test files" in ended.err


def test_a_part_that_could_not_run_fails_the_merge(folder: Path) -> None:
    assert run_part(folder, 2, 3, "--server-command", "no-such-thing").code == 3
    assert merge(folder, "part-*.json").code == 1
    (folder / "tests" / "a.test.mcp.yml").write_text("tests: 1", encoding="utf-8")
    assert run_part(folder, 2, 3).code == 2
    assert shard_in(folder / "part-2.json") == {"index": 2, "count": 3, "selection": None}
    ended = merge(folder, "part-*.json")
    assert (ended.code, "the tests can be run" in ended.out) == (1, True)


def test_a_part_that_was_interrupted_makes_the_merge_interrupted(folder: Path) -> None:
    write_suite(folder / "tests" / "b.test.mcp.yml", case("b works"), case("b too", "sleep"))
    words = ("tests", "--shard", "2/3", "--reporter", "json=part-2.json")
    with subprocess.Popen(
        [sys.executable, "-m", "mcptest", "run", *words],
        cwd=folder,
        env=ENVIRONMENT | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as run:
        assert run.stdout is not None
        while b"b works" not in os.read(run.stdout.fileno(), 10_000):
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        run.stdout.read()
        assert run.wait(PATIENCE_S) == 130
    assert shard_in(folder / "part-2.json") == shard_in(folder / "part-1.json") | {"index": 2}
    ended = merge(folder, "part-*.json")
    assert (ended.code, "interrupted" in ended.out) == (130, True)


@pytest.mark.parametrize(
    ("shard", "message"),
    [
        ({"index": 0, "count": 3}, "there is no shard 0 of 3"),
        ({"index": 4, "count": 3}, "there is no shard 4 of 3"),
        ({"indexes": [1, 1], "count": 3}, "there is no shard [1, 1] of 3"),
        ({"indexes": [], "count": 3}, "there is no shard [] of 3"),
        ({"index": 1, "count": 10**12}, "there is no shard 1 of 1,000,000,000,000"),
        ({"index": "1", "count": 3}, 'shard.index must be a whole number from 0, not "1"'),
        ({"index": 1}, 'shard needs the key "count"'),
        ([], "shard must be an object"),
    ],
)
def test_a_report_that_is_wrong_about_its_part_is_refused(
    folder: Path, shard: object, message: str
) -> None:
    report = json.loads((folder / "part-1.json").read_text(encoding="utf-8"))
    (folder / "part-1.json").write_text(json.dumps(report | {"shard": shard}), encoding="utf-8")
    ended = merge(folder, "part-*.json")
    assert ended.code == 2
    assert message in ended.err
