"""The tests of a file as pytest items, run by the engine in this process.

Registered as a plugin of its own with the first test file.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from mcptest._collect import (
    collect,
    describe_internal_error,
    describe_load_error,
    describe_mistakes,
    group_by_server,
    reword_hints,
)
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import McptestError, UsageError
from mcptest.core.plan import ISOLATE_FILES
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.text import defuse, visible
from mcptest.engine.on_demand import Session
from mcptest.pytest_plugin import (
    ENDINGS,
    FILE_NOTE,
    NOTE,
    McptestWarning,
    has_traces,
    read_isolation,
    read_server_name,
)
from mcptest.reporters.failure_text import SeenFailures, describe_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mcptest._collect import CollectedTest
    from mcptest.core.events import RunFinished
    from mcptest.engine.on_demand import FileRun, SuiteRun

__all__ = ["McptestFile"]


_SESSION = pytest.StashKey[Session]()
_TAGS = pytest.StashKey[set[str]]()
_SEEN = pytest.StashKey[SeenFailures]()
_IS_ALONE = pytest.StashKey[bool]()

_COLUMNS = 80

_ISOLATE_FILES = f"--mcptest-{ISOLATE_FILES[2:]}"

# Tags that do not become marks: marks that pytest acts on, and keywords of -m.
_RESERVED = frozenset(["filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"])
_RESERVED |= {"and", "or", "not", "True", "False", "None"}
# Marks that may prevent a test from running.
_SKIP_MARKS = frozenset(["skip", "skipif", "xfail"])

# Hooks that run between two tests, and plugins whose hooks there have no effect on a server. Any
# other plugin may prepare something for the next test.
_BETWEEN = ("protocol", "logstart", "setup", "call", "teardown", "logfinish")
_HARMLESS = frozenset(
    ["_hypothesis_pytestplugin", "_pytest", "anyio", "hypothesis", "mcptest", "pytest_cov", "xdist"]
)
_HARMLESS |= {"__channelexec__"}  # the name of what xdist sends to its workers


class _FailedTestError(Exception):
    """The report of a failed test, without anything a CI system would take for a command."""

    def __init__(self, text: str) -> None:
        super().__init__(defuse(text))


class MismatchError(_FailedTestError):
    """An expectation was not met."""


class BrokenError(_FailedTestError):
    """The test could not be completed."""


# pytest then shows these names in the summary without a module.
MismatchError.__module__ = BrokenError.__module__ = "builtins"


def get_session(config: pytest.Config) -> Session:
    """The engine's session of this pytest session: its files and servers."""
    if _SESSION not in config.stash:
        config.stash[_SESSION] = Session(traces=has_traces(config))
    return config.stash[_SESSION]


