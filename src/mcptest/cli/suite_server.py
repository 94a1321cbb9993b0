"""The suite of this folder, for commands that run no tests: its one server, and its plugins."""

from __future__ import annotations

import os

from mcptest.core.errors import FormatError, UsageError
from mcptest.core.secrets import is_secret
from mcptest.core.text import visible
from mcptest.engine.discovery import SUITE_NAMES, SuiteFolders, is_suite_name, read_text
from mcptest.engine.loading import Wanted, load_suites
from mcptest.formats.keys import diagnose
from mcptest.formats.suite.loader import read_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.core.plan import PluginSpec, ServerSpec

__all__ = ["find_suite", "plugins_of_suite", "server_of_suite"]


def find_suite(config: str = "") -> str:
    """The suite that is named in the place of a config, else that of this folder, or ""."""
    if config:
        return config if is_suite_name(config) and os.path.isfile(config) else ""
    return next((name for name in SUITE_NAMES if os.path.isfile(name)), "")


def server_of_suite(path: str, *, is_found: bool) -> ServerSpec:
    """The only server of a suite; a `UsageError` when it has several, or none.

    `is_found` says that the user did not name the file.
    """
    suites, mistakes, _ = load_suites(Wanted(paths=(path,), is_found=is_found), os.environ)
    if mistakes:
        raise FormatError(mistakes)
    found = {suite.server.name: suite for suite in suites if suite.server}
    if len(found) != 1:
        names = f"{len(found)} servers: {', '.join(map(visible, found))}" if found else "no server"
        message = f"{visible(path)} has {names}"
        raise UsageError(message, "give the command that starts the server after --")
    [suite] = found.values()
    assert suite.server is not None, "only those with a server were kept"
    # What its tests need as well is missed by nobody here.
    if suite.needs:
        raise FormatError(list(suite.needs))
    return suite.server


def plugins_of_suite(
    path: str, *, is_found: bool
) -> tuple[tuple[PluginSpec, ...], tuple[str, ...]]:
    """The plugins that a suite and its imports declare, and the values of its secrets."""
    folder = os.path.abspath(os.path.dirname(path))
    folders = SuiteFolders((path,), is_found=is_found)
    with folders:
        read_beside = folders.reader_beside(path)
        parts = read_parts(read_text(path), path, folder, read_beside, os.path.realpath)
        mistakes = list(parts.mistakes)
        for part in parts.files:
            mistakes += diagnose(part.document, part.complaints)
        if any(each.severity == "error" for each in mistakes):
            raise FormatError(mistakes)
    plugins = tuple(plugin for part in parts.files for plugin in part.plugins)
    keys = ("variables", "servers")
    said = (part.top.mapping.get(key) for part in parts.files for key in keys)
    names = dict.fromkeys(name for value in said for name in _secrets_in(value))
    return plugins, tuple(os.environ[name] for name in names if os.environ.get(name))


def _secrets_in(value: object) -> Iterator[str]:
    """The variables of the environment that hold secrets, wherever they are named in a value."""
    if isinstance(value, list):
        for item in value:
            yield from _secrets_in(item)
    for key, name in value.items() if isinstance(value, dict) else ():
        if not isinstance(name, str):
            yield from _secrets_in(name)
        # What is no secret comes from the environment as well.
        elif is_secret(name, os.environ.get(name)) if key == "from_env" else key.endswith("_env"):
            yield name
