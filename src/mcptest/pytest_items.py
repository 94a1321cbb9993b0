"""Test files of mcptest as pytest items: a file, its servers, their tests.

Loaded with the first file that may hold tests: few projects have such files.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from mcptest._collect import collect, node_names, told_mistakes
from mcptest._coprocess import CoprocessError
from mcptest.core.diagnostics import render_diagnostic
from mcptest.core.errors import FormatError, McptestError, UsageError
from mcptest.core.secrets import redactor
from mcptest.core.text import defuse, visible
from mcptest.pytest_between import drivers_of, is_alone
from mcptest.pytest_plugin import NOTE, McptestWarning
from mcptest.sdk.drivable import NotDrivableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mcptest._collect import Collected, Collection
    from mcptest.core.outcome import CaseResult

_IMPORTED = pytest.StashKey[set[str]]()
_TAGS = pytest.StashKey[set[str]]()

_COLUMNS = 80
_APART = "--dist loadfile of pytest-xdist keeps the tests of a file in one process"

# Marks that do something; a tag of that name only names.
_RESERVED = frozenset(["filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"])
# So are words of -m itself.
_RESERVED |= {"and", "or", "not", "True", "False", "None"}
# Marks that may keep a test from being run.
_STOPPERS = frozenset(["skip", "skipif", "xfail"])


class _ToldError(Exception):
    """What is said of a test; nothing in it is a command to a CI system that shows it."""

    def __init__(self, text: str) -> None:
        super().__init__(defuse(text))


class MismatchError(_ToldError):
    """An expectation of a test file that was not met."""


class BrokenError(_ToldError):
    """A test of a file that could not be run to its end."""


# So that a summary line begins with these names, and not with that of a module.
MismatchError.__module__ = BrokenError.__module__ = "builtins"


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
        drivers = drivers_of(self.config)
        for suite, spec in collection.suites:
            drivers.expect(suite, spec)
        group = McptestGroup.of(self, "mcptest", collection.tests)
        group.add_marker("mcptest")
        yield group

    def _read(self) -> Collection:
        path = os.path.relpath(self.path)
        try:
            found = collect(path)
        except FormatError as error:
            raise self.CollectError(defuse(told_mistakes(error.diagnostics, path))) from None
        except UsageError as error:
            # The command has options for it, and pytest has not.
            help = error.help.removeprefix("give --config FILE or --server-command, ")
            raise self.CollectError(defuse(f"{error.message}\n{help}".rstrip("\n"))) from None
        except McptestError as error:
            raise self.CollectError(defuse(str(error))) from None
        for doubtful in found.warnings:
            self.warn(McptestWarning(defuse(render_diagnostic(doubtful))))
        return found

    def teardown(self) -> None:
        for file in self.files:
            drivers_of(self.config).finish_file(file)


class McptestGroup(pytest.Collector):
    """The tests of a file, or of one server in it: so `FILE::mcptest::SERVER::TEST` finds one."""

    tests: Sequence[Collected] = ()

    @classmethod
    def of(cls, parent: pytest.Collector, name: str, tests: Sequence[Collected]) -> McptestGroup:
        group: McptestGroup = cls.from_parent(parent, name=name)
        group.tests = tests
        return group

    def collect(self) -> Iterator[pytest.Collector | pytest.Item]:
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
            item.add_marker(pytest.mark.skip(reason=defuse(visible(collected.skip))))
        return item

    def runtest(self) -> None:
        one = self.collected
        assert one.spoken is not None, "what cannot be run is skipped"
        if one.unset:
            raise BrokenError(told_mistakes(one.unset, one.suite.file))
        following = self._following()
        try:
            result = drivers_of(self.config).perform(one.suite, one.spec, one.spoken, following)
        except CoprocessError as error:
            said = redactor(one.spec.secrets)(f"{type(error).__name__}: {error}")
            raise BrokenError(said) from None
        except NotDrivableError as error:
            pytest.skip(defuse(f"{error}; run: mcptest run {one.suite.file}"))
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
        if after.collected.suite is not self.collected.suite or not is_alone(self.config):
            return None
        is_stopped = any(mark.name in _STOPPERS for mark in after.iter_markers())
        return None if is_stopped else after.collected.spoken.case

    def _note(self, result: CaseResult) -> None:
        """Keep what there is to say of a test that passed all the same."""
        for note in result.notes if result.status == "passed" else ():
            self.user_properties.append((NOTE, defuse(note)))
        if result.is_flaky:
            self.user_properties.append((NOTE, f"flaky: attempt {result.attempts} passed"))

    def _told(self, result: CaseResult) -> str:
        from mcptest.reporters.text import render_result  # noqa: PLC0415  # failures only

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
        drivers_of(self.config).finish_case(self.collected.suite, self.collected.spec)


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
