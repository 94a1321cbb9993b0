"""The official conformance suite, against a mock that plays a contract with its fixtures."""

from __future__ import annotations

import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SUITE = ROOT / ".venv/node/node_modules/@modelcontextprotocol/conformance/dist/index.js"
PATIENCE_S = 60

needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None, reason="there is no npm, so ./check could not install it"
)


@pytest.mark.long
@needs_npm
def test_every_scenario_of_the_official_suite_passes() -> None:
    words = ["-m", "mcptest", "mock", str(HERE / "conformance_fixtures.yaml"), "--http", "0"]
    mock = subprocess.Popen(
        [sys.executable, *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0
    )
    assert mock.stderr
    try:
        assert select.select([mock.stderr], [], [], PATIENCE_S)[0], "the mock tells nothing"
        url = mock.stderr.readline().decode("utf-8").rpartition(" ")[2].strip()
        done = subprocess.run(
            ["node", str(SUITE), "server", "--url", url],
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
            check=False,
        )
    finally:
        mock.terminate()
        mock.communicate(timeout=PATIENCE_S)
    assert "✓ tools-call-elicitation" in done.stdout
    assert done.returncode == 0, done.stdout
    assert "✗" not in done.stdout
