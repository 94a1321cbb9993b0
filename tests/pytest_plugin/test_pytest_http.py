"""Servers on HTTP under pytest: those of test files, and those of the fixtures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from raw_http import RawHttp
from sessions import SERVERS, pytest_in

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = (
    "def test_a(mcptest_client):\n"
    "    assert mcptest_client.call_tool('echo', {'text': 'a'}).text == 'a'\n"
)
# A proxy in the environment of the test run must not affect these tests.
DIRECT = {"http_proxy": "", "HTTP_PROXY": "", "all_proxy": "", "ALL_PROXY": ""}


@pytest.fixture
def server() -> Iterator[RawHttp]:
    with RawHttp() as running:
        yield running


def write_file(folder: Path, **keys: Any) -> None:
    test = {
        "it": "echoes",
        "tool": "echo",
        "arguments": {"text": "a"},
        "expect": {"response": {"match:partial": {"result": {"content": [{"text": "a"}]}}}},
    }
    suite = {"description": "a", "server": {"name": "shop", **keys}, "tests": [test]}
    (folder / "a.test.mcp.yml").write_text(json.dumps(suite), encoding="utf-8")


def test_a_file_may_name_a_server_at_a_url(tmp_path: Path, server: RawHttp) -> None:
    write_file(tmp_path, url=server.url, auth={"bearerTokenEnv": "SHOP_TOKEN"})
    ended = pytest_in(tmp_path, env=DIRECT | {"SHOP_TOKEN": "s3cr3t-token"})
    assert ended.summary == "1 passed", ended.out
    (called,) = server.about("tools/call")
    assert called.headers["authorization"] == "Bearer s3cr3t-token"


def test_a_file_may_start_the_server_at_a_url(tmp_path: Path) -> None:
    command = [sys.executable, "-S", "-E", str(SERVERS / "raw_http.py"), "{port}"]
    url = "http://127.0.0.1:{port}/mcp"
    write_file(tmp_path, url=url, command=command[0], args=command[1:])
    assert pytest_in(tmp_path, env=DIRECT).summary == "1 passed"


def test_a_server_that_is_not_there_is_reported_with_its_kind_and_url(tmp_path: Path) -> None:
    write_file(tmp_path, url="http://127.0.0.1:1/mcp")
    ended = pytest_in(tmp_path, env=DIRECT)
    assert ended.summary == "1 failed"
    assert "connect_failed" in ended.out
    assert "http://127.0.0.1:1/mcp" in ended.out


def test_the_fixtures_take_a_url_on_the_command_line_and_in_the_config(
    tmp_path: Path, server: RawHttp
) -> None:
    (tmp_path / "test_a.py").write_text(PROGRAM, encoding="utf-8")
    assert pytest_in(tmp_path, "--mcp-server-url", server.url, env=DIRECT).summary == "1 passed"
    ini = f"[pytest]\nmcp_server_url = {server.url}\n"
    (tmp_path / "pytest.ini").write_text(ini, encoding="utf-8")
    assert pytest_in(tmp_path, env=DIRECT).summary == "1 passed"
