"""The suite of this folder, for commands that run no tests: its one server, and its plugins."""

from __future__ import annotations

import os

from mcptest.core.errors import FormatError, UsageError
from mcptest.core.visible import visible
from mcptest.formats.fields import diagnose
from mcptest.formats.suite_parts import read_parts
from mcptest.runner.discovery import SUITE_NAMES, is_suite_name, read_text
from mcptest.runner.loading import Wanted, load_suites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.core.plan import PluginSpec, ServerSpec, Suite

__all__ = ["find_suite", "plugins_of_suite", "server_of_suite"]


def find_suite(config: str = "") -> str:
    """The suite that is named in the place of a config, else that of this folder, or ""."""
    if config:
        return config if is_suite_name(config) and os.path.isfile(config) else ""
    return next((name for name in SUITE_NAMES if os.path.isfile(name)), "")


def server_of_suite(path: str) -> ServerSpec:
    """The only server of a suite; a `UsageError` when it has several, or none."""
    suites, mistakes, _ = load_suites(Wanted(paths=(path,)), os.environ)
    if mistakes:
        raise FormatError(mistakes)
    found = {suite.server.name: suite for suite in suites if suite.server}
    if len(found) != 1:
        names = f"{len(found)} servers: {', '.join(map(visible, found))}" if found else "no server"
        message = f"{visible(path)} has {names}"
        raise UsageError(message, "give the command that starts the server after --")
    [suite] = found.values()
    assert suite.server is not None, "only those with a server were kept"
    _refuse_unset(suite)
    return suite.server


def _refuse_unset(suite: Suite) -> None:
    """What all tests of a server miss is what the server misses."""
    missing = [set(case.needs) for case in suite.cases]
    if missing and set.intersection(*missing):
        raise FormatError(list(set.intersection(*missing)))


def plugins_of_suite(path: str) -> tuple[tuple[PluginSpec, ...], tuple[str, ...]]:
    """The plugins that a suite and its imports declare, and the values of its secrets."""
    folder = os.path.dirname(path) or "."
    parts = read_parts(read_text(path), path, os.path.abspath(folder), _reader(folder))
    mistakes = list(parts.mistakes)
    for part in parts.files:
        mistakes += diagnose(part.document, part.complaints)
    if any(each.severity == "error" for each in mistakes):
        raise FormatError(mistakes)
    plugins = tuple(plugin for part in parts.files for plugin in part.plugins)
    names = [name for part in parts.files for name in _secrets_in(part.top.mapping)]
    return plugins, tuple(os.environ[name] for name in names if os.environ.get(name))


def _reader(folder: str) -> Callable[[str], str]:
    def read(name: str) -> str:
        try:
            return read_text(os.path.join(folder, name))
        except FormatError as error:
            raise ValueError(error.diagnostics[0].message) from None

    return read


def _secrets_in(top: dict[str, object]) -> list[str]:
    """The variables of the environment that hold secrets of a suite."""
    variables = top.get("variables")
    values = variables.values() if isinstance(variables, dict) else ()
    names = [value.get("secret_env") for value in values if isinstance(value, dict)]
    return [name for name in names if isinstance(name, str)]
