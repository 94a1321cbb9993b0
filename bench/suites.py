"""The inputs of the benchmark: suites of N equal echo tests, and their config."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = [
    "LARGE_BYTES",
    "build_server",
    "requests_of",
    "write_cases",
    "write_large_suite",
    "write_sleepy_suites",
    "write_suite",
    "write_yaml_suite",
]

HERE = Path(__file__).parent

TEST = """\
  - it: "case {n} echoes"
    request:
      jsonrpc: "2.0"
      id: "t-{n}"
      method: "tools/call"
      params:
        name: "echo"
        arguments:
          text: "hello {n}"
    expect:
      response:
        jsonrpc: "2.0"
        id: "t-{n}"
        result:
          content:
            - type: "text"
              text: "hello {n}"
          isError: false
      stderr: "toBeEmpty"
"""


def build_server(folder: Path) -> list[str]:
    """The command of the cheapest server this machine can have."""
    compiler = shutil.which("cc")
    if compiler is None:
        return [sys.executable, "-S", "-E", str(HERE / "echo_server.py")]
    binary = folder / "echo_server"
    source = HERE / "echo_server.c"
    subprocess.run([compiler, "-O2", "-o", str(binary), str(source)], check=True)
    return [str(binary)]


def write_suite(folder: Path, tests: int, server: list[str]) -> Path:
    """A folder with one suite of that many tests and the config that runs it."""
    place = folder / f"suite-{tests}"
    place.mkdir()
    body = "".join(TEST.format(n=n) for n in range(tests))
    head = f'description: "{tests} echo tests"\ntests:\n'
    (place / "echo.test.mcp.yml").write_text(head + body, encoding="utf-8")
    config = {"name": "echo", "command": server[0], "args": server[1:]}
    (place / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    return place


ENTRY = """\
  - name: "case {n} echoes"
    tool: echo
    args: {{ text: "hello {n}" }}
    expect:
      - {{ target: "result.content[0].text", matcher: {{ exact: "hello {n}" }} }}
"""


def write_yaml_suite(folder: Path, tests: int, server: list[str]) -> Path:
    """A folder with a suite (mcptest.yaml) of that many tests."""
    place = folder / f"yaml-suite-{tests}"
    place.mkdir()
    head = f"servers: {{ echo: {{ command: {json.dumps(server)} }} }}\ntools:\n"
    body = "".join(ENTRY.format(n=n) for n in range(tests))
    (place / "mcptest.yaml").write_text(head + body, encoding="utf-8")
    return place


LARGE_BYTES = 64 * 1024 * 1024 - 1000


def write_large_suite(folder: Path) -> Path:
    """One test whose answer is nearly as large as a line may be."""
    place = folder / "suite-large"
    place.mkdir()
    (place / "large.test.mcp.yml").write_text(LARGE, encoding="utf-8")
    server = [sys.executable, "-S", "-E", str(HERE / "large_server.py"), str(LARGE_BYTES)]
    config = {"name": "large", "command": server[0], "args": server[1:]}
    (place / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    return place


LARGE = """\
description: "One large answer"
tests:
  - it: "arrives whole"
    request: { jsonrpc: "2.0", id: 1, method: "large" }
    expect:
      response: { jsonrpc: "2.0", id: 1, result: "match:type:object" }
"""


CASE = """\
---
case: case {n} echoes
in: {{"jsonrpc": "2.0", "id": "t-{n}", "method": "tools/call",
  "params": {{"name": "echo", "arguments": {{"text": "hello {n}"}}}}}}
out: {{"jsonrpc": "2.0", "id": "t-{n}",
  "result": {{"content": [{{"type": "text", "text": "hello {n}"}}], "isError": false}}}}
"""


def write_cases(folder: Path, tests: int) -> Path:
    """The same tests as `write_suite` has, in the format of mcp-autotest."""
    place = folder / f"cases-{tests}"
    place.mkdir()
    body = "".join(CASE.format(n=n) for n in range(tests))
    (place / "echo_test.yaml").write_text(body, encoding="utf-8")
    return place


SLEEPY_FILES = 8


def write_sleepy_suites(folder: Path) -> Path:
    """A folder with eight files of twenty tests, for a server that takes 50 ms a call."""
    place = folder / "sleepy"
    place.mkdir()
    for number in range(SLEEPY_FILES):
        body = "".join(TEST.format(n=n) for n in range(20))
        head = f'description: "file {number}"\ntests:\n'
        (place / f"{number}.test.mcp.yml").write_text(head + body, encoding="utf-8")
    server = [sys.executable, "-S", "-E", str(HERE / "echo_server.py"), "50"]
    config = {"name": "sleepy", "command": server[0], "args": server[1:], "isolation": "file"}
    (place / "conductor.config.json").write_text(json.dumps(config), encoding="utf-8")
    return place


def requests_of(tests: int) -> list[bytes]:
    """The lines that a suite of that many tests sends, for the raw floor."""
    return [
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": f"t-{n}",
                "method": "tools/call",
                "params": {"name": "echo", "arguments": {"text": f"hello {n}"}},
            },
            separators=(",", ":"),
        ).encode()
        + b"\n"
        for n in range(tests)
    ]


def python_environment() -> dict[str, str]:
    """Python as it comes, without what the one who measures has set.

    Byte code must be written once, or every start is measured with compiling; and nobody else
    has a system call for every piece of a line.
    """
    environment = dict(os.environ)
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
        environment.pop(name, None)
    return environment
