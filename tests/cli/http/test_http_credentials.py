"""Credentials over HTTP: they are sent to the server and shown nowhere."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from console import mcptest

if TYPE_CHECKING:
    from console import Ended

SERVER = Path(__file__).parents[2] / "servers" / "guarded_server.py"
SECRET = "Zx9-canary-4711"
URL = "http://127.0.0.1:{port}/mcp"
TOOLS = [
    {
        "name": "shows",
        "tool": "show",
        "expect": [{"target": "result.content[0].text", "matcher": {"contains": "nothing such"}}],
    }
]


def run_suite(folder: Path, server: dict[str, Any], wanted: str = "") -> Ended:
    """Run a suite whose one test fails, so that what the server said is shown."""
    command = [sys.executable, str(SERVER), "{port}", "log.txt", *([wanted] if wanted else [])]
    suite = {
        "servers": {"shop": {"command": command, "url": URL, **server}},
        "variables": {"key": {"secret_env": "SHOP_KEY"}},
        "tools": TOOLS,
    }
    (folder / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    reports = [f"--reporter={name}=report.{name}" for name in ("json", "junit", "html", "markdown")]
    return mcptest(
        folder, "run", "--verbose", "--capture", "capture.json", *reports, SHOP_KEY=SECRET
    )


def shown_in(folder: Path, ended: Ended, text: str) -> list[str]:
    """Where a text can be read, among all that was written."""
    named = ("log.txt", "mcptest.yaml", ".gitignore")
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in named]
    # Four reports and the capture; what --last-failed knows, if a test failed.
    assert len(files) == (6 if (folder / ".mcptest").exists() else 5)
    written = {path.name: path.read_text(encoding="utf-8") for path in files}
    written |= {"stdout": ended.out, "stderr": ended.err}
    return [name for name, content in written.items() if text in content]


@pytest.mark.parametrize(
    ("server", "wanted"),
    [
        ({"auth": {"bearer_token_env": "SHOP_KEY"}}, f"Bearer {SECRET}"),
        ({"headers": {"X-Key": {"secret_env": "SHOP_KEY"}}}, SECRET),
        (
            {"headers": {"Authorization": "Basic ${key}"}},
            f"Basic {SECRET}",
        ),
    ],
    ids=["bearer", "header", "variable"],
)
def test_a_credential_reaches_the_server_and_no_report(
    tmp_path: Path, server: dict[str, Any], wanted: str
) -> None:
    ended = run_suite(tmp_path, server, wanted=wanted)
    assert ended.code == 1
    assert "you showed" in ended.out
    assert shown_in(tmp_path, ended, SECRET) == []


def test_a_refused_credential_is_reported_in_the_words_of_the_server_and_not_shown(
    tmp_path: Path,
) -> None:
    ended = run_suite(tmp_path, {"auth": {"bearer_token_env": "SHOP_KEY"}}, wanted="another")
    assert ended.code == 3
    assert "error: the server refused initialize with status 401" in ended.out
    assert shown_in(tmp_path, ended, SECRET) == []


def grant(port: int) -> dict[str, Any]:
    return {
        "auth": {
            "client_credentials": {
                "token_url": f"http://127.0.0.1:{port}/token",
                "client_id": "ci",
                "client_secret_env": "SHOP_KEY",
                "scope": "read write",
            }
        }
    }


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_token_is_fetched_again_when_it_is_refused_and_is_never_shown(
    tmp_path: Path, port: int
) -> None:
    server = {**grant(port), "url": f"http://127.0.0.1:{port}/mcp"}
    command = [sys.executable, str(SERVER), str(port), "log.txt"]
    ended = run_suite(tmp_path, {**server, "command": command})
    assert ended.code == 1, ended.out + ended.err
    assert "you showed Bearer [secret]" in ended.out
    assert shown_in(tmp_path, ended, "issued-token") == []
    assert shown_in(tmp_path, ended, SECRET) == []
    log = (tmp_path / "log.txt").read_text(encoding="utf-8").splitlines()
    basic = "Basic Y2k6Wng5LWNhbmFyeS00NzEx"
    asked = f"/token {basic} grant_type=client_credentials&scope=read+write"
    assert log[:4] == [
        asked,
        "/mcp Bearer issued-token-1 ",
        asked,
        "/mcp Bearer issued-token-2 ",
    ]


def test_a_token_that_cannot_be_fetched_is_reported_with_the_reason(
    tmp_path: Path, port: int
) -> None:
    ended = run_suite(tmp_path, grant(port))
    assert ended.code == 3
    assert (
        f"error: no token could be fetched at http://127.0.0.1:{port}/token: cannot connect"
        in ended.out
    )
    assert shown_in(tmp_path, ended, SECRET) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--bearer-env", "SHOP_KEY", "--server-command", "a"],
            "--bearer-env is for servers on HTTP; give --url as well",
        ),
        (
            ["--url", "http://127.0.0.1:1/mcp", "--bearer-env", "NOT_SET_AT_ALL"],
            "--bearer-env names the environment variable 'NOT_SET_AT_ALL', which is not set",
        ),
        (
            ["--url", "http://127.0.0.1:1/mcp", "--header-env", "X-Key"],
            "--header-env takes HEADER=NAME, not 'X-Key'",
        ),
        (
            ["--url", "http://127.0.0.1:1/mcp", "--header-env", "X Key=PATH"],
            "'X Key' is not a valid header name",
        ),
        *(
            (
                ["--url", "http://127.0.0.1:1/mcp", "--header-env", f"{name}=PATH"],
                f"the header {name} is set by mcptest itself",
            )
            for name in ("Host", "content-length", "Mcp-Session-Id", "MCP-Protocol-Version")
        ),
        (["--url", "ftp://x"], "--url is not the URL of a server"),
        (["--url", "http://me:pass@x/"], "credentials belong in headers"),
        (["--spec-version", "2025-01-01"], "--spec-version takes auto or one of 2024-11-05"),
    ],
)
def test_bad_words_about_http_are_usage_errors(
    tmp_path: Path, words: list[str], message: str
) -> None:
    test = {"it": "a", "tool": "b", "expect": {"response": {"result": "match:type:object"}}}
    suite = {"description": "a", "tests": [test]}
    (tmp_path / "a.test.mcp.yml").write_text(json.dumps(suite), encoding="utf-8")
    ended = mcptest(tmp_path, "run", *words, SHOP_KEY=SECRET)
    assert (ended.code, message in ended.err) == (2, True), ended.err
