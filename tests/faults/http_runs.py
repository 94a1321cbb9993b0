"""Run the real command against a server on HTTP, and return its report."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import processes
from staging import Report, echo

if TYPE_CHECKING:
    from pathlib import Path

    Message = dict[str, Any]

# Nothing here takes this long; it is where a hang is called a hang.
_PATIENCE_S = 60.0

# A proxy in the environment of the test run must not affect these tests.
ENVIRONMENT = {
    name: value
    for name, value in processes.ENVIRONMENT.items()
    if not name.lower().endswith("_proxy")
}


def write_suite(folder: Path, *tests: Message) -> None:
    suite = {"description": "a suite", "tests": list(tests) or [echo()]}
    (folder / "a.test.mcp.yml").write_text(json.dumps(suite), encoding="utf-8")


def words_for(folder: Path, url: str, *tests: Message, words: tuple[str, ...] = ()) -> list[str]:
    """A suite (one echo when no tests are given), and the words that run it."""
    write_suite(folder, *tests)
    return [
        *(sys.executable, "-m", "mcptest", "run", "a.test.mcp.yml", "--json", "--url", url),
        *words,
    ]


def run_over_http(
    folder: Path, url: str, *tests: Message, words: tuple[str, ...] = (), **environment: str
) -> Report:
    """The report of a run; it must have ended by itself, and without a traceback."""
    return run(folder, words_for(folder, url, *tests, words=words), **environment)


def run(folder: Path, words: list[str], **environment: str) -> Report:
    done = processes.run(
        words,
        cwd=folder,
        env=ENVIRONMENT | environment,
        stdin=subprocess.DEVNULL,
        timeout=_PATIENCE_S,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return Report(done.stdout.decode("utf-8"), done.returncode)


def with_config(folder: Path, url: str, *tests: Message, **config: Any) -> Report:
    """The same by a config, for what the command line cannot say."""
    write_suite(folder, *tests)
    members = {"name": "server", "url": url, **config}
    (folder / "conductor.config.json").write_text(json.dumps(members), encoding="utf-8")
    words = [sys.executable, "-m", "mcptest", "run", "a.test.mcp.yml", "--json"]
    return run(folder, words)
