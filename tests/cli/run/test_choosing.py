"""Which tests run, against which server, from which folder."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING

import pytest
from console import TINY_SERVER, case, conductor, mcptest, server, write_config, write_suite

if TYPE_CHECKING:
    from pathlib import Path

TINY = shlex.join([sys.executable, str(TINY_SERVER)])


def names(folder: Path, *words: str) -> list[str]:
    report = mcptest(folder, "run", "--json", *words).report()
    assert report["error"] is None
    return [test["name"] for suite in report["suites"] for test in suite["tests"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json")
    write_suite(tmp_path / "birds.test.mcp.yml", case("sings"), case("flies"))
    write_suite(tmp_path / "deep" / "fish.test.mcp.yml", case("swims"), case("sleeps"))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ["sings", "flies", "swims", "sleeps"]),
        (("deep",), ["swims", "sleeps"]),
        (("deep/fish.test.mcp.yml", "birds.test.mcp.yml"), ["sings", "flies", "swims", "sleeps"]),
        (("**/f*.test.mcp.yml",), ["swims", "sleeps"]),
        (("-k", "S"), ["sings", "flies", "swims", "sleeps"]),
        (("-k", "swim"), ["swims"]),
        (("-kswim",), ["swims"]),
        (("--filter=BIRDS",), ["sings", "flies"]),
    ],
)
def test_paths_and_the_filter_choose_the_tests(
    folder: Path, words: tuple[str, ...], expected: list[str]
) -> None:
    assert names(folder, *words) == expected


@pytest.mark.parametrize("option", ["-x", "--bail"])
def test_bail_stops_after_the_first_test_that_does_not_pass(folder: Path, option: str) -> None:
    write_suite(
        folder / "birds.test.mcp.yml", case("sings"), case("flies", wants={}), case("nests")
    )
    ended = mcptest(folder, "run", option)
    assert ended.code == 1
    assert "nests" not in ended.out
    assert "stopped after the first failure: 3 of 5 tests not run" in ended.out


def test_the_timeout_of_the_command_line_is_kept(folder: Path) -> None:
    write_suite(folder / "birds.test.mcp.yml", case("dozes", "sleep"))
    ended = mcptest(folder, "run", "birds.test.mcp.yml", "--timeout", "200ms")
    assert ended.code == 1
    assert "no answer to sleep (id 1) within 200 ms" in ended.out


def test_the_timeout_of_a_test_wins_over_the_command_line(folder: Path) -> None:
    write_suite(folder / "birds.test.mcp.yml", case("dozes", "sleep", timeout=100))
    ended = mcptest(folder, "run", "birds.test.mcp.yml", "--timeout", "50s")
    assert "within 100 ms" in ended.out


# Which server


def test_a_command_on_the_command_line_is_split_like_a_shell_would(folder: Path) -> None:
    (folder / "conductor.config.json").unlink()
    started = folder / "with space"
    assert mcptest(folder, "run", "--server-command", f"{TINY} {str(started)!r}").code == 0
    assert started.exists()


def test_a_config_is_found_in_the_folder_we_are_in_or_beside_the_file(folder: Path) -> None:
    assert mcptest(folder, "run", "deep").code == 0
    assert mcptest(folder.parent, "run", f"{folder.name}/birds.test.mcp.yml").code == 0
    (folder / "conductor.config.json").rename(folder / "other.json")
    ended = mcptest(folder / "deep", "run")
    assert ended.code == 2
    assert ended.err == (
        "error: no server to test fish.test.mcp.yml against\n"
        "  help: give --config FILE or --server-command, put a conductor.config.json in this "
        "folder or beside the test file, or a server: block into it\n"
    )


def test_a_config_above_a_file_is_used_up_to_the_folder_that_is_named(folder: Path) -> None:
    assert mcptest(folder.parent, "run", folder.name).code == 0
    assert mcptest(folder.parent, "run", str(folder)).code == 0
    # Beyond that it is named, and not used unasked.
    for place, path in ((folder.parent, f"{folder.name}/deep"), (folder / "deep", ".")):
        ended = mcptest(place, "run", path)
        config = os.path.relpath(folder / "conductor.config.json", place)
        assert ended.code == 2
        assert f"  help: there is {config}: give --config {config}\n" in ended.err
        assert mcptest(place, "run", path, "--config", config).code == 0


@pytest.mark.parametrize("paths", [(".", ".."), ("..", "."), ("fish.test.mcp.yml", "..")])
def test_the_config_is_searched_in_the_parents_of_several_paths_and_the_search_ends(
    folder: Path, paths: tuple[str, ...]
) -> None:
    ended = mcptest(folder / "deep", "run", *paths)
    assert (ended.code, ended.err) == (0, "")
    (folder / "conductor.config.json").unlink()
    assert mcptest(folder / "deep", "run", *paths).code == 2


def test_a_config_below_the_folder_of_a_file_is_not_above_it(folder: Path) -> None:
    write_suite(folder / "x" / "t.test.mcp.yml", case("works"))
    write_config(folder / "x" / "deep" / "conductor.config.json", command="no-such-program")
    here = folder / "x" / "deep" / "down"
    here.mkdir()
    ended = mcptest(here, "run", "../../t.test.mcp.yml", "../../..")
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("glob", ["*", "**/*.test.mcp.yml", "d*/fish*"])
def test_a_glob_names_the_folder_below_which_it_looks(folder: Path, glob: str) -> None:
    assert mcptest(folder.parent, "run", f"{folder.name}/{glob}").code == 0


def test_the_nearest_config_above_a_file_is_used(folder: Path) -> None:
    write_config(folder / "deep" / "conductor.config.json", command="no-such-program")
    ended = mcptest(folder.parent, "run", folder.name)
    assert "no-such-program" in ended.out + ended.err


@pytest.mark.parametrize("name", ["mcptest.config.json", "aegis.config.json"])
def test_a_config_may_have_another_of_the_known_names(folder: Path, name: str) -> None:
    (folder / "conductor.config.json").rename(folder / name)
    assert mcptest(folder, "run").code == 0


def test_a_file_with_its_own_server_runs_alone(tmp_path: Path) -> None:
    write_suite(tmp_path / "alone.test.mcp.yml", case("works"), server=server())
    assert mcptest(tmp_path, "run").code == 0


# Its folder


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [("", "conf"), ("beside", "conf/beside"), ("here", "here"), ("..", ".")],
)
def test_the_server_runs_in_the_folder_of_its_config_or_as_that_says(
    tmp_path: Path, cwd: str, expected: str
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "conf" / "beside").mkdir(parents=True)
    write_config(tmp_path / "conf" / "c.json", cwd=cwd)
    where = {"cwd": str((tmp_path / expected).resolve())}
    write_suite(tmp_path / "a.test.mcp.yml", case("is there", "cwd", wants=where))
    assert mcptest(tmp_path, "run", "--config", "conf/c.json").code == 0


def test_a_command_on_the_command_line_runs_where_we_are(tmp_path: Path) -> None:
    where = {"cwd": str(tmp_path.resolve())}
    write_suite(tmp_path / "sub" / "a.test.mcp.yml", case("is there", "cwd", wants=where))
    assert mcptest(tmp_path, "run", "--server-command", TINY).code == 0


# Under the name its format was born with


def test_the_conductor_command_runs_a_glob_with_a_config(folder: Path) -> None:
    (folder / "conductor.config.json").rename(folder / "other.json")
    ended = conductor(folder, "**/*.test.mcp.yml", "--config", "other.json")
    assert ended.code == 0
    assert "4 tests: 4 passed" in ended.out


def test_the_conductor_command_finds_the_config_in_the_folder(folder: Path) -> None:
    assert conductor(folder, "**/*.test.mcp.yml").code == 0


@pytest.mark.parametrize(
    ("words", "diagnostic"),
    [
        ((), "conductor needs a glob of test files"),
        (("discover", "x"), "mcptest discover takes no 'x'"),
        (("x", "--nope"), "conductor has no option --nope"),
    ],
)
def test_the_conductor_command_complains_under_its_own_name(
    folder: Path, words: tuple[str, ...], diagnostic: str
) -> None:
    ended = conductor(folder, *words)
    assert ended.code == 2
    assert ended.err.startswith(f"error: {diagnostic}")


# Only looking


def test_validate_counts_what_is_fine_and_starts_nothing(folder: Path) -> None:
    write_config(folder / "conductor.config.json", str(folder / "started"))
    ended = mcptest(folder, "validate", ".")
    assert (ended.code, ended.out, ended.err) == (0, "2 files with 4 tests: no mistakes\n", "")
    assert not (folder / "started").exists()


def test_validate_tells_every_mistake_of_every_file(folder: Path) -> None:
    (folder / "x.test.mcp.yml").write_text("tests: 5\n", encoding="utf-8")
    (folder / "y.test.mcp.yml").write_text("a: [\n", encoding="utf-8")
    ended = mcptest(folder, "validate", ".")
    assert (ended.code, ended.out) == (2, "")
    places = [line.strip() for line in ended.err.splitlines() if "-->" in line]
    assert places[:2] == ["--> x.test.mcp.yml:1:1", "--> x.test.mcp.yml:1:8"]
    assert places[2].startswith("--> y.test.mcp.yml:")


def test_validate_shows_warnings_on_standard_error(folder: Path) -> None:
    write_suite(folder / "birds.test.mcp.yml", case("a", stderr="toBeEmpty"))
    ended = mcptest(folder, "validate", "birds.test.mcp.yml")
    assert (ended.code, ended.out) == (0, "1 file with 1 test: no mistakes\n")
    assert ended.err.startswith('warning[W001]: "stderr" belongs under "expect"')


def test_a_config_that_no_file_needs_is_not_read(tmp_path: Path) -> None:
    config = {"name": "x", "command": "x", "args": [], "env": {"K": "${NO_SUCH_VARIABLE_SET}"}}
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    command = [sys.executable, str(TINY_SERVER)]
    test = {
        "it": "echoes",
        "request": {"jsonrpc": "2.0", "id": 1, "method": "echo"},
        "expect": {"response": {"result": {}}},
    }
    server = {"name": "s", "command": command[0], "args": command[1:]}
    own = {"description": "d", "server": server, "tests": [test]}
    (tmp_path / "own.test.mcp.yml").write_text(json.dumps(own), encoding="utf-8")
    assert "F016" not in mcptest(tmp_path, "run", "own.test.mcp.yml").err
    needing = {"description": "needing", "tests": [test]}
    (tmp_path / "needing.test.mcp.yml").write_text(json.dumps(needing), encoding="utf-8")
    ended = mcptest(tmp_path, "run", ".")
    assert (ended.code, "F016" in ended.err) == (2, True)
    # Another file is selected.
    (tmp_path / "own.test.mcp.yml").write_text(
        json.dumps(own | {"description": "mine"}), encoding="utf-8"
    )
    assert "F016" not in mcptest(tmp_path, "run", ".", "-k", "mine").err
    suite = {"servers": {"s": {"command": command}}, "tools": [{"name": "t", "tool": "x"}]}
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    assert "F016" not in mcptest(tmp_path, "run").err
