"""What is asked once of answers that are alike is the same as asking it of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcptest.core.results import SessionScore
from mcptest.rules import judge
from mcptest.rules.captures import score_capture

CAPTURES = sorted((Path(__file__).parent.parent.parent / "captures").glob("*.json"))
Exchange = dict[str, Any]


def opening(version: str = "2025-11-25") -> list[Exchange]:
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    result = {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }
    return [
        {
            "request": {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params},
            "response": {"jsonrpc": "2.0", "id": 0, "result": result},
        },
        {"request": {"jsonrpc": "2.0", "method": "notifications/initialized"}},
    ]


def call(id: object, result: Any, **params: Any) -> Exchange:
    params = {"name": "echo", "arguments": {}} | params
    return {
        "request": {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params},
        "response": {"jsonrpc": "2.0", "id": id, "result": result},
    }


def text(words: str, **members: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], "isError": False} | members


def listed(id: object, **members: Any) -> Exchange:
    tool = {"name": "echo", "inputSchema": {"type": "object"}} | members
    return {
        "request": {"jsonrpc": "2.0", "id": id, "method": "tools/list"},
        "response": {"jsonrpc": "2.0", "id": id, "result": {"tools": [tool]}},
    }


def scored(*exchanges: Exchange) -> SessionScore:
    session = {
        "server_label": "stdio://s",
        "server_capabilities": {"tools": {}},
        "exchanges": [*opening(), *exchanges],
    }
    return score_capture([session]).sessions[0]


def broken(score: SessionScore) -> dict[str, int]:
    return {each.id: each.count for each in score.verdicts if each.status == "fail"}


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_no_capture_is_judged_otherwise_without_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    sessions = value if isinstance(value, list) else [value]
    quick = score_capture(sessions)
    monkeypatch.setattr(judge, "likeness_of", lambda *_: None)
    assert score_capture(sessions) == quick


def test_a_breach_among_many_that_are_alike_is_found() -> None:
    calls = [call(id, text(f"number {id}")) for id in range(1, 50)]
    odd = call(99, {"content": [{"type": "text"}], "isError": False})
    assert "TOOL-13" in broken(scored(*calls, odd, call(100, text("more"))))
    assert broken(scored(*calls)) == {}


def test_every_breach_that_is_like_another_is_counted() -> None:
    tool = listed(1, outputSchema={"type": "object"})
    calls = [call(id, text("no structured content")) for id in range(2, 7)]
    assert broken(scored(tool, *calls))["TOOL-08"] == 5


def test_what_becomes_known_in_between_counts_from_then_on() -> None:
    before = [call(id, text("plain")) for id in range(1, 4)]
    tool = listed(10, outputSchema={"type": "object"})
    after = [call(id, text("plain")) for id in range(11, 13)]
    assert broken(scored(*before, tool, *after))["TOOL-08"] == 2
