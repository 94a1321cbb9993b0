"""Run the real command on files whose tests ask the bad plugin."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import processes
from console import ENVIRONMENT, PATIENCE_S, Ended, mcptest, write_config, write_suite

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "BAD_PLUGIN",
    "asking",
    "config_with",
    "option",
    "plugin_words",
    "results",
    "run_tests",
    "running",
    "statuses",
]

BAD_PLUGIN = Path(__file__).parent.parent / "servers" / "bad_plugin.py"


def plugin_words(mode: str = "good") -> list[str]:
    return [sys.executable, "-S", "-E", str(BAD_PLUGIN), mode]


def option(mode: str = "good", name: str = "geo") -> tuple[str, str]:
    """The words that declare the plugin on a command line."""
    return "--plugin", f"{name}={' '.join(plugin_words(mode))}"


def asking(pattern: str, value: object = "Paris", name: str = "") -> dict[str, Any]:
    """A test whose server says this value, and which asks the plugin geo about it."""
    wanted = {"say": pattern.replace("geo.", "match:plugin:geo.", 1)}
    return {
        "it": name or pattern,
        "request": {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"say": value}},
        "expect": {"response": {"jsonrpc": "2.0", "id": 1, "result": wanted}},
    }


def config_with(folder: Path, mode: str = "good", **keys: object) -> None:
    """A config with the tiny server, and the plugin geo in this mode."""
    plugin = {"command": plugin_words(mode), **keys}
    imports = {"subprocess_matchers": {"geo": plugin}}
    write_config(folder / "conductor.config.json", imports=imports)


def run_tests(
    folder: Path, *tests: dict[str, Any], words: tuple[str, ...] | None = None, **environment: str
) -> Ended:
    """Run these tests; the plugin geo is good unless the words say something else."""
    write_suite(folder / "a.test.mcp.yml", *tests)
    if not (folder / "conductor.config.json").exists():
        write_config(folder / "conductor.config.json")
    words = option() if words is None else words
    return mcptest(folder, "run", "a.test.mcp.yml", "--json", *words, **environment)


def results(ended: Ended) -> list[dict[str, Any]]:
    return [test for suite in ended.report()["suites"] for test in suite["tests"]]


def statuses(ended: Ended) -> list[str]:
    return [test["status"] for test in results(ended)]


class Run:
    """A run in another process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def finish(self) -> Ended:
        out, err = self._process.communicate(timeout=PATIENCE_S)
        assert b"Traceback" not in err
        return Ended(self._process.returncode, out.decode("utf-8"), err.decode("utf-8"))


@contextlib.contextmanager
def running(folder: Path, *words: str, **environment: str) -> Iterator[Run]:
    """Start `mcptest run` in a folder; whatever the test does, it has ended afterwards."""
    with processes.start(
        [sys.executable, "-m", "mcptest", "run", *words, "--json"],
        cwd=folder,
        env=ENVIRONMENT | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield Run(process)
        finally:
            process.kill()
