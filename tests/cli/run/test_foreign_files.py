"""Files that are not the suite's own: no message quotes them, and none of them blocks a command.

Each test has a canary in a file outside the folder of the suite, or in the environment.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest
from console import Ended, mcptest
from suite_runs import SUITE_SERVER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CANARY = "canary-7f3a"
NOT_REGULAR = "it is not a regular file"
OUTSIDE = "it is outside the folders of this run, so nothing in it is quoted"

SERVER = f"servers: {{s: {{command: ['{sys.executable}', -S, -E, '{SUITE_SERVER}']}}}}\n"
TOOLS = "tools: [{name: a, tool: echo, args: {text: hi}}]\n"


class Stage(NamedTuple):
    """A folder with a suite, and a file outside of it."""

    home: Path
    foreign: Path

    def suite(self, head: str, tools: str = TOOLS) -> None:
        (self.home / "mcptest.yaml").write_text(head + SERVER + tools, encoding="utf-8")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    home = tmp_path / "home"
    home.mkdir()
    return Stage(home, tmp_path / "foreign.yaml")


def quotes_nothing(ended: Ended) -> None:
    assert ended.code == 2
    assert CANARY not in ended.out + ended.err


COMMANDS = [("validate",), ("run",), ("list",), ("validate", "--json"), ("plugin", "list")]


def with_commands(first: str, *others: str) -> list[tuple[str, tuple[str, ...]]]:
    """The first case with every command, the others with one: all read files in one place."""
    return [*((first, words) for words in COMMANDS), *((each, COMMANDS[0]) for each in others)]


# Imports


@pytest.mark.parametrize(
    ("name", "words"),
    with_commands("/proc/self/environ", "/dev/zero", "pipe", "environ-link"),
)
def test_a_path_that_is_not_a_regular_file_is_refused_where_it_is_named(
    name: str, words: tuple[str, ...], stage: Stage
) -> None:
    os.mkfifo(stage.home / "pipe")
    (stage.home / "environ-link").symlink_to("/proc/self/environ")
    stage.suite(f'imports: ["{name}"]\n')
    ended = mcptest(stage.home, *words, SECRET_CANARY=CANARY)
    quotes_nothing(ended)
    assert f"cannot import it: {NOT_REGULAR}" in ended.err
    assert "mcptest.yaml:1:11" in ended.err
    assert "copy what is needed into a file" in ended.err


UNREADABLE = {
    "no YAML": (f"a: 1\n  {CANARY}: [\n", "F002"),
    "another kind": (f"root:{CANARY}:0:0\nbin:*:1:1\n", "F005"),
    "a quote": (f'"{CANARY}\n', "F002"),
    "a key twice": (f"{CANARY}: 1\n{CANARY}: 2\n", "F003"),
    "a tag": (f"a: !{CANARY} 1\n", "F004"),
}


@pytest.mark.parametrize(("kind", "words"), with_commands(*UNREADABLE))
def test_a_file_outside_that_does_not_parse_is_refused_where_it_is_named(
    kind: str, words: tuple[str, ...], stage: Stage
) -> None:
    text, code = UNREADABLE[kind]
    stage.foreign.write_text(text, encoding="utf-8")
    stage.suite("imports: [../foreign.yaml]\n")
    ended = mcptest(stage.home, *words)
    quotes_nothing(ended)
    assert f"error[{code}]: cannot import it: " in ended.err
    assert "(line " in ended.err
    assert "mcptest.yaml:1:11" in ended.err
    assert OUTSIDE in ended.err


def test_a_byte_that_is_not_text_is_not_quoted_either(stage: Stage) -> None:
    stage.foreign.write_bytes(b"ab\xc3\x28")
    stage.suite("imports: [../foreign.yaml]\n")
    ended = mcptest(stage.home, "validate")
    quotes_nothing(ended)
    assert "0xc3" not in ended.err
    assert OUTSIDE in ended.err


MISTAKES = {
    "unknown key": f"{CANARY}: 1\n",
    "wrong type": f"tools: {CANARY}\n",
    "unknown matcher": "tools: [{name: x, tool: echo, expect: [{target: r, "
    f"matcher: {{{CANARY}: 1}}}}]}}]\n",
    "unset variable": "variables: {x: {secret_env: CANARY_7F3A}}\n"
    'tools: [{name: x, tool: echo, args: {text: "${x}"}}]\n',
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_outside_is_reported_by_its_kind_and_place(kind: str, stage: Stage) -> None:
    stage.foreign.write_text(MISTAKES[kind], encoding="utf-8")
    stage.suite("imports: [../foreign.yaml]\n")
    ended = mcptest(stage.home, "run")
    quotes_nothing(ended)
    assert CANARY.upper().replace("-", "_") not in ended.err
    assert "--> ../foreign.yaml:" in ended.err
    assert OUTSIDE in ended.err


def test_a_file_outside_that_is_right_can_be_imported(stage: Stage) -> None:
    stage.foreign.write_text("tools: [{name: shared, tool: echo}]\n", encoding="utf-8")
    stage.suite("imports: [../foreign.yaml]\n")
    assert mcptest(stage.home, "run", "-k", "a").code == 0


@pytest.mark.parametrize(
    ("folder", "words"),
    [("home", ()), (".", ("home/mcptest.yaml",)), ("/", ("{}/home/mcptest.yaml",))],
    ids=["here", "below", "elsewhere"],
)
def test_lines_of_the_suites_own_files_are_quoted(
    folder: str, words: tuple[str, ...], stage: Stage
) -> None:
    (stage.home / "part.yaml").write_text(f"{CANARY}: 1\n", encoding="utf-8")
    stage.suite("imports: [part.yaml]\n")
    top = stage.home.parent
    ended = mcptest(top / folder, "validate", *(word.format(top) for word in words))
    assert (ended.code, f"1 | {CANARY}: 1" in ended.err) == (2, True)


@pytest.mark.long
def test_a_file_beside_the_suites_folder_is_quoted_from_above(stage: Stage) -> None:
    stage.foreign.write_text(f"{CANARY}: 1\n", encoding="utf-8")
    stage.suite("imports: [../foreign.yaml]\n")
    ended = mcptest(stage.home.parent, "validate", "home")
    assert (ended.code, f"1 | {CANARY}: 1" in ended.err) == (2, True)


@pytest.mark.parametrize("name", [".env", ".git/config", ".git/../.env"])
def test_hidden_files_do_not_belong_to_a_suite(name: str, stage: Stage) -> None:
    (stage.home / ".git").mkdir()
    for each in (".env", ".git/config"):
        (stage.home / each).write_text(f"KEY={CANARY}\n", encoding="utf-8")
    stage.suite(f"imports: [{name}]\n")
    quotes_nothing(mcptest(stage.home, "validate"))


def test_the_root_of_all_folders_is_not_the_folder_of_a_suite(stage: Stage) -> None:
    stage.foreign.write_text(f"{CANARY}\n", encoding="utf-8")
    stage.suite("imports: [../foreign.yaml]\n")
    quotes_nothing(mcptest(stage.home.parents[-1], "validate", str(stage.home)))


# Links that are found


BROKEN = f"{CANARY}: [\n"


def link(name: str) -> Callable[[Stage], None]:
    def make(stage: Stage) -> None:
        path = stage.home / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(stage.foreign)

    return make


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.test.mcp.yml", ("validate",)),
        ("a.test.mcp.yml", ("run", ".")),
        ("a.test.mcp.yml", ("run", "*.yml")),
        ("a.cases.yaml", ("validate", ".")),
        ("mcptest.yaml", ("validate",)),
        ("mcptest.yaml", ("list",)),
        ("mcptest.yaml", ("plugin", "list")),
        ("conductor.config.json", ("list",)),
        ("conductor.config.json", ("plugin", "list")),
        ("a.test.mcp.yml", ("migrate", ".")),
        ("a.cases.yaml", ("docs", ".")),
    ],
)
def test_a_link_that_is_found_leads_to_nothing_that_is_quoted(
    name: str, words: tuple[str, ...], stage: Stage
) -> None:
    stage.foreign.write_text(BROKEN, encoding="utf-8")
    link(name)(stage)
    ended = mcptest(stage.home, *words)
    quotes_nothing(ended)
    assert OUTSIDE in ended.err
    assert f"--> {name}:" in ended.err


def test_a_config_that_is_found_beside_tests_is_not_quoted(stage: Stage) -> None:
    stage.foreign.write_text(BROKEN, encoding="utf-8")
    link("conductor.config.json")(stage)
    test = {"it": "a", "tool": "t", "expect": {"response": {"result": 1}}}
    text = json.dumps({"description": "d", "tests": [test]})
    (stage.home / "a.test.mcp.yml").write_text(text, encoding="utf-8")
    ended = mcptest(stage.home, "run", "a.test.mcp.yml")
    quotes_nothing(ended)
    assert OUTSIDE in ended.err


def test_snapshots_that_are_a_link_are_not_quoted(stage: Stage) -> None:
    stage.foreign.write_text(BROKEN, encoding="utf-8")
    link("__snapshots__/mcptest.yaml.snap.yaml")(stage)
    expect = "expect: [{target: result, matcher: {snapshot: true}}]"
    stage.suite("", f"tools: [{{name: a, tool: echo, args: {{text: hi}}, {expect}}}]\n")
    ended = mcptest(stage.home, "run")
    quotes_nothing(ended)
    assert "leads out of this folder" in ended.err


def test_a_link_that_the_user_names_is_quoted(stage: Stage) -> None:
    stage.foreign.write_text(BROKEN, encoding="utf-8")
    link("a.test.mcp.yml")(stage)
    ended = mcptest(stage.home, "validate", "a.test.mcp.yml")
    assert (ended.code, CANARY in ended.err) == (2, True)
    (stage.home / "mcptest.yaml").symlink_to(stage.foreign)
    ended = mcptest(stage.home, "list", "--config", "mcptest.yaml")
    assert (ended.code, CANARY in ended.err) == (2, True)


# Schemas


SCHEMAS = {
    "no JSON": f'{{"{CANARY}": 1, "{CANARY}": 2}}',
    "no schema": f'{{"type": "{CANARY}"}}',
    "a reference": f'{{"$ref": "https://example.org/{CANARY}"}}',
}


@pytest.mark.parametrize("command", ["validate", "run", "mock"])
@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_outside_that_is_none_is_not_quoted(kind: str, command: str, stage: Stage) -> None:
    stage.foreign.write_text(SCHEMAS[kind], encoding="utf-8")
    (stage.home / "inside.json").write_text(SCHEMAS[kind], encoding="utf-8")
    for name, is_quoted in (("../foreign.yaml", False), ("inside.json", True)):
        out = f'{{jsonrpc: "2.0", id: 1, result: "match:jsonSchema:{name}"}}'
        cases = f'_patterns: true\nin: {{jsonrpc: "2.0", id: 1, method: ping}}\nout: {out}\n'
        path = stage.home / "a.cases.yaml"
        path.write_text(cases, encoding="utf-8")
        ended = mcptest(stage.home, command, "a.cases.yaml")
        assert (ended.code, CANARY in ended.err) == (2, is_quoted), ended.err
        assert (OUTSIDE in ended.err) is not is_quoted


# Captures
