"""A schema validator that gives up says nothing of the value: the test is an error."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from console import Ended, mcptest
from suite_runs import call, outcomes, results_of, write

from mcptest.sdk.expecting import BadExpectationError, expect

SCRIPTED = Path(__file__).parent.parent / "servers" / "scripted_server.py"

# More steps than the validator takes, on a value of 41 characters.
HARD = "(?:(?=a)a*)*b"
TEXT = "a" * 40 + "!"
SCHEMA = {"type": "object", "properties": {"text": {"pattern": HARD}}}

FORMATS = ("conductor", "cases", "suite")


def scripted(**answers: object) -> list[str]:
    return [sys.executable, "-S", "-E", str(SCRIPTED), json.dumps(answers)]


def server(text: str, **tool: object) -> list[str]:
    """Its one tool answers with this text, structured."""
    tools = {"tools": [{"name": "say", "inputSchema": {"type": "object"}, **tool}]}
    said = {"content": [{"type": "text", "text": "{}"}], "structuredContent": {"text": text}}
    return scripted(**{"tools/list": {"result": tools}, "tools/call": {"result": said}})


def run(folder: Path, format: str, text: str, *, negated: bool) -> Ended:
    """One test of each format that asks for a value which (does not) meet the schema."""
    (folder / "s.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    command = server(text)
    pattern = f"match:{'not:' if negated else ''}jsonSchema:s.json"
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "say"}}
    if format == "suite":
        matcher: dict[str, Any] = {"schema": "s.json"}
        wanted = {"not": matcher} if negated else matcher
        wishes = [{"target": "result.structuredContent", "matcher": wanted}]
        suite = {
            "servers": {"a": {"command": command}},
            "tools": [call("it", "say", expect=wishes)],
        }
        write(folder, suite)
        return mcptest(folder, "run", "--json")
    result = {"structuredContent": pattern}
    if format == "cases":
        out = {"jsonrpc": "2.0", "id": 1, "result": result}
        case = {"case": "it", "_patterns": True, "in": request, "out": out}
        path, text = folder / "a.cases.yaml", json.dumps(case)
    else:
        wished = {"response": {"match:partial": {"result": result}}}
        test = {"it": "it", "request": request, "expect": wished}
        path = folder / "a.test.mcp.yml"
        text = json.dumps({"description": "d", "tests": [test]})
    path.write_text(text, encoding="utf-8")
    return mcptest(folder, "run", path.name, "--json", "--server-command", quoted(command))


def quoted(command: list[str]) -> str:
    return " ".join(f"'{word}'" for word in command)


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("format", FORMATS)
def test_a_pattern_that_takes_too_many_steps_is_an_error(
    tmp_path: Path, format: str, negated: bool
) -> None:
    ended = run(tmp_path, format, TEXT, negated=negated)
    [test] = results_of(ended)
    assert (ended.code, test["status"]) == (1, "error")
    assert test["error"]["kind"] == "schema_undecided"
    message = test["error"]["message"]
    assert f'gave up on the pattern "{HARD}" of s.json' in message
    assert "properties.text.pattern" in message
    assert message.endswith("whether the value is valid is not known")


@pytest.mark.parametrize(
    ("text", "negated", "status"),
    [("aab", False, "passed"), ("xyz", False, "failed"), ("xyz", True, "passed")],
)
@pytest.mark.parametrize("format", FORMATS)
def test_a_pattern_that_is_decided_is_a_verdict(
    tmp_path: Path, format: str, text: str, negated: bool, status: str
) -> None:
    assert outcomes(run(tmp_path, format, text, negated=negated)) == {"it": status}


@pytest.mark.parametrize(("text", "status"), [(TEXT, "error"), ("aab", "passed")])
def test_the_output_of_a_tool_may_be_undecided(tmp_path: Path, text: str, status: str) -> None:
    suite = {
        "servers": {"a": {"command": server(text, outputSchema=SCHEMA)}},
        "tools": [call("it", "say")],
    }
    write(tmp_path, suite)
    ended = mcptest(tmp_path, "run", "--json")
    [test] = results_of(ended)
    assert test["status"] == status
    if status == "error":
        assert test["error"]["kind"] == "schema_undecided"
        assert f'the pattern "{HARD}" of outputSchema' in test["error"]["message"]


def test_a_mock_refuses_arguments_that_it_cannot_judge(tmp_path: Path) -> None:
    tool = {"name": "say", "inputSchema": SCHEMA, "answer": "fine"}
    (tmp_path / "m.yaml").write_text(json.dumps({"tools": [tool]}), encoding="utf-8")
    mock = quoted([sys.executable, "-m", "mcptest", "mock", "m.yaml"])
    refused = {"code": -32603, "message": "match:contains:gave up on the pattern"}
    wished = {"response": {"match:partial": {"error": refused}}}
    hard = {"it": "hard", "tool": "say", "arguments": {"text": TEXT}, "expect": wished}
    fine = {"it": "fine", "tool": "say", "arguments": {"text": "ab"}}
    fine["expect"] = {"response": {"match:partial": {"result": {"content": "match:notEmpty"}}}}
    text = json.dumps({"description": "d", "tests": [hard, fine]})
    (tmp_path / "a.test.mcp.yml").write_text(text, encoding="utf-8")
    ended = mcptest(tmp_path, "run", "a.test.mcp.yml", "--json", "--server-command", mock)
    assert outcomes(ended) == {"hard": "passed", "fine": "passed"}


def test_the_python_sdk_does_not_take_it_for_a_verdict() -> None:
    schema = {"schema": SCHEMA}
    for matcher in (schema, {"not": schema}):
        with pytest.raises(BadExpectationError, match="gave up on the pattern"):
            expect({"text": TEXT}).to_meet(matcher)
    expect({"text": "aab"}).to_meet(schema)
    expect({"text": "xyz"}).to_meet({"not": schema})
