"""`FILE:LINE` runs the test at that line; `--list` shows what would run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from console import mcptest, write_config

if TYPE_CHECKING:
    from pathlib import Path

BIRDS = """\
description: birds
tests:
  # about singing
  - it: sings
    tags: [loud, early]
    request: {jsonrpc: "2.0", id: 1, method: echo, params: {a: 1}}
    expect:
      response:
        {jsonrpc: "2.0", id: 1, result: {a: 1}}

  # about nests
  - it: nests ${n}
    each:
      - {n: 1}
      - n: 2
    request: {jsonrpc: "2.0", id: 1, method: echo, params: {a: "${n}"}}
    expect: {response: {jsonrpc: "2.0", id: 1, result: {a: "${n}"}}}
  - it: swims
    skip: no water
    request: {jsonrpc: "2.0", id: 1, method: echo}
    expect: {response: {jsonrpc: "2.0", id: 1, result: {}}}
"""
FISH = """\
case: swims
in: {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"a": 1}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}
---
# A comment.
case: sleeps
in: {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"a": 2}}
out:
  {"jsonrpc": "2.0", "id": 1, "result": {"a": 2}}
"""
SUITE = """\
name: shop
servers:
  one: {command: [no-such-program]}
tools:
  - name: first
    tool: add
    args: {a: 1}
  - name: second
    tool: add
    args: {a: 2}
compliance:
  - {name: makes the handshake, check: initialize}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json")
    (tmp_path / "birds.test.mcp.yml").write_text(BIRDS, encoding="utf-8")
    (tmp_path / "fish.cases.yaml").write_text(FISH, encoding="utf-8")
    return tmp_path


def names(folder: Path, *words: str) -> list[str]:
    report = mcptest(folder, "run", "--json", *words).report()
    assert report["error"] is None, report["error"]
    return [test["name"] for suite in report["suites"] for test in suite["tests"]]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["birds.test.mcp.yml:4"], ["sings"]),
        (["./birds.test.mcp.yml:9"], ["sings"]),
        (["birds.test.mcp.yml:14"], ["nests 1"]),
        (["birds.test.mcp.yml:15"], ["nests 2"]),
        (["birds.test.mcp.yml:12"], ["nests 1", "nests 2"]),
        (["birds.test.mcp.yml:17"], ["nests 1", "nests 2"]),
        (["birds.test.mcp.yml:15", "birds.test.mcp.yml:4"], ["sings", "nests 2"]),
        (["birds.test.mcp.yml:4", "fish.cases.yaml"], ["sings", "swims", "sleeps"]),
        (["fish.cases.yaml:4", "."], ["sings", "nests 1", "nests 2", "swims", "swims", "sleeps"]),
        (["fish.cases.yaml:1"], ["swims"]),
        (["fish.cases.yaml:5"], ["sleeps"]),
        (["fish.cases.yaml:9"], ["sleeps"]),
        (["birds.test.mcp.yml:12", "-k", "2"], ["nests 2"]),
    ],
)
def test_a_line_names_the_test_around_it(
    folder: Path, words: list[str], expected: list[str]
) -> None:
    assert names(folder, *words) == expected


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "birds.test.mcp.yml:11",
            "error: there is no test at birds.test.mcp.yml:11\n  help: the nearest: "
            "birds.test.mcp.yml:4 (sings), birds.test.mcp.yml:14 (nests 1), "
            "birds.test.mcp.yml:15 (nests 2)\n",
        ),
        (
            "fish.cases.yaml:99",
            "error: there is no test at fish.cases.yaml:99\n  help: the nearest: "
            "fish.cases.yaml:1 (swims), fish.cases.yaml:6 (sleeps)\n",
        ),
        ("birds.test.mcp.yml:0", "error: 'birds.test.mcp.yml:0': lines are counted from 1\n"),
        (".:3", "error: '.:3': a line is of one file, and this is a folder\n"),
        ("*.yml:3", "error: '*.yml:3': a line is of one file, and this is a glob\n"),
        ("bird.test.mcp.yml:3", "error: there is no file or folder 'bird.test.mcp.yml'; did you"),
        (
            "birds.test.mcp.yml:4:7",
            "error: 'birds.test.mcp.yml:4:7' names a column; a test is named by its line\n"
            "  help: give birds.test.mcp.yml:4\n",
        ),
    ],
)
def test_a_line_without_a_test_is_an_error(folder: Path, word: str, message: str) -> None:
    ended = mcptest(folder, "run", word)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(message)


