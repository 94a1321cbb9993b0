"""How plugins are declared, on the command line and in a config, and every mistake in that."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from console import mcptest, write_config, write_suite
from plugin_runs import asking, config_with, option, plugin_words, run_tests, statuses

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = " ".join(plugin_words())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One test that asks geo, and a config that does not declare it."""
    write_config(tmp_path / "conductor.config.json")
    write_suite(tmp_path / "a.test.mcp.yml", asking("geo.same:Paris"))
    return tmp_path


# Mistakes on the command line


@pytest.mark.parametrize("command", ["run", "validate"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("geo", "--plugin takes NAME=COMMAND, not 'geo'"),
        ("geo.py --fast", "--plugin takes NAME=COMMAND, not 'geo.py --fast'"),
        ("=geo.py", "--plugin takes NAME=COMMAND, not '=geo.py'"),
        ("g.o=geo.py", "--plugin takes NAME=COMMAND, not 'g.o=geo.py'"),
        ("9=geo.py", "--plugin takes NAME=COMMAND, not '9=geo.py'"),
        ("two words=geo.py", "--plugin takes NAME=COMMAND, not 'two words=geo.py'"),
        ("\x1b=geo.py", "--plugin takes NAME=COMMAND, not "),
        ("geo=", "--plugin geo= has no command"),
        ("geo=  ", "--plugin geo= has no command"),
        ("geo='geo.py", "--plugin geo: the command cannot be split: No closing quotation"),
        ("geo=geo\\", "--plugin geo: the command cannot be split: No escaped character"),
    ],
)
def test_a_mistake_in_the_option_is_reported_and_nothing_runs(
    value: str, message: str, command: str, folder: Path
) -> None:
    ended = mcptest(folder, command, "a.test.mcp.yml", "--plugin", value)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert "\x1b" not in ended.err


def test_a_mistake_in_the_option_is_reported_as_json_too(folder: Path) -> None:
    ended = mcptest(folder, "run", "a.test.mcp.yml", "--json", "--plugin", "geo")
    assert ended.code == 2
    report = ended.report()
    assert report["suites"] == []
    assert "--plugin takes NAME=COMMAND" in report["error"]["message"]


def test_an_option_without_its_value_is_reported(folder: Path) -> None:
    ended = mcptest(folder, "run", "a.test.mcp.yml", "--plugin")
    assert ended.code == 2
    assert "--plugin" in ended.err


def test_a_command_may_hold_equals_signs(folder: Path) -> None:
    words = ("--plugin", f"geo=env A=1 {COMMAND}")
    assert run_tests(folder, asking("geo.same:Paris"), words=words).code == 0


# Two owners


@pytest.mark.parametrize("command", ["run", "validate"])
def test_one_name_twice_on_the_command_line_is_refused_and_both_are_named(
    command: str, folder: Path
) -> None:
    words = ("--plugin", f"geo={COMMAND}", "--plugin", "geo=other --fast")
    ended = mcptest(folder, command, "a.test.mcp.yml", *words)
    assert (ended.code, ended.out) == (2, "")
    assert "the plugin 'geo' has two owners: " in ended.err
    assert f"--plugin geo={COMMAND} and --plugin geo=other --fast" in ended.err
    assert "give one of them another name" in ended.err


@pytest.mark.parametrize("command", ["run", "validate"])
def test_one_name_on_the_command_line_and_in_the_config_is_refused(
    command: str, folder: Path
) -> None:
    config_with(folder)
    ended = mcptest(folder, command, "a.test.mcp.yml", "--plugin", "geo=other")
    assert (ended.code, ended.out) == (2, "")
    assert "--plugin geo=other and " in ended.err
    assert "conductor.config.json" in ended.err


def test_other_names_on_the_command_line_and_in_the_config_live_side_by_side(
    folder: Path,
) -> None:
    config_with(folder)
    other = asking("geo.same:Paris")
    other["expect"]["response"]["result"]["say"] = "match:plugin:units.same:Paris"
    tests = (asking("geo.same:Paris"), other)
    ended = run_tests(folder, *tests, words=option(name="units"))
    assert (ended.code, statuses(ended)) == (0, ["passed", "passed"])


# A plugin that is not declared


@pytest.mark.parametrize("command", ["run", "validate"])
def test_an_unknown_plugin_is_reported_with_its_place_and_the_name_that_was_meant(
    command: str, folder: Path
) -> None:
    words = ("--plugin", f"geos={COMMAND}", "--plugin", "units=u")
    ended = mcptest(folder, command, "a.test.mcp.yml", *words)
    assert (ended.code, ended.out) == (2, "")
    text = (folder / "a.test.mcp.yml").read_text(encoding="utf-8")
    before = text[: text.index("geo.same:Paris", text.index("match:plugin"))]
    line, column = before.count("\n") + 1, len(before) - before.rindex("\n")
    assert "error[F021]: " in ended.err
    assert f"a.test.mcp.yml:{line}:{column}" in ended.err
    assert "finds no plugin 'geo'; did you mean 'geos'?" in ended.err


def test_an_unknown_plugin_is_one_diagnostic_of_the_json_report(folder: Path) -> None:
    ended = mcptest(folder, "run", "a.test.mcp.yml", "--json")
    assert ended.code == 2
    [found] = ended.report()["error"]["diagnostics"]
    assert (found["code"], found["file"]) == ("F021", "a.test.mcp.yml")
    assert found["line"] > 1
    assert "finds no plugin 'geo'" in found["message"]
    assert "--plugin geo=COMMAND" in found["help"]
    assert "imports.subprocess_matchers" in found["help"]


