"""Servers by others, in every way that they support."""

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


def run(suite: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    words = ["run", str(HERE / suite), "--transport-matrix", "--timeout=20s", "--json", *arguments]
    done = subprocess.run(
        [sys.executable, "-m", "mcptest", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    return done.returncode, json.loads(done.stdout)


def spoken(report: dict[str, Any]) -> dict[tuple[str, str], bool]:
    found = report["matrix"]["ways"]
    return {(each["transport"], each["revision"]): each["spoken"] for each in found}


@pytest.mark.long
def test_the_time_server_is_the_same_in_both_eras() -> None:
    command = f"{sys.executable} -m mcp_server_time"
    status, report = run("time.test.mcp.yml", "--server-command", command)
    assert spoken(report) == {("stdio", "2025-11-25"): True, ("stdio", "2026-07-28"): True}
    assert (report["matrix"]["differences"], report["matrix"]["offers"]) == ([], [])
    assert (status, report["matrix"]["compared"], report["summary"]["passed"]) == (0, 4, 8)


@pytest.mark.long
@needs_npm
def test_server_everything_is_the_same_over_stdio_and_http() -> None:
    status, report = run(
        "everything.test.mcp.yml",
        *("--server-command", f"node {EVERYTHING} stdio"),
        *("--url", "http://127.0.0.1:{port}/mcp"),
        *("--http-command", f"env PORT={{port}} node {EVERYTHING} streamableHttp"),
    )
    assert spoken(report) == {
        ("stdio", "2025-11-25"): True,
        ("stdio", "2026-07-28"): False,
        ("http", "2025-11-25"): True,
        ("http", "2026-07-28"): False,
    }
    assert report["matrix"]["differences"] == []
    assert (status, report["matrix"]["compared"], report["summary"]["passed"]) == (0, 5, 10)
