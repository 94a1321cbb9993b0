"""Run the real command in a process of its own, and write the files it is run on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import processes

from mcptest.core.text import CI_VARIABLES

TINY_SERVER = Path(__file__).parent.parent / "servers" / "tiny_server.py"

# Nothing here takes this long; it is where a hang is called a hang.
PATIENCE_S = 60.0

# What a user's own environment might say about colours and widths, and whether this is CI, must
# not matter.
ENVIRONMENT = {
    name: value
    for name, value in processes.ENVIRONMENT.items()
    if name not in (*CI_VARIABLES, "NO_COLOR", "COLUMNS", "TERM")
}
CONDUCTOR = "import sys; from mcptest.cli.main import conductor; sys.exit(conductor())"


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    def report(self) -> dict[str, Any]:
        """Standard output, which must be exactly one JSON object."""
        value: dict[str, Any] = json.loads(self.out)
        assert isinstance(value, dict)
        return value


def mcptest(folder: Path, *words: str, **environment: str) -> Ended:
    return run([sys.executable, "-m", "mcptest", *words], folder, environment)


def conductor(folder: Path, *words: str) -> Ended:
    return run([sys.executable, "-c", CONDUCTOR, *words], folder, {})


def run(
    argv: list[str],
    folder: Path,
    environment: dict[str, str],
    *,
    input: bytes = b"",
    patience_s: float = PATIENCE_S,
) -> Ended:
    streams: dict[str, Any] = {"input": input} if input else {"stdin": subprocess.DEVNULL}
    ended = processes.run(
        argv, cwd=folder, env=ENVIRONMENT | environment, timeout=patience_s, **streams
    )
    return Ended(ended.returncode, ended.stdout.decode("utf-8"), ended.stderr.decode("utf-8"))


def case(
    name: str, method: str = "echo", *, wants: object = None, params: object = None, **keys: Any
) -> dict[str, Any]:
    """A test that expects this result; by default one that passes."""
    params = {"say": name} if params is None else params
    wanted = params if wants is None else wants
    return {
        "it": name,
        "request": {"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
        "expect": {"response": {"jsonrpc": "2.0", "id": 1, "result": wanted}},
        **keys,
    }


def write_suite(path: Path, *cases: dict[str, Any], **keys: Any) -> None:
    """A test file; JSON is YAML."""
    suite = {"description": path.name.partition(".")[0], "tests": list(cases), **keys}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(suite, indent=1), encoding="utf-8")


def write_config(path: Path, *args: str, **keys: Any) -> None:
    """A config for the tiny server."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(server(*args, **keys)), encoding="utf-8")


def server(*args: str, **keys: Any) -> dict[str, Any]:
    return {"name": "tiny", "command": sys.executable, "args": [str(TINY_SERVER), *args], **keys}
