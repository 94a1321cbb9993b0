"""Files and tests that are named on the command line of pytest: each is run, and no other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from sessions import SERVER, call, pytest_in, statuses, text, write_conductor, write_suite

if TYPE_CHECKING:
    from pathlib import Path


def collected(folder: Path, *words: str) -> list[str]:
    """The tests that pytest would run."""
    ended = pytest_in(folder, "--collect-only", "-q", *words)
    assert ended.code == 0, ended.out
    return [line for line in ended.out.splitlines() if "::" in line]


# Files that import each other


A, B = "a.mcptest.yaml", "b.mcptest.yaml"


def write_two(folder: Path) -> None:
    """Two suites, each of which imports the other."""
    for file, other in ((A, B), (B, A)):
        tools = [{"name": f"in {file[0]}", "tool": "echo"}]
        keys = {"servers": {"shop": {"command": SERVER}}} if file == A else {}
        suite = {**keys, "imports": {"suites": [other]}, "tools": tools}
        (folder / file).write_text(json.dumps(suite), encoding="utf-8")


def test_a_file_that_is_named_is_run_beside_one_test_of_its_importer(tmp_path: Path) -> None:
    write_two(tmp_path)
    one = f"{A}::mcptest::shop::in a"
    assert collected(tmp_path, one, B) == [
        one,
        f"{B}::mcptest::shop::in b",
        f"{B}::mcptest::shop::in a",
    ]


def test_one_test_of_a_file_is_run_beside_its_importer(tmp_path: Path) -> None:
    write_two(tmp_path)
    one = f"{A}::mcptest::shop::in a"
    assert one in collected(tmp_path, B, one)


def test_a_file_that_is_named_is_run_beside_all_of_its_importer(tmp_path: Path) -> None:
    write_two(tmp_path)
    assert f"{B}::mcptest::shop::in b" in collected(tmp_path, A, B)


@pytest.mark.parametrize("words", [(), (".",), (A, "."), (f"{A}::mcptest::shop::in a", ".")])
def test_a_folder_has_each_test_once(tmp_path: Path, words: tuple[str, ...]) -> None:
    write_two(tmp_path)
    names = [name.rpartition("::")[2] for name in collected(tmp_path, *words)]
    assert sorted(names) == ["in a", "in b"]


# Names


def names_of(folder: Path, *names: str, server: str = "sdk") -> list[str]:
    """The names that pytest has for tests of these names; each must select one test."""
    write_conductor(folder / "a.test.mcp.yml", *(call(name, "count") for name in names))
    config = json.loads((folder / "a.test.mcp.yml").read_text(encoding="utf-8"))
    config["server"]["name"] = server
    (folder / "a.test.mcp.yml").write_text(json.dumps(config), encoding="utf-8")
    found = collected(folder)
    assert len(set(found)) == len(names)
    ended = pytest_in(folder, "-v", *found)
    assert (ended.code, ended.summary) == (0, f"{len(names)} passed")
    return [name.removeprefix("a.test.mcp.yml::mcptest::") for name in found]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["x", "x #2", "x"], ["x", "x #2", "x #3"]),
        (["x", "x", "x #2", "x #2"], ["x", "x #3", "x #2", "x #2 #2"]),
        (["x", "x", "x"], ["x", "x #2", "x #3"]),
        (["a\x1b", "a\\u001b"], ["a\\u001b", "a\\u001b #2"]),
    ],
)
def test_no_two_tests_have_one_name(tmp_path: Path, names: list[str], found: list[str]) -> None:
    assert names_of(tmp_path, *names) == [f"sdk::{name}" for name in found]


@pytest.mark.parametrize(
    ("name", "shown"), [("a::b", "a: :b"), ("a:::b", "a: : :b"), (":a", ":a"), ("a: b", "a: b")]
)
def test_a_name_with_colons_can_be_selected(tmp_path: Path, name: str, shown: str) -> None:
    assert names_of(tmp_path, name, "other") == [f"sdk::{shown}", "sdk::other"]


@pytest.mark.parametrize(("name", "shown"), [("a:", "a: "), ("a::b", "a: :b"), ("a[1]", "a(1]")])
def test_a_server_can_be_selected_whatever_its_name(tmp_path: Path, name: str, shown: str) -> None:
    assert names_of(tmp_path, "x", server=name) == [f"{shown}::x"]


# What the environment has not


def write_needy(folder: Path) -> None:
    needy = {"name": "needy", "tool": "echo", "args": {"text": "${wanted}"}}
    plain = {"name": "plain", "tool": "echo", "args": {"text": "hi"}}
    variables = {"wanted": {"secret_env": "WANTED"}}
    write_suite(folder / "mcptest.yaml", variables=variables, tools=[plain, needy])


def test_tests_that_are_not_selected_need_no_variable(tmp_path: Path) -> None:
    write_needy(tmp_path)
    ended = pytest_in(tmp_path, "-v", "-k", "plain")
    assert (ended.code, statuses(ended)) == (0, {"plain": "passed"})


def test_a_variable_is_missed_by_the_test_that_uses_it(tmp_path: Path) -> None:
    write_needy(tmp_path)
    ended = pytest_in(tmp_path, "-v")
    assert (ended.code, statuses(ended)) == (1, {"plain": "passed", "needy": "failed"})
    assert "WANTED" in ended.out
    assert "--> mcptest.yaml:" in ended.out
    assert pytest_in(tmp_path, env={"WANTED": "long-enough-to-be-blanked"}).summary == "2 passed"


# Very many mistakes


def test_the_first_of_very_many_mistakes_are_reported_and_the_rest_counted(tmp_path: Path) -> None:
    write_conductor(
        tmp_path / "a.test.mcp.yml", *(call(str(n), "count", typo=1) for n in range(50))
    )
    ended = pytest_in(tmp_path)
    assert ended.code == 2
    assert ended.out.count("error[F006]") == 20
    assert "and 30 mistakes more; to see all: mcptest validate a.test.mcp.yml" in ended.out


def test_a_few_mistakes_are_all_reported(tmp_path: Path) -> None:
    write_conductor(
        tmp_path / "a.test.mcp.yml", *(call(str(n), "count", typo=1) for n in range(20))
    )
    ended = pytest_in(tmp_path)
    assert ended.out.count("error[F006]") == 20
    assert "mcptest validate" not in ended.out


# Secrets


def test_values_of_variables_are_not_shown_whatever_is_asked_for(tmp_path: Path) -> None:
    """They may hold what a config takes from the environment."""
    write_conductor(
        tmp_path / "a.test.mcp.yml",
        call("wrong", "echo", text("no"), arguments={"text": "yes"}),
        call("gone", "die"),
        env={"TOKEN": "${A_TOKEN}"},
    )
    env = {"A_TOKEN": "sk-LEAK-abcdef123456"}
    ended = pytest_in(tmp_path, "-vv", "-l", "--full-trace", env=env)
    assert ended.summary == "2 failed"
    assert "sk-LEAK" not in ended.out
    assert "FAILED a.test.mcp.yml::mcptest::sdk::wrong - MismatchError: result.content" in ended.out
