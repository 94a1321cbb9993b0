"""Whole pytest sessions in a process of their own, and the files they are run on."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import processes

from mcptest.core.text import CI_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    Plugins = tuple[str, ...]
    Environment = dict[str, str] | None

__all__ = [
    "PATIENCE_S",
    "SERVER",
    "Ended",
    "call",
    "cases_of",
    "mcptest",
    "pytest_command",
    "pytest_in",
    "run_as_is",
    "running",
    "server",
    "statuses",
    "text",
    "write_conductor",
    "write_suite",
]

SERVERS = Path(__file__).parent.parent / "servers"
SERVER = [sys.executable, "-S", "-E", str(SERVERS / "sdk_server.py")]

# Nothing here takes this long; it is where a hang is called a hang.
PATIENCE_S = 120.0

# Options of the outer session must not reach the inner one.
ENVIRONMENT = {
    name: value
    for name, value in processes.ENVIRONMENT.items()
    if not name.startswith(("PYTEST_", "MCPTEST_", "COV_"))
    and name not in (*CI_VARIABLES, "COLUMNS")
}


class Ended(NamedTuple):
    """How a session ended."""

    code: int
    out: str
    err: str

    @property
    def summary(self) -> str:
        """The last line, without its rulers and the time it took."""
        last = self.out.strip().rpartition("\n")[2]
        return re.sub(r" in [\d.]+s.*", "", last).strip("= ")


def pytest_command(*words: str, plugins: Plugins = ()) -> list[str]:
    """pytest with our plugin and those of these names; no others, which take their time."""
    names = ("mcptest.pytest_plugin", *(plugins or ("no:cacheprovider",)))
    loaded = [word for name in names for word in ("-p", name)]
    return [sys.executable, "-m", "pytest", *loaded, *words]


def environment_with(folder: Path, more: Environment) -> dict[str, str]:
    if not (folder / "pytest.ini").exists():
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return ENVIRONMENT | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | (more or {})


def pytest_in(folder: Path, *words: str, plugins: Plugins = (), env: Environment = None) -> Ended:
    """A session in a folder, run to its end."""
    return run(pytest_command(*words, plugins=plugins), folder, env)


def mcptest(folder: Path, *words: str, env: Environment = None) -> Ended:
    return run([sys.executable, "-m", "mcptest", *words], folder, env)


def run(command: list[str], folder: Path, env: Environment) -> Ended:
    return run_as_is(command, folder, environment_with(folder, env))


def run_as_is(command: list[str], folder: Path, env: Environment = None) -> Ended:
    """Any command, without a configuration of its own for pytest."""
    done = processes.run(
        command,
        cwd=folder,
        env=ENVIRONMENT | (env or {}),
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
    )
    return Ended(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


@contextlib.contextmanager
def running(
    folder: Path, *words: str, plugins: Plugins = (), env: Environment = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A running session, until it ends or the test does."""
    process = processes.start(
        pytest_command(*words, plugins=plugins),
        cwd=folder,
        env=environment_with(folder, env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def statuses(ended: Ended) -> dict[str, str]:
    """What became of each test, by its name, from the output of -v."""
    found = re.findall(
        r"^\S.*?::mcptest::(.+?) (PASSED|FAILED|SKIPPED|ERROR)", ended.out, re.MULTILINE
    )
    return {name.partition("::")[2]: status.lower() for name, status in found}


def cases_of(report: Path) -> list[ET.Element]:
    """The tests of a JUnit report."""
    return list(ET.parse(report).getroot().iter("testcase"))


# Files; JSON is YAML


def server(**keys: Any) -> dict[str, Any]:
    """The config of the server of these tests."""
    return {"name": "sdk", "command": SERVER[0], "args": SERVER[1:], **keys}


def call(name: str, tool: str, expects: Any = None, **keys: Any) -> dict[str, Any]:
    """A test that calls a tool, and expects this of its result."""
    wanted = {"isError": False} if expects is None and tool == "echo" else expects
    partial = {"result": {} if wanted is None else wanted}
    response = "match:type:object" if wanted is None else {"match:partial": partial}
    return {"it": name, "tool": tool, "expect": {"response": response}, **keys}


def text(words: str) -> dict[str, Any]:
    """A result that says this."""
    return {"content": [{"text": words}]}


def write_conductor(path: Path, *tests: dict[str, Any], **keys: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    suite = {"description": "a", "server": server(**keys), "tests": list(tests)}
    path.write_text(json.dumps(suite, indent=1), encoding="utf-8")


def write_suite(path: Path, **keys: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    servers = {"shop": {"command": SERVER}}
    path.write_text(json.dumps({"servers": servers, **keys}, indent=1), encoding="utf-8")
