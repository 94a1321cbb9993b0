"""The pytest plugin: test files of mcptest as pytest items, and fixtures for tests in Python.

pytest imports this module in every project where mcptest is installed, so it imports nothing but
pytest. The rest is loaded with the first test file: `collect` has the collectors, `items` the
tests, which the engine runs in this process (`mcptest.engine.on_demand`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ENDINGS", "FILE_NOTE", "NOTE", "McptestDeprecationWarning", "McptestWarning"]

pytest_plugins = ("mcptest.pytest_plugin.fixtures",)

# The endings of test files; `mcptest._collect.is_test_file` also checks the content.
_ENDINGS = (".mcp.yml", ".mcp.yaml", "mcptest.yml", "mcptest.yaml")
_CASE_ENDINGS = ("_test.yml", "_test.yaml", ".cases.yml", ".cases.yaml")

# Properties of reports: a note on the test, and on the whole file.
NOTE, FILE_NOTE = "mcptest_note", "mcptest_file_note"

# Notes and failures of files that were not finished with their last test.
ENDINGS = pytest.StashKey[tuple[list[str], list[str]]]()


class McptestWarning(UserWarning):
    """Something that is allowed but probably a mistake."""


class McptestDeprecationWarning(McptestWarning, DeprecationWarning):
    """Something that a later release will remove."""


# As in `mcptest.core.plan`, which is loaded with the first test file.
_ISOLATIONS = ("run", "file", "test")


def pytest_addoption(parser: pytest.Parser) -> None:
    help = "what gets a server process of its own in test files of mcptest: run, file or test"
    group = parser.getgroup("mcptest")
    group.addoption("--mcptest-isolation", choices=_ISOLATIONS, help=help)
    parser.addini("mcptest_isolation", f"{help} (default: what configs and suites say)", default="")
    help = "which server of the config of a client, such as .mcp.json, if it has several"
    group.addoption("--mcptest-server", metavar="NAME", help=help)
    parser.addini("mcptest_server", help, default="")
    help = "send a fresh W3C traceparent with the requests of each test in test files of mcptest"
    group.addoption("--mcptest-trace", action="store_true", help=help)
    parser.addini("mcptest_trace", help, type="bool", default=False)


def has_traces(config: pytest.Config) -> bool:
    """Whether each test sends a trace context with its requests."""
    return bool(config.getoption("--mcptest-trace") or config.getini("mcptest_trace"))


def read_server_name(config: pytest.Config) -> str:
    """The server to choose from a config that has several; "" if none is chosen."""
    return str(config.getoption("--mcptest-server") or config.getini("mcptest_server"))


def read_isolation(config: pytest.Config) -> str:
    """What gets a server process of its own, "" to leave it to the files."""
    found = str(config.getoption("--mcptest-isolation") or config.getini("mcptest_isolation"))
    if found and found not in _ISOLATIONS:
        *others, last = _ISOLATIONS
        message = f"mcptest_isolation takes {', '.join(others)} or {last}, not {found!r}"
        raise pytest.UsageError(message)
    return found


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "mcptest: a test from a file of mcptest")
    config.stash[ENDINGS] = ([], [])
    read_isolation(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith(_ENDINGS + _CASE_ENDINGS):
        return None
    from mcptest._collect import is_test_file  # noqa: PLC0415  # few projects have such files

    if not is_test_file(str(file_path), is_named=parent.session.isinitpath(file_path)):
        return None
    from mcptest.pytest_plugin import items  # noqa: PLC0415  # as above
    from mcptest.pytest_plugin.items import McptestFile  # noqa: PLC0415  # as above

    plugins = parent.config.pluginmanager
    if not plugins.is_registered(items):
        plugins.register(items, items.__name__)
    return McptestFile.from_parent(parent, path=file_path)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over the notes and failures of a pytest-xdist worker that has ended."""
    notes, failures = getattr(node, "workeroutput", {}).get("mcptest", ((), ()))
    node.config.stash[ENDINGS][0].extend(notes)
    node.config.stash[ENDINGS][1].extend(failures)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    failures = session.config.stash[ENDINGS][1]
    if failures and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    notes, failures = config.stash[ENDINGS]
    # A test has up to three reports, which repeat its properties.
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("")]
    noted = dict.fromkeys(
        f"{report.nodeid if name == NOTE else report.nodeid.partition('::')[0]}: {text}"
        for report in reports
        for name, text in report.user_properties
        if name in (NOTE, FILE_NOTE)
    )
    for title, lines in (
        ("mcptest: notes", (*noted, *notes)),
        ("mcptest: what fails the run", failures),
    ):
        if lines:
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.line(line)
