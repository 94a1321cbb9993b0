"""Run `mcptest compliance run` for tests, and give its checks by id."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from console import Ended, run

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE_SERVER = Path(__file__).parents[2] / "servers" / "conformance" / "reference_server.py"

# A run of all checks on a slow machine; it is where a hang is called a hang.
PATIENCE_S = 240.0


class Checked(NamedTuple):
    """A run that has ended: its exit code, its report, and what it wrote to standard error."""

    code: int
    report: dict[str, Any]
    err: str

    def checks(self, revision: str = "") -> dict[str, dict[str, Any]]:
        """The checks by id; of several revisions the last, or the one that is named."""
        found = self.report["checks"]
        return {each["id"]: each for each in found if not revision or each["revision"] == revision}

    def ids(self, *verdicts: str) -> set[str]:
        """The ids of the checks with one of these verdicts in any revision."""
        return {each["id"] for each in self.report["checks"] if each["verdict"] in verdicts}


def compliance_run(*words: str, folder: Path | None = None, **environment: str) -> Ended:
    """Run the command with these words."""
    argv = [sys.executable, "-m", "mcptest", "compliance", "run", *words]
    where = folder or Path(tempfile.gettempdir())
    return run(argv, where, environment, patience_s=PATIENCE_S)


def check_server(*words: str, folder: Path | None = None, **environment: str) -> Checked:
    """Run the checks with these words (`--only`, …, `--`, COMMAND) and read the JSON report."""
    ended = compliance_run("--format", "json", *words, folder=folder, **environment)
    assert ended.code in (0, 1, 6, 7), ended.err
    return Checked(ended.code, ended.report(), ended.err)


def active(*words: str, folder: Path | None = None, **environment: str) -> dict[str, Any]:
    """The checks of such a run by id; of several revisions the last."""
    return check_server(*words, folder=folder, **environment).checks()


@contextmanager
def http_server(*words: str, folder: Path | None = None) -> Iterator[str]:
    """The reference server on HTTP with these words; yields its address."""
    process = subprocess.Popen(
        [sys.executable, str(REFERENCE_SERVER), "--http", "0", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr
    try:
        yield process.stderr.readline().decode("utf-8").split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=20)
