"""An SDK's end of `mcptest exec`, as rude as a test needs it to be."""

from __future__ import annotations

import contextlib
import json
import select
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import processes
from console import ENVIRONMENT, PATIENCE_S, Ended

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVERS = Path(__file__).parents[2] / "servers"

# A command that cannot be started: it is not needed if it is never called.
NOBODY = "/nowhere/no-such-server"


def fault_server(mode: str, *arguments: str) -> str:
    """The command of the fault server in this mode."""
    return _command("fault_server.py", mode, *arguments)


def feature_server(*arguments: str) -> str:
    return _command("feature_server.py", *arguments)


def scripted_server(**answers: Any) -> str:
    """The good server with these answers; see `scripted_server`."""
    script = {name.replace("_", "/"): answer for name, answer in answers.items()}
    return _command("scripted_server.py", json.dumps(script))


def _command(name: str, *arguments: str) -> str:
    return shlex.join([sys.executable, "-S", "-E", str(SERVERS / name), *arguments])


def exec_words(server: str, *options: str) -> list[str]:
    """The command; a server that is "" is named by the options. They may ask for a suite."""
    named = ["--server-command", server] if server else []
    mode = [] if "--suite-server" in options else ["--connection-server"]
    return [sys.executable, "-m", "mcptest", "exec", *mode, *named, *options]


class ExecClient:
    """One exec process, and both ends of its pipes."""

    def __init__(
        self, folder: Path, server: str, options: tuple[str, ...], environment: dict[str, str]
    ) -> None:
        self.process = processes.start(
            exec_words(server, *options),
            cwd=folder,
            env=ENVIRONMENT | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self.process.stdin
        assert self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._pending = b""
        self._id = 0

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
            assert ready, "the binary says nothing"
            chunk = self.stdout.read(1 << 16)
            if not chunk:
                rest, self._pending = self._pending, b""
                return rest
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def answer(self) -> dict[str, Any]:
        """The next line, which must be one answer as the contract has it."""
        return checked(self.line())

    def ask(self, method: str, params: object = None) -> Any:
        """The result of a request, or the whole error."""
        self._id += 1
        self.send(request(method, params, self._id))
        answer = self.answer()
        assert answer["id"] == self._id
        return answer["result"] if "result" in answer else answer["error"]

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("mcp.call", {"tool": tool, "arguments": arguments})

    def text(self, tool: str, **arguments: Any) -> str:
        """The text that a tool answers."""
        return str(self.call(tool, **arguments)["content"][0]["text"])

    def leave(self) -> Ended:
        """Close both pipes' ends that are ours to write, and see how it ends."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        rest = self._pending + out
        self._pending = b""
        return Ended(self.process.returncode, rest.decode("utf-8"), err.decode("utf-8"))

    def signal(self, number: signal.Signals) -> Ended:
        """Send a signal, and see how it ends with its input still open."""
        self.process.send_signal(number)
        self.process.wait(PATIENCE_S)
        return self.leave()


def request(method: str, params: object = None, id: object = 1) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else message | {"params": params}


def checked(line: bytes) -> dict[str, Any]:
    """A line as an answer, with the members that one has and no others."""
    answer: dict[str, Any] = json.loads(line)
    assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    assert answer["jsonrpc"] == "2.0"
    if "error" in answer:
        assert set(answer["error"]) in ({"code", "message"}, {"code", "message", "data"})
    return answer


@contextlib.contextmanager
def connected(folder: Path, server: str, *options: str, **environment: str) -> Iterator[ExecClient]:
    """A channel that is gone afterwards, whatever happens."""
    client = ExecClient(folder, server, options, environment)
    try:
        yield client
    finally:
        if client.process.poll() is None:
            client.process.kill()
        client.process.wait(PATIENCE_S)
        for pipe in (client.stdin, client.stdout, client.process.stderr):
            if pipe:
                pipe.close()


def converse(
    folder: Path, server: str, *messages: object, options: tuple[str, ...] = (), **environment: str
) -> tuple[list[dict[str, Any]], Ended]:
    """Say everything at once, close the input, and read: every answer, and how it ended."""
    lines = [
        each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in messages
    ]
    done = processes.run(
        exec_words(server, *options),
        cwd=folder,
        env=ENVIRONMENT | environment,
        input=b"".join(lines),
        timeout=PATIENCE_S,
    )
    answers = [checked(line) for line in done.stdout.split(b"\n")[:-1]]
    assert done.stdout.endswith(b"\n") or not done.stdout
    return answers, Ended(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))
