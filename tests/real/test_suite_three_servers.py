"""The suite in the examples, against the three servers by others that it is about."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "suite"
SCOPE = ROOT / ".venv" / "node" / "node_modules" / "@modelcontextprotocol"

needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None, reason="there is no npm, so ./check could not install it"
)


def from_npm(name: str, *words: str) -> str:
    return shlex.join(["node", str(SCOPE / name / "dist" / "index.js"), *words])


SERVERS = {
    "EVERYTHING_SERVER": from_npm("server-everything", "stdio"),
    "FILESYSTEM_SERVER": from_npm("server-filesystem"),
    "TIME_SERVER": shlex.join([sys.executable, "-m", "mcp_server_time"]),
}


def mcptest(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mcptest", *words],
        cwd=EXAMPLE,
        env={**os.environ, **SERVERS},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.long
@needs_npm
def test_the_example_is_green_strict_and_its_capture_keeps_the_invariants(tmp_path: Path) -> None:
    before = snapshot(EXAMPLE)
    capture = str(tmp_path / "session.json")
    done = mcptest("run", "--json", "--strict-invariants", "--capture", capture)
    report: dict[str, Any] = json.loads(done.stdout)
    tests = [test for suite in report["suites"] for test in suite["tests"]]
    wrong = [
        (test["name"], test["mismatches"], test["error"])
        for test in tests
        if test["status"] != "passed"
    ]
    assert (wrong, report["error"], report["gates"], done.stderr) == ([], None, [], "")
    assert done.returncode == 0
    assert [suite["server"] for suite in report["suites"]] == ["everything", "files", "clock"]
    assert len(tests) >= 12

    judged = mcptest("compliance", "check", "--capture", capture)
    assert judged.returncode == 0, judged.stdout
    assert "3 sessions: no rule broken" in judged.stdout
    # It is an example, not a playground.
    assert snapshot(EXAMPLE) == before


@pytest.mark.long
@needs_npm
def test_the_servers_of_the_example_may_also_run_side_by_side() -> None:
    done = mcptest("run", "--json", "--parallel", "3", "--strict-invariants")
    report = json.loads(done.stdout)
    assert (done.returncode, report["summary"]["failed"], report["findings"]) == (0, 0, [])


@pytest.mark.long
@needs_npm
def test_a_part_of_the_example_starts_only_the_server_it_needs() -> None:
    done = mcptest("run", "--json", "-k", "converts between")
    report = json.loads(done.stdout)
    assert [suite["server"] for suite in report["suites"]] == ["clock"]
    assert report["summary"]["passed"] == 1


def test_the_example_has_no_mistakes_whatever_is_installed() -> None:
    done = mcptest("validate", "mcptest.yaml")
    assert (done.returncode, done.stderr) == (0, "")
