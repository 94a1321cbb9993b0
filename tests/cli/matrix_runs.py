"""Run tests in every way against a server that supports all of them and differs on request."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from console import Ended, case, mcptest, write_suite

__all__ = ["AT_A_FREE_PORT", "argv", "counts", "greets", "matrix", "server", "ways", "write"]

SERVER = Path(__file__).parent.parent / "servers" / "ways_server.py"
AT_A_FREE_PORT = "http://127.0.0.1:{port}/mcp"


def argv(*words: str) -> list[str]:
    """The command that starts the server with these words."""
    return [sys.executable, "-S", "-E", str(SERVER), *words]


def server(*words: str) -> str:
    """The same as one text."""
    return shlex.join(argv(*words))


def called(tool: str, text: str, **keys: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": {}}
    wanted = {"match:partial": {"content": [{"type": "text", "text": text}]}}
    return case(f"{tool}s", "tools/call", params=params, wants=wanted, **keys)


def greets(**keys: Any) -> dict[str, Any]:
    return called("greet", "hello", **keys)


def counts(**keys: Any) -> dict[str, Any]:
    return called("count", "1", **keys)


def write(folder: Path, *cases: dict[str, Any]) -> None:
    write_suite(folder / "shop.test.mcp.yml", *(cases or (greets(), counts())))


def matrix(folder: Path, *words: str, flags: str = "", **environment: str) -> Ended:
    """Both transports of a server with these flags."""
    commands = (
        *("--server-command", server("stdio", *flags.split())),
        *("--url", AT_A_FREE_PORT, "--http-command", server("http", "{port}", *flags.split())),
    )
    return mcptest(folder, "run", "--transport-matrix", *commands, *words, **environment)


def ways(report: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Each way of a report, and whether the server supports it."""
    found = report["matrix"]["ways"]
    return [(each["transport"], each["revision"], each["spoken"]) for each in found]
