"""The collectors of a test file and of its servers. Mistakes in a file are collection errors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from mcptest._collect import collect, describe_mistakes, node_names
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import FormatError, McptestError, UsageError
from mcptest.core.text import defuse
from mcptest.pytest_plugin import McptestWarning
from mcptest.pytest_plugin.items import McptestItem, session_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest._collect import CollectedTest, Collection
    from mcptest.engine.on_demand import FileRun

__all__ = ["McptestFile", "McptestGroup"]

_IMPORTED = pytest.StashKey[set[str]]()


class McptestFile(pytest.File):
    """One test file; every mistake in it is reported when it is collected."""

    def collect(self) -> Iterator[pytest.Collector]:
        imported = self.config.stash.setdefault(_IMPORTED, set())
        own = os.path.abspath(self.path)
        is_named, is_whole = _named(self.config, own)
        if own in imported and not is_named:
            return
        collection = self._read()
        if is_whole:
            imported.update(os.path.abspath(suite.file) for suite, _ in collection.plan.suites)
        group: McptestGroup = McptestGroup.from_parent(self, name="mcptest")
        group.tests = collection.tests
        group.file_run = session_of(self.config).add(collection.plan)
        group.add_marker("mcptest")
        yield group

    def _read(self) -> Collection:
        path = os.path.relpath(self.path)
        try:
            found = collect(path)
        except FormatError as error:
            raise self.CollectError(defuse(describe_mistakes(error.diagnostics, path))) from None
        except UsageError as error:
            # pytest has no such options.
            help = error.help.removeprefix("give --config FILE or --server-command, ")
            raise self.CollectError(defuse(f"{error.message}\n{help}".rstrip("\n"))) from None
        except McptestError as error:
            raise self.CollectError(defuse(str(error))) from None
        for warning in found.plan.warnings:
            self.warn(McptestWarning(defuse(render_diagnostic(warning))))
        return found


class McptestGroup(pytest.Collector):
    """The tests of a file, or of one server in it, for ids like `FILE::mcptest::SERVER::TEST`."""

    tests: Sequence[CollectedTest] = ()
    file_run: FileRun

    def collect(self) -> Iterator[pytest.Collector | pytest.Item]:
        if not isinstance(self.parent, McptestFile):
            names = node_names(one.name for one in self.tests)
            for name, one in zip(names, self.tests, strict=True):
                yield McptestItem.of(self, name, one, self.file_run)
            return
        servers: dict[str, list[CollectedTest]] = {}
        for one in self.tests:
            servers.setdefault(one.server, []).append(one)
        # pytest takes a bracket for the start of parameters.
        names = node_names(server.replace("[", "(") for server in servers)
        for name, tests in zip(names, servers.values(), strict=True):
            group: McptestGroup = McptestGroup.from_parent(self, name=name)
            group.tests, group.file_run = tests, self.file_run
            yield group


def _named(config: pytest.Config, file: str) -> tuple[bool, bool]:
    """Whether a file is an argument of pytest, and whether all of its tests are selected."""
    # As pytest splits arguments: a path, and names within the file.
    cut = [arg.partition("[")[0].partition("::") for arg in config.args]
    places = [(config.invocation_params.dir / path, bool(names)) for path, _, names in cut]
    parts = {is_part for place, is_part in places if os.path.abspath(place) == file}
    above = {os.path.abspath(place) for place, is_part in places if not is_part}
    is_below = any(os.path.commonpath([file, place]) == place for place in above)
    return bool(parts), is_below or parts != {True}
