"""A line over the limit is refused while it is read: it is never held twice, or after its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import MCPTEST

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc"
)

_MIB = 1024 * 1024
_ROOM = 32 * _MIB
_LIMIT = 64 * _MIB
_PATIENCE_S = 60.0

# Writes the line of this mode in answer to what has this word in it: 100 MB, one that does not
# end, or one that arrives in pieces of three bytes.
HOSTILE = """
import json, os, sys

def write(chunk):
    while chunk:
        chunk = chunk[os.write(1, chunk):]

mode, word = sys.argv[1:3]
for line in sys.stdin.buffer:
    message = json.loads(line)
    if message["method"] == "initialize" and word != "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {},
                  "serverInfo": {"name": "hostile", "version": "1"}}
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        write(json.dumps(reply).encode() + b"\\n")
    elif word in message["method"]:
        if mode == "pieces":
            while True:
                write(b"abc")
        for _ in range(100 if mode == "long" else 10**9):
            write(b"x" * 1_000_000)
        write(b"\\n")
"""


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    (tmp_path / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    return str(tmp_path / "hostile.py")


@pytest.mark.parametrize(("mode", "limit"), [("long", 40), ("endless", 40), ("pieces", 2)])
def test_the_line_of_a_server(tmp_path: Path, hostile: str, mode: str, limit: int) -> None:
    config = {
        "name": "hostile",
        "command": sys.executable,
        "args": [hostile, mode, "tools/call"],
        "maxLineBytes": limit * _MIB,
        "timeout": 30_000,
    }
    (tmp_path / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}
    test = {
        "it": "is refused",
        "request": request,
        "expect": {"response": {"jsonrpc": "2.0", "id": 1, "result": {}}},
    }
    suite = {"description": "lines", "tests": [test]}
    (tmp_path / "lines.test.mcp.yml").write_text(json.dumps(suite), encoding="utf-8")
    peak, out, _ = _run(tmp_path, MCPTEST, "run", "lines.test.mcp.yml", "--json")
    assert json.loads(out)["error"] is None
    [result] = json.loads(out)["suites"][0]["tests"]
    assert result["error"]["kind"] == "line_too_long"
    assert peak <= limit * _MIB + _ROOM


# Answers a call with a JSON body of 100 MB, or with one that does not end.
HOSTILE_WEB = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = {"protocolVersion": "2025-06-18", "capabilities": {},
                  "serverInfo": {"name": "hostile", "version": "1"}}
        reply = {"jsonrpc": "2.0", "id": message.get("id"), "result": result}
        self.send_response(200 if "id" in message else 202)
        self.send_header("Content-Type", "application/json")
        if message["method"] == "tools/call":
            self.end_headers()
            try:
                for _ in range(100 if sys.argv[1] == "long" else 10**9):
                    self.wfile.write(b"x" * 1_000_000)
            except OSError:
                pass
            return
        body = json.dumps(reply).encode() if "id" in message else b""
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_error(405)

    do_DELETE = do_GET

    def log_message(self, *words):
        pass

server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.mark.parametrize("mode", ["long", "endless"])
def test_the_body_of_a_server(tmp_path: Path, mode: str) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}
    test = {
        "it": "is refused",
        "request": request,
        "expect": {"response": {"jsonrpc": "2.0", "id": 1, "result": {}}},
    }
    suite = {"description": "bodies", "tests": [test]}
    (tmp_path / "bodies.test.mcp.yml").write_text(json.dumps(suite), encoding="utf-8")
    server = subprocess.Popen(
        [sys.executable, "-c", HOSTILE_WEB, mode],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        assert server.stdout
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        words = ("run", "bodies.test.mcp.yml", "--url", url, "--json", "--timeout", "30000")
        peak, out, _ = _run(tmp_path, MCPTEST, *words)
    finally:
        server.kill()
        server.communicate()
    [result] = json.loads(out)["suites"][0]["tests"]
    assert result["error"]["kind"] == "line_too_long"
    assert 'more than 67,108,864 bytes; it begins "xxx' in result["error"]["message"]
    assert peak <= _LIMIT + _ROOM


@pytest.mark.long
@pytest.mark.parametrize("mode", ["long", "endless"])
def test_the_line_of_a_plugin(tmp_path: Path, hostile: str, mode: str) -> None:
    plugin = f"geo={sys.executable} {hostile} {mode} near"
    peak, _, err = _run(tmp_path, MCPTEST, "plugin", "call", "geo", "near", "--plugin", plugin)
    assert "its line is longer than 67,108,864 bytes" in err
    assert peak <= _LIMIT + _ROOM


def test_the_line_of_an_sdk(tmp_path: Path, hostile: str) -> None:
    """What the binary of the coprocess channel is sent, once as the first line, once while an
    answer waits to be read."""
    command = f"{sys.executable} {hostile} long nothing"
    words = ("exec", "--connection-server", "--server-command", command)
    shake = {"protocol_version": 2, "sdk": "test", "sdk_version": "1"}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "coprocess/handshake", "params": shake}
    said = json.dumps(hello).encode() + b"\n" + b"x" * 100_000_000 + b"\n"
    peak, out, _ = _run(tmp_path, MCPTEST, *words, said=said)
    answers = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert "more than 67,108,864 bytes" in answers[1]["error"]["message"]
    assert peak <= _LIMIT + _ROOM


def test_the_line_of_a_binary(tmp_path: Path, hostile: str) -> None:
    program = """
import mcptest
try:
    mcptest.connect(["server"]).__enter__()
except mcptest.CoprocessError as error:
    print(error)
"""
    binary = f"{sys.executable} {hostile} endless handshake"
    peak, out, _ = _run(tmp_path, sys.executable, "-c", program, MCPTEST_BIN=binary)
    assert "with a line of more than 67174400 bytes; it begins with xxx" in out
    assert peak <= _LIMIT + _ROOM


def _run(folder: Path, *words: str, said: bytes = b"", **environment: str) -> tuple[int, str, str]:
    """The peak of the memory of this command in bytes, and what it wrote to stdout and stderr."""
    shown, errors, given = (folder / name for name in ("out.txt", "err.txt", "in.txt"))
    given.write_bytes(said)
    with shown.open("wb") as out, errors.open("wb") as err, given.open("rb") as source:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=os.environ | environment,
            stdin=source,
            stdout=out,
            stderr=err,
        )
        peak, deadline = 0, time.monotonic() + _PATIENCE_S
        while process.poll() is None:
            assert time.monotonic() < deadline, "it hangs"
            for line in (
                Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").splitlines()
            ):
                if line.startswith("VmHWM:"):
                    peak = max(peak, int(line.split()[1]) * 1024)
            time.sleep(0.002)
    return peak, shown.read_text(encoding="utf-8"), errors.read_text(encoding="utf-8")
