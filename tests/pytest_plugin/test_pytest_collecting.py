"""Files of mcptest in a pytest session: what is found, under which names, and what is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from sessions import (
    SERVER,
    call,
    pytest_in,
    run_as_is,
    server,
    statuses,
    text,
    write_conductor,
    write_suite,
)

ECHO = call("echoes", "echo", text("hi"), arguments={"text": "hi"})


def names(folder: Path, *words: str) -> list[str]:
    """The tests that pytest would run."""
    ended = pytest_in(folder, "--collect-only", "-q", *words)
    assert ended.code == 0, ended.out
    return [line for line in ended.out.splitlines() if "::" in line]


# Names


def test_every_kind_of_file_is_collected_under_its_server(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", ECHO)
    write_suite(
        tmp_path / "mcptest.yaml",
        tools=[{"name": "calls", "tool": "echo"}],
        resources=[{"name": "reads", "uri": "memo://a"}],
        prompts=[{"name": "greets", "prompt": "greet"}],
    )
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    head = {"command": SERVER[0], "args": SERVER[1:], "name": "lib"}
    document = {"_server": head, "case": "lists", "in": request, "out": answer}
    (tmp_path / "b.cases.yaml").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "c_test.yaml").write_text("hosts: all\n", encoding="utf-8")
    (tmp_path / "test_d.py").write_text("def test_python(): pass\n", encoding="utf-8")
    assert sorted(names(tmp_path)) == [
        "a.test.mcp.yml::mcptest::sdk::echoes",
        "b.cases.yaml::mcptest::lib::lists",
        "mcptest.yaml::mcptest::shop::calls",
        "mcptest.yaml::mcptest::shop::greets",
        "mcptest.yaml::mcptest::shop::reads",
        "test_d.py::test_python",
    ]


def test_a_test_is_found_by_the_name_that_pytest_shows(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", ECHO, call("another [one]", "count"))
    for name in names(tmp_path):
        ended = pytest_in(tmp_path, name, "-v")
        assert (ended.code, ended.summary) == (0, "1 passed")
    ended = pytest_in(tmp_path, "a.test.mcp.yml::mcptest::sdk", "-v")
    assert ended.summary == "2 passed"


def test_tests_of_one_name_are_distinguished(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", ECHO, ECHO)
    assert [name.rpartition("::")[2] for name in names(tmp_path)] == ["echoes", "echoes #2"]


def test_a_name_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", call("rude\x1b[2J\nname", "count"))
    ended = pytest_in(tmp_path, "-v")
    assert ended.summary == "1 passed"
    assert "\x1b" not in ended.out
    assert "rude\\u001b[2J\\nname PASSED" in ended.out


def test_tests_are_chosen_with_k(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", ECHO, call("counts", "count", tags=["odd one"]))
    assert len(names(tmp_path)) == 2
    assert [name.rpartition("::")[2] for name in names(tmp_path, "-k", "echo")] == ["echoes"]
    assert len(names(tmp_path, "-k", "mcptest and sdk")) == 2
    assert [name.rpartition("::")[2] for name in names(tmp_path, "-k", "not echoes")] == ["counts"]


def test_collecting_starts_nothing(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", ECHO, cwd=str(tmp_path / "nowhere"))
    assert len(names(tmp_path)) == 1


def test_a_folder_above_can_be_where_pytest_starts(tmp_path: Path) -> None:
    """A config beside the file is found from there, and so are the paths in it."""
    folder = tmp_path / "sub" / "deep"
    folder.mkdir(parents=True)
    (folder / "conductor.config.json").write_text(json.dumps(server(cwd=".")), encoding="utf-8")
    cwd = call("in its folder", "cwd", text(str(folder)))
    suite = {"description": "a", "tests": [cwd]}
    (folder / "a.test.mcp.yml").write_text(json.dumps(suite), encoding="utf-8")
    for place in (tmp_path, tmp_path / "sub", folder):
        ended = pytest_in(place, "-v")
        assert ended.summary == "1 passed"


def test_imported_tests_are_collected_once(tmp_path: Path) -> None:
    tools = [{"name": "imported", "tool": "echo"}]
    part = json.dumps({"tools": tools})
    (tmp_path / "part.mcptest.yaml").write_text(part, encoding="utf-8")
    write_suite(
        tmp_path / "mcptest.yaml",
        imports={"suites": ["part.mcptest.yaml"]},
        tools=[{"name": "own", "tool": "echo"}],
    )
    found = [name.rpartition("::")[2] for name in names(tmp_path)]
    assert sorted(found) == ["imported", "own"]


# Marks


def test_a_link_that_is_collected_leads_to_nothing_that_is_quoted(tmp_path: Path) -> None:
    foreign = "tests: [{it: a}]\ncanary-7f3a: [\n"
    (tmp_path / "foreign").write_text(foreign, encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    (home / "a.test.mcp.yml").symlink_to("../foreign")
    ended = pytest_in(home)
    assert "error[F002]" in ended.out
    assert "canary-7f3a" not in ended.out


def test_tags_are_marks_and_strict_marks_know_them(tmp_path: Path) -> None:
    write_conductor(
        tmp_path / "a.test.mcp.yml",
        call("slow", "count", tags=["slow", "needs-net"]),
        call("quick", "count", tags=["slow"]),
        call("plain", "count"),
    )
    ended = pytest_in(tmp_path, "--strict-markers", "-m", "slow", "-v")
    assert (ended.code, statuses(ended)) == (0, {"slow": "passed", "quick": "passed"})
    ended = pytest_in(tmp_path, "--strict-markers", "-m", "slow and not needs-net", "-v")
    assert statuses(ended) == {"quick": "passed"}
    assert pytest_in(tmp_path, "-m", "mcptest", "-v").summary == "3 passed"
    assert pytest_in(tmp_path, "-m", "not mcptest").code == 5


@pytest.mark.parametrize(
    "tag", ["skip", "xfail", "skipif", "_x", "a(b)", "a b", "a:b", "usefixtures"]
)
def test_a_tag_that_means_something_else_to_pytest_only_names(tmp_path: Path, tag: str) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", call("a", "count", tags=[tag]))
    ended = pytest_in(tmp_path, "--strict-markers", "-v")
    assert (ended.code, ended.summary) == (0, "1 passed")


def test_marks_that_a_conftest_adds_count(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", ECHO, call("fails", "echo", text("no")))
    (tmp_path / "conftest.py").write_text(
        "import pytest\n"
        "def pytest_collection_modifyitems(items):\n"
        "    items[0].add_marker(pytest.mark.skip(reason='not here'))\n"
        "    items[1].add_marker(pytest.mark.xfail(reason='known'))\n",
        encoding="utf-8",
    )
    ended = pytest_in(tmp_path)
    assert (ended.code, ended.summary) == (0, "1 skipped, 1 xfailed")


# Lanes, and what else stays with the command


def test_a_lane_is_one_skipped_test_in_the_words_of_every_sdk(tmp_path: Path) -> None:
    write_suite(
        tmp_path / "mcptest.yaml",
        tools=[{"name": "calls", "tool": "echo"}],
        agents=[{"name": "a", "prompt": "b"}, {"name": "c", "prompt": "d"}],
        compliance={"tests": ["ping", "list"]},
        security={"scan": True},
        evals=[{"name": "tone", "prompt": "a", "rubric": "b"}],
    )
    ended = pytest_in(tmp_path, "-v", "-rs")
    assert (ended.code, ended.summary) == (0, "1 passed, 4 skipped")
    lanes = ("agents", "compliance", "security", "evals")
    assert statuses(ended) == {"calls": "passed"} | dict.fromkeys(lanes, "skipped")
    assert "mcptest.yaml::mcptest::lanes::agents SKIPPED" in ended.out
    flat = " ".join(ended.out.split())
    for lane, command in (
        ("agents", "mcptest run mcptest.yaml"),
        ("compliance", "mcptest compliance run --from-suite mcptest.yaml"),
        ("security", "mcptest run mcptest.yaml"),
        ("evals", "mcptest eval mcptest.yaml"),
    ):
        assert f'lane "{lane}" is not drivable over the SDK channel; run: {command}' in flat


def test_a_test_that_the_file_skips_is_skipped_with_its_reason(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", call("a", "count", skip="not \x1btoday"), ECHO)
    ended = pytest_in(tmp_path, "-rs")
    assert ended.summary == "1 passed, 1 skipped"
    assert "not \\u001btoday" in ended.out


# Mistakes


def test_every_mistake_of_a_file_is_reported_when_it_is_collected(tmp_path: Path) -> None:
    bad = call("a", "echo", text("match:containz:hi"))
    write_conductor(tmp_path / "a.test.mcp.yml", bad, call("b", "count", typo=1))
    write_conductor(tmp_path / "b.test.mcp.yml", ECHO)
    ended = pytest_in(tmp_path)
    assert (ended.code, ended.summary) == (2, "1 error")
    assert 'error[F012]: unknown matcher "containz"; did you mean "contains"?' in ended.out
    assert "error[F006]" in ended.out
    assert "--> a.test.mcp.yml:" in ended.out
    assert "Traceback" not in ended.out
    # The other files can still be run.
    ended = pytest_in(tmp_path, "--continue-on-collection-errors")
    assert ended.summary == "1 passed, 1 error"


def test_a_file_without_a_server_says_what_can_be_done_here(tmp_path: Path) -> None:
    suite = {"description": "a", "tests": [ECHO]}
    (tmp_path / "a.test.mcp.yml").write_text(json.dumps(suite), encoding="utf-8")
    ended = pytest_in(tmp_path)
    assert ended.code == 2
    assert "no server to test a.test.mcp.yml against" in ended.out
    assert "conductor.config.json in this folder or beside the test file" in ended.out
    assert "--server-command" not in ended.out


def test_a_warning_about_a_file_is_a_warning_of_pytest(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", call("a", "count", only=True))
    ended = pytest_in(tmp_path)
    assert (ended.code, ended.summary) == (0, "1 passed, 1 warning")
    assert "McptestWarning: warning[W002]" in ended.out
    assert pytest_in(tmp_path, "-W", "error").code == 2


# Projects without any of our files


PROBE = "import atexit, sys; atexit.register(lambda: print('modules', *sorted(sys.modules)))\n"


def modules_of(folder: Path) -> set[str]:
    """What a session that found our plugin by itself has imported of ours."""
    command = [sys.executable, "-c", f"{PROBE}import pytest; pytest.main(['-q', '-s'])"]
    loaded = run_as_is(command, folder).out.rpartition("modules ")[2].split()
    assert "pytest" in loaded
    return {name for name in loaded if name.split(".")[0] == "mcptest"}


def test_a_project_without_our_files_loads_nothing_but_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n", encoding="utf-8")
    (tmp_path / "compose.yml").write_text("case: 1\n", encoding="utf-8")
    ours = {"mcptest", "mcptest.pytest_plugin", "mcptest.pytest_plugin.fixtures"}
    assert modules_of(tmp_path) == ours


@pytest.mark.long
def test_a_project_with_one_has_it_run_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    write_conductor(tmp_path / "a.test.mcp.yml", ECHO)
    assert "mcptest.engine.on_demand" in modules_of(tmp_path)


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    write_conductor(tmp_path / "a.test.mcp.yml", ECHO)
    command = [sys.executable, "-m", "pytest", "-p", "no:mcptest", "-q"]
    assert run_as_is(command, tmp_path, {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}).code == 5
