"""The SDK and the fixtures against a server by others on HTTP."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mcptest

ROOT = Path(__file__).parent.parent.parent
EVERYTHING = ROOT / ".venv/node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
COMMAND = f"env PORT={{port}} node {EVERYTHING} streamableHttp"
URL = "http://127.0.0.1:{port}/mcp"

needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None, reason="there is no npm, so ./check could not install it"
)


@needs_npm
def test_a_program_asks_server_everything_over_http() -> None:
    with mcptest.connect(COMMAND, url=URL, startup_timeout=30) as server:
        assert server.call_tool("echo", {"message": "hi"}).text == "Echo: hi"
        assert "echo" in [tool["name"] for tool in server.list_tools()]
        with pytest.raises(mcptest.UpstreamError, match="the server refused resources/read"):
            server.read_resource("no-such://resource")


@pytest.mark.long
@needs_npm
def test_the_fixtures_ask_server_everything_over_http(tmp_path: Path) -> None:
    conftest = (
        "import pytest\n"
        "@pytest.fixture(scope='session')\n"
        "def mcp_server_options(): return {'startup_timeout': 30}\n"
    )
    program = (
        "def test_a(mcp_server):\n"
        "    assert mcp_server.call_tool('echo', {'message': 'a'}).text == 'Echo: a'\n"
    )
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    (tmp_path / "test_a.py").write_text(program, encoding="utf-8")
    ini = f"[pytest]\nmcp_server_url = {URL}\nmcp_server_command = {COMMAND}\n"
    (tmp_path / "pytest.ini").write_text(ini, encoding="utf-8")
    plugins = ["-p", "mcptest.pytest_plugin", "-p", "no:mcptest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout
