"""`mcptest report`: a saved run rendered again, and several made into one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from console import ENVIRONMENT, PATIENCE_S, case, mcptest, write_config, write_suite

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three reports: one of tests that pass, one with a failure, one without a server."""
    folder = tmp_path_factory.mktemp("reports")
    write_config(folder / "conductor.config.json")
    write_suite(folder / "good.test.mcp.yml", case("good"), case("later", skip="not yet"))
    write_suite(folder / "bad.test.mcp.yml", case("bad", wants={}), case("dies", "die"))
    for name in ("good", "bad"):
        mcptest(folder, "run", f"{name}.test.mcp.yml", "--reporter", f"json={name}.json")
    words = ("--server-command", "no-such-thing", "--reporter", "json=none.json")
    mcptest(folder, "run", "good.test.mcp.yml", *words)
    return folder


@pytest.fixture
def folder(reports: Path, tmp_path: Path) -> Path:
    """A copy of them for one test."""
    return Path(shutil.copytree(reports, tmp_path / "copy"))


@pytest.mark.parametrize(
    "name", ["terminal", "minimal", "json", "ndjson", "junit", "tap", "github", "markdown", "sarif"]
)
def test_a_saved_run_reads_like_the_run_itself(folder: Path, name: str) -> None:
    """The failures of the example have everything a report can show of one."""
    example = str(EXAMPLES / "failing")
    first = mcptest(folder, "run", example, "--reporter", "json=run.json", "--verbose")
    assert first.code == 1
    again = mcptest(folder, "report", "run.json", "--format", "json=copy.json")
    assert (again.code, again.err) == (1, "")
    copied = mcptest(folder, "report", "copy.json", "--format", name)
    direct = mcptest(folder, "report", "run.json", "--format", name)
    assert copied == direct
    if name == "terminal":
        assert direct.out == mcptest(folder, "report", "run.json").out
        assert mcptest(folder, "report", "run.json", "--verbose").out == first.out


def test_the_json_report_is_returned_byte_for_byte(folder: Path) -> None:
    for name in ("good", "bad", "none"):
        saved = (folder / f"{name}.json").read_text(encoding="utf-8")
        assert mcptest(folder, "report", f"{name}.json", "--format", "json").out == saved


def test_several_formats_are_written_at_once(folder: Path) -> None:
    words = ("--format", "junit=out.xml", "--format", "markdown=out.md", "--format", "html=o.html")
    ended = mcptest(folder, "report", "bad.json", *words)
    assert ended.code == 1
    assert "2 tests: 1 failed, 1 error" in ended.out
    assert ET.parse(folder / "out.xml").getroot().get("failures") == "1"
    assert (folder / "out.md").read_text(encoding="utf-8").startswith("## mcptest: 2 of 2 tests")
    assert (folder / "o.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_report_can_be_read_from_a_pipe(folder: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "mcptest", "report", "-", "--format", "minimal"],
        cwd=folder,
        env=ENVIRONMENT,
        input=(folder / "good.json").read_bytes(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 0
    assert ended.stdout.startswith(b"2 tests: 1 passed, 1 skipped")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("good.test.mcp.yml",), 0),
        (("bad.test.mcp.yml",), 1),
        (("missing.test.mcp.yml",), 2),
        (("conductor.config.json",), 2),
        (("good.test.mcp.yml", "--server-command", "no-such-thing"), 3),
        (("good.test.mcp.yml", "-k", "nope"), 7),
        (("good.test.mcp.yml", "-k", "later"), 7),
    ],
)
def test_the_exit_status_is_that_of_the_run(
    folder: Path, words: tuple[str, ...], code: int
) -> None:
    assert mcptest(folder, "run", *words, "--reporter", "json=run.json").code == code
    assert mcptest(folder, "report", "run.json").code == code
    assert mcptest(folder, "report", "merge", "run.json").code == code


def test_an_interrupted_run_stays_interrupted_and_a_missed_gate_missed(folder: Path) -> None:
    report = json.loads((folder / "good.json").read_text(encoding="utf-8"))
    for member, value, code in (("interrupted", True, 130), ("gates", ["too little"], 6)):
        changed = json.dumps(report | {member: value})
        (folder / "changed.json").write_text(changed, encoding="utf-8")
        assert mcptest(folder, "report", "changed.json").code == code


def test_merged_reports_are_one_and_as_good_as_the_worst(folder: Path) -> None:
    ended = mcptest(folder, "report", "merge", "good.json", "bad.json", "-o", "all.json")
    assert (ended.code, ended.err) == (1, "")
    assert "4 tests: 1 passed, 1 failed, 1 error, 1 skipped" in ended.out
    report = json.loads((folder / "all.json").read_text(encoding="utf-8"))
    assert [suite["file"] for suite in report["suites"]] == [
        "bad.test.mcp.yml",
        "good.test.mcp.yml",
    ]
    parts = [
        json.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("good.json", "bad.json")
    ]
    assert report["duration_ms"] == max(part["duration_ms"] for part in parts)
    assert report["started_at"] == min(part["started_at"] for part in parts)


def test_a_shard_whose_server_never_started_is_an_error_of_the_whole(folder: Path) -> None:
    words = ("merge", "bad.json", "none.json", "--format", "agent")
    ended = mcptest(folder, "report", *words)
    assert ended.code == 1
    assert "the tests can be run\n   where: none.json\n   what: spawn_failed: " in ended.out
    # It is not a test that could be repeated.
    assert ended.out.count("   repeat: ") == 2


def test_a_glob_is_expanded_here_when_the_shell_did_not(folder: Path) -> None:
    (folder / "shards").mkdir()
    for name in ("good", "bad"):
        (folder / f"{name}.json").rename(folder / "shards" / f"{name}.json")
    ended = mcptest(folder, "report", "merge", "shards/*.json", "--format", "minimal")
    assert "4 tests: " in ended.out


