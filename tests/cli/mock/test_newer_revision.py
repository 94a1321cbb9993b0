"""A revision of the protocol is one row: with one more row, every command supports it."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from console import Ended, run, write_suite
from http_mock_client import http_mocking
from newer_revision import NEWER

NEWER_MCPTEST = (sys.executable, str(Path(__file__).parents[1] / "newer_revision.py"))
ERA_SERVER = Path(__file__).parents[2] / "servers" / "era_server.py"
OLDER = "2026-07-28"
MANIFEST = """
tools:
  - {name: greet, answer: hello}
"""
GREET = {
    "it": "greets",
    "tool": "greet",
    "expect": {"response": {"match:partial": {"result": {"content": [{"text": "hello"}]}}}},
}


def newer(folder: Path, *words: str) -> Ended:
    """The command with one more revision."""
    return run([*NEWER_MCPTEST, *words], folder, {})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mock.yaml").write_text(MANIFEST, encoding="utf-8")
    write_suite(tmp_path / "a.test.mcp.yml", GREET)
    return tmp_path


@pytest.mark.parametrize("version", [NEWER, OLDER, "2025-11-25"])
def test_a_run_and_a_mock_can_use_any_revision(folder: Path, version: str) -> None:
    mock = shlex.join([*NEWER_MCPTEST, "mock", "mock.yaml"])
    words = ("a.test.mcp.yml", "--server-command", mock, "--spec-version", version)
    ended = newer(folder, "run", *words, "--json", "--capture", "c.json")
    assert (ended.code, ended.report()["summary"]["passed"]) == (0, 1), ended.err
    capture = json.loads((folder / "c.json").read_text(encoding="utf-8"))
    session: dict[str, Any] = (capture.get("sessions") or [capture])[0]
    assert session["protocol_version"] == version
    assert newer(folder, "compliance", "invariants", "--capture", "c.json").code == 0


def test_a_run_and_a_mock_can_use_it_over_http(folder: Path) -> None:
    with http_mocking(folder, "mock.yaml", program=NEWER_MCPTEST) as mock:
        words = ("--url", mock.url, "--spec-version")
        for version in (NEWER, OLDER):
            ended = newer(folder, "run", "a.test.mcp.yml", *words, version, "--json")
            assert (ended.code, ended.report()["summary"]["passed"]) == (0, 1), ended.err


def test_a_server_that_does_not_have_it_is_named_with_it(folder: Path) -> None:
    mock = shlex.join([sys.executable, "-m", "mcptest", "mock", "mock.yaml"])
    words = ("a.test.mcp.yml", "--server-command", mock, "--spec-version", NEWER)
    ended = newer(folder, "run", *words)
    assert ended.code == 3
    assert f"does not speak the stateless era of the protocol, {NEWER}" in ended.out


@pytest.mark.parametrize("mode", ["stateless -32022", "choosy"])
def test_a_server_of_the_older_one_is_spoken_to_in_its_own(tmp_path: Path, mode: str) -> None:
    """It names the revision in its answer to the first request, or when it refuses that."""
    command = [sys.executable, str(ERA_SERVER), str(tmp_path / "log"), *mode.split()]
    ended = newer(tmp_path, "call", "a", "--no-check", "--", *command)
    assert ended.code == 0, ended.err
    log = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    method, params = json.loads(log[-1])
    assert method == "tools/call"
    assert params["_meta"]["io.modelcontextprotocol/protocolVersion"] == OLDER


def test_the_matrix_takes_the_newest_stateless_revision_that_a_server_has(folder: Path) -> None:
    for program, version in ((NEWER_MCPTEST, NEWER), ((sys.executable, "-m", "mcptest"), OLDER)):
        mock = shlex.join([*program, "mock", "mock.yaml"])
        words = ("a.test.mcp.yml", "--server-command", mock, "--transport-matrix", "--json")
        ended = newer(folder, "run", *words)
        assert ended.code == 0, ended.err
        revisions = {way["revision"] for way in ended.report()["matrix"]["ways"]}
        assert revisions == {"2025-11-25", version}
