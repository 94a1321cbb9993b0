"""The mock conforms: it gets an A+ in both eras, on stdio and over HTTP."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from active import check_server

HINTS = """\
slow_tool: none
progress_tool: none
eliciting_tool: none
sampling_tool: none
readonly_observer: none
resource_that_changes: none
"""
MANIFEST = """\
name: weather
tools:
  - name: forecast
    inputSchema: {type: object, properties: {city: {type: string}}, required: [city]}
    annotations: {readOnlyHint: true}
    answer: "Sunny in ${args.city}"
resources:
  - {uri: "note://one", name: One, text: first}
prompts:
  - {name: ask, arguments: [{name: city, required: true}], text: "How is ${args.city}?"}
"""
# With subscriptions, log levels and two resources.
CONTRACT = """\
case: Opens
in: {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
out: {"jsonrpc": "2.0", "id": 1, "result": {
  "capabilities": {"resources": {"listChanged": true, "subscribe": true}, "logging": {}},
  "serverInfo": {"name": "notes", "version": "1"}}}
---
case: Reads the first
in: {"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": "note://one"}}
out: {"jsonrpc": "2.0", "id": 2, "result": {"contents": [{"uri": "note://one", "text": "one"}]}}
---
case: Subscribes
in: {"jsonrpc": "2.0", "id": 3, "method": "resources/subscribe", "params": {"uri": "note://one"}}
out: {"jsonrpc": "2.0", "id": 3, "result": {}}
---
case: Unsubscribes
in: {"jsonrpc": "2.0", "id": 4, "method": "resources/unsubscribe", "params": {"uri": "note://one"}}
out: {"jsonrpc": "2.0", "id": 4, "result": {}}
---
case: Sets a level
in: {"jsonrpc": "2.0", "id": 5, "method": "logging/setLevel",
     "params": {"level": !!re '^(debug|info|notice|warning|error|critical|alert|emergency)$'}}
out: {"jsonrpc": "2.0", "id": 5, "result": {}}
"""


@pytest.mark.long
@pytest.mark.parametrize("text", [MANIFEST, CONTRACT], ids=["manifest", "contract"])
@pytest.mark.parametrize("is_http", [False, True], ids=["stdio", "http"])
def test_the_mock_gets_the_best_grade(tmp_path: Path, text: str, is_http: bool) -> None:
    played, hints = tmp_path / "played.yaml", tmp_path / "hints.yml"
    played.write_text(text, encoding="utf-8")
    hints.write_text(HINTS, encoding="utf-8")
    where = ["--url", "http://127.0.0.1:{port}/mcp"] if is_http else []
    mock = [sys.executable, "-m", "mcptest", "mock", "--quiet", str(played)]
    mock += ["--http", "{port}"] if is_http else []
    checked = check_server("--hints", str(hints), *where, "--", *mock)
    shared = {each["id"] for each in checked.report["checks"] if each["shared"]}
    assert checked.ids("failed", "warning", "could_not_run") - shared == set()
    assert checked.report["revisions"] == ["2025-11-25", "2026-07-28"]
    assert checked.report["grade"] == "A+"
