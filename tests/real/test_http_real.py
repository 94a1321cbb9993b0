"""Servers by others, over HTTP and over stdio, and in both eras."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
EVERYTHING = ROOT / ".venv/node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"

needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None, reason="there is no npm, so ./check could not install it"
)


def run(*arguments: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "mcptest", "run", *arguments, "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def names(report: dict[str, Any], status: str = "passed") -> list[str]:
    tests = [test for suite in report["suites"] for test in suite["tests"]]
    return [test["name"] for test in tests if test["status"] == status]


@pytest.mark.long
@needs_npm
@pytest.mark.parametrize(
    ("transport", "path"), [("streamableHttp", "/mcp"), ("sse", "/sse"), ("stdio", "")]
)
def test_server_everything_passes_the_same_suite_over_every_transport(
    transport: str, path: str
) -> None:
    command = f"node {EVERYTHING} {transport}"
    words = ["--server-command", command if not path else f"env PORT={{port}} {command}"]
    words += ["--url", f"http://127.0.0.1:{{port}}{path}"] if path else []
    status, report = run(str(HERE / "everything.test.mcp.yml"), *words)
    assert names(report, "error") == names(report, "failed") == []
    assert (status, len(names(report))) == (0, 5)


TIME = f"{sys.executable} -m mcp_server_time"
VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_the_time_server_is_spoken_to_in_every_revision(version: str, tmp_path: Path) -> None:
    words = ("--server-command", TIME, "--timeout=20s", "--spec-version", version)
    capture = tmp_path / "c.json"
    suite = HERE / "time.test.mcp.yml"
    status, report = run(str(suite), *words, "--capture", str(capture))
    assert names(report, "error") == names(report, "failed") == []
    assert (status, len(names(report))) == (0, 4)
    session = json.loads(capture.read_text(encoding="utf-8"))
    methods = [each["request"]["method"] for each in session["exchanges"]]
    assert methods[0] == ("server/discover" if version == VERSIONS[-1] else "initialize")


SDK_SERVER = Path(__file__).parent.parent / "servers" / "sdk_http_server.py"
ADDS = """
description: "a server made with the SDK of others"
tests:
  - it: "lists its tool"
    request: { jsonrpc: "2.0", id: 1, method: "tools/list" }
    expect:
      response:
        match:partial:
          result: { tools: "match:arrayLength:1" }
  - it: "adds"
    request:
      jsonrpc: "2.0"
      id: 2
      method: "tools/call"
      params: { name: "add", arguments: { a: 1, b: 2 } }
    expect:
      response:
        match:partial:
          result: { structuredContent: { result: 3 } }
"""


@pytest.mark.long
@pytest.mark.parametrize("form", ["json", "events"])
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
def test_a_server_of_both_eras_is_spoken_to_over_http_in_each(
    version: str, form: str, tmp_path: Path
) -> None:
    suite = tmp_path / "adds.test.mcp.yml"
    suite.write_text(ADDS, encoding="utf-8")
    command = f"{sys.executable} {SDK_SERVER} {{port}} {form}"
    words = ("--server-command", command, "--url", "http://127.0.0.1:{port}/mcp")
    status, report = run(str(suite), *words, "--spec-version", version, "--strict-invariants")
    assert report["findings"] == []
    assert (status, len(names(report))) == (0, 2)
