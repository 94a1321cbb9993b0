"""Matchers and reporters of installed Python packages, found by their entry points.

An entry point in `mcptest.matchers` is a function that is called with `register` and passes it
`Matcher`s; one in `mcptest.reporters` is the class of a reporter. Reading entry points is slow, so
it is done only for names that mcptest itself does not have.

This code runs in our process. Its time is limited, its standard output goes to standard error, and
whatever it raises, the tests run and the other reports are written.
"""

from __future__ import annotations

import re
import sys
import time
from contextlib import redirect_stdout
from functools import cache, partial
from importlib.metadata import distributions

from mcptest.core.errors import CheckError, McptestError, PatternTimeoutError, UsageError
from mcptest.core.results import Fault
from mcptest.core.text import visible
from mcptest.matching.registry import Matcher, Miss, ParameterError
from mcptest.transport.process.signals import CpuLimit, OverdueError, WallLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from importlib.metadata import EntryPoint
    from typing import Any

    from mcptest.core.events import Event
    from mcptest.core.results import LogWish

__all__ = [
    "MATCHERS",
    "REPORTERS",
    "InstalledReporter",
    "installed_matchers",
    "installed_reporters",
    "load_reporter",
    "owner_of",
]

MATCHERS, REPORTERS = "mcptest.matchers", "mcptest.reporters"

# Names that a pattern can begin with.
_NAME = r"(?!not$)[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*"
_MAX_QUOTED = 200

# For importing a package and registering its matchers; for parsing or describing one of them.
_LOAD_LIMIT_S = 30.0
_PARSE_LIMIT_S = 5.0
# Computing time of a reporter for one event, or for rendering.
_REPORTER_CPU_LIMIT_S = 10.0
# Wall time of a reporter: for loading it, and for everything it does during a run.
_REPORTER_WALL_LIMIT_S = 60.0
_LOG_WISHES: tuple[LogWish, ...] = ("", "failures", "all")

# Code of other packages may raise anything; SystemExit must not end the run either.
_ANYTHING = BaseException


def installed_matchers() -> list[Matcher]:
    """Every matcher that an installed package registers, with limits around its code."""
    found: list[Matcher] = []
    for point in _find_entry_points(MATCHERS):
        owner = owner_of(point)
        try:
            # Standard output is for the report.
            with redirect_stdout(sys.stderr), WallLimit(_LOAD_LIMIT_S):
                point.load()(partial(_add_matcher, found, owner))
        except McptestError:
            raise
        except OverdueError:
            raise _unusable(owner, f"loading it took more than {_LOAD_LIMIT_S:g} s") from None
        except _ANYTHING as error:
            raise _unusable(owner, _describe(error)) from error
    return found


def _find_entry_points(group: str) -> Iterator[EntryPoint]:
    """The entry points of a group; packages whose metadata cannot be read have none."""
    seen = set()
    for package in distributions():
        try:
            name, points = package.name, package.entry_points
        except _ANYTHING:
            continue
        # Python imports the first package of a name.
        if name not in seen:
            seen.add(name)
            yield from points.select(group=group)


def owner_of(point: EntryPoint) -> str:
    """The package of an entry point, for messages."""
    package = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"
    return f"the package {visible(package)} ({visible(point.value)})"


def _unusable(owner: str, why: str) -> UsageError:
    return UsageError(f"{owner} cannot be used: {why}", "update it, or uninstall it")


def _add_matcher(found: list[Matcher], owner: str, matcher: Matcher) -> None:
    mistake = _find_mistake(matcher)
    if mistake:
        raise UsageError(f"{owner} registers {mistake}", "update it, or uninstall it")
    found.append(
        matcher.but(
            owner=owner,
            parse=partial(_parse, matcher),
            wants=partial(_wants, matcher),
            check=partial(_check, matcher, owner),
            # Third-party code, so its time is bounded.
            is_slow=True,
            is_foreign=True,
        )
    )


def _find_mistake(matcher: object) -> str:
    """What is wrong with a matcher that a package registers, "" if nothing is."""
    if not isinstance(matcher, Matcher):
        return f"{_cut(repr(matcher))}, which is not a Matcher"
    # Its fields may have any type.
    name: Any = matcher.name
    parameters: Any = matcher.parameters
    if not isinstance(name, str) or not re.fullmatch(_NAME, name):
        return f"a matcher of the name {_cut(repr(name))}, which no pattern can have"
    if not isinstance(parameters, tuple) or not all(isinstance(each, str) for each in parameters):
        return f"the matcher {name!r}, whose parameters are not a tuple of strings"
    if not all(map(callable, (matcher.parse, matcher.wants, matcher.check))):
        return f"the matcher {name!r}, of which parse, wants or check cannot be called"
    if matcher.is_remote:
        return f"the matcher {name!r} with is_remote, which only plugins that are processes are"
    return ""


def _parse(matcher: Matcher, *texts: Any) -> Any:
    try:
        with redirect_stdout(sys.stderr), WallLimit(_PARSE_LIMIT_S):
            return matcher.parse(*texts)
    except ParameterError:
        raise
    except OverdueError:
        why = f"cannot read its parameters: that took more than {_PARSE_LIMIT_S:g} s"
        raise ParameterError(why) from None
    except _ANYTHING as error:
        raise ParameterError(f"cannot read its parameters: {_describe(error)}") from None


