"""Test files of mcptest as pytest items, and fixtures for tests in Python.

pytest imports this module whether a project has such files or not, so everything else is
imported when it is needed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mcptest._collect import Collected, Collection
    from mcptest.core.outcome import CaseResult
    from mcptest.sdk.client import Client
    from mcptest.sdk.driving import Drivers

# What may be one of our files; `mcptest._collect.may_hold` looks closer.
_ENDINGS = (".mcp.yml", ".mcp.yaml", "mcptest.yml", "mcptest.yaml")
_CASE_ENDINGS = ("_test.yml", "_test.yaml", ".cases.yml", ".cases.yaml")
_DRIVERS = pytest.StashKey["Drivers"]()
_IMPORTED = pytest.StashKey[set[str]]()
_TAGS = pytest.StashKey[set[str]]()
_IS_ALONE = pytest.StashKey[bool]()

_SCOPES = ("session", "package", "module", "class", "function")
_COLUMNS = 100
_NOTE = "mcptest_note"
_APART = "--dist loadfile of pytest-xdist keeps the tests of a file in one process"

# Marks that do something; a tag of that name only names.
_RESERVED = frozenset(["filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"])

# Whoever else acts between two tests may be preparing something for the second one. These do
# nothing that a server could notice.
_BETWEEN = ("protocol", "logstart", "setup", "call", "teardown", "logfinish")
_HARMLESS = frozenset(
    ["_hypothesis_pytestplugin", "_pytest", "anyio", "hypothesis", "mcptest", "pytest_cov", "xdist"]
)
_HARMLESS |= {"__channelexec__"}  # so is called what xdist sends to its workers
# Marks that may keep a test from being run.
_STOPPERS = frozenset(["skip", "skipif", "xfail"])


class McptestWarning(UserWarning):
    """Something in a test file that is allowed, and probably not meant."""


class MismatchError(Exception):
    """An expectation of a test file that was not met."""


class BrokenError(Exception):
    """A test of a file that could not be run to its end."""


# So that a summary line begins with these names, and not with that of a module.
MismatchError.__module__ = BrokenError.__module__ = "builtins"


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
    scope = config.getini("mcp_server_scope")
    if scope not in _SCOPES:
        raise pytest.UsageError(f"mcp_server_scope is one of {', '.join(_SCOPES)}, not {scope!r}")


def pytest_unconfigure(config: pytest.Config) -> None:
    drivers = config.stash.get(_DRIVERS, None)
    if drivers:
        drivers.close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith(_ENDINGS + _CASE_ENDINGS):
        return None
    from mcptest._collect import may_hold  # noqa: PLC0415  # few projects have such files

    if not may_hold(str(file_path)):
        return None
    return McptestFile.from_parent(parent, path=file_path)


# Nodes


class McptestFile(pytest.File):
    """One test file; every mistake in it is told when it is collected."""

    files: tuple[str, ...] = ()

    def collect(self) -> Iterator[pytest.Collector]:
        imported = self.config.stash.setdefault(_IMPORTED, set())
        if os.path.abspath(self.path) in imported:
            return
        collection = self._read()
        self.files = tuple(dict.fromkeys(suite.file for suite, _ in collection.suites))
        imported.update(map(os.path.abspath, self.files))
        drivers = _drivers(self.config)
        for suite, spec in collection.suites:
            drivers.expect(suite, spec)
        group = McptestGroup.of(self, "mcptest", collection.tests)
        group.add_marker("mcptest")
        yield group

    def _read(self) -> Collection:
        from mcptest._collect import collect  # noqa: PLC0415  # as above
        from mcptest.core.diagnostics import render_diagnostic  # noqa: PLC0415  # as above
        from mcptest.core.errors import FormatError, McptestError, UsageError  # noqa: PLC0415

        try:
            found = collect(os.path.relpath(self.path))
        except FormatError as error:
            told = "\n\n".join(map(render_diagnostic, error.diagnostics))
            raise self.CollectError(told) from None
        except UsageError as error:
            # The command has options for it, and pytest has not.
            help = error.help.removeprefix("give --config FILE or --server-command, ")
            raise self.CollectError(f"{error.message}\n{help}".rstrip("\n")) from None
        except McptestError as error:
            raise self.CollectError(str(error)) from None
        for doubtful in found.warnings:
            self.warn(McptestWarning(render_diagnostic(doubtful)))
        return found

    def teardown(self) -> None:
        for file in self.files:
            _drivers(self.config).finish_file(file)


class McptestGroup(pytest.Collector):
    """The tests of a file, or of one server in it: so `FILE::mcptest::SERVER::TEST` finds one."""

    tests: Sequence[Collected] = ()

    @classmethod
    def of(cls, parent: pytest.Collector, name: str, tests: Sequence[Collected]) -> McptestGroup:
        group: McptestGroup = cls.from_parent(parent, name=name)
        group.tests = tests
        return group

    def collect(self) -> Iterator[pytest.Collector | pytest.Item]:
        from mcptest.core.visible import visible  # noqa: PLC0415  # as above

        if isinstance(self.parent, McptestFile):
            servers: dict[str, list[Collected]] = {}
            for one in self.tests:
                servers.setdefault(one.server, []).append(one)
            for server, tests in servers.items():
                yield McptestGroup.of(self, visible(server), tests)
            return
        seen: dict[str, int] = {}
        for one in self.tests:
            seen[one.name] = count = seen.get(one.name, 0) + 1
            name = one.name if count == 1 else f"{one.name} #{count}"
            yield McptestItem.of(self, visible(name), one)


class McptestItem(pytest.Item):
    """One test, at `mcptest::<server>::<test name>`; or something that the command must run."""

    collected: Collected
    following: pytest.Item | None = None

    @classmethod
    def of(cls, parent: McptestGroup, name: str, collected: Collected) -> McptestItem:
        item: McptestItem = cls.from_parent(parent, name=name)
        item.collected = collected
        for tag in collected.tags:
            item.extra_keyword_matches.add(tag)
            if _is_mark(tag):
                _register(item.config, tag)
                item.add_marker(tag)
        if collected.skip:
            from mcptest.core.visible import visible  # noqa: PLC0415  # as above

            item.add_marker(pytest.mark.skip(reason=visible(collected.skip)))
        return item

    def runtest(self) -> None:
        from mcptest._coprocess import CoprocessError  # noqa: PLC0415  # as above
        from mcptest.core.redaction import redactor  # noqa: PLC0415  # as above
        from mcptest.sdk.drivable import NotDrivableError  # noqa: PLC0415  # as above

        one = self.collected
        assert one.spoken is not None, "what cannot be run is skipped"
        following = self._following()
        try:
            result = _drivers(self.config).perform(one.suite, one.spec, one.spoken, following)
        except CoprocessError as error:
            said = redactor(one.spec.secrets)(f"{type(error).__name__}: {error}")
            raise BrokenError(said) from None
        except NotDrivableError as error:
            pytest.skip(f"{error}; run: mcptest run {one.suite.file}")
        self._note(result)
        if result.status != "passed":
            kind = MismatchError if result.status == "failed" else BrokenError
            raise kind(self._told(result))

    def _following(self) -> Any:
        """The case that comes next, if it can be sent while this one is told."""
        after = self.following
        if not isinstance(after, McptestItem) or not after.collected.spoken:
            return None
        if after.collected.suite is not self.collected.suite or not _is_alone(self.config):
            return None
        is_stopped = any(mark.name in _STOPPERS for mark in after.iter_markers())
        return None if is_stopped else after.collected.spoken.case

    def _note(self, result: CaseResult) -> None:
        """Keep what there is to say of a test that passed all the same."""
        for note in result.notes if result.status == "passed" else ():
            self.user_properties.append((_NOTE, note))
        if result.is_flaky:
            self.user_properties.append((_NOTE, f"flaky: attempt {result.attempts} passed"))

    def _told(self, result: CaseResult) -> str:
        from mcptest.reporters.failure_text import render_result  # noqa: PLC0415  # failures only

        is_worker = hasattr(self.config, "workerinput")
        if is_worker and result.fault and result.fault.kind == "missing_capture":
            result = result.but(notes=(*result.notes, _APART))
        lines = render_result(
            result,
            columns=_COLUMNS,
            verbose=self.config.get_verbosity() > 0,
            is_on_terminal=True,
        )
        text = "\n".join(line.text for line in lines).strip("\n")
        return f"{text}\n\n{self.collected.suite.file}:{result.line}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, (MismatchError, BrokenError)):
            return super().repr_failure(excinfo, style="value")
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, max(0, self.collected.line - 1), self.nodeid.partition("::")[2]

    def teardown(self) -> None:
        _drivers(self.config).finish_case(self.collected.suite, self.collected.spec)


def _is_mark(tag: str) -> bool:
    """Whether a tag can be given to -m: pytest cuts the names of marks at some characters."""
    is_name = tag.replace("-", "").replace(".", "").replace("/", "").isidentifier()
    return is_name and tag[0] not in "_-./" and tag not in _RESERVED


def _register(config: pytest.Config, tag: str) -> None:
    tags = config.stash.setdefault(_TAGS, set())
    if tag not in tags:
        tags.add(tag)
        config.addinivalue_line("markers", f"{tag}: a tag of a test file")


def _drivers(config: pytest.Config) -> Drivers:
    if _DRIVERS not in config.stash:
        from mcptest.sdk.driving import Drivers  # noqa: PLC0415  # as above

        config.stash[_DRIVERS] = Drivers()
    return config.stash[_DRIVERS]


# Running


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if isinstance(item, McptestItem):
        item.following = nextitem


def _is_alone(config: pytest.Config) -> bool:
    """Whether nobody else does anything between two of our tests."""
    if _IS_ALONE not in config.stash:
        hooks = [getattr(config.hook, f"pytest_runtest_{name}") for name in _BETWEEN]
        plugins = [found.plugin for hook in hooks for found in hook.get_hookimpls()]
        names = [getattr(plugin, "__name__", type(plugin).__module__) for plugin in plugins]
        config.stash[_IS_ALONE] = all(name.split(".")[0] in _HARMLESS for name in names)
    return config.stash[_IS_ALONE]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    noted = [
        (report.nodeid, text)
        for report in terminalreporter.getreports("passed")
        for name, text in report.user_properties
        if name == _NOTE
    ]
    if noted:
        terminalreporter.section("mcptest: notes on tests that passed")
        for nodeid, text in noted:
            terminalreporter.line(f"{nodeid}: {text}")


# Fixtures


def _scope(fixture_name: str, config: pytest.Config) -> Any:
    return config.getini("mcp_server_scope")


@pytest.fixture(scope="session")
def mcp_server_command(pytestconfig: pytest.Config) -> Any:
    """What starts the server of the fixtures; override it in a conftest.py, or set an option."""
    command = pytestconfig.getoption("--mcp-server-command")
    command = command or pytestconfig.getini("mcp_server_command")
    if not command:
        message = "no server to test: give --mcp-server-command, set mcp_server_command in the "
        pytest.fail(f"{message}config, or write a fixture mcp_server_command", pytrace=False)
    return command


@pytest.fixture(scope=_scope)
def mcp_server(mcp_server_command: str | Sequence[str]) -> Iterator[Client]:
    """The server under test, shared by tests as far as mcp_server_scope says."""
    from mcptest.sdk.client import connect  # noqa: PLC0415  # only where it is used

    with connect(mcp_server_command) as client:
        yield client


@pytest.fixture
def mcp_session(mcp_server_command: str | Sequence[str]) -> Iterator[Client]:
    """A server of its own for one test."""
    from mcptest.sdk.client import connect  # noqa: PLC0415  # only where it is used

    with connect(mcp_server_command) as client:
        yield client
