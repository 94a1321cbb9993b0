"""Test files of mcptest as pytest items, and fixtures for tests in Python.

pytest imports this module whether a project has such files or not, so everything else is
imported when it is needed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcptest._collect import Collected
    from mcptest._coprocess import Coprocess
    from mcptest.core.outcome import CaseResult
    from mcptest.core.plan import ServerSpec
    from mcptest.sdk.client import Client
    from mcptest.sdk.driving import Driver

_ENDINGS = ("mcptest.yaml", "mcptest.yml", ".mcp.yml", ".mcp.yaml", "_test.yaml", "_test.yml")
_CASE_ENDINGS = (".cases.yaml", ".cases.yml")
_POOL = pytest.StashKey["Pool"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mcptest", "MCP servers under test")
    group.addoption(
        "--mcp-server-command",
        metavar="ARGV",
        help="starts the server of the fixtures mcp_server and mcp_session; split like a shell "
        "would, run without one",
    )
    parser.addini("mcp_server_command", "the same, in a config file")
    parser.addini("mcp_server_scope", "scope of the fixture mcp_server", default="session")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "mcptest: a test from a file of mcptest")


def pytest_unconfigure(config: pytest.Config) -> None:
    pool = config.stash.get(_POOL, None)
    if pool:
        pool.close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith(_ENDINGS + _CASE_ENDINGS):
        return None
    from mcptest._collect import may_hold_tests  # noqa: PLC0415  # few projects have such files

    if not may_hold_tests(str(file_path)):
        return None
    return McptestFile.from_parent(parent, path=file_path)


class McptestFile(pytest.File):
    """One test file; every mistake in it is told when it is collected."""

    def collect(self) -> Iterator[pytest.Item]:
        from mcptest._collect import collect  # noqa: PLC0415  # as above
        from mcptest.core.diagnostics import render_diagnostic  # noqa: PLC0415  # as above
        from mcptest.core.errors import FormatError, McptestError  # noqa: PLC0415  # as above

        try:
            found = collect(os.path.relpath(self.path))
        except FormatError as error:
            told = "\n\n".join(map(render_diagnostic, error.diagnostics))
            raise self.CollectError(told) from None
        except McptestError as error:
            raise self.CollectError(str(error)) from None
        for one in found:
            yield McptestItem.of(self, one)


class McptestItem(pytest.Item):
    """One test, named `mcptest::<server>::<test name>`."""

    collected: Collected

    @classmethod
    def of(cls, parent: McptestFile, collected: Collected) -> McptestItem:
        is_lane = collected.case is None
        server = "lanes" if is_lane else collected.server
        item: McptestItem = cls.from_parent(parent, name=f"mcptest::{server}::{collected.name}")
        item.collected = collected
        item.add_marker("mcptest")
        for tag in collected.case.tags if collected.case else ():
            if tag.isidentifier():
                item.config.addinivalue_line("markers", f"{tag}: a tag of a test file")
                item.add_marker(tag)
        if collected.skip:
            item.add_marker(pytest.mark.skip(reason=collected.skip))
        return item

    def runtest(self) -> None:
        collected = self.collected
        assert collected.case is not None, "a lane is skipped"
        driver = _pool(self.config).driver(collected)
        result = driver.perform(collected.case, collected.suite.file)
        if result.status != "passed":
            raise MismatchError(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        error = excinfo.value
        if isinstance(error, MismatchError):
            return error.told(self.collected)
        from mcptest.core.errors import McptestError  # noqa: PLC0415  # as above

        if isinstance(error, (McptestError, LookupError)):
            return f"{type(error).__name__}: {error}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, max(0, self.collected.line - 1), self.name


class MismatchError(Exception):
    """An expectation of a test file that was not met."""

    def __init__(self, result: CaseResult) -> None:
        first = result.mismatches[0]
        super().__init__(f"{first.path or 'the answer'}: {first.message}")
        self.result = result

    def told(self, collected: Collected) -> str:
        from mcptest.reporters.failure_text import render_result  # noqa: PLC0415  # failures only

        lines = render_result(self.result, columns=100, verbose=False, is_on_terminal=True)
        place = f"{collected.suite.file}:{collected.line}"
        return "\n".join([place, *(line.text for line in lines)])


class Pool:
    """The coprocesses of a session: one for each server, as long as it is to live."""

    def __init__(self) -> None:
        self._drivers: dict[object, Driver] = {}
        self._coprocesses: list[Coprocess] = []
        self._folder = ""

    def driver(self, collected: Collected) -> Driver:
        spec, file = collected.spec, collected.suite.file
        key: object = (spec.name, spec.command, spec.cwd)
        if spec.isolation == "file" or collected.suite.format == "cases":
            key = (file, key)
        if spec.isolation == "test" or key not in self._drivers:
            self._drivers[key] = self._started(spec)
        return self._drivers[key]

    def _started(self, spec: ServerSpec) -> Driver:
        from mcptest._coprocess import Coprocess  # noqa: PLC0415  # as above
        from mcptest.sdk.driving import Driver  # noqa: PLC0415  # as above

        if spec.isolation == "test":
            self.close()
        env = {**(spec.env or {})}
        coprocess = Coprocess(
            spec.command,
            cwd=spec.cwd,
            env=env,
            timeout=spec.timeout_s + spec.startup_timeout_s + 15.0,
            call_timeout=spec.timeout_s,
        )
        self._coprocesses.append(coprocess)
        return Driver(coprocess, spec)

    def close(self) -> None:
        coprocesses, self._coprocesses, self._drivers = self._coprocesses, [], {}
        for coprocess in coprocesses:
            coprocess.close()


def _pool(config: pytest.Config) -> Pool:
    if _POOL not in config.stash:
        config.stash[_POOL] = Pool()
    return config.stash[_POOL]


# Fixtures


def _scope(fixture_name: str, config: pytest.Config) -> Any:
    scope = config.getini("mcp_server_scope")
    scopes = ("session", "package", "module", "class", "function")
    if scope not in scopes:
        raise pytest.UsageError(f"mcp_server_scope is one of {', '.join(scopes)}, not {scope!r}")
    return scope


def _command(config: pytest.Config) -> str:
    command = config.getoption("--mcp-server-command") or config.getini("mcp_server_command")
    if not command:
        message = (
            "no server to test: give --mcp-server-command, or mcp_server_command in the config"
        )
        raise pytest.UsageError(message)
    return str(command)


@pytest.fixture(scope=_scope)
def mcp_server(request: pytest.FixtureRequest) -> Iterator[Client]:
    """The server under test, shared by tests as far as mcp_server_scope says."""
    from mcptest.sdk.client import connect  # noqa: PLC0415  # only where it is used

    with connect(_command(request.config)) as client:
        yield client


@pytest.fixture
def mcp_session(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A server of its own for one test."""
    from mcptest.sdk.client import connect  # noqa: PLC0415  # only where it is used

    with connect(_command(request.config)) as client:
        yield client