def _wants(matcher: Matcher, parameter: Any) -> str:
    try:
        with redirect_stdout(sys.stderr), WallLimit(_PARSE_LIMIT_S):
            return str(matcher.wants(parameter))
    except _ANYTHING:
        # The verdict matters more than this description.
        return f"what the matcher {matcher.name} accepts"


def _check(matcher: Matcher, owner: str, parameter: Any, actual: object) -> Miss | None:
    try:
        with redirect_stdout(sys.stderr):
            found: Any = matcher.check(parameter, actual)
            if found is None:
                return None
            if isinstance(found, Miss):
                # Computed here, where exceptions are handled.
                hint = str(found.hint()) if found.hint else ""
                return Miss(why=str(found.why), hint=lambda: hint)
            if isinstance(found, str):
                return Miss(why=found)
            why = f"returned {_cut(repr(found))}; expected None or a string that says why not"
    except PatternTimeoutError:
        raise
    except _ANYTHING as error:
        why = f"raised {_describe(error)}"
    message = f"the matcher {matcher.name!r} of {owner} {why}"
    raise CheckError(Fault(kind="plugin_failed", message=message))


def _describe(error: BaseException) -> str:
    return _cut(f"{type(error).__name__}: {error}")


def _cut(text: str) -> str:
    return visible(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…")


# Reporters


def installed_reporters(builtin: Collection[str]) -> dict[str, EntryPoint]:
    """The reporters of installed packages, by name; a `UsageError` if one has a builtin name."""
    found = _find_reporters()
    for name in builtin:
        if name in found:
            owners = f"mcptest itself and {owner_of(found[name])}"
            message = f"the reporter {name!r} has two owners: {owners}"
            raise UsageError(message, "uninstall that package")
    return found


@cache
def _find_reporters() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for point in _find_entry_points(REPORTERS):
        other = found.setdefault(point.name, point)
        if other is not point:
            owners = f"{owner_of(other)} and {owner_of(point)}"
            message = f"the reporter {visible(point.name)!r} has two owners: {owners}"
            raise UsageError(message, "uninstall one of them")
    return found


def load_reporter(name: str) -> _ReporterClass:
    """The class of an installed reporter; a `UsageError` if it cannot be used."""
    return _ReporterClass(_find_reporters()[name])


class _ReporterClass:
    """The class that a package names, checked. Calling it makes a reporter."""

    def __init__(self, point: EntryPoint) -> None:
        self._name = f"the reporter {visible(point.name)!r} of {owner_of(point)}"
        self._class: Any = _limited(
            self._name, "cannot be loaded: it", point.load, _REPORTER_WALL_LIMIT_S
        )
        self.wants_log: LogWish = getattr(self._class, "wants_log", "")
        if not isinstance(self._class, type):
            raise UsageError(f"{self._name} cannot be used: it is not a class")
        for method in ("__call__", "render"):
            # Every class is callable itself, so its own attributes are searched.
            if not any(callable(vars(base).get(method)) for base in self._class.__mro__):
                message = f"{self._name} cannot be used: it has no method {method}"
                raise UsageError(message, "it is called with each event, then asked to render()")
        if self.wants_log not in _LOG_WISHES:
            raise UsageError(
                f"{self._name} cannot be used: its wants_log is {_cut(repr(self.wants_log))}",
                'it is "" for no logs, "failures" for those of failed tests, or "all"',
            )

    def __call__(self) -> InstalledReporter:
        limit_s = _REPORTER_WALL_LIMIT_S
        made = _limited(self._name, "cannot be made: it", self._class, limit_s)
        return InstalledReporter(self._name, made)


class InstalledReporter:
    """A reporter of an installed package. Its first error is raised by `render`."""

    def __init__(self, name: str, reporter: Any) -> None:
        self._name = name
        self._reporter = reporter
        self._error: UsageError | None = None
        self._left_s = _REPORTER_WALL_LIMIT_S

    def __call__(self, event: Event) -> None:
        if self._error is None:
            try:
                self._limited(
                    f"failed on {type(event).__name__}: it", partial(self._reporter, event)
                )
            except UsageError as error:
                self._error = error

    def render(self) -> str:
        """The report; a `UsageError` if there is none."""
        if self._error:
            raise self._error
        text = self._limited("could not render: it", self._reporter.render)
        if not isinstance(text, str):
            message = f"{self._name} could not render: it returned {_cut(repr(text))}"
            raise UsageError(message, "render() returns the report as a string")
        return text

    def _limited(self, doing: str, work: Callable[[], Any]) -> Any:
        began = time.monotonic()
        try:
            return _limited(self._name, doing, work, self._left_s)
        finally:
            self._left_s = max(0.0, self._left_s - (time.monotonic() - began))


def _limited(name: str, doing: str, work: Callable[[], Any], wall_limit_s: float) -> Any:
    """What `work` returns; a `UsageError` that names its owner if it fails or takes too long."""
    try:
        clock = WallLimit(wall_limit_s)
        with redirect_stdout(sys.stderr), CpuLimit(_REPORTER_CPU_LIMIT_S), clock:
            return work()
    except OverdueError:
        why = f"took more than {_REPORTER_WALL_LIMIT_S:g} s in all"
    except PatternTimeoutError:
        why = f"took more than {_REPORTER_CPU_LIMIT_S:g} s of computing"
    except _ANYTHING as error:
        why = f"raised {_describe(error)}"
    raise UsageError(f"{name} {doing} {_cut(why)}", "update it, or uninstall it") from None
