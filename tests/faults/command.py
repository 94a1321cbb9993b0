"""Run the real command in a process of its own against the fault server.

For what only a whole process can show: signals, exit statuses, its streams, its memory.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import processes
from processes import MCPTEST
from staging import Report, echo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcptest.core.plan import ServerSpec

    Message = dict[str, Any]

# Nothing here takes this long; it is where a hang is called a hang.
_PATIENCE_S = 60.0


class Run:
    """A run in another process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def finish(self) -> Report:
        """Wait for the end; standard output must be exactly one report."""
        out, err = self.process.communicate(timeout=_PATIENCE_S)
        assert b"Traceback" not in err
        return Report(out.decode(), self.process.returncode)

    def status(self) -> int:
        return self.process.wait(_PATIENCE_S)


def write_files(folder: Path, spec: ServerSpec, *tests: Message, **config: Any) -> list[str]:
    """A config and a suite for this server; the words that run them."""
    command, *arguments = spec.command
    members = {
        "name": spec.name,
        "command": command,
        "args": arguments,
        "env": spec.env or {},
        "timeout": round(spec.timeout_s * 1000),
        "startupTimeout": round(spec.startup_timeout_s * 1000),
        **config,
    }
    (folder / "conductor.config.json").write_text(json.dumps(members), encoding="utf-8")
    suite = {"description": "a suite", "tests": list(tests) or [echo()]}
    (folder / "a.test.mcp.yml").write_text(json.dumps(suite), encoding="utf-8")
    return [MCPTEST, "run", "a.test.mcp.yml", "--config", "conductor.config.json"]


@contextlib.contextmanager
def running(folder: Path, words: list[str], **options: Any) -> Iterator[Run]:
    """Start the command in this folder; whatever the test does, it has ended afterwards."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    defaults: dict[str, Any] = {"env": processes.ENVIRONMENT, **pipes}
    with processes.start(words, cwd=folder, **(defaults | options)) as process:
        try:
            yield Run(process)
        finally:
            process.kill()


def peak_memory_bytes(words: list[str], folder: Path) -> tuple[int, Report]:
    """Run to the end; the most memory that the command itself, not its server, ever held."""
    with running(folder, [sys.executable, "-S", "-c", _MEASURE, *words]) as run:
        out, err = run.process.communicate(timeout=_PATIENCE_S)
    return int(err) * 1024, Report(out.decode(), run.process.returncode)


# The kernel counts what a process was before it became the command, too, so this is
# done from a small process, not from the large one that runs the tests.
_MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
sys.stderr.write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""
