"""URLs that a server writes are data: they are never opened."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# It puts the URL wherever MCP has a place for one, and where a schema could refer to it.
SERVER = """
import json, sys
URL = sys.argv[1]
ICON = [{"src": URL + "/icon", "mimeType": "image/png"}]
TOOL = {
    "name": "link", "icons": ICON, "inputSchema": {"type": "object"},
    "outputSchema": {"type": "object", "properties": {"a": {"$ref": URL + "/schema"}}},
}
RESULTS = {
    "initialize": {
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": "x", "version": "1", "websiteUrl": URL + "/site", "icons": ICON},
    },
    "tools/list": {"tools": [TOOL]},
    "resources/list": {"resources": [{"uri": URL + "/resource", "name": "r"}]},
    "resources/templates/list": {"resourceTemplates": []},
    "tools/call": {
        "content": [{"type": "resource_link", "uri": URL + "/link", "name": "l"},
                    {"type": "text", "text": URL + "/text"}],
        "structuredContent": {"a": 1},
    },
}
asked = False
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "tools/call" and not asked:
        asked = True
        params = {"mode": "url", "message": "go", "url": URL + "/go", "elicitationId": "1"}
        question = {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params}
        print(json.dumps(question), flush=True)
    if "id" in message and "method" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[message["method"]]}
        print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def canary() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def visitors(canary: socket.socket) -> int:
    """The number of connections, each of which waits here until it is counted."""
    count = 0
    while True:
        try:
            canary.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


def test_no_url_of_a_server_is_ever_opened(tmp_path: Path, canary: socket.socket) -> None:
    url = f"http://127.0.0.1:{canary.getsockname()[1]}"
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    client = {"capabilities": {"elicitation": {"url": {}}}, "elicitation": "decline"}
    suite = {
        "servers": {"s": {"command": [sys.executable, "server.py", url], "client": client}},
        "tools": [{"name": "links", "tool": "link"}],
        "resources": [{"name": "reads", "uri": f"{url}/resource"}],
    }
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    reports = [f"--reporter={name}=report.{name}" for name in ("html", "markdown", "sarif")]
    for words in (
        ["run", "--capture", "c.json", "--verbose", *reports],
        ["list", "--", sys.executable, "server.py", url],
        ["compliance", "invariants", "--capture", "c.json"],
    ):
        ended = subprocess.run(
            [sys.executable, "-m", "mcptest", *words],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode in (0, 1), ended.stderr
    assert url in (tmp_path / "c.json").read_text(encoding="utf-8")
    assert visitors(canary) == 0


def test_a_visitor_would_be_counted(canary: socket.socket) -> None:
    socket.create_connection(canary.getsockname()).close()
    assert visitors(canary) == 1
