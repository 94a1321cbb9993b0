"""What pytest costs: 1,000 tool tests under `mcptest run` and under pytest, with the same server.

pytest is measured with our plugin and no other, and so is what it takes for 1,000 tests that do
nothing: less than that nobody can need.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path

from bench.suites import HERE

__all__ = ["NOTHING", "PYTEST", "RUN", "TESTS", "pytest_command", "report_pytest", "write_places"]

TESTS = 1000
RUN, PYTEST, NOTHING = "mcptest run", "pytest", "pytest, tests that do nothing"

ECHO = """\
  - it: "case {n} echoes"
    tool: echo
    arguments: {{ text: "hello {n}" }}
    expect:
      response:
        result: {{ content: [{{ type: "text", text: "hello {n}" }}], isError: false }}
"""
TIME = """\
  - it: "case {n} tells the time"
    tool: get_current_time
    arguments: {{ timezone: "UTC" }}
    expect:
      response:
        match:partial: {{ result: {{ content: [{{ type: "text", text: "match:contains:UTC" }}] }} }}
"""

IDLE = """\
import pytest


class Idle(pytest.Item):
    def runtest(self):
        pass


class File(pytest.File):
    def collect(self):
        for number in range({tests}):
            yield Idle.from_parent(self, name=f"mcptest::echo::case {{number}} echoes")


def pytest_collect_file(file_path, parent):
    return File.from_parent(parent, path=file_path) if file_path.suffix == ".yml" else None
"""


def write_places(folder: Path, quick_server: list[str]) -> dict[str, Path]:
    """A folder for each server, by what it is; the one for nothing has none."""
    slow = [sys.executable, "-S", "-E", str(HERE / "echo_server.py"), "3"]
    places = {
        "a server that answers at once": _write(folder / "quick", ECHO, quick_server),
        "one in Python that takes 3 ms a call": _write(folder / "slow", ECHO, slow),
    }
    if importlib.util.find_spec("mcp_server_time"):
        real = [sys.executable, "-m", "mcp_server_time"]
        places["mcp-server-time"] = _write(folder / "real", TIME, real)
    idle = folder / "idle"
    idle.mkdir()
    (idle / "idle.yml").write_text("", encoding="utf-8")
    (idle / "conftest.py").write_text(IDLE.format(tests=TESTS), encoding="utf-8")
    (idle / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return places | {NOTHING: idle}


def _write(place: Path, test: str, server: list[str]) -> Path:
    place.mkdir()
    body = "".join(test.format(n=n) for n in range(TESTS))
    head = f'description: "{TESTS} tests"\ntests:\n'
    (place / "bench.test.mcp.yml").write_text(head + body, encoding="utf-8")
    config = {"name": "echo", "command": server[0], "args": server[1:], "startupTimeout": 60_000}
    (place / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    (place / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return place


def pytest_command() -> list[str]:
    """pytest with our plugin; others take longer to import than these tests take."""
    environment = [shutil.which("env") or "/usr/bin/env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"]
    return [*environment, sys.executable, "-m", "pytest", "-q", "-p", "mcptest.pytest_plugin"]


def report_pytest(ms: dict[str, float], server: str) -> float:
    """Print where the time goes with one server; how many times as long as a run it takes."""
    ran, tested, idle = ms[f"{RUN}, {server}"], ms[f"{PYTEST}, {server}"], ms[NOTHING]
    print(f"\n{server}")
    print(f"  {RUN:<58} {ran:7.0f} ms")
    print(f"  {PYTEST:<58} {tested:7.0f} ms")
    each_us = (tested - idle) / TESTS * 1000
    print(f"  {'of that, on top of pytest itself, for each test':<58} {each_us:7.0f} µs")
    return tested / ran
