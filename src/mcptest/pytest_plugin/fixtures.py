"""Fixtures for tests in Python: a connected server under test.

pytest imports this module with our plugin, so everything else is imported when it is needed.
"""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from mcptest.pytest_plugin import McptestDeprecationWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.sdk.client import Client

_SCOPES = ("session", "package", "module", "class", "function")
_NOT_STARTED = pytest.StashKey[set[str]]()
_AS_ABOVE = "(details above)"


class NotStartedError(pytest.fail.Exception):  # type: ignore[misc,name-defined]  # pytest makes it at run time
    """The server of the fixtures could not be started; the details are shown once."""

    def __init__(self, text: str) -> None:
        super().__init__(text, pytrace=False)


# pytest then shows this name in the summary without a module.
NotStartedError.__module__ = "builtins"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mcptest", "MCP servers under test")
    group.addoption(
        "--mcp-server-command",
        metavar="ARGV",
        help="starts the server of the fixtures mcptest_client and mcptest_session; split like a "
        "shell would, run without one",
    )
    group.addoption("--mcp-server-url", metavar="URL", help="the server of the fixtures, on HTTP")
    parser.addini("mcp_server_command", "the same, in a config file, in whose folder it is run")
    parser.addini("mcp_server_url", "the server of the fixtures, on HTTP")
    parser.addini("mcp_server_scope", "scope of the fixture mcptest_client", default="session")


def pytest_configure(config: pytest.Config) -> None:
    scope = config.getini("mcp_server_scope")
    if scope not in _SCOPES:
        raise pytest.UsageError(f"mcp_server_scope is one of {', '.join(_SCOPES)}, not {scope!r}")


def _read_scope(fixture_name: str, config: pytest.Config) -> Any:
    return config.getini("mcp_server_scope")


@pytest.fixture(scope="session")
def mcp_server_url(pytestconfig: pytest.Config) -> str:
    """The URL of the fixtures' server; "" if it is started on standard input and output."""
    url = pytestconfig.getoption("--mcp-server-url") or pytestconfig.getini("mcp_server_url")
    # The command line has precedence.
    return "" if pytestconfig.getoption("--mcp-server-command") else str(url)


@pytest.fixture(scope="session")
def mcp_server_command(pytestconfig: pytest.Config, mcp_server_url: str) -> Any:
    """What starts the server of the fixtures; override it in a conftest.py, or set an option."""
    command = pytestconfig.getoption("--mcp-server-command")
    if pytestconfig.getoption("--mcp-server-url") and not command:
        return ""
    return command or pytestconfig.getini("mcp_server_command")


@pytest.fixture(scope="session")
def mcp_server_options() -> dict[str, Any]:
    """Further arguments of `mcptest.connect` for the fixtures; override it in a conftest.py."""
    return {}


@pytest.fixture(scope=_read_scope)
def mcptest_client(
    pytestconfig: pytest.Config,
    mcp_server_command: str | Sequence[str],
    mcp_server_url: str,
    mcp_server_options: dict[str, Any],
) -> Iterator[Client]:
    """The server under test, shared by tests as far as mcp_server_scope says."""
    server = (mcp_server_command, mcp_server_url)
    with _connect(pytestconfig, *server, mcp_server_options) as client:
        yield client


@pytest.fixture
def mcptest_session(
    pytestconfig: pytest.Config,
    mcp_server_command: str | Sequence[str],
    mcp_server_url: str,
    mcp_server_options: dict[str, Any],
) -> Iterator[Client]:
    """A server of its own for one test."""
    server = (mcp_server_command, mcp_server_url)
    with _connect(pytestconfig, *server, mcp_server_options) as client:
        yield client


@pytest.fixture(scope=_read_scope)
def mcp_server(mcptest_client: Client) -> Client:
    """The former name of mcptest_client."""
    _warn_of_name("mcp_server", "mcptest_client")
    return mcptest_client


@pytest.fixture
def mcp_session(mcptest_session: Client) -> Client:
    """The former name of mcptest_session."""
    _warn_of_name("mcp_session", "mcptest_session")
    return mcptest_session


def _warn_of_name(old: str, new: str) -> None:
    message = f"the fixture {old} is now called {new}; the next release has only the new name"
    warnings.warn(message, McptestDeprecationWarning, stacklevel=2)


@contextmanager
def _connect(
    config: pytest.Config, command: str | Sequence[str], url: str, options: dict[str, Any]
) -> Iterator[Client]:
    from mcptest.sdk.client import connect  # noqa: PLC0415  # only where it is used
    from mcptest.sdk.errors import CoprocessError  # noqa: PLC0415  # as above

    if not command and not url:
        message = "no server to test: give --mcp-server-command or --mcp-server-url, set "
        message += "mcp_server_command or mcp_server_url in the config of pytest, or write a "
        pytest.fail(f"{message}fixture mcp_server_command", pytrace=False)
    try:
        connection = connect(command, url=url, **{**_choose_folder(config, command), **options})
    except (TypeError, ValueError) as error:
        message = f"the fixtures of mcptest cannot connect: {error}"
        pytest.fail(message, pytrace=False)
    try:
        client = connection.__enter__()
    except CoprocessError as error:
        text = "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
        shown = config.stash.setdefault(_NOT_STARTED, set())
        is_shown = text in shown
        shown.add(text)
        raise NotStartedError(_shorten(text) if is_shown else text) from None
    try:
        yield client
    finally:
        connection.__exit__(*sys.exc_info())


def _choose_folder(config: pytest.Config, command: object) -> dict[str, Any]:
    """A command of the config is run in the folder of the config."""
    is_of_config = command and command == config.getini("mcp_server_command")
    if not is_of_config or config.getoption("--mcp-server-command"):
        return {}
    folder = str(config.inipath.parent if config.inipath else config.rootpath)
    return {} if os.path.samefile(folder, ".") else {"cwd": folder}


def pytest_exception_interact(call: pytest.CallInfo[Any]) -> None:
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, NotStartedError):
        # pytest raises it again for every test that shares the server.
        error.msg = _shorten(error.msg)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    _recent_stderr().clear()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Show what servers wrote to stderr during a test that fails, unless its message has it."""
    outcome: Any = yield
    report = outcome.get_result()
    recent = _recent_stderr() if report.failed else ()
    if not recent:
        return
    from mcptest.core.text import defuse  # noqa: PLC0415  # only where it is used
    from mcptest.reporters.failure_text import stderr_lines  # noqa: PLC0415  # as above

    text = "\n".join(each.rstrip("\n") for each in recent)
    lines = [line.text.strip().removeprefix("stderr").lstrip() for line in stderr_lines(text)]
    if not all(line in report.longreprtext for line in lines):
        report.sections.append(("Captured stderr of the server", defuse("\n".join(lines))))


def _recent_stderr() -> Any:
    """What servers wrote to stderr since the test began."""
    module = sys.modules.get("mcptest.sdk.coprocess")
    return module.RECENT_STDERR if module else []


def _shorten(text: str) -> str:
    first = text.split("\n")[0]
    return first if first.endswith(_AS_ABOVE) else f"{first} {_AS_ABOVE}"
