"""A client of `mcptest record`: it starts a server through it, and looks at the capture."""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
from typing import TYPE_CHECKING, Any

from console import PATIENCE_S
from line_client import start_on_pipes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What every server below begins with: raw bytes, and all of them.
PRELUDE = """
import json, os, signal, sys, time
def write(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view):]
def say(message):
    write(json.dumps(message).encode() + b"\\n")
def serve(answer=lambda request: {}):
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" in request:
            say({"jsonrpc": "2.0", "id": request["id"], "result": answer(request)})
"""


def script(text: str) -> list[str]:
    """The command of a server in a few lines of Python."""
    return [sys.executable, "-S", "-c", PRELUDE + text]


ECHO = script("while chunk := os.read(0, 65536): write(chunk)")
GOOD = script("serve()")


class Recorded:
    """A server behind `mcptest record`, and both ends of its pipes."""

    def __init__(self, folder: Path, *words: str, command: list[str], **keys: Any) -> None:
        self.folder = folder
        environment = keys.pop("env", {})
        program = keys.pop("program", [sys.executable, "-m", "mcptest"])
        assert not keys
        argv = [*program, "record", *(words or ("-o", "s.json")), "--", *command]
        self.process = start_on_pipes(argv, folder, environment)
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.stderr = self.process.stderr
        self._pending = {self.stdout.fileno(): b"", self.stderr.fileno(): b""}

    def send(self, *messages: object) -> None:
        for each in messages:
            data = each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n"
            self.stdin.write(data)

    def line(self) -> bytes:
        """The next line on standard output, b"" at its end."""
        return self._line(self.stdout.fileno())

    def error_line(self) -> bytes:
        return self._line(self.stderr.fileno())

    def _line(self, fd: int) -> bytes:
        pending = self._pending[fd]
        while b"\n" not in pending:
            ready, _, _ = select.select([fd], [], [], PATIENCE_S)
            assert ready, "nothing is said"
            chunk = os.read(fd, 1 << 20)
            if not chunk:
                self._pending[fd] = b""
                return pending
            pending += chunk
        line, newline, self._pending[fd] = pending.partition(b"\n")
        return line + newline

    def ask(self, id: object = 1, method: str = "ping") -> Any:
        self.send(ask(id, method))
        return json.loads(self.line())

    def converse(self, data: bytes, *, piece: int = 1 << 16) -> bytes:
        """Send all of it while reading in pieces, close the input, and return everything read."""
        out, view = bytearray(), memoryview(data)
        os.set_blocking(self.stdin.fileno(), False)
        while True:
            writers = [self.stdin] if view else []
            readable, writable, _ = select.select([self.stdout], writers, [], PATIENCE_S)
            assert readable or writable, "nothing moves any more"
            if writable:
                view = view[os.write(self.stdin.fileno(), view[:piece]) :]
                if not view:
                    self.stdin.close()
            if readable:
                chunk = os.read(self.stdout.fileno(), piece)
                if not chunk:
                    return bytes(out)
                out += chunk

    def leave(self) -> int:
        """Close the input, and read to the end; the exit status."""
        self.stdin.close()
        while self.line():
            pass
        return self.status()

    def status(self) -> int:
        return self.process.wait(PATIENCE_S)

    def errors(self) -> str:
        """All of standard error, once every process that holds it has ended."""
        text = b""
        while line := self.error_line():
            text += line
        return text.decode("utf-8")

    def peak_memory_bytes(self) -> int:
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            (line,) = [line for line in file if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024

    def capture(self, name: str = "s.json") -> dict[str, Any]:
        value: dict[str, Any] = json.loads((self.folder / name).read_text(encoding="utf-8"))
        return value

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


def ask(id: object = 1, method: str = "ping", **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


@contextlib.contextmanager
def recording(
    folder: Path, *words: str, command: list[str] = GOOD, **keys: Any
) -> Iterator[Recorded]:
    """A server behind `mcptest record` that is gone afterwards, whatever happens."""
    client = Recorded(folder, *words, command=command, **keys)
    try:
        yield client
    finally:
        if client.process.poll() is None:
            client.process.kill()
        client.process.wait(PATIENCE_S)
        for pipe in (client.stdin, client.stdout, client.stderr):
            pipe.close()