def test_a_file_with_a_colon_in_its_name_is_a_file(folder: Path) -> None:
    (folder / "birds.test.mcp.yml").rename(folder / "b:4.test.mcp.yml")
    assert names(folder, "b:4.test.mcp.yml:4") == ["sings"]


def test_a_test_in_brackets_ends_where_the_next_one_begins(folder: Path) -> None:
    request = '"request": {"jsonrpc": "2.0", "id": 1, "method": "echo"}'
    expect = '"expect": {"response": {"jsonrpc": "2.0", "id": 1, "result": {}}}'
    first = f'{{"it": "a",\n{request},\n{expect}\n}}'
    second = f'{{"it": "b",\n{request},\n{expect}}}'
    text = f'{{"description": "j", "tests": [{first}, {second}]}}'
    (folder / "j.test.mcp.yml").write_text(text, encoding="utf-8")
    chosen = [names(folder, f"j.test.mcp.yml:{line}") for line in (1, 2, 3, 4, 5, 6)]
    assert chosen == [["a"], ["a"], ["a"], ["b"], ["b"], ["b"]]


def test_nothing_is_left_of_a_line_and_a_filter(folder: Path) -> None:
    ended = mcptest(folder, "run", "birds.test.mcp.yml:4", "-k", "fly")
    assert ended.code == 7
    assert "no test matches the filter 'fly' and birds.test.mcp.yml:4" in ended.err


# Listing


def test_the_selected_tests_are_listed_and_nothing_is_started(folder: Path) -> None:
    write_config(folder / "conductor.config.json", env={"KEY": "${NOT_SET}"})
    ended = mcptest(folder, "run", "--list")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (
        "birds.test.mcp.yml:4  sings  [loud, early]\n"
        "birds.test.mcp.yml:14  nests 1\n"
        "birds.test.mcp.yml:15  nests 2\n"
        "birds.test.mcp.yml:18  swims  (skipped: no water)\n"
        "fish.cases.yaml:1  swims\n"
        "fish.cases.yaml:6  sleeps\n"
        "\n"
        "6 tests in 2 files; 1 would be skipped\n"
    )
    assert mcptest(folder, "run", "--list", "-q", "--tag", "loud").out == (
        "birds.test.mcp.yml:4  sings  [loud, early]\n"
    )
    assert mcptest(folder, "run", "--list", "-q", "--shard", "2/2", "-k", "sleeps").out == (
        "fish.cases.yaml:6  sleeps\n"
    )


def test_no_server_is_needed_to_list(folder: Path) -> None:
    (folder / "conductor.config.json").unlink()
    assert mcptest(folder, "run", "--list", "-q", "birds.test.mcp.yml:9").out == (
        "birds.test.mcp.yml:4  sings  [loud, early]\n"
    )


def test_lanes_and_servers_of_suites_are_listed_as_json(tmp_path: Path) -> None:
    (tmp_path / "mcptest.yaml").write_text(SUITE, encoding="utf-8")
    listed = mcptest(tmp_path, "run", "--list", "--json").report()
    assert listed["summary"] == {"total": 3, "to_run": 3, "skipped": 0}
    assert listed["error"] is None
    assert listed["tests"][0] == {
        "id": "mcptest.yaml::one::first",
        "name": "first",
        "suite": "shop",
        "file": "mcptest.yaml",
        "line": 5,
        "format": "suite",
        "server": "one",
        "lane": None,
        "tags": [],
        "skip": None,
        "not_run": False,
        "row": None,
    }
    assert [test["lane"] for test in listed["tests"]] == [None, None, "compliance"]
    assert mcptest(tmp_path, "run", "--list", "-q", "mcptest.yaml:10").out == (
        "mcptest.yaml:8  second  on one\n"
    )
    assert mcptest(tmp_path, "run", "--list", "-q", "mcptest.yaml:12").out == (
        "mcptest.yaml:12  makes the handshake  lane compliance  on one\n"
    )


def test_mistakes_are_reported_when_tests_are_listed(folder: Path) -> None:
    (folder / "birds.test.mcp.yml").write_text("tests: 5\n", encoding="utf-8")
    ended = mcptest(folder, "run", "--list", "--json")
    assert ended.code == 2
    assert ended.report()["error"]["kind"] == "bad_file"


