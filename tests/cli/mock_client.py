"""A client of `mcptest mock` that can be as rude as a test needs it to be."""

from __future__ import annotations

import contextlib
import json
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import processes
from console import ENVIRONMENT, PATIENCE_S, Ended

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class MockClient:
    """One mock process, and both ends of its pipes."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.process = processes.start(
            [sys.executable, "-m", "mcptest", "mock", *words],
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self.process.stdin
        assert self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._pending = b""

    def send(self, *messages: object) -> None:
        """Send values as lines, and bytes as they are."""
        for each in messages:
            self.stdin.write(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n")

    def line(self) -> bytes:
        """The next line, b"" at the end; a failure if nothing arrives at all."""
        while b"\n" not in self._pending:
            ready, _, _ = select.select([self.stdout], [], [], PATIENCE_S)
            assert ready, "the mock says nothing"
            chunk = self.stdout.read(1 << 16)
            if not chunk:
                rest, self._pending = self._pending, b""
                return rest
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def message(self) -> Any:
        return json.loads(self.line())

    def ask(self, method: str, params: object = None, id: object = 1) -> Any:
        """Send a request and take the next message."""
        self.send(request(method, params, id))
        return self.message()

    def leave(self) -> Ended:
        """Close standard input, as a client that is done does, and see how the mock ends."""
        return self.ended()

    def signal(self, number: signal.Signals) -> Ended:
        """Send a signal to a mock that is up, and see how it ends with its input still open."""
        self.process.send_signal(number)
        self.process.wait(PATIENCE_S)
        return self.ended()

    def ended(self) -> Ended:
        """What it still said, and how it ended; nothing more is sent to it."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        pending = self._pending + out
        return Ended(self.process.returncode, pending.decode("utf-8"), err.decode("utf-8"))


def request(method: str, params: object = None, id: object = 1) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else message | {"params": params}


def call(tool: str, id: object = 1, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", {"name": tool, "arguments": arguments}, id)


@contextlib.contextmanager
def mocking(folder: Path, *words: str) -> Iterator[MockClient]:
    """A mock that is gone afterwards, whatever happens."""
    client = MockClient(folder, *words)
    try:
        yield client
    finally:
        if client.process.poll() is None:
            client.process.kill()
        client.process.wait(PATIENCE_S)
        for pipe in (client.stdin, client.stdout, client.process.stderr):
            if pipe:
                pipe.close()
