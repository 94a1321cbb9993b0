"""A schema validator that stops early says nothing about the value: the test is an error."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING

import pytest
from console import Ended, mcptest
from format_runs import run_case, run_conductor, run_suite_entry, scripted
from suite_runs import outcomes, results_of

from mcptest.sdk.expect import BadExpectationError, expect

if TYPE_CHECKING:
    from pathlib import Path

# More steps than the validator takes, on a value of 41 characters.
HARD = "(?:(?=a)a*)*b"
TEXT = "a" * 40 + "!"
SCHEMA = {"type": "object", "properties": {"text": {"pattern": HARD}}}

FORMATS = ("conductor", "cases", "suite")


def server(text: str, **tool: object) -> list[str]:
    """Its one tool answers with this text, structured."""
    said = {"content": [{"type": "text", "text": "{}"}], "structuredContent": {"text": text}}
    return scripted({"result": said}, tool)


def run(folder: Path, format: str, text: str, *, negated: bool) -> Ended:
    """One test that asks for a value which meets the schema, or does not."""
    (folder / "s.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    command = server(text)
    if format == "suite":
        matcher: dict[str, object] = {"schema": "s.json"}
        wanted = {"not": matcher} if negated else matcher
        wished = [{"target": "result.structuredContent", "matcher": wanted}]
        return run_suite_entry(folder, command, expect=wished)
    result = {"structuredContent": f"match:{'not:' if negated else ''}jsonSchema:s.json"}
    if format == "cases":
        out = {"jsonrpc": "2.0", "id": 1, "result": result}
        return run_case(folder, command, _patterns=True, out=out)
    return run_conductor(folder, command, {"response": {"match:partial": {"result": result}}})


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
    ended = run_suite_entry(tmp_path, server(text, outputSchema=SCHEMA))
    [test] = results_of(ended)
    assert test["status"] == status
    if status == "error":
        assert test["error"]["kind"] == "schema_undecided"
        assert f'the pattern "{HARD}" of outputSchema' in test["error"]["message"]


def test_a_mock_refuses_arguments_that_it_cannot_judge(tmp_path: Path) -> None:
    tool = {"name": "say", "inputSchema": SCHEMA, "answer": "fine"}
    (tmp_path / "m.yaml").write_text(json.dumps({"tools": [tool]}), encoding="utf-8")
    mock = shlex.join([sys.executable, "-m", "mcptest", "mock", "m.yaml"])
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
    schema: dict[str, object] = {"schema": SCHEMA}
    denied: dict[str, object] = {"not": schema}
    for matcher in (schema, denied):
        with pytest.raises(BadExpectationError, match="gave up on the pattern"):
            expect({"text": TEXT}).to_meet(matcher)
    expect({"text": "aab"}).to_meet(schema)
    expect({"text": "xyz"}).to_meet(denied)