@pytest.mark.parametrize("option", ["--watch", "--junit=x.xml", "--repeat=2"])
def test_options_of_a_run_are_refused_when_tests_are_listed(folder: Path, option: str) -> None:
    ended = mcptest(folder, "run", "--list", option)
    assert ended.code == 2
    name = option.partition("=")[0]
    assert ended.err == f"error: --list runs nothing, so {name} has no meaning with it\n"


# What failed the last time


@pytest.fixture
def failing(folder: Path) -> Path:
    change(folder, "{a: 2}", "{a: 3}")
    return folder


def change(folder: Path, old: str, new: str) -> None:
    path = folder / "fish.cases.yaml"
    path.write_text(
        FISH.replace(f'"result": {json_of(old)}', f'"result": {json_of(new)}'), encoding="utf-8"
    )


def json_of(text: str) -> str:
    return text.replace("a:", '"a":')


STATE = ".mcptest/last-failed.json"


def test_only_what_failed_runs_again_until_it_passes(failing: Path) -> None:
    assert mcptest(failing, "run").code == 1
    assert json.loads((failing / STATE).read_text("utf-8")) == {
        "version": 1,
        "failed": {"fish.cases.yaml": ["sleeps"]},
    }
    assert (failing / ".mcptest" / ".gitignore").read_text("utf-8") == "*\n"
    # Tests that did not run, did not pass.
    assert names(failing, "-k", "sings") == ["sings"]
    assert names(failing, "--last-failed") == ["sleeps"]
    assert mcptest(failing, "run", "--lf", "--list", "-q").out == "fish.cases.yaml:6  sleeps\n"
    change(failing, "{a: 2}", "{a: 2}")
    ended = mcptest(failing, "run", "--lf")
    assert (ended.code, "1 test: 1 passed" in ended.out) == (0, True)
    assert not (failing / STATE).exists()
    ended = mcptest(failing, "run", "--lf")
    assert ended.err == "note: --last-failed: no test has failed here, so all tests run\n"
    assert "6 tests: 5 passed, 1 skipped" in ended.out


def test_a_run_that_passes_writes_nothing(folder: Path) -> None:
    assert mcptest(folder, "run").code == 0
    assert not (folder / ".mcptest").exists()


def test_everything_runs_if_no_failure_is_among_the_selected_tests(failing: Path) -> None:
    assert mcptest(failing, "run").code == 1
    ended = mcptest(failing, "run", "--lf", "birds.test.mcp.yml")
    assert ended.err == (
        "note: --last-failed: none of the tests that failed is among these, so all of them run\n"
    )
    assert "4 tests: 3 passed, 1 skipped" in ended.out
    assert names(failing, "--lf") == ["sleeps"]


def test_a_failure_of_a_test_that_is_gone_is_forgotten(failing: Path) -> None:
    assert mcptest(failing, "run").code == 1
    first, _ = FISH.split("---\n")
    (failing / "fish.cases.yaml").write_text(first, encoding="utf-8")
    assert mcptest(failing, "run").code == 0
    assert not (failing / STATE).exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is not JSON"),
        ("\udcff", "is not JSON"),
        ("[]", "was not written by this version of mcptest"),
        ('{"version": 2, "failed": {}}', "was not written by this version of mcptest"),
        ('{"version": 1, "failed": {"a": [1]}}', "was not written by this version of mcptest"),
    ],
)
def test_a_state_that_cannot_be_used_is_as_good_as_none(failing: Path, text: str, why: str) -> None:
    (failing / ".mcptest").mkdir()
    (failing / STATE).write_bytes(text.encode("utf-8", "surrogateescape"))
    ended = mcptest(failing, "run", "--lf")
    assert ended.err == f"note: --last-failed: {STATE} {why}, so all tests run\n"
    assert ended.code == 1
    assert names(failing, "--lf") == ["sleeps"]


def test_a_state_that_cannot_be_written_changes_nothing(failing: Path, tmp_path: Path) -> None:
    (failing / ".mcptest").write_text("a file where the folder should be", encoding="utf-8")
    ended = mcptest(failing, "run")
    assert (ended.code, ended.err) == (1, "")
    (failing / ".mcptest").unlink()
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (failing / ".mcptest").symlink_to(outside)
    ended = mcptest(failing, "run")
    assert (ended.code, ended.err) == (1, "")
    assert list(outside.iterdir()) == []
