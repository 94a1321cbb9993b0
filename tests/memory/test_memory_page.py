"""Every piece of code on the page about servers in memory, and the names in its tables."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mcptest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def run_pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    """pytest as users with mcptest installed run it, with our plugin."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    variables = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    return subprocess.run(
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.long
def test_the_example_of_the_page_passes_and_fails_with_the_diff(tmp_path: Path) -> None:
    (example, conftest), (file,) = blocks("python"), blocks("yaml")
    (tmp_path / "test_adder.py").write_text(example, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    contract = tmp_path / "adder.test.mcp.yml"
    contract.write_text(file, encoding="utf-8")
    done = run_pytest(tmp_path)
    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout
    contract.write_text(file.replace("result: 23", "result: 24"), encoding="utf-8")
    done = run_pytest(tmp_path)
    assert (done.returncode, "1 failed, 1 passed" in done.stdout) == (1, True), done.stdout
    assert "result.structuredContent.result: differs" in done.stdout


def test_every_argument_and_every_field_is_in_its_table() -> None:
    cells = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`(\w+)(?:\(\))?`", cell)}
    arguments = set(inspect.signature(mcptest.connect_memory).parameters) - {"target"}
    fields = {name for name in vars(mcptest.MemoryRun) if not name.startswith("_")}
    assert named - {"MCPServer", "Server", "FastMCP", "fastmcp"} == arguments | (
        fields | {"results"}
    )
    more = set(inspect.signature(mcptest.run_memory).parameters) - arguments
    assert more == {"target", "files", "filters", "tags"}
    assert "`filters` and `tags`" in PAGE
