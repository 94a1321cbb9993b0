"""`--variable` and `--env-file`: values from outside of the test files."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from console import case, mcptest, write_config, write_suite

if TYPE_CHECKING:
    from pathlib import Path

# A server whose tool returns its argument.
ECHO = """\
import json, sys
TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    params = message.get("params", {})
    result = {"tools": [TOOL]}
    if message["method"] == "initialize":
        info = {"name": "echo", "version": "1"}
        version = params["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif message["method"] == "tools/call":
        text = json.dumps(params["arguments"]["value"])
        result = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "server.py").write_text(ECHO, encoding="utf-8")
    value = {
        "servers": {"echo": {"command": [sys.executable, "server.py"]}},
        "variables": {"value": "written", "region": {"from_env": "NO_SUCH_REGION"}},
        "tools": [
            {
                "name": "says it",
                "tool": "echo",
                "args": {"value": "${value}"},
                "expect": [{"target": "result.content[0].text", "matcher": {"exact": '"given"'}}],
            },
            {"name": "uses ${region}", "tool": "echo", "args": {"value": "${region}"}},
        ],
    }
    (tmp_path / "mcptest.yaml").write_text(json.dumps(value), encoding="utf-8")
    return tmp_path


def test_a_variable_of_a_suite_is_replaced(suite: Path) -> None:
    ended = mcptest(suite, "run", "--variable", "value=given", "--variable=region=eu")
    assert (ended.code, ended.err) == (0, "")
    assert mcptest(suite, "run", "--variable", "region=eu").code == 1
    ended = mcptest(suite, "run", "--variable", 'value:="given"', "-k", "says")
    assert (ended.code, ended.err) == (0, "")
    ended = mcptest(suite, "run", "--variable", "value:=[1]", "-k", "says")
    assert 'actual    "[1]"' in ended.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["valu=1"], "--variable: no suite here declares the variable 'valu'; did you mean"),
        (["value"], "--variable takes NAME=VALUE or NAME:=JSON, not 'value'"),
        (["=1"], "--variable takes NAME=VALUE or NAME:=JSON, not '=1'"),
        (["value:={"], "--variable value:= is not JSON: "),
        (["value=1", "value=2"], "--variable value is given twice"),
        (["CONFIG_DIR=/tmp"], "--variable: no suite here declares the variable 'CONFIG_DIR'"),
    ],
)
def test_a_variable_that_makes_no_sense_is_refused(
    suite: Path, words: list[str], message: str
) -> None:
    ended = mcptest(suite, "run", *(f"--variable={word}" for word in words))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {message}")


# Environment files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path / "conductor.config.json", env={"TOKEN": "${MY_TOKEN}"})
    cases = [
        case("expanded", "env", params={"name": "TOKEN"}, wants={"value": "topaz-secret"}),
        case("inherited", "env", params={"name": "OTHER"}, wants={"value": "a # b"}),
        case("shown", "env", params={"name": "OTHER"}, wants={"value": "something else"}),
    ]
    write_suite(tmp_path / "a.test.mcp.yml", *cases)
    text = "# a comment\n\nexport MY_TOKEN=topaz-secret # not part of it\nOTHER='a # b'\n"
    (tmp_path / "dev.env").write_text(text, encoding="utf-8")
    return tmp_path


def test_variables_of_a_file_are_for_configs_and_for_the_server(folder: Path) -> None:
    assert mcptest(folder, "run").code == 2
    ended = mcptest(folder, "run", "--env-file", "dev.env", "-v")
    assert ended.code == 1
    assert "3 tests: 2 passed, 1 failed" in ended.out
    assert "a # b" not in ended.out + ended.err
    assert "topaz" not in ended.out + ended.err
    assert "[secret]" in ended.out


def test_a_variable_that_is_set_stays(folder: Path) -> None:
    ended = mcptest(folder, "run", "--env-file=dev.env", "-k", "in", OTHER="a # b", MY_TOKEN="else")
    assert (ended.code, "1 test: 1 passed" in ended.out) == (0, True)
    assert ended.err == "note: --env-file dev.env: already set otherwise, and left so: MY_TOKEN\n"


def test_mistakes_in_a_file_are_reported_without_quoting_it(folder: Path) -> None:
    (folder / "dev.env").write_text("A=1\nmy secret\n", encoding="utf-8")
    ended = mcptest(folder, "run", "--env-file", "dev.env")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: --env-file: line 2 of dev.env is not NAME=value\n"
    ended = mcptest(folder, "run", "--env-file", "prod.env")
    assert (ended.code, ended.err) == (2, "error: --env-file: there is no file 'prod.env'\n")


def test_a_quote_that_is_never_closed_is_a_mistake(folder: Path) -> None:
    text = 'KEY="-----BEGIN KEY-----\nMIICanary==\n-----END KEY-----"\n'
    (folder / "dev.env").write_text(text, encoding="utf-8")
    ended = mcptest(folder, "run", "--env-file", "dev.env")
    assert (ended.code, ended.out) == (2, "")
    message = "lines 1, 3 of dev.env are not NAME=value"
    assert ended.err == f"error: --env-file: {message}\n"
    (folder / "dev.env").write_text("no\n" * 13, encoding="utf-8")
    ended = mcptest(folder, "run", "--env-file", "dev.env")
    assert "lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more of dev.env are not" in ended.err


def test_only_line_breaks_end_a_value(folder: Path) -> None:
    value = "a\x0cb\x0b\u2028c\u0085d"
    (folder / "dev.env").write_text(f"MY_TOKEN=x\r\nOTHER={value}\r\n", encoding="utf-8")
    seen = case("seen", "env", params={"name": "OTHER"}, wants={"value": value})
    write_suite(folder / "a.test.mcp.yml", seen)
    assert mcptest(folder, "run", "--env-file", "dev.env").code == 0
