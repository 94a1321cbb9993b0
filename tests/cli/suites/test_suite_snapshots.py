"""Snapshots of suites: written, compared, accepted, and named when they are unused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from console import Ended, mcptest

from mcptest.core.text import CI_VARIABLES

SCRIPTED = str(Path(__file__).parents[2] / "servers" / "scripted_server.py")
STORED = Path("__snapshots__") / "mcptest.yaml.snap.yaml"
SNAPSHOT = {"target": "result", "matcher": {"snapshot": True}}


def write(folder: Path, *names: str, text: str = "hi", **keys: Any) -> None:
    """A suite of calls that are each held against a snapshot; JSON is YAML."""
    command = [sys.executable, "-S", "-E", SCRIPTED, "{}"]
    tools = [
        {"name": name, "tool": "echo", "args": {"text": text}, "expect": [SNAPSHOT]}
        for name in names
    ]
    suite = {"servers": {"shop": {"command": command}}, "tools": tools, **keys}
    (folder / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")


def run(folder: Path, *words: str, ci: bool = False) -> Ended:
    return mcptest(folder, "run", "--json", *words, CI="true" if ci else "")


def snapshots(ended: Ended) -> dict[str, Any]:
    found: dict[str, Any] = ended.report()["snapshots"]
    return found


NONE: dict[str, Any] = {}


def test_a_new_snapshot_is_written_once_and_compared_from_then_on(tmp_path: Path) -> None:
    write(tmp_path, "greets")
    first = run(tmp_path)
    assert (first.code, snapshots(first)["written"]) == (0, {"mcptest.yaml": ["greets > result"]})
    text = (tmp_path / STORED).read_text(encoding="utf-8")
    second = run(tmp_path)
    assert (second.code, snapshots(second)["written"]) == (0, NONE)
    assert (tmp_path / STORED).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", CI_VARIABLES)
def test_in_ci_a_missing_snapshot_fails_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    write(tmp_path, "greets")
    environment = {"CI": ""} | {name: "1"}
    ended = mcptest(tmp_path, "run", "--json", **environment)
    (mismatch,) = ended.report()["suites"][0]["tests"][0]["mismatches"]
    assert (ended.code, mismatch["hint"]) == (1, "run it outside CI, and commit what is written")
    assert not (tmp_path / STORED).exists()
    refused = mcptest(tmp_path, "run", "--update-snapshots", **environment)
    assert refused.code == 5
    assert f"is refused in CI ({name} is set)" in refused.err
    assert not (tmp_path / STORED).exists()


@pytest.mark.parametrize("value", ["", "0", "false", "False", "no", "off"])
def test_a_variable_that_says_no_is_not_ci(tmp_path: Path, value: str) -> None:
    write(tmp_path, "greets")
    ended = mcptest(tmp_path, "run", "--json", CI=value, GITHUB_ACTIONS=value, TF_BUILD=value)
    assert (ended.code, snapshots(ended)["written"]) == (0, {"mcptest.yaml": ["greets > result"]})


def test_what_says_no_for_itself_does_not_say_it_for_another_variable(tmp_path: Path) -> None:
    write(tmp_path, "greets")
    assert mcptest(tmp_path, "run", CI="false", GITHUB_ACTIONS="true").code == 1
    assert not (tmp_path / STORED).exists()


def test_another_answer_fails_where_it_differs_and_changes_no_file(tmp_path: Path) -> None:
    write(tmp_path, "greets")
    run(tmp_path)
    text = (tmp_path / STORED).read_text(encoding="utf-8")
    write(tmp_path, "greets", text="bye")
    ended = run(tmp_path)
    (mismatch,) = ended.report()["suites"][0]["tests"][0]["mismatches"]
    assert (ended.code, mismatch["path"]) == (1, "result.content[0].text")
    assert "--update-snapshots" in mismatch["hint"]
    assert (tmp_path / STORED).read_text(encoding="utf-8") == text


def test_it_is_accepted_when_that_is_said(tmp_path: Path) -> None:
    write(tmp_path, "greets")
    run(tmp_path)
    write(tmp_path, "greets", text="bye")
    ended = run(tmp_path, "--update-snapshots")
    assert (ended.code, snapshots(ended)["updated"]) == (0, {"mcptest.yaml": ["greets > result"]})
    assert run(tmp_path).code == 0


def test_under_ci_nothing_is_written_and_what_is_missing_fails(tmp_path: Path) -> None:
    write(tmp_path, "greets")
    ended = run(tmp_path, ci=True)
    assert ended.code == 1
    assert not (tmp_path / STORED).exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--update-snapshots",), 5),
        (("--update-snapshots", "--force-update-snapshots"), 0),
    ],
)
def test_under_ci_updating_is_refused_unless_it_is_forced(
    tmp_path: Path, words: tuple[str, ...], code: int
) -> None:
    write(tmp_path, "greets")
    ended = run(tmp_path, *words, ci=True)
    assert ended.code == code
    assert (tmp_path / STORED).exists() is (code == 0)


def test_a_stale_one_is_named_and_removed_only_by_a_whole_update(tmp_path: Path) -> None:
    write(tmp_path, "greets", "leaves")
    run(tmp_path)
    write(tmp_path, "greets", "stays")
    stale = {"mcptest.yaml": ["leaves > result"]}
    assert snapshots(run(tmp_path))["stale"] == stale
    partly = run(tmp_path, "--update-snapshots", "-k", "greets")
    assert (snapshots(partly)["stale"], snapshots(partly)["removed"]) == (stale, NONE)
    whole = run(tmp_path, "--update-snapshots")
    assert (snapshots(whole)["stale"], snapshots(whole)["removed"]) == (NONE, stale)
    assert snapshots(run(tmp_path))["stale"] == NONE


def test_a_test_that_was_left_out_keeps_its_snapshot(tmp_path: Path) -> None:
    write(tmp_path, "greets", "leaves")
    run(tmp_path)
    ended = run(tmp_path, "--update-snapshots", "-k", "greets")
    assert (snapshots(ended)["stale"], snapshots(ended)["removed"]) == (NONE, NONE)


def test_files_that_run_side_by_side_write_all_of_them(tmp_path: Path) -> None:
    write(tmp_path, "greets", "waves")
    suite = json.loads((tmp_path / "mcptest.yaml").read_text(encoding="utf-8"))
    suite["servers"]["other"] = suite["servers"]["shop"]
    for tool, server in zip(suite["tools"], ("shop", "other"), strict=True):
        tool["server"] = server
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ended = run(tmp_path, "--parallel", "2")
    keys = ["greets > result", "waves > result"]
    assert (ended.code, snapshots(ended)["written"]) == (0, {"mcptest.yaml": keys})
    assert run(tmp_path, "--parallel", "2", ci=True).code == 0


def test_the_terminal_report_says_what_happened_to_them(tmp_path: Path) -> None:
    write(tmp_path, "greets", "leaves")
    first = mcptest(tmp_path, "run", CI="")
    assert "2 snapshots written" in first.out
    write(tmp_path, "greets")
    second = mcptest(tmp_path, "run", CI="")
    assert "1 stale snapshot of mcptest.yaml: leaves > result" in second.out


def test_an_invalid_snapshot_file_is_a_mistake_before_anything_runs(tmp_path: Path) -> None:
    write(tmp_path, "greets")
    (tmp_path / STORED).parent.mkdir()
    (tmp_path / STORED).write_text("snapshots: 3\n", encoding="utf-8")
    ended = run(tmp_path)
    assert ended.code == 2
    assert ended.report()["error"]["diagnostics"][0]["file"].endswith(".snap.yaml")
