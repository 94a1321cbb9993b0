"""A `mcptest mock --http` to talk to, and clients of both eras that talk to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import processes
from console import ENVIRONMENT, PATIENCE_S, Ended

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MCPTEST = (sys.executable, "-m", "mcptest")
STATELESS = "2026-07-28"
_PREFIX = "io.modelcontextprotocol/"
ENVELOPE = {f"{_PREFIX}protocolVersion": STATELESS, f"{_PREFIX}clientCapabilities": {}}


class Reply(NamedTuple):
    """An answer over HTTP."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def message(self) -> Any:
        return json.loads(self.body)


class HttpMockProcess:
    """One mock process, and where it listens."""

    def __init__(self, folder: Path, *words: str, program: tuple[str, ...] = MCPTEST) -> None:
        self.process = processes.start(
            [*program, "mock", *words, "--http", "0"],
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self.process.stderr
        ready, _, _ = select.select([self.process.stderr], [], [], PATIENCE_S)
        assert ready, "the mock tells nothing"
        self.told = self.process.stderr.readline().decode("utf-8")
        self.url = self.told.rpartition(" ")[2].strip()
        self.port = int(self.url.rpartition(":")[2].partition("/")[0])

    def post(self, value: object, **headers: str) -> Reply:
        """One message over a connection of its own."""
        known = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        known |= {name.replace("_", "-"): each for name, each in headers.items()}
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        with contextlib.closing(client):
            client.request("POST", "/mcp", json.dumps(value), known)
            response = client.getresponse()
            return Reply(response.status, response.headers, response.read())

    def stateless(self, method: str, id: object = 1, **params: object) -> Reply:
        """Ask as a client without handshake does."""
        headers = {"MCP_Protocol_Version": STATELESS, "Mcp_Method": method}
        if method == "tools/call":
            headers["Mcp_Name"] = str(params["name"])
        return self.post(asking(method, id, _meta=ENVELOPE, **params), **headers)

    def open(self, version: str = "2025-11-25") -> str:
        """The id of a session that has been opened."""
        capabilities: dict[str, object] = {"elicitation": {}}
        opening = asking("initialize", protocolVersion=version, capabilities=capabilities)
        session = self.post(opening).headers["Mcp-Session-Id"]
        assert session
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert self.post(ready, Mcp_Session_Id=session).status == 202
        return session

    def end(self, number: signal.Signals = signal.SIGTERM) -> Ended:
        """Send a signal, and see how it ends."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return Ended(self.process.returncode, out.decode("utf-8"), err.decode("utf-8"))


def asking(method: str, id: object = 1, **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def calling(tool: str, id: object = 1, **arguments: object) -> dict[str, Any]:
    return asking("tools/call", id, name=tool, arguments=arguments)


@contextlib.contextmanager
def http_mocking(
    folder: Path, *words: str, program: tuple[str, ...] = MCPTEST
) -> Iterator[HttpMockProcess]:
    """A mock that is gone afterwards, whatever happens."""
    mock = HttpMockProcess(folder, *words, program=program)
    try:
        yield mock
    finally:
        if mock.process.poll() is None:
            mock.process.kill()
        mock.process.wait(PATIENCE_S)
        for pipe in (mock.process.stdout, mock.process.stderr):
            if pipe:
                pipe.close()
