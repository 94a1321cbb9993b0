"""Where pytest meets us: it imports this module whether a project has files of ours or not.

So what knows of tests is in modules of its own, which are loaded with the first file that may
hold some: `pytest_items` has the nodes, `pytest_order` what comes before and after a test,
`pytest_between` the servers that are kept from one test to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# The fixtures, and the options that say which server they have.
pytest_plugins = ("mcptest.pytest_fixtures",)

# What may be one of our files; `mcptest._collect.may_hold` looks closer.
_ENDINGS = (".mcp.yml", ".mcp.yaml", "mcptest.yml", "mcptest.yaml")
_CASE_ENDINGS = ("_test.yml", "_test.yaml", ".cases.yml", ".cases.yaml")

# The property of a test that holds what there is to say of it though it passed.
NOTE = "mcptest_note"


class McptestWarning(UserWarning):
    """Something in a test file that is allowed, and probably not meant."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "mcptest: a test from a file of mcptest")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith(_ENDINGS + _CASE_ENDINGS):
        return None
    from mcptest._collect import may_hold  # noqa: PLC0415  # few projects have such files

    if not may_hold(str(file_path), is_named=parent.session.isinitpath(file_path)):
        return None
    return _file_of_ours(file_path, parent)


def _file_of_ours(path: Path, parent: pytest.Collector) -> pytest.Collector:
    from mcptest import pytest_between, pytest_order  # noqa: PLC0415  # as above
    from mcptest.pytest_items import McptestFile  # noqa: PLC0415  # as above

    plugins = parent.config.pluginmanager
    for module in (pytest_between, pytest_order):
        if not plugins.is_registered(module):
            plugins.register(module, module.__name__)
    return McptestFile.from_parent(parent, path=path)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    noted = [
        (report.nodeid, text)
        for report in terminalreporter.getreports("passed")
        for name, text in report.user_properties
        if name == NOTE
    ]
    if noted:
        terminalreporter.section("mcptest: notes on tests that passed")
        for nodeid, text in noted:
            terminalreporter.line(f"{nodeid}: {text}")
