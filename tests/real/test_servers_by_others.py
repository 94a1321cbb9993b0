"""Servers and suites by others: from the package index and from npm."""

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
NODE_MODULES = ROOT / ".venv" / "node" / "node_modules"
SUITES = NODE_MODULES / "mcp-aegis" / "examples"

needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None, reason="there is no npm, so ./check could not install it"
)

# Its server waits for a notification called "initialized", which MCP does not have.
NOT_MCP = {"demo.test.mcp.yml"}


def run(*arguments: str, cwd: Path = ROOT) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "mcptest", "run", *arguments, "--json"],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    return done.returncode, json.loads(done.stdout)


def problems(report: dict[str, Any]) -> list[Any]:
    """Everything that did not pass, and why; empty when all is well."""
    tests = [test for suite in report["suites"] for test in suite["tests"]]
    failed = [
        (test["name"], test["mismatches"] or test["error"])
        for test in tests
        if test["status"] != "passed"
    ]
    return [*failed, *([report["error"]] if report["error"] else [])]


@pytest.mark.long
def test_the_time_server_of_the_package_index_passes_its_suite() -> None:
    command = f"{sys.executable} -m mcp_server_time"
    config = "--timeout=20s"
    status, report = run(str(HERE / "time.test.mcp.yml"), "--server-command", command, config)
    assert problems(report) == []
    assert report["findings"] == []
    assert (status, report["summary"]["passed"]) == (0, 4)


@needs_npm
def test_server_everything_passes_its_suite() -> None:
    script = NODE_MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    suite = str(HERE / "everything.test.mcp.yml")
    status, report = run(suite, "--server-command", f"node {script} stdio")
    assert problems(report) == []
    assert (status, report["summary"]["passed"]) == (0, 5)


@needs_npm
def test_server_filesystem_passes_its_suite() -> None:
    script = NODE_MODULES / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
    folder = ROOT / "examples" / "filesystem" / "test-data"
    suite = str(HERE / "filesystem.test.mcp.yml")
    status, report = run(suite, "--server-command", f"node {script} {folder}", cwd=folder)
    assert problems(report) == []
    assert (status, report["summary"]["passed"]) == (0, 2)


def suites_by_others(folder: str) -> list[Path]:
    return sorted((SUITES / folder).glob("*.test.mcp.yml"))


@pytest.mark.long
@needs_npm
@pytest.mark.parametrize(
    "folder",
    [
        "api-testing-server",
        "data-patterns-server",
        "demo-server",
        "filesystem-server",
        "multi-tool-server",
        "stateful-session-server",
    ],
)
def test_suites_by_others_pass_unchanged(folder: str) -> None:
    assert suites_by_others(folder)
    for suite in suites_by_others(folder):
        if suite.name in NOT_MCP:
            continue
        # Their configs give cwd relative to where the command is started.
        (config,) = (SUITES / folder).glob("*config.json")
        status, report = run(str(suite), "--config", str(config), cwd=SUITES.parent)
        assert problems(report) == [], suite.name
        assert status == 0


@pytest.mark.long
@needs_npm
def test_suites_that_others_wrote_to_fail_do_fail() -> None:
    folder = SUITES / "server-tests-that-fail"
    config = str(folder / "filesystem-server.config.json")
    ran = 0
    for suite in suites_by_others(folder.name):
        status, report = run(str(suite), "--config", config, cwd=SUITES.parent)
        assert status in (1, 2), suite.name
        if status == 1:
            ran += 1
            assert report["summary"]["passed"] == 0, suite.name
    assert ran >= 7
