"""Objects of FastMCP, and of version 1 of the official SDK, in environments that have them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tools.environment import FASTMCP_VERSIONS, fastmcp_python

CHECKS = Path(__file__).with_name("fastmcp_objects.py")

# Versions 2 and 3 depend on version 1 of the official SDK, whose own FastMCP is tested too.
PASSED = {"2": "12 passed", "3": "12 passed", "4": "9 passed, 1 skipped"}


@pytest.mark.long
@pytest.mark.parametrize("version", FASTMCP_VERSIONS)
def test_objects_of_fastmcp_are_tested_in_memory(version: str, tmp_path: Path) -> None:
    python = fastmcp_python(version)
    if not python.exists():
        reason = f"there is no environment with FastMCP {version}: ./check makes it"
        assert os.environ.get("CI") != "true", reason
        pytest.skip(reason)
    options = ["-q", "--noconftest", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [python, "-m", "pytest", *options, CHECKS],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if "PYTEST" not in name},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert (done.returncode, PASSED[version] in done.stdout) == (0, True), done.stdout