class McptestItem(pytest.Item):
    """One test, at `mcptest::<server>::<test name>`, or a skipped lane."""

    collected: CollectedTest
    file_run: FileRun
    following: pytest.Item | None = None

    @classmethod
    def of(
        cls, parent: pytest.Collector, name: str, collected: CollectedTest, file_run: FileRun
    ) -> McptestItem:
        item: McptestItem = cls.from_parent(parent, name=name)
        item.collected, item.file_run = collected, file_run
        tags = item.config.stash.setdefault(_TAGS, set())
        for tag in collected.tags:
            item.extra_keyword_matches.add(tag)
            mark = _make_mark(tag)
            if mark and mark not in tags:
                tags.add(mark)
                item.config.addinivalue_line("markers", f"{mark}: a tag of a test file")
            if mark:
                item.add_marker(mark)
        if collected.skip:
            item.add_marker(pytest.mark.skip(reason=defuse(visible(collected.skip))))
        return item

    @property
    def suite_run(self) -> SuiteRun | None:
        """What performs it; None for a lane."""
        at = self.collected.suite
        return self.file_run.suites[at] if at >= 0 else None

    def runtest(self) -> None:
        one, suite_run = self.collected, self.suite_run
        assert suite_run is not None, "a lane is skipped"
        file = suite_run.suite.file
        if one.unset:
            raise BrokenError(describe_mistakes(one.unset, file))
        try:
            result = suite_run.perform(one.case, self._next_case())
        except UsageError as error:
            raise BrokenError(f"{error.message}\n{error.help}".rstrip("\n")) from None
        except Exception as error:
            message = describe_internal_error(error, file)
            if not message:
                raise
            raise BrokenError(message) from None
        result = redact_all(
            reword_hints(result, _ISOLATE_FILES), redactor(self.file_run.plan.secrets)
        )
        if result.status == "passed":
            for note in result.notes:
                self.user_properties.append((NOTE, defuse(note)))
            if result.is_flaky:
                self.user_properties.append((NOTE, f"flaky: attempt {result.attempts} passed"))
            return
        kind = MismatchError if result.status == "failed" else BrokenError
        seen = self.config.stash.setdefault(_SEEN, SeenFailures())
        columns, is_verbose = _report_width(self.config), self.config.get_verbosity() > 0
        raise kind(describe_case(result, file, seen, columns=columns, verbose=is_verbose))

    def _next_case(self) -> int | None:
        """The index of the next case, if its request may be sent while this one is reported."""
        after = self.following
        if not isinstance(after, McptestItem) or after.suite_run is not self.suite_run:
            return None
        may_be_skipped = any(mark.name in _SKIP_MARKS for mark in after.iter_markers())
        return None if may_be_skipped or not _is_alone(self.config) else after.collected.case

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, (MismatchError, BrokenError)):
            # Never with local variables, which may hold secrets of a config.
            return excinfo.getrepr(style="value")
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, max(0, self.collected.line - 1), self.nodeid.partition("::")[2]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Tell the engine which tests will run, so that it stops servers after the last one."""
    for item in session.items:
        if isinstance(item, McptestItem) and item.suite_run and not item.collected.skip:
            item.suite_run.expected.add(item.collected.case)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if isinstance(item, McptestItem):
        item.following = nextitem


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Stop servers that no later test needs; what is judged per file fails its last test."""
    if not isinstance(item, McptestItem) or item.suite_run is None:
        return
    suite_run, secrets = item.suite_run, item.file_run.plan.secrets
    finished = suite_run.finish_case(item.collected.case)
    notes, failures = _conclude(finished, secrets) if finished else ([], [])
    notes += map(defuse, redact_all(suite_run.settle_doubts(), redactor(secrets)))
    item.user_properties += [(FILE_NOTE, note) for note in notes]
    if failures:
        pytest.fail(defuse("\n".join(failures)), pytrace=False)


def pytest_sessionfinish(session: pytest.Session) -> None:
    _close(session.config)


def pytest_unconfigure(config: pytest.Config) -> None:
    _close(config)


def _close(config: pytest.Config) -> None:
    session = config.stash.get(_SESSION, None)
    if session is None:
        return
    del config.stash[_SESSION]
    secrets = tuple(each for file in session.files for each in file.plan.secrets)
    notes, failures = config.stash[ENDINGS]
    for finished in session.close():
        more_notes, more_failures = _conclude(finished, secrets)
        notes += more_notes
        failures += more_failures
    if hasattr(config, "workeroutput"):
        config.workeroutput["mcptest"] = (notes, failures)