def test_the_coverage_of_all_shards_is_one_gate(folder: Path) -> None:
    example = EXAMPLES / "filesystem"
    config = ("-c", str(example / "conductor.config.json"))
    mcptest(folder, "run", str(example), *config, "--reporter", "json=run.json")
    assert mcptest(folder, "report", "merge", "run.json", "--min-coverage", "75").code == 0
    ended = mcptest(folder, "report", "merge", "run.json", "--min-coverage", "75.5")
    assert ended.code == 6
    assert "gate missed: coverage is 75.0 %" in ended.out


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ((), 2, "mcptest report needs the file of a JSON report"),
        (("merge",), 2, "mcptest report needs the file of a JSON report"),
        (("good.json", "bad.json"), 2, "mcptest report takes one report, not 2"),
        (("nope.json",), 2, "cannot read nope.json: No such file or directory"),
        ((".",), 2, "cannot read .: Is a directory"),
        (("merge", "*.nope"), 7, "no file matches *.nope"),
        (("merge", "good.json", "good.json"), 2, "both hold the tests of good.test.mcp.yml"),
        (("merge", "good.json", "-o", "good.json"), 2, "good.json is one of the files to read"),
        (("good.json", "--format", "json=./good.json"), 2, "is one of the files to read"),
        (("good.json", "--format", "jsn"), 2, "there is no reporter 'jsn'; did you mean json?"),
        (("good.json", "--format", "tap="), 2, "--format tap= needs a file after the equals sign"),
        (("good.json", "--output", "no/such/x"), 2, "there is no folder"),
        (("conductor.config.json",), 2, "this is not a JSON report of mcptest"),
        (("good.test.mcp.yml",), 2, "this is not a JSON report of mcptest"),
        (("latin.json",), 2, "this is not UTF-8: byte 2 does not belong there"),
        (("good.json", "--min-coverage", "no"), 2, "--min-coverage takes a number"),
    ],
)
def test_what_cannot_be_done_is_reported(
    folder: Path, words: tuple[str, ...], code: int, why: str
) -> None:
    (folder / "latin.json").write_bytes(b'"\xfc"')
    ended = mcptest(folder, "report", *words)
    assert (ended.code, ended.out) == (code, "")
    assert why in ended.err


def test_every_invalid_file_is_reported(folder: Path) -> None:
    (folder / "one.json").write_text("{", encoding="utf-8")
    (folder / "two.json").write_text("{}", encoding="utf-8")
    ended = mcptest(folder, "report", "merge", "one.json", "good.json", "two.json")
    assert ended.code == 2
    assert " --> one.json:1:2\n" in ended.err
    assert " --> two.json\n" in ended.err
    assert "2 mistakes" in ended.err


def test_a_report_that_cannot_be_read_leaves_no_old_rendering(folder: Path) -> None:
    (folder / "out.tap").write_text("yesterday", encoding="utf-8")
    (folder / "broken.json").write_text("{}", encoding="utf-8")
    ended = mcptest(folder, "report", "broken.json", "--format", "tap=out.tap", "--format", "json")
    assert ended.code == 2
    assert ended.report()["error"]["kind"] == "bad_file"
    assert "not ok 1 - the tests can be run" in (folder / "out.tap").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [("cut.json",), ("merge", "cut.json", "other.json")])
def test_a_report_that_has_lost_tests_does_not_succeed(
    folder: Path, words: tuple[str, ...]
) -> None:
    write_suite(folder / "other.test.mcp.yml", case("other"))
    mcptest(folder, "run", "other.test.mcp.yml", "--reporter", "json=other.json")
    report = json.loads((folder / "good.json").read_text(encoding="utf-8"))
    (folder / "cut.json").write_text(json.dumps(report), encoding="utf-8")
    assert mcptest(folder, "report", *words).code == 0
    (folder / "cut.json").write_text(json.dumps(report | {"selected": 5}), encoding="utf-8")
    ended = mcptest(folder, "report", *words, "--format", "terminal", "-o", "out.json")
    assert ended.code == 1
    assert "this report has the results of 2 of 5 selected tests" in ended.out
    assert mcptest(folder, "report", "out.json").code == 1


def test_a_merge_with_a_shard_that_never_ran_is_returned_unchanged(folder: Path) -> None:
    mcptest(folder, "report", "merge", "bad.json", "none.json", "-o", "all.json")
    saved = (folder / "all.json").read_text(encoding="utf-8")
    assert mcptest(folder, "report", "all.json", "--format", "json").out == saved


def test_a_pipe_a_device_and_a_file_beyond_all_reports_are_refused(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for name in ("pipe", "/dev/zero"):
        ended = mcptest(folder, "report", name)
        assert (ended.code, ended.out) == (2, "")
        assert f"cannot read {name}: it is not a regular file" in ended.err
    with open(folder / "huge.json", "wb") as file:
        file.truncate(256 * 1024 * 1024 + 1)
    ended = mcptest(folder, "report", "huge.json")
    assert ended.code == 2
    assert "cannot read huge.json: it is larger than 268,435,456 bytes" in ended.err


def test_standard_input_without_an_end_is_left_at_some_point(folder: Path) -> None:
    with open("/dev/zero", "rb") as endless:
        ended = subprocess.run(
            [sys.executable, "-m", "mcptest", "report", "-"],
            cwd=folder,
            env=ENVIRONMENT,
            stdin=endless,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert ended.returncode == 2
    assert b"cannot read standard input: it is larger than 268,435,456 bytes" in ended.stderr
