"""One test in each format, run by the real command against a server that answers as scripted."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console import mcptest
from suite_runs import results_of, write

if TYPE_CHECKING:
    from console import Ended

__all__ = ["REQUEST", "run_case", "run_conductor", "run_suite_entry", "scripted", "verdict"]

SCRIPTED = Path(__file__).parents[2] / "servers" / "scripted_server.py"
REQUEST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "say", "arguments": {}},
}

Keys = dict[str, Any]


def scripted(answer: Keys, tool: Keys | None = None, **others: object) -> list[str]:
    """The command of a server whose one tool, `say`, answers with these members."""
    tools = {"tools": [{"name": "say", "inputSchema": {"type": "object"}, **(tool or {})}]}
    script = {"tools/list": {"result": tools}, "tools/call": answer, **others}
    return [sys.executable, "-S", "-E", str(SCRIPTED), json.dumps(script)]


def run_conductor(folder: Path, command: list[str], expect: Keys) -> Ended:
    """A test file that calls the tool and expects this."""
    test = {"it": "it", "request": REQUEST, "expect": expect}
    text = json.dumps({"description": "d", "tests": [test]}, indent=1)
    return _run(folder, "a.test.mcp.yml", text, command)


def run_case(folder: Path, command: list[str], **turns: object) -> Ended:
    """A contract in which the tool is called; `turns` are the keys beside it."""
    text = json.dumps({"case": "it", "in": REQUEST, **turns}, indent=1)
    return _run(folder, "a.cases.yaml", text, command)


def run_suite_entry(folder: Path, command: list[str], **keys: object) -> Ended:
    """A suite with one entry that calls the tool; `keys` are those beside it."""
    entry = {"name": "it", "tool": "say", **keys}
    write(folder, {"servers": {"a": {"command": command}}, "tools": [entry]})
    return mcptest(folder, "run", "--json")


def verdict(ended: Ended) -> tuple[str, list[tuple[str, str]]]:
    """How the one test ended, and the path and words of each mismatch."""
    [test] = results_of(ended)
    assert ended.code == (0 if test["status"] == "passed" else 1)
    return test["status"], [(found["path"], found["message"]) for found in test["mismatches"]]


def _run(folder: Path, name: str, text: str, command: list[str]) -> Ended:
    (folder / name).write_text(text, encoding="utf-8")
    return mcptest(folder, "run", name, "--json", "--server-command", shlex.join(command))
