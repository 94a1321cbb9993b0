"""Test files of mcptest as pytest items.

pytest imports this module whether a project has such files or not, so everything else is
imported when it is needed.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mcptest._collect import Collected, Collection
    from mcptest.core.outcome import CaseResult
    from mcptest.sdk.driving import Drivers

# The fixtures, and the options that say which server they have.
pytest_plugins = ("mcptest.pytest_fixtures",)

# What may be one of our files; `mcptest._collect.may_hold` looks closer.
_ENDINGS = (".mcp.yml", ".mcp.yaml", "mcptest.yml", "mcptest.yaml")
_CASE_ENDINGS = ("_test.yml", "_test.yaml", ".cases.yml", ".cases.yaml")
_DRIVERS = pytest.StashKey["Drivers"]()
_IMPORTED = pytest.StashKey[set[str]]()
_TAGS = pytest.StashKey[set[str]]()
_IS_ALONE = pytest.StashKey[bool]()
_COLLECTED = pytest.StashKey[list[pytest.Item]]()

_COLUMNS = 80
_NOTE = "mcptest_note"
_APART = "--dist loadfile of pytest-xdist keeps the tests of a file in one process"

# Marks that do something; a tag of that name only names.
_RESERVED = frozenset(["filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"])
# So are words of -m itself.
_RESERVED |= {"and", "or", "not", "True", "False", "None"}

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


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "mcptest: a test from a file of mcptest")


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Here, where warnings are still collected: a server may have left something to say.
    _close_drivers(session.config)


def pytest_unconfigure(config: pytest.Config) -> None:
    _close_drivers(config)


def _close_drivers(config: pytest.Config) -> None:
    drivers = config.stash.get(_DRIVERS, None)
    if drivers:
        del config.stash[_DRIVERS]
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
        own = os.path.abspath(self.path)
        is_named, is_whole = _named(self.config, own)
        if own in imported and not is_named:
            return
        collection = self._read()
        self.files = tuple(dict.fromkeys(suite.file for suite, _ in collection.suites))
        if is_whole:
            imported.update(map(os.path.abspath, self.files))
        drivers = _drivers(self.config)
        for suite, spec in collection.suites:
            drivers.expect(suite, spec)
        group = McptestGroup.of(self, "mcptest", collection.tests)
        group.add_marker("mcptest")
        yield group

    def _read(self) -> Collection:
        from mcptest._collect import collect, told_mistakes  # noqa: PLC0415  # as above
        from mcptest.core.diagnostics import render_diagnostic  # noqa: PLC0415  # as above
        from mcptest.core.errors import FormatError, McptestError, UsageError  # noqa: PLC0415

        path = os.path.relpath(self.path)
        try:
            found = collect(path)
        except FormatError as error:
            raise self.CollectError(told_mistakes(error.diagnostics, path)) from None
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
        from mcptest._collect import node_names  # noqa: PLC0415  # as above

        if isinstance(self.parent, McptestFile):
            servers: dict[str, list[Collected]] = {}
            for one in self.tests:
                servers.setdefault(one.server, []).append(one)
            # Behind a bracket pytest looks for parameters, and not for tests.
            names = node_names(server.replace("[", "(") for server in servers)
            for name, tests in zip(names, servers.values(), strict=True):
                yield McptestGroup.of(self, name, tests)
            return
        names = node_names(one.name for one in self.tests)
        for name, one in zip(names, self.tests, strict=True):
            yield McptestItem.of(self, name, one)


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
            mark = _mark_of(tag)
            if mark:
                _register(item.config, mark)
                item.add_marker(mark)
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
        if one.unset:
            from mcptest._collect import told_mistakes  # noqa: PLC0415  # as above

            raise BrokenError(told_mistakes(one.unset, one.suite.file))
        following = self._following()
        try:
            result = _drivers(self.config).perform(one.suite, one.spec, one.spoken, following)
        except CoprocessError as error:
            said = redactor(one.spec.secrets)(f"{type(error).__name__}: {error}")
            raise BrokenError(said) from None
        except NotDrivableError as error:
            pytest.skip(f"{error}; run: mcptest run {one.suite.file}")
        except Exception as error:
            from mcptest.sdk.own_fault import own_fault  # noqa: PLC0415  # never, if we can help it

            said = own_fault(error, one.suite.file)
            if not said:
                raise
            raise BrokenError(said) from None
        self._note(result)
        if result.status != "passed":
            kind = MismatchError if result.status == "failed" else BrokenError
            raise kind(self._told(result))

    def _following(self) -> Any:
        """The case that comes next, if it can be sent while this one is told."""
        after = self.following
        if not isinstance(after, McptestItem) or not after.collected.spoken:
            return None
        if after.collected.unset:
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
        if result.fault and result.fault.kind == "missing_capture":
            apart = (_APART,) if is_worker else ()
            result = result.but(notes=(*result.notes, *self._captured_by(), *apart))
        lines = render_result(
            result,
            columns=_columns(self.config),
            verbose=self.config.get_verbosity() > 0,
            is_on_terminal=True,
        )
        text = "\n".join(line.text for line in lines).strip("\n")
        return f"{text}\n\n{self.collected.suite.file}:{result.line}"

    def _captured_by(self) -> Iterator[str]:
        """Which tests have the values that this one needs."""
        wanted = self.collected.needs
        for case in self.collected.suite.cases:
            for step in case.steps:
                for name in (each.name for each in step.captures if each.name in wanted):
                    words = f"${{{name}}} is captured by {case.name!r}"
                    yield f"{words}: it must be selected too, and pass"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, (MismatchError, BrokenError)):
            # Whatever is asked for: values of variables here may hold secrets of a config.
            return excinfo.getrepr(style="value")
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, max(0, self.collected.line - 1), self.nodeid.partition("::")[2]

    def teardown(self) -> None:
        _drivers(self.config).finish_case(self.collected.suite, self.collected.spec)


def _named(config: pytest.Config, file: str) -> tuple[bool, bool]:
    """Whether a file is an argument itself, and whether all of its tests are taken."""
    # As pytest cuts them: a path, and names within the file.
    cut = [arg.partition("[")[0].partition("::") for arg in config.args]
    places = [(config.invocation_params.dir / path, bool(names)) for path, _, names in cut]
    parts = {is_part for place, is_part in places if os.path.abspath(place) == file}
    above = {os.path.abspath(place) for place, is_part in places if not is_part}
    is_below = any(os.path.commonpath([file, place]) == place for place in above)
    return bool(parts), is_below or parts != {True}


def _columns(config: pytest.Config) -> int:
    """How wide a failure may be; a worker of pytest-xdist has no terminal."""
    if not config.pluginmanager.has_plugin("terminalreporter"):
        return _COLUMNS
    return max(40, min(100, config.get_terminal_writer().fullwidth))


def _mark_of(tag: str) -> str:
    """The mark for a tag, "" for none: pytest cuts names of marks at some characters."""
    name = re.sub(r"[^\w.+/-]", "_", tag)
    if name in _RESERVED or not re.search(r"\w", name):
        return ""
    return f"tag{name}" if name[0] in "_-./+" else name


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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("lf", False):
        config.stash[_COLLECTED] = list(items)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """With --lf, what the failed tests need is run as well."""
    everything = session.config.stash.get(_COLLECTED, [])
    if len(session.items) < len(everything):
        session.items[:] = _with_capturing(session.items, everything)


def _with_capturing(items: list[pytest.Item], everything: list[pytest.Item]) -> list[pytest.Item]:
    chosen, found = set(items), list[pytest.Item]()

    def take(item: pytest.Item) -> None:
        if isinstance(item, McptestItem):
            for other in everything[: everything.index(item)]:
                is_near = isinstance(other, McptestItem) and _captures_for(other, item)
                if is_near and other not in chosen:
                    chosen.add(other)
                    take(other)
        found.append(item)

    for item in items:
        take(item)
    return found


def _captures_for(one: McptestItem, other: McptestItem) -> bool:
    """Whether one test captures what the other needs."""
    if one.collected.suite is not other.collected.suite:
        return False
    return bool(one.collected.captures & other.collected.needs)


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
