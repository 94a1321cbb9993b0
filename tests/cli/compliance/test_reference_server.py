"""The reference server of the compliance tests: no rule finds anything in its sessions."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from active import REFERENCE_SERVER as SERVER
from active import http_server
from conformance.breaks import BREAKS
from console import mcptest

if TYPE_CHECKING:
    pass

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
STATELESS = REVISIONS[-1]
PATIENCE_S = 20.0


def request(name: str, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    """A test that accepts any answer: the rules judge it."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    return {"it": name, "request": message, "expect": {"response": "match:type:object"}}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return request(
        f"calls {tool} {arguments}", "tools/call", {"name": tool, "arguments": arguments}
    )


TESTS = [
    call("echo", text="hello\u2028there"),
    call("echo"),
    call("echo", text=5),
    call("add", a=1, b=2.5),
    call("sum_header", region="north"),
    call("slow", seconds=0.1),
    call("fail"),
    call("links"),
    call("log_all"),
    call("task_required"),
    call("task_forbidden"),
    call("needs_tasks"),
    call("elicit"),
    call("sample"),
    call("touch", uri="live://clock"),
    call("no_such_tool"),
    request("has no such method", "no/such/method"),
    request("walks resources", "resources/list"),
    request("refuses cursors", "resources/list", {"cursor": "bogus"}),
    request("has templates", "resources/templates/list"),
    request("reads a file", "resources/read", {"uri": "file:///notes/one.txt"}),
    request("reads an image", "resources/read", {"uri": "image://pixel"}),
    request("knows its files", "resources/read", {"uri": "file:///notes/none.txt"}),
    request("stays inside", "resources/read", {"uri": "file:///notes/../../etc/passwd"}),
    request("reads URIs", "resources/read", {"uri": "not a URI"}),
    request("has prompts", "prompts/list"),
    request("greets", "prompts/get", {"name": "greet", "arguments": {"name": "Ada"}}),
    request("needs a name", "prompts/get", {"name": "greet"}),
    request("knows its prompts", "prompts/get", {"name": "none"}),
    request(
        "completes",
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "name", "value": "a"},
            "context": {"arguments": {"style": "short"}},
        },
    ),
]

# What only sessions with a handshake have.
HANDSHAKE_TESTS = [
    request("pings", "ping"),
    request("sets the level", "logging/setLevel", {"level": "debug"}),
    request("knows the levels", "logging/setLevel", {"level": "loud"}),
    request("subscribes", "resources/subscribe", {"uri": "live://clock"}),
    request("starts a task", "tools/call", {"name": "task_required", "task": {"ttl": 1000}}),
    request("knows its tasks", "tasks/get", {"taskId": "none"}),
    request("lists tasks", "tasks/list"),
]


# The server asks for roots at the start, and for the others in two of its tools.
CLIENT = {
    "roots": ["file:///project"],
    "sampling": "Hello.",
    "elicitation": {"action": "accept", "content": {"name": "Ada"}},
    "capabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
}


def findings(folder: Path, revision: str, client: dict[str, Any], **server: Any) -> list[str]:
    """Run all tests of a revision, and return what the rules find in the capture."""
    tests = TESTS if revision == STATELESS else TESTS + HANDSHAKE_TESTS
    suite = {"description": "every feature", "tests": tests}
    config = {"name": "reference", "protocolVersion": revision, "client": client, **server}
    (folder / "all.test.mcp.yml").write_text(json.dumps(suite), encoding="utf-8")
    (folder / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    ended = mcptest(folder, "run", "all.test.mcp.yml", "--json", "--capture", "capture.json")
    assert ended.report()["summary"]["passed"] == len(tests), ended.out
    words = ["--capture", "capture.json", "--format", "json"]
    report = mcptest(folder, "compliance", "check", *words).report()
    assert report["sessions"]
    return [
        f"{rule['id']}: {rule['message']}"
        for session in report["sessions"]
        for rule in session["invariants"]
        if rule["status"] not in ("pass", "not_applicable")
    ]


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_rules_find_nothing_on_stdio(tmp_path: Path, revision: str) -> None:
    server = {"command": sys.executable, "args": [str(SERVER)]}
    assert findings(tmp_path, revision, CLIENT, **server) == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_rules_find_nothing_over_http(tmp_path: Path, revision: str) -> None:
    with http_server() as url:
        assert findings(tmp_path, revision, CLIENT, url=url) == []


@pytest.mark.parametrize("revision", REVISIONS[-2:])
def test_a_client_that_declares_nothing_is_asked_nothing(tmp_path: Path, revision: str) -> None:
    server = {"command": sys.executable, "args": [str(SERVER)]}
    assert findings(tmp_path, revision, {}, **server) == []


def test_a_break_is_found(tmp_path: Path) -> None:
    server = {"command": sys.executable, "args": [str(SERVER), "--break", "PROMPT-04"]}
    found = findings(tmp_path, "2025-11-25", {}, **server)
    assert [each.partition(":")[0] for each in found] == ["PROMPT-04"]


def test_every_break_is_somewhere_in_the_code() -> None:
    modules = [path for path in SERVER.parent.glob("*.py") if path.name != "breaks.py"]
    text = "".join(path.read_text(encoding="utf-8") for path in modules)
    named = set(re.findall(r'"([A-Z]+-\d+)"', text))
    assert named == set(BREAKS)


def test_unknown_breaks_are_refused() -> None:
    ended = subprocess.run(
        [sys.executable, str(SERVER), "--break", "BASE-99"],
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b"there is no break BASE-99" in ended.stderr
