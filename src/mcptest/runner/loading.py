"""From file names to a plan: read everything, and report every mistake in one go."""

from __future__ import annotations

import os

from mcptest.core.errors import FormatError, NothingSelectedError, UsageError
from mcptest.core.plan import ServerSpec, Suite
from mcptest.core.record import Record
from mcptest.core.visible import visible
from mcptest.formats.conductor import load_conductor
from mcptest.formats.conductor_config import default_startup_s, load_config
from mcptest.matching.builtins import builtin_registry
from mcptest.runner.discovery import CONFIG_NAMES, find_config, find_suites, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest.core.diagnostics import Diagnostic

__all__ = ["Plan", "Wanted", "load_plan", "load_suites"]


class Wanted(Record):
    """What the user asked for, as they wrote it."""

    paths: tuple[str, ...] = ()
    config: str = ""
    server_command: tuple[str, ...] = ()
    filter: str = ""
    timeout_s: float | None = None


class Plan(Record):
    """Everything a run needs to know; nothing has been started yet."""

    suites: tuple[tuple[Suite, ServerSpec], ...]
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def total(self) -> int:
        return sum(len(suite.cases) for suite, _ in self.suites)

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(secret for _, spec in self.suites for secret in spec.secrets)


def load_plan(wanted: Wanted, environment: Mapping[str, str]) -> Plan:
    """Load all files, pick the cases that are wanted, and give each suite its server."""
    mistakes: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    spec = _given_server(wanted, environment, mistakes, warnings)
    suites = _load_all(find_suites(wanted.paths), environment, mistakes, warnings)
    if mistakes:
        raise FormatError(mistakes)
    selected = [_select(suite, wanted.filter) for suite in suites]
    selected = [suite for suite in selected if suite.cases]
    if not selected:
        raise NothingSelectedError(f"no test matches the filter {visible(wanted.filter)!r}")
    paired = tuple((suite, _server_of(suite, spec, wanted)) for suite in selected)
    return Plan(suites=paired, warnings=tuple(warnings))


def load_suites(
    paths: Iterable[str], environment: Mapping[str, str]
) -> tuple[list[Suite], list[Diagnostic], list[Diagnostic]]:
    """The suites, mistakes and warnings in the files that the paths name."""
    mistakes: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    suites = _load_all(find_suites(paths), environment, mistakes, warnings)
    return suites, mistakes, warnings


def _load_all(
    files: Iterable[str],
    environment: Mapping[str, str],
    mistakes: list[Diagnostic],
    warnings: list[Diagnostic],
) -> list[Suite]:
    registry = builtin_registry()
    suites = []
    for file in files:
        try:
            suite, slips = load_conductor(read_text(file), file, registry, environment)
        except FormatError as error:
            mistakes += error.diagnostics
        else:
            suites.append(suite)
            warnings += slips
    return suites


def _given_server(
    wanted: Wanted,
    environment: Mapping[str, str],
    mistakes: list[Diagnostic],
    warnings: list[Diagnostic],
) -> ServerSpec | None:
    """The server of the command line or of the config file, if there is one."""
    if wanted.server_command:
        command = wanted.server_command
        return ServerSpec(
            name=os.path.basename(command[0]),
            command=command,
            startup_timeout_s=default_startup_s(command[0]),
        )
    path = wanted.config or find_config(".")
    if not path:
        return None
    if wanted.config and not os.path.exists(path):
        raise UsageError(f"there is no config file {visible(path)!r}")
    try:
        spec, slips = load_config(read_text(path), path, environment)
    except FormatError as error:
        mistakes += error.diagnostics
        return None
    warnings += slips
    return _placed(spec, os.path.dirname(path) or ".")


def _server_of(suite: Suite, given: ServerSpec | None, wanted: Wanted) -> ServerSpec:
    is_told = bool(wanted.server_command or wanted.config)
    spec = given
    # A file's own server gives way to the command line, not to a config that lies about.
    if suite.server and not is_told:
        spec = _placed(suite.server, os.path.dirname(suite.file) or ".")
    if spec is None:
        raise UsageError(
            f"no server to test {visible(suite.file)} against",
            "give --config FILE or --server-command, put a "
            f"{CONFIG_NAMES[0]} in this folder, or a server: block in the test file",
        )
    return spec.but(timeout_s=wanted.timeout_s) if wanted.timeout_s else spec


def _placed(spec: ServerSpec, folder: str) -> ServerSpec:
    """The server with its working folder made definite.

    A relative `cwd` is taken from the folder of the file that names it; where no such
    folder exists, from where the command was started.
    """
    beside = os.path.normpath(os.path.join(folder, spec.cwd))
    if spec.cwd and not os.path.isdir(beside) and os.path.isdir(spec.cwd):
        beside = spec.cwd
    return spec.but(cwd=os.path.abspath(beside))


def _select(suite: Suite, filter: str) -> Suite:
    """The suite with the cases whose name, or whose suite's name, holds the text."""
    if not filter or filter.casefold() in suite.name.casefold():
        return suite
    wanted = filter.casefold()
    return suite.but(cases=tuple(case for case in suite.cases if wanted in case.name.casefold()))
