"""What shares a server process, one by one and side by side: verdicts do not depend on -j."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from console import Ended, mcptest, write_suite

SERVER = Path(__file__).parents[2] / "servers" / "naming_server.py"
ONE_BY_ONE: tuple[str, ...] = ()
WAYS = [ONE_BY_ONE, ("-j", "3")]


def counts(to: int) -> dict[str, Any]:
    """Passes if the process has counted this often."""
    text = {"content": [{"text": str(to)}]}
    expect = {"response": {"result": {"match:partial": text}}}
    return {"it": f"counts to {to}", "tool": "count", "expect": expect}


def config(folder: Path, **keys: Any) -> None:
    server = {"name": "naming", "command": sys.executable, "args": ["-S", "-E", str(SERVER)]}
    (folder / "conductor.config.json").write_text(json.dumps(server | keys), encoding="utf-8")


def write_three(folder: Path, *wanted: tuple[int, int], **keys: Any) -> None:
    """Three files of two tests each, and what each of them expects the server to count to."""
    config(folder, **keys)
    for name, pair in zip("abc", wanted, strict=True):
        write_suite(folder / f"{name}.test.mcp.yml", *map(counts, pair))


def failed(ended: Ended) -> list[str]:
    suites = ended.report()["suites"]
    tests = ((suite["file"][0], test) for suite in suites for test in suite["tests"])
    return [f"{file} {test['name']}" for file, test in tests if test["status"] != "passed"]


RUN = [(1, 2), (3, 4), (5, 6)]
FILE = [(1, 2)] * 3
TEST = [(1, 1)] * 3


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("isolation", "wanted"), [("run", RUN), ("file", FILE), ("test", TEST)])
def test_the_option_says_what_has_its_own_server(
    tmp_path: Path, way: tuple[str, ...], isolation: str, wanted: list[tuple[int, int]]
) -> None:
    # Whatever the config says.
    write_three(tmp_path, *wanted, isolation="file" if isolation == "run" else "run")
    ended = mcptest(tmp_path, "run", ".", "--json", "--isolation", isolation, *way)
    assert (failed(ended), ended.code) == ([], 0)


@pytest.mark.parametrize("way", WAYS)
def test_files_share_a_server_unless_something_else_is_said(
    tmp_path: Path, way: tuple[str, ...]
) -> None:
    write_three(tmp_path, *RUN)
    ended = mcptest(tmp_path, "run", ".", "--json", *way)
    assert (failed(ended), ended.code) == ([], 0)


def test_files_that_cannot_run_side_by_side_are_named(tmp_path: Path) -> None:
    write_three(tmp_path, *RUN)
    note = (
        "note: 3 files share the server naming and run one after the other; --isolation file "
        "gives each file its own\n"
    )
    assert mcptest(tmp_path, "run", ".", "-j", "2").err == note
    assert mcptest(tmp_path, "run", ".").err == ""
    assert mcptest(tmp_path, "run", ".", "-j", "2", "--isolation", "file").err == ""


def test_servers_of_other_files_run_beside_those_that_share_one(tmp_path: Path) -> None:
    write_three(tmp_path, *RUN)
    own = {"name": "own", "command": sys.executable, "args": ["-S", "-E", str(SERVER)]}
    write_suite(tmp_path / "b.test.mcp.yml", counts(1), server=own)
    # The one of the first file is not there any more after the second one.
    write_suite(tmp_path / "c.test.mcp.yml", counts(1), counts(2))
    for way in WAYS:
        ended = mcptest(tmp_path, "run", ".", "--json", *way)
        assert (failed(ended), ended.code) == ([], 0)


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_says_that_other_files_had_the_server_before(
    tmp_path: Path, way: tuple[str, ...]
) -> None:
    write_three(tmp_path, *FILE)
    suites = mcptest(tmp_path, "run", ".", "--json", *way).report()["suites"]
    notes = [suite["tests"][0].get("notes", []) for suite in suites]
    before = "this server had run {} before: if their tests left something behind, --isolation "
    before += "file gives each file its own"
    assert notes == [[], [before.format("1 other file")], [before.format("2 other files")]]


def test_a_failure_on_an_own_server_does_not(tmp_path: Path) -> None:
    write_three(tmp_path, *RUN, isolation="file")
    ended = mcptest(tmp_path, "run", ".", "--json")
    assert len(failed(ended)) == 4
    assert "other file" not in ended.out


@pytest.mark.parametrize("way", WAYS)
def test_contracts_have_their_own_in_any_case(tmp_path: Path, way: tuple[str, ...]) -> None:
    config(tmp_path)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "count"}}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "1"}]}}
    for name in "ab":
        text = json.dumps({"case": "counts", "in": call, "out": answer})
        (tmp_path / f"{name}.cases.yaml").write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "run", ".", "--json", "--isolation", "run", *way)
    assert (failed(ended), ended.code) == ([], 0)


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_dies_in_one_file_is_started_for_the_next(
    tmp_path: Path, way: tuple[str, ...]
) -> None:
    command = {"name": "s", "command": sys.executable, "args": ["-S", "-E", str(SERVER)]}
    config(tmp_path, **command, isolation="file")
    dies = {"it": "dies", "tool": "die", "expect": {"response": {"result": {}}}}
    write_suite(tmp_path / "a.test.mcp.yml", dies, dies, dies, dies)
    write_suite(tmp_path / "b.test.mcp.yml", counts(1))
    ended = mcptest(tmp_path, "run", ".", "--json", *way)
    assert failed(ended) == ["a dies"] * 4


def test_a_word_that_it_does_not_know_is_refused(tmp_path: Path) -> None:
    write_three(tmp_path, *RUN)
    ended = mcptest(tmp_path, "run", ".", "--isolation", "files")
    assert ended.code == 2
    assert "--isolation takes run, file or test, not 'files'; did you mean file?" in ended.err


def test_suites_follow_the_option_too(tmp_path: Path) -> None:
    servers = {"s": {"command": [sys.executable, "-S", "-E", str(SERVER)]}}
    expect = [{"target": "result.content[0].text", "matcher": {"exact": "1"}}]
    entry = {"name": "counts", "tool": "count", "expect": expect}
    suite = {"servers": servers, "tools": [entry, entry], "run_options": {"isolation": "run"}}
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    assert mcptest(tmp_path, "run").code == 1
    assert mcptest(tmp_path, "run", "--isolation", "test").code == 0


def test_help_names_it(tmp_path: Path) -> None:
    assert re.search(r"--isolation run\|file\|test", mcptest(tmp_path, "run", "--help").out)
