"""Write suites and run the real command on them; their servers keep a journal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console import mcptest

if TYPE_CHECKING:
    from console import Ended

__all__ = [
    "SUITE_SERVER",
    "call",
    "journal",
    "mismatches",
    "outcomes",
    "results_of",
    "run_suite",
    "server",
    "text_is",
    "write",
]

SUITE_SERVER = Path(__file__).parent.parent / "servers" / "suite_server.py"
JOURNAL = "journal.txt"

Keys = dict[str, Any]


def server(prefix: str = "", env: dict[str, Any] | None = None, **keys: Any) -> Keys:
    """A server that writes into the journal of the folder; its tools have this prefix."""
    command = [sys.executable, "-S", "-E", str(SUITE_SERVER), *([prefix] if prefix else [])]
    journal = {"JOURNAL": f"${{CONFIG_DIR}}/{JOURNAL}"}
    return {"command": command, "env": journal | (env or {}), **keys}


def call(name: str, tool: str = "echo", /, **keys: Any) -> Keys:
    """A test that calls a tool."""
    return {"name": name, "tool": tool, **keys}


def text_is(text: object, target: str = "result.content[0].text") -> list[Keys]:
    """An expectation that the answer is exactly this."""
    return [{"target": target, "matcher": {"exact": text}}]


def write(folder: Path, suite: Keys, name: str = "mcptest.yaml") -> Path:
    """The suite as a file; JSON is YAML. One server is there if none is named."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(suite, indent=1), encoding="utf-8")
    return path


def run_suite(folder: Path, suite: Keys | None, *words: str, **environment: str) -> Ended:
    """Run the suite of a folder, with one server unless it has its own, and --json."""
    if suite is not None:
        write(folder, suite if "servers" in suite else {"servers": {"a": server()}, **suite})
    (folder / JOURNAL).unlink(missing_ok=True)
    return mcptest(folder, "run", *words, "--json", **environment)


def journal(folder: Path) -> list[str]:
    """What happened to the servers, line by line."""
    path = folder / JOURNAL
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def results_of(ended: Ended) -> list[Keys]:
    return [test for suite in ended.report()["suites"] for test in suite["tests"]]


def outcomes(ended: Ended) -> dict[str, str]:
    """How each test ended, by its name."""
    return {test["name"]: test["status"] for test in results_of(ended)}


def mismatches(ended: Ended) -> list[tuple[str, str]]:
    """Path and words of everything that was not as expected."""
    return [
        (mismatch["path"], mismatch["message"])
        for test in results_of(ended)
        for mismatch in test["mismatches"]
    ]
