"""Calls that did not finish in the stateless era do not pass, and the reason is reported."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from console import Ended, mcptest

ERA_SERVER = Path(__file__).parents[2] / "servers" / "era_server.py"
STATELESS = "2026-07-28"
ASKED = {"capabilities": {"elicitation": {}}, "elicitation": "decline"}
NO_STUB = "no stub answers elicitation/create"

UNFINISHED = [
    ("rounds 99", ASKED, "the server still asks for input after 10 rounds"),
    ("rounds 1", {}, NO_STUB),
    ("typed task", {}, "it goes on as a task, and tasks are not followed"),
    ("typed bogus", {}, 'resultType is "bogus", which means nothing'),
]


def command(folder: Path, mode: str) -> list[str]:
    return [sys.executable, str(ERA_SERVER), str(folder / "log"), *mode.split()]


def run_suite(
    folder: Path, mode: str, client: dict[str, Any], *expect: dict[str, Any]
) -> dict[str, Any]:
    """The result of one test in a suite."""
    server: dict[str, Any] = {"command": command(folder, mode)}
    server |= {"client": client} if client else {}
    test = {"name": "calls", "tool": "a"} | ({"expect": list(expect)} if expect else {})
    suite = {"servers": {"era": server}, "tools": [test]}
    (folder / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    report = mcptest(folder, "run", "--json").report()
    (found,) = report["suites"]
    (result,) = found["tests"]
    return dict(result)


def call(folder: Path, mode: str) -> Ended:
    words = ("--no-check", "--spec-version", STATELESS, "--", *command(folder, mode))
    return mcptest(folder, "call", "a", *words)


@pytest.mark.parametrize(("mode", "client", "why"), UNFINISHED)
def test_a_call_without_expectations_must_still_finish(
    mode: str, client: dict[str, Any], why: str, tmp_path: Path
) -> None:
    result = run_suite(tmp_path, mode, client)
    (mismatch,) = result["mismatches"]
    assert (result["status"], mismatch["path"]) == ("failed", "result.resultType")
    assert mismatch["message"] == f"the call was not completed: {why}"
    assert mismatch["expected"] == "complete"


@pytest.mark.parametrize(
    ("mode", "client"), [("rounds 9", ASKED), ("typed complete", {}), ("odd", {})]
)
def test_a_call_that_finishes_passes(mode: str, client: dict[str, Any], tmp_path: Path) -> None:
    """So does one with a handshake, where the type of a result means nothing."""
    result = run_suite(tmp_path, mode, client)
    assert (result["status"], result.get("notes")) == ("passed", None)


def test_a_test_that_expects_something_else_has_a_note(tmp_path: Path) -> None:
    note = f"the call was not completed: {NO_STUB}"
    has = {"target": "result", "matcher": {"type": "object"}}
    passed = run_suite(tmp_path, "rounds 1", {}, has)
    assert (passed["status"], passed["notes"]) == ("passed", [note])
    lacks = {"target": "result.content", "matcher": {"exists": True}}
    failed = run_suite(tmp_path, "rounds 1", {}, lacks)
    assert (failed["status"], failed["notes"]) == ("failed", [note])


def test_a_test_may_expect_that_input_is_required(tmp_path: Path) -> None:
    wants = {"target": "result.resultType", "matcher": {"exact": "input_required"}}
    result = run_suite(tmp_path, "rounds 1", {}, wants)
    assert (result["status"], result.get("notes")) == ("passed", None)


@pytest.mark.parametrize(
    ("mode", "why"), [(mode, why) for mode, client, why in UNFINISHED if not client]
)
def test_mcptest_call_fails_with_the_reason(mode: str, why: str, tmp_path: Path) -> None:
    ended = call(tmp_path, mode)
    assert ended.code == 1
    assert f"error: the call was not completed: {why}\n" in ended.err
    assert (
        json.loads(ended.out)["resultType"]
        == mode.replace("rounds 1", "input_required").split()[-1]
    )


def test_mcptest_call_passes_with_what_is_complete(tmp_path: Path) -> None:
    ended = call(tmp_path, "typed complete")
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize(
    ("mode", "skip"),
    [
        ("typed complete", None),
        (
            "typed task",
            "the call was not completed: it goes on as a task, and tasks are not ",
        ),
    ],
)
def test_discover_writes_no_test_that_wants_a_call_not_to_end(
    mode: str, skip: str | None, tmp_path: Path
) -> None:
    words = ("--spec-version", STATELESS, "--", *command(tmp_path, mode))
    ended = mcptest(tmp_path, "discover", "-o", "a.test.mcp.yml", *words)
    text = (tmp_path / "a.test.mcp.yml").read_text(encoding="utf-8")
    assert (ended.code, 'it: "calls a"' in text) == (0, True)
    assert ("skip:" in text) == (skip is not None)
    assert (skip or "") in text
    assert mcptest(tmp_path, "run", "a.test.mcp.yml").code == 0
