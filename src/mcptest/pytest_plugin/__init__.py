"""The pytest plugin: test files of mcptest as pytest items, and fixtures for tests in Python.

pytest imports this module in every project where mcptest is installed, so it imports nothing
but pytest. The rest is loaded with the first file that may hold tests: `collect` has the nodes of
a file, `items` the tests, which the engine performs in this process (`mcptest.engine.on_demand`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ENDINGS", "FILE_NOTE", "NOTE", "McptestDeprecationWarning", "McptestWarning"]

pytest_plugins = ("mcptest.pytest_plugin.fixtures",)

# Which files may hold tests; `mcptest._collect.is_test_file` looks closer.
_ENDINGS = (".mcp.yml", ".mcp.yaml", "mcptest.yml", "mcptest.yaml")
_CASE_ENDINGS = ("_test.yml", "_test.yaml", ".cases.yml", ".cases.yaml")

# The properties of a report that have a note on its test, and on the whole file.
NOTE, FILE_NOTE = "mcptest_note", "mcptest_file_note"

# How files ended that could not be finished with their last test: notes, and reasons to fail.
ENDINGS = pytest.StashKey[tuple[list[str], list[str]]]()


class McptestWarning(UserWarning):
    """Something that is allowed, and probably not meant."""


class McptestDeprecationWarning(McptestWarning, DeprecationWarning):
    """Something that a later release will not have."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "mcptest: a test from a file of mcptest")
    config.stash[ENDINGS] = ([], [])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith(_ENDINGS + _CASE_ENDINGS):
        return None
    from mcptest._collect import is_test_file  # noqa: PLC0415  # few projects have such files

    if not is_test_file(str(file_path), is_named=parent.session.isinitpath(file_path)):
        return None
    from mcptest.pytest_plugin import items  # noqa: PLC0415  # as above
    from mcptest.pytest_plugin.collect import McptestFile  # noqa: PLC0415  # as above

    plugins = parent.config.pluginmanager
    if not plugins.is_registered(items):
        plugins.register(items, items.__name__)
    return McptestFile.from_parent(parent, path=file_path)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of pytest-xdist has ended; what it has to say of its files is passed on."""
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
    # A test has three reports, and each of them has the properties that the test has by then.
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
