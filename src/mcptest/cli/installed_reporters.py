"""Reporters of Python packages beside us: found by name, and kept from harming a run.

Whatever such a reporter does, the tests run and all other reports are written. It runs in our
own process, so its computing is bounded, and what it prints goes to standard error: standard
output belongs to the report.
"""

from __future__ import annotations

import contextlib
import sys
import time
from functools import cache

from mcptest.cli.report_names import REPORTERS
from mcptest.core.errors import PatternTimeoutError, UsageError
from mcptest.core.text import visible
from mcptest.plugins.installed import installed_reporters, owner_of
from mcptest.wire.cpu_limit import CpuLimit
from mcptest.wire.wall_limit import OverdueError, WallLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint
    from typing import Any

    from mcptest.core.events import Event
    from mcptest.core.outcome import LogWish

__all__ = ["InstalledReporter", "ReporterClass", "find_installed", "load_installed"]

# For one event, and for rendering: a report of any size takes less.
_LIMIT_S = 10.0
# By the clock: for being loaded, and for all that is told to a report and its rendering.
_WALL_LIMIT_S = 60.0
_LOG_WISHES: tuple[LogWish, ...] = ("", "failures", "all")
_MAX_QUOTED = 300


@cache
def find_installed() -> dict[str, EntryPoint]:
    """The reporters of installed packages; a `UsageError` when one takes a name of ours."""
    found = installed_reporters()
    for name in REPORTERS:
        if name in found:
            owners = f"mcptest itself and {owner_of(found[name])}"
            message = f"the reporter {name!r} has two owners: {owners}"
            raise UsageError(message, "uninstall that package")
    return found


class ReporterClass:
    """A reporter's class of somebody else's, used as ours are: calling it makes a reporter."""

    def __init__(self, point: EntryPoint) -> None:
        self.name = f"the reporter {visible(point.name)!r} of {owner_of(point)}"
        self._make: Any = _guarded(self.name, "cannot be loaded: it", point.load)
        self.wants_log: LogWish = getattr(self._make, "wants_log", "")
        if not isinstance(self._make, type):
            raise UsageError(f"{self.name} cannot be used: it is no class")
        for method in ("__call__", "render"):
            # Every class can be called, so what its objects have is looked for.
            if not any(callable(vars(base).get(method)) for base in self._make.__mro__):
                message = f"{self.name} cannot be used: it has no method {method}"
                raise UsageError(message, "it is called with each event, then asked to render()")
        if self.wants_log not in _LOG_WISHES:
            shown = _cut(repr(self.wants_log))
            raise UsageError(
                f'{self.name} cannot be used: its wants_log is {shown}; "" '
                'is nothing, "failures" and "all" are the logs of those tests'
            )

    def __call__(self) -> InstalledReporter:
        made = _guarded(self.name, "cannot be made: it", self._make)
        return InstalledReporter(self.name, made)


class InstalledReporter:
    """One report in the making. What goes wrong is told when the report is wanted."""

    def __init__(self, name: str, reporter: Any) -> None:
        self._name = name
        self._reporter = reporter
        self._trouble: UsageError | None = None
        self._left_s = _WALL_LIMIT_S

    def __call__(self, event: Event) -> None:
        if self._trouble is None:
            doing = f"could not be told of {type(event).__name__}: it"
            try:
                self._guarded(doing, lambda: self._reporter(event))
            except UsageError as trouble:
                self._trouble = trouble

    def render(self) -> str:
        """The report; a `UsageError` when there is none."""
        if self._trouble:
            raise self._trouble
        text = self._guarded("could not render: it", self._reporter.render)
        if not isinstance(text, str):
            message = f"{self._name} could not render: it returned {_cut(repr(text))}"
            raise UsageError(message, "render() returns the report as text")
        return text

    def _guarded(self, doing: str, work: Callable[[], Any]) -> Any:
        began = time.monotonic()
        try:
            return _guarded(self._name, doing, work, self._left_s)
        finally:
            self._left_s = max(0.0, self._left_s - (time.monotonic() - began))


def load_installed(name: str) -> ReporterClass:
    """The class of the reporter of this name; a `UsageError` when it cannot be used."""
    return ReporterClass(find_installed()[name])


def _guarded(name: str, doing: str, work: Callable[[], Any], left_s: float | None = None) -> Any:
    """What somebody else's code returns; a `UsageError` with its owner when it fails."""
    try:
        clock = WallLimit(_WALL_LIMIT_S if left_s is None else left_s)
        with contextlib.redirect_stdout(sys.stderr), CpuLimit(_LIMIT_S), clock:
            return work()
    except OverdueError:
        why = f"took more than {_WALL_LIMIT_S:g} s in all"
    except PatternTimeoutError:
        why = f"took more than {_LIMIT_S:g} s of computing"
    # Leaving is for us to do.
    except BaseException as error:  # noqa: BLE001  # whatever somebody else's code raises
        why = f"raised {type(error).__name__}: {error}"
    raise UsageError(f"{name} {doing} {_cut(why)}", "update it, or uninstall it") from None


def _cut(text: str) -> str:
    return visible(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…")