def _conclude(finished: RunFinished, secrets: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The notes at the end of a file, and the reasons for it to fail."""
    if not (finished.findings or finished.snapshots or finished.missed_gates):
        return [], []
    # Deferred: few files need them.
    from mcptest.core.results import FATAL  # noqa: PLC0415
    from mcptest.reporters.style import Paint  # noqa: PLC0415
    from mcptest.reporters.terminal import finding_lines, snapshot_lines  # noqa: PLC0415

    finished = redact_all(finished, redactor(secrets))
    plain = Paint(on=False)
    notes = snapshot_lines(finished.snapshots, plain) if finished.snapshots else []
    failures = [f"gate missed: {visible(gate)}" for gate in finished.missed_gates]
    for finding in finished.findings:
        text = "\n".join(finding_lines(finding, "", plain)).removeprefix("note: ")
        is_fatal = finding.kind in FATAL or finding.kind in finished.broken_rules
        (failures if is_fatal else notes).append(text)
    return [*map(defuse, notes)], failures


def _is_alone(config: pytest.Config) -> bool:
    """Whether no other plugin and no conftest.py acts between two of our tests."""
    if _IS_ALONE not in config.stash:
        hooks = [getattr(config.hook, f"pytest_runtest_{name}") for name in _BETWEEN]
        plugins = [found.plugin for hook in hooks for found in hook.get_hookimpls()]
        names = [getattr(plugin, "__name__", type(plugin).__module__) for plugin in plugins]
        config.stash[_IS_ALONE] = all(name.split(".")[0] in _HARMLESS for name in names)
    return config.stash[_IS_ALONE]


def _report_width(config: pytest.Config) -> int:
    """The width of failure reports; a worker of pytest-xdist has no terminal."""
    if not config.pluginmanager.has_plugin("terminalreporter"):
        return _COLUMNS
    return max(40, min(100, config.get_terminal_writer().fullwidth))


def _make_mark(tag: str) -> str:
    """The mark for a tag, "" for none; marks cannot contain all characters."""
    name = re.sub(r"[^\w.+/-]", "_", tag)
    if name in _RESERVED or not re.search(r"\w", name):
        return ""
    return f"tag{name}" if name[0] in "_-./+" else name


# The collectors of a test file and of its servers. Mistakes in a file are collection errors.


_IMPORTED = pytest.StashKey[set[str]]()


class McptestFile(pytest.File):
    """One test file; every mistake in it is reported when it is collected."""

    def collect(self) -> Iterator[pytest.Collector]:
        imported = self.config.stash.setdefault(_IMPORTED, set())
        own = os.path.abspath(self.path)
        is_named, is_whole = _find_selection(self.config, own)
        if own in imported and not is_named:
            return
        path = os.path.relpath(self.path)
        try:
            collection = collect(path, read_isolation(self.config), read_server_name(self.config))
        except McptestError as error:
            message = describe_load_error(error, path, server_option="--mcptest-server")
            raise self.CollectError(defuse(message)) from None
        for warning in collection.plan.warnings:
            self.warn(McptestWarning(defuse(render_diagnostic(warning))))
        if is_whole:
            imported.update(os.path.abspath(suite.file) for suite, _ in collection.plan.suites)
        group: McptestGroup = McptestGroup.from_parent(self, name="mcptest")
        group.tests = collection.tests
        group.file_run = get_session(self.config).add(collection.plan)
        group.add_marker("mcptest")
        yield group


class McptestGroup(pytest.Collector):
    """The tests of a file, or of one server in it, for ids like `FILE::mcptest::SERVER::TEST`."""

    tests: Sequence[CollectedTest] = ()
    # Of one server: its tests by their names.
    named: Sequence[tuple[str, CollectedTest]] = ()
    file_run: FileRun

    def collect(self) -> Iterator[pytest.Collector | pytest.Item]:
        for name, one in self.named:
            yield McptestItem.of(self, name, one, self.file_run)
        for name, named in group_by_server(self.tests).items():
            group: McptestGroup = McptestGroup.from_parent(self, name=name)
            group.named, group.file_run = named, self.file_run
            yield group


def _find_selection(config: pytest.Config, file: str) -> tuple[bool, bool]:
    """Whether a file is an argument of pytest, and whether all of its tests are selected."""
    # As pytest splits arguments: a path, and names within the file.
    cut = [arg.partition("[")[0].partition("::") for arg in config.args]
    places = [(config.invocation_params.dir / path, bool(names)) for path, _, names in cut]
    parts = {is_part for place, is_part in places if os.path.abspath(place) == file}
    above = {os.path.abspath(place) for place, is_part in places if not is_part}
    is_below = any(os.path.commonpath([file, place]) == place for place in above)
    return bool(parts), is_below or parts != {True}
