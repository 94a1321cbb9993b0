"""How long a server may take to be ready, for every command that starts one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from console import mcptest, write_suite

SERVER = Path(__file__).parents[2] / "servers" / "naming_server.py"
TEST = {"it": "lists", "list": "tools", "expect": {"response": {"result": "match:exists"}}}

# Standard output is a file of its own, because PYTHONUNBUFFERED may be set.
UNFLUSHED = """
import json, sys
out = open(1, "w", encoding="utf-8", closefd=False)
for line in sys.stdin:
    if "id" in (asked := json.loads(line)):
        json.dump({"jsonrpc": "2.0", "id": asked["id"], "result": {}}, out)
        print(file=out)
"""


@pytest.fixture
def slow(tmp_path: Path) -> tuple[str, ...]:
    """A server that is ready after half a second."""
    text = f"import time, runpy; time.sleep(0.5); runpy.run_path({str(SERVER)!r})"
    (tmp_path / "slow.py").write_text(text, encoding="utf-8")
    write_suite(tmp_path / "a.test.mcp.yml", TEST)
    return (sys.executable, "slow.py")


COMMANDS = [
    ("run", "a.test.mcp.yml"),
    ("list",),
    ("call", "count"),
    ("read", "memo://x"),
    ("prompt", "greet"),
    ("discover",),
    ("docs",),
    ("init",),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_server_that_takes_longer_is_3_and_names_the_option(
    tmp_path: Path, slow: tuple[str, ...], words: tuple[str, ...]
) -> None:
    ended = mcptest(tmp_path, *words, "--start-timeout", "0.1", "--", *slow)
    assert ended.code == 3
    said = " ".join((ended.out + ended.err).split())
    assert "did not answer initialize within 100 ms" in said
    assert 'the limit is --start-timeout, or "startupTimeout" in the config' in said
    assert "flush" not in said


def test_the_message_for_a_suite_names_the_key_of_suites(
    tmp_path: Path, slow: tuple[str, ...]
) -> None:
    server = {"command": list(slow), "startup_timeout": "100ms"}
    suite = {"servers": {"s": server}, "tools": [{"name": "t", "tool": "echo"}]}
    (tmp_path / "mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    ended = mcptest(tmp_path, "run", "mcptest.yaml")
    said = " ".join((ended.out + ended.err).split())
    assert 'the limit is --start-timeout, or "startup_timeout" in the suite' in said


@pytest.mark.long
def test_a_server_that_does_not_flush_gets_a_hint(tmp_path: Path, slow: tuple[str, ...]) -> None:
    ended = mcptest(tmp_path, "list", "--start-timeout", "2", "--", slow[0], "-c", UNFLUSHED)
    said = " ".join((ended.out + ended.err).split())
    assert "its answer came only when its stdin was closed: does it flush stdout" in said


@pytest.mark.parametrize("limit", ["30", "30s", "2m"])
def test_a_server_that_is_ready_in_time_is_used(
    tmp_path: Path, slow: tuple[str, ...], limit: str
) -> None:
    assert mcptest(tmp_path, "list", "--start-timeout", limit, "--", *slow).code == 0


def test_the_option_has_precedence_over_a_config(tmp_path: Path, slow: tuple[str, ...]) -> None:
    server = {"name": "s", "command": slow[0], "args": ["slow.py"], "startupTimeout": 100}
    write_suite(tmp_path / "a.test.mcp.yml", TEST, server=server)
    assert mcptest(tmp_path, "run", "a.test.mcp.yml").code == 3
    assert mcptest(tmp_path, "run", "a.test.mcp.yml", "--start-timeout", "30").code == 0


@pytest.mark.parametrize("limit", ["x", "0", "-1", "1.2.3", "1000000000"])
def test_a_limit_that_is_none_is_refused(tmp_path: Path, limit: str) -> None:
    ended = mcptest(tmp_path, "list", f"--start-timeout={limit}", "--", "server")
    assert ended.code == 2
    assert ended.err.startswith("error: --start-timeout must be ")
    assert limit in ended.err