def test_those_there_are_are_listed_when_none_is_near(folder: Path) -> None:
    words = ("--plugin", "weather=w", "--plugin", "units=u")
    ended = mcptest(folder, "run", "a.test.mcp.yml", *words)
    assert "finds no plugin 'geo'; there are: weather, units" in ended.err


@pytest.mark.parametrize(
    ("pattern", "code"),
    [("match:plugin", "F013"), ("match:plugin:geo", "F013"), ("match:plugin:geo.:x", "F013")],
)
def test_a_pattern_that_names_no_method_is_a_mistake(pattern: str, code: str, folder: Path) -> None:
    test = asking("geo.same")
    test["expect"]["response"]["result"]["say"] = pattern
    ended = run_tests(folder, test)
    assert ended.code == 2
    assert [found["code"] for found in ended.report()["error"]["diagnostics"]] == [code]


# A config


MISTAKES: list[tuple[object, str]] = [
    ([], "F008"),
    ({"plugins": {}}, "F006"),
    ({"subprocess_matchers": []}, "F008"),
    ({"subprocess_matchers": {"g.o": {"command": ["x"]}}}, "F009"),
    ({"subprocess_matchers": {"geo": "geo.py"}}, "F008"),
    ({"subprocess_matchers": {"geo": {}}}, "F007"),
    ({"subprocess_matchers": {"geo": {"comand": ["x"]}}}, "F006"),
    ({"subprocess_matchers": {"geo": {"command": "geo.py"}}}, "F008"),
    ({"subprocess_matchers": {"geo": {"command": []}}}, "F009"),
    ({"subprocess_matchers": {"geo": {"command": [""]}}}, "F009"),
    ({"subprocess_matchers": {"geo": {"command": [7]}}}, "F008"),
    ({"subprocess_matchers": {"geo": {"command": ["x"], "call_timeout": 0}}}, "F009"),
    ({"subprocess_matchers": {"geo": {"command": ["x"], "call_timeout": "soon"}}}, "F009"),
]


@pytest.mark.parametrize(("imports", "code"), MISTAKES, ids=str)
def test_a_mistake_in_a_config_is_reported_with_its_place_and_nothing_runs(
    imports: object, code: str, folder: Path
) -> None:
    write_config(folder / "conductor.config.json", imports=imports)
    write_suite(folder / "a.test.mcp.yml", {**asking("x"), "it": "asks nobody"})
    ended = mcptest(folder, "run", "a.test.mcp.yml", "--json")
    assert ended.code == 2
    [found] = ended.report()["error"]["diagnostics"]
    assert (found["code"], found["file"]) == (code, "conductor.config.json")
    assert found["line"] == 1
    assert found["column"] > 1


# Validating


def test_validate_knows_the_plugins_of_the_command_line(folder: Path) -> None:
    ended = mcptest(folder, "validate", "a.test.mcp.yml", "--plugin", "geo=/no/such/program")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == "1 file with 1 test: no mistakes\n"
    assert mcptest(folder, "validate", "a.test.mcp.yml").code == 2


def test_validate_knows_the_plugins_of_a_config_and_starts_nothing(tmp_path: Path) -> None:
    plugin = {"command": ["/no/such/program"]}
    imports = {"subprocess_matchers": {"geo": plugin}}
    # The server needs a variable that is not set; it is not started here.
    keys = {"imports": imports, "env": {"KEY": "${MCPTEST_SURELY_UNSET}"}}
    write_config(tmp_path / "conf" / "conductor.config.json", **keys)
    write_suite(tmp_path / "tests" / "a.test.mcp.yml", asking("geo.same:Paris"))
    words = ("validate", "tests/a.test.mcp.yml")
    assert mcptest(tmp_path, *words).code == 2
    assert mcptest(tmp_path, *words, "--config", "conf/conductor.config.json").code == 0
    write_config(tmp_path / "tests" / "conductor.config.json", **keys)
    assert mcptest(tmp_path, *words).code == 0, "the config beside the file"
    (tmp_path / "tests" / "conductor.config.json").unlink()
    write_config(tmp_path / "conductor.config.json", **keys)
    assert mcptest(tmp_path, *words).code == 0, "the config of this folder"


def test_validate_tells_a_mistake_in_the_config_of_a_file_that_asks(folder: Path) -> None:
    imports = {"subprocess_matchers": {"geo": {"command": plugin_words(), "env": {"A": "1"}}}}
    write_config(folder / "conductor.config.json", imports=imports)
    ended = mcptest(folder, "validate", "a.test.mcp.yml", "--json")
    assert ended.code == 2
    codes = [found["code"] for found in ended.report()["error"]["diagnostics"]]
    assert "F006" in codes


def test_validate_reads_contracts_that_ask_a_plugin(tmp_path: Path) -> None:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {}}
    out = {"jsonrpc": "2.0", "id": 1, "result": "match:plugin:geo.same:x"}
    text = json.dumps({"case": "a", "_patterns": True, "in": ask, "out": out})
    (tmp_path / "a.cases.yaml").write_text(text, encoding="utf-8")
    assert mcptest(tmp_path, "validate", "a.cases.yaml", *option()).code == 0
    ended = mcptest(tmp_path, "validate", "a.cases.yaml", *option(name="units"))
    assert ended.code == 2
    assert "error[F021]" in ended.err
