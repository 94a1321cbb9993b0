"""An SDK's end of `mcptest exec`, as rude as a test needs it to be."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import processes
from console import ENVIRONMENT, PATIENCE_S, Ended
from line_client import LineClient, request

if TYPE_CHECKING:
    pass

__all__ = [
    "NOBODY",
    "ExecClient",
    "checked",
    "connected",
    "converse",
    "exec_words",
    "fault_server",
    "feature_server",
    "request",
    "scripted_server",
]

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


class ExecClient(LineClient):
    """One exec process, and both ends of its pipes."""

    _id = 0

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


def checked(line: bytes) -> dict[str, Any]:
    """A line as an answer, with the members that one has and no others."""
    answer: dict[str, Any] = json.loads(line)
    assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    assert answer["jsonrpc"] == "2.0"
    if "error" in answer:
        assert set(answer["error"]) in ({"code", "message"}, {"code", "message", "data"})
    return answer


def connected(folder: Path, server: str, *options: str, **environment: str) -> ExecClient:
    """A channel that is gone afterwards, whatever happens."""
    return ExecClient(exec_words(server, *options), folder, environment)


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
