"""What is found in a file, and the words for what stays with the command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mcptest._collect import UNSUPPORTED_LANES, Collection, collect, is_test_file, lane_cli_hint
from mcptest.core.errors import FormatError, UsageError
from mcptest.formats.suite.lanes import COMMANDS

SERVER = {"name": "notes", "command": "python3", "args": ["server.py"]}


def conductor(folder: Path, *tests: dict[str, Any], **keys: Any) -> Collection:
    """What is found in a Conductor file with these tests; JSON is YAML."""
    file = folder / "a.test.mcp.yml"
    suite = {"description": "a", "server": SERVER | keys, "tests": tests}
    file.write_text(json.dumps(suite), encoding="utf-8")
    return collect(str(file))


def suite(folder: Path, **keys: Any) -> Collection:
    file = folder / "mcptest.yaml"
    servers = {"shop": {"command": ["python3", "server.py"]}}
    file.write_text(json.dumps({"servers": servers, **keys}), encoding="utf-8")
    return collect(str(file))


def call(name: str, tool: str = "echo", **keys: Any) -> dict[str, Any]:
    expect = keys.pop("expect", {"response": {"result": "match:type:object"}})
    return {"it": name, "tool": tool, "expect": expect, **keys}


def skips(found: Collection) -> dict[str, str]:
    return {one.name: one.skip for one in found.tests}


# Lanes


@pytest.mark.parametrize(
    ("lane", "command"),
    [
        ("agents", "mcptest run <suite>"),
        ("compliance", "mcptest compliance run --from-suite <suite>"),
        ("security", "mcptest run <suite>"),
        ("evals", "mcptest eval <suite>"),
    ],
)
def test_a_lane_is_left_to_its_command_in_the_words_of_every_sdk(lane: str, command: str) -> None:
    hint = f'lane "{lane}" is not drivable over the SDK channel; run: {command}'
    assert lane_cli_hint(lane) == hint
    assert lane_cli_hint(lane, "a/mcptest.yaml") == hint.replace("<suite>", "a/mcptest.yaml")


def test_these_are_the_lanes() -> None:
    assert UNSUPPORTED_LANES == ("agents", "compliance", "security", "evals")


LANES: dict[str, Any] = {
    "agents": [{"name": "refunds", "prompt": "Refund A-17"}, {"name": "two", "prompt": "b"}],
    "compliance": {"tests": ["ping", "initialize"]},
    "security": {"scan": True},
    "evals": [{"name": "tone", "prompt": "Say hi", "rubric": "friendly"}],
}


def test_each_lane_of_a_suite_is_one_entry_behind_the_tests(tmp_path: Path) -> None:
    tools = [{"name": "echoes", "tool": "echo", "args": {"text": "hi"}}]
    found = suite(tmp_path, **LANES, tools=tools)
    names = [(one.server, one.name) for one in found.tests]
    assert names[0] == ("shop", "echoes")
    assert sorted(names[1:]) == sorted(("lanes", lane) for lane in UNSUPPORTED_LANES)
    path = str(tmp_path / "mcptest.yaml")
    hints = {lane: lane_cli_hint(lane, path) for lane in UNSUPPORTED_LANES}
    assert skips(found) == {"echoes": "", **hints}


# Tests


def test_tests_are_in_the_order_of_the_file_with_their_lines_and_tags(tmp_path: Path) -> None:
    file = tmp_path / "a.test.mcp.yml"
    file.write_text(
        "description: a\nserver: {name: notes, command: python3, args: []}\ntests:\n"
        "  - it: first\n    tool: echo\n    tags: [slow, net]\n"
        "    expect: {response: {result: 'match:type:object'}}\n"
        "  - it: second\n    tool: echo\n    expect: {response: {result: 'match:type:object'}}\n",
        encoding="utf-8",
    )
    found = collect(str(file)).tests
    assert [(one.server, one.name, one.line, one.tags) for one in found] == [
        ("notes", "first", 4, ("slow", "net")),
        ("notes", "second", 8, ()),
    ]
    assert [(one.suite, one.case) for one in found] == [(0, 0), (0, 1)]


def test_a_path_that_a_shell_would_split_is_quoted_in_the_command(tmp_path: Path) -> None:
    folder = tmp_path / "my tests"
    folder.mkdir()
    (skip,) = skips(suite(folder, agents=LANES["agents"])).values()
    assert skip.endswith(f"run: mcptest run '{folder / 'mcptest.yaml'}'")


def test_a_test_that_the_file_skips_says_why(tmp_path: Path) -> None:
    found = conductor(tmp_path, call("a", skip="not today"), call("b", skip=True), call("c"))
    assert skips(found) == {"a": "not today", "b": "skipped in the file", "c": ""}


def test_tests_excluded_by_only_are_listed_as_skipped(tmp_path: Path) -> None:
    found = conductor(tmp_path, call("a", only=True), call("b"))
    assert skips(found) == {"a": "", "b": "another test of this file says only"}
    assert [each.code for each in found.plan.warnings] == ["W002"]


def test_every_mistake_of_a_file_is_reported(tmp_path: Path) -> None:
    bad = {"response": {"result": "match:containz:a"}}
    with pytest.raises(FormatError) as caught:
        conductor(tmp_path, call("a", expect=bad), call("b", typo=1))
    assert [each.code for each in caught.value.diagnostics] == ["F012", "F006"]


def test_a_file_without_a_server_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.test.mcp.yml"
    file.write_text(json.dumps({"description": "a", "tests": [call("a")]}), encoding="utf-8")
    with pytest.raises(UsageError, match="no server to test"):
        collect(str(file))


# Names


HELM = "suite: deployment\ntemplates: [deployment.yaml]\ntests:\n  - it: renders\n    asserts: []\n"
PROMETHEUS = "rule_files: [rules.yml]\ntests:\n  - interval: 1m\n    input_series: []\n"
REQUEST = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'


@pytest.mark.parametrize(
    ("name", "text", "is_ours"),
    [
        ("a.test.mcp.yml", "description: a\ntests: []\n", True),
        ("a.test.mcp.yaml", "# mine\n---\n'tests': 5\n", True),
        ("a.test.mcp.yml", "description: a\ntset: [\n", True),
        ("a.test.mcp.yml", "- it: has forgotten the key above\n", True),
        ("a.test.mcp.yml", '{"description": "a",\n  "tests": []}', True),
        ("a.test.mcp.yml", "", False),
        ("a.test.mcp.yml", "apiVersion: v1\nkind: Pod\n", False),
        ("mcptest.yaml", "servers: {}\n", True),
        ("mcptest.yml", "\xef\xbb\xbftools: [\n", True),
        ("weather.mcptest.yml", '{"name": "a", "tools": []}', True),
        ("mcptest.yaml", "version: 1\nmodel: small\n", False),
        ("mcptest.yaml", "jobs:\n  tools: []\n", False),
        ("notmcptest.yml", "servers: {}\n", False),
        ("a.mcp.yml", "tests: []\n", False),
        ("a.cases.yaml", f"case: a\nin: {REQUEST}\n", True),
        ("a.cases.yml", "out_1:\n  jsonrpc: '2.0'\n", True),
        ("a.cases.yaml", "in: {method: tools/list, id: [\n", True),
        ("a.cases.yaml", f'{{"case": "a", "in": {REQUEST}}}', True),
        ("a.cases.yaml", "cases:\n  - name: a\n", False),
        ("a.cases.yaml", "", False),
        ("a_test.yaml", f"# a contract\ncase: one\n---\nin: {REQUEST}\n", True),
        ("a_test.yml", f'"in_1": {REQUEST}\n', True),
        ("a_test.yml", "_server: {command: a}\n", True),
        ("a_test.yaml", "case: squares\nin: 3\nout: 9\n", False),
        ("a_test.yaml", "in: {method: GET, path: /}\nout: {status: 200}\n", False),
        ("molecule_test.yml", "- hosts: all\n  in: 5\n", False),
        ("chart_test.yaml", HELM, False),
        ("rules_test.yaml", PROMETHEUS, False),
        ("goss_test.yaml", "file:\n  /etc/passwd: {exists: true}\n", False),
        ("b_test.yaml", "\xff", False),
        ("b_test.yaml", f"case: \xff\nin: {REQUEST}\n", True),
        ("b_test.yaml", f"case: \0\nin: {REQUEST}\n", False),
    ],
)
def test_a_file_is_ours_by_its_name_and_by_how_it_begins(
    tmp_path: Path, name: str, text: str, is_ours: bool
) -> None:
    (tmp_path / name).write_text(text, encoding="latin-1")
    assert is_test_file(str(tmp_path / name)) is is_ours


def test_a_file_that_is_named_is_ours_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a_test.yaml").write_text("", encoding="utf-8")
    assert is_test_file(str(tmp_path / "a_test.yaml"), is_named=True)
    assert not is_test_file(str(tmp_path / "a.mcp.yml"), is_named=True)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a_test.yaml")
    assert is_test_file(str(tmp_path / "a_test.yaml")) is False


def test_a_file_that_cannot_be_read_is_not_ours(tmp_path: Path) -> None:
    assert is_test_file(str(tmp_path / "gone_test.yaml")) is False


def test_no_lane_of_suites_is_missing_here() -> None:
    """Another lane would be dropped without a word."""
    # The command runs the checks of compliance and scans; the channel does not.
    assert set(UNSUPPORTED_LANES) == {*COMMANDS, "compliance", "security"}
    for lane, command in COMMANDS.items():
        assert lane_cli_hint(lane).endswith(f"; run: {command} <suite>")
