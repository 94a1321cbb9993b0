"""A command that reads and writes lines, and a client that can be as rude as a test needs it."""

from __future__ import annotations

import json
import select
import signal
import subprocess
from typing import TYPE_CHECKING, Any, Self

import processes
from console import ENVIRONMENT, PATIENCE_S, Ended

if TYPE_CHECKING:
    from pathlib import Path


def request(method: str, params: object = None, id: object = 1) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else message | {"params": params}


def start_on_pipes(
    argv: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    """A process with three pipes that are not buffered here."""
    return processes.start(
        argv,
        cwd=folder,
        env=ENVIRONMENT | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )


class LineClient:
    """One process, and both ends of its pipes; as a context, it is gone afterwards."""

    def __init__(self, argv: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.process = start_on_pipes(argv, folder, environment)
        assert self.process.stdin
        assert self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._pending = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_S)
        for pipe in (self.stdin, self.stdout, self.process.stderr):
            if pipe:
                pipe.close()

    def send(self, *messages: object) -> None:
        """Send values as lines, and bytes as they are."""
        for each in messages:
            line = each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n"
            view = memoryview(line)
            while view:
                view = view[self.stdin.write(view) :]

    def line(self) -> bytes:
        """The next line, b"" at the end; a failure if nothing arrives at all."""
        while b"\n" not in self._pending:
            ready, _, _ = select.select([self.stdout], [], [], PATIENCE_S)
            assert ready, "nothing is written"
            chunk = self.stdout.read(1 << 16)
            if not chunk:
                rest, self._pending = self._pending, b""
                return rest
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def leave(self) -> Ended:
        """Close standard input, and see what else is written and how the process ends."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        rest, self._pending = self._pending + out, b""
        return Ended(self.process.returncode, rest.decode("utf-8"), err.decode("utf-8"))

    def signal(self, number: signal.Signals) -> Ended:
        """Send a signal, and see how the process ends with its input still open."""
        self.process.send_signal(number)
        self.process.wait(PATIENCE_S)
        return self.leave()
