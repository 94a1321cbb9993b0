"""Snapshots that cannot be written, must not be accepted, or are written in watch mode."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from console import PATIENCE_S, Ended, mcptest
from watching import ENDS, Watching

from mcptest.cli import run_modes

SCRIPTED = str(Path(__file__).parents[2] / "servers" / "scripted_server.py")
FOLDER = "__snapshots__"
STORED = Path(FOLDER) / "mcptest.yaml.snap.yaml"
SNAPSHOT = {"target": "result", "matcher": {"snapshot": True}}
WRONG = {"target": "result.content[0].text", "matcher": {"exact": "something else"}}


def entry(name: str, *expect: dict[str, Any], text: str = "hi") -> dict[str, Any]:
    return {"name": name, "tool": "echo", "args": {"text": text}, "expect": list(expect)}


def write(folder: Path, *tools: dict[str, Any]) -> None:
    command = [sys.executable, "-S", "-E", SCRIPTED, "{}"]
    suite = {"servers": {"shop": {"command": command}}, "tools": list(tools)}
    (folder / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")


def run(folder: Path, *words: str) -> Ended:
    return mcptest(folder, "run", "--json", *words, CI="")


REPORTS = ("junit", "markdown", "github", "sarif", "tap", "html", "agent", "ndjson", "minimal")


def test_a_snapshot_file_that_cannot_be_written_is_reported_in_every_report(tmp_path: Path) -> None:
    write(tmp_path, entry("greets", SNAPSHOT))
    (tmp_path / FOLDER).write_text("in the way", encoding="utf-8")
    words = [f"--reporter={name}={name}.out" for name in REPORTS]
    ended = run(tmp_path, *words)
    problem = f"cannot write {STORED}: File exists"
    assert ended.code == 1
    assert ended.err == f"error: {problem}\n"
    report = ended.report()
    assert report["summary"]["passed"] == 1
    assert [each["message"] for each in report["findings"]] == [problem]
    assert report["broken_rules"] == ["snapshots_not_written"]
    assert report["snapshots"]["unwritten"] == {"mcptest.yaml": ["greets > result"]}
    silent = [
        name
        for name in REPORTS
        if "snapshots_not_written" not in (text := (tmp_path / f"{name}.out").read_text("utf-8"))
        and "File exists" not in text
    ]
    assert silent == []


def test_a_run_that_may_write_nothing_does_not_mind(tmp_path: Path) -> None:
    write(tmp_path, entry("greets", SNAPSHOT))
    run(tmp_path)
    (tmp_path / FOLDER).chmod(0o555)
    (tmp_path / STORED).chmod(0o444)
    ended = run(tmp_path)
    (tmp_path / FOLDER).chmod(0o755)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("words", [(), ("--update-snapshots",)])
def test_the_snapshot_of_a_test_that_fails_otherwise_is_held_back(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    write(tmp_path, entry("greets", SNAPSHOT, WRONG), entry("waves", SNAPSHOT))
    ended = run(tmp_path, *words)
    report = ended.report()
    assert (ended.code, report["snapshots"]["written"]) == (1, {"mcptest.yaml": ["waves > result"]})
    assert report["snapshots"]["held"] == {"mcptest.yaml": ["greets > result"]}
    notes = report["suites"][0]["tests"][0]["notes"]
    assert "held back, for only what passes is accepted: the snapshot greets > result" in notes
    assert "greets" not in (tmp_path / STORED).read_text(encoding="utf-8")
    shown = mcptest(tmp_path, "run", *words, CI="")
    assert "1 snapshot of mcptest.yaml held back: greets > result" in shown.out


def test_a_snapshot_that_is_held_back_is_accepted_once_the_test_passes(tmp_path: Path) -> None:
    write(tmp_path, entry("greets", SNAPSHOT, WRONG))
    run(tmp_path)
    write(tmp_path, entry("greets", SNAPSHOT))
    ended = run(tmp_path)
    assert (ended.code, ended.report()["snapshots"]["held"]) == (0, {})
    assert (tmp_path / STORED).exists()


def test_tests_that_share_a_name_and_do_not_agree_are_never_accepted(tmp_path: Path) -> None:
    shared = {"target": "result", "matcher": {"snapshot": "both"}}
    write(tmp_path, entry("greets", shared), entry("leaves", shared, text="bye"))
    for _ in range(2):
        ended = run(tmp_path, "--update-snapshots")
        assert (ended.code, ended.report()["broken_rules"]) == (1, ["snapshot_shared"])
        assert 'the tests "greets" and "leaves" have different values' in ended.err
    assert not (tmp_path / STORED).exists()


@pytest.mark.parametrize(
    ("path", "is_reason"),
    [
        ("/a/mcptest.yaml", True),
        ("/a/part.yaml", True),
        ("/a/__snapshots__/mcptest.yaml.snap.yaml", False),
        ("/a/__snapshots__/mcptest.yaml.snap.yaml.12.tmp", False),
        ("/a/mcptest.yaml.snap.yaml", True),
    ],
)
def test_snapshots_that_a_run_writes_do_not_cause_another_round(path: str, is_reason: bool) -> None:
    is_wanted = run_modes._filter(pytest.importorskip("watchfiles"), ())
    assert is_wanted(None, path) is is_reason


def test_a_watch_that_writes_snapshots_waits_for_a_change_by_someone_else(tmp_path: Path) -> None:
    write(tmp_path, entry("greets", SNAPSHOT))
    command = Watching(tmp_path, "--update-snapshots")
    try:
        command.wait_for("Ctrl-C ends it")
        # What the first round wrote would be seen before this.
        command.wait_for("1 failed", lambda: write(tmp_path, entry("no", WRONG)))
        assert command.text.count("1 passed") == 1
        assert command.end() in (*ENDS, 1)
    finally:
        if command.process.poll() is None:
            command.process.kill()
        command.process.wait(PATIENCE_S)
