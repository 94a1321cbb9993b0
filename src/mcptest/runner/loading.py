"""From file names to a plan: read everything, and report every mistake in one go."""

from __future__ import annotations

import os
import time
from functools import partial

from mcptest.core.errors import FormatError, UsageError
from mcptest.core.plan import ServerSpec, Suite
from mcptest.core.record import Record
from mcptest.core.visible import visible
from mcptest.formats.conductor import load_conductor
from mcptest.formats.conductor_config import default_startup_s, load_config
from mcptest.matching.builtins import builtin_registry
from mcptest.runner.discovery import CONFIG_NAMES, find_config, find_suites, read_text
from mcptest.runner.file_format import format_of
from mcptest.runner.selection import Selection, select
from mcptest.wire.cpu_limit import CpuLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import NoReturn

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.matching.registry import Registry

    Loader = Callable[
        [str, str, Registry, Mapping[str, str], Callable[[str], str]],
        tuple[Suite, tuple[Diagnostic, ...]],
    ]

# How long a regular expression may compute while a text is made up for it.
_PATTERN_LIMIT = CpuLimit(1.0)

__all__ = ["Plan", "Unneeded", "Wanted", "load_plan", "load_suites", "placed"]


class Unneeded(dict[str, str]):
    """An environment for those who will start no server: every variable is set."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return ""


class Wanted(Record):
    """What the user asked for, as they wrote it."""

    paths: tuple[str, ...] = ()
    config: str = ""
    server_command: tuple[str, ...] = ()
    selection: Selection = Selection()
    timeout_s: float | None = None
    format: str = ""


class Plan(Record):
    """Everything a run needs to know; nothing has been started yet."""

    suites: tuple[tuple[Suite, ServerSpec], ...]
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def total(self) -> int:
        return sum(len(suite.cases) for suite, _ in self.suites)

    def with_servers(self, change: Callable[[ServerSpec], ServerSpec]) -> Plan:
        """The same plan with every server changed; those that were one stay one."""
        changed = {id(spec): change(spec) for _, spec in self.suites}
        return self.but(suites=tuple((suite, changed[id(spec)]) for suite, spec in self.suites))

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(secret for _, spec in self.suites for secret in spec.secrets)


def load_plan(wanted: Wanted, environment: Mapping[str, str]) -> Plan:
    """Load all files, pick the cases that are wanted, and give each suite its server."""
    mistakes: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    servers = _Servers(wanted, environment, mistakes, warnings)
    # Where the command line names the server, what files say of theirs need not be complete.
    is_named = bool(wanted.server_command or wanted.config)
    known = Unneeded(environment) if is_named else environment
    suites = _load_all(find_suites(wanted.paths), known, mistakes, warnings, wanted.format)
    specs = {suite.file: servers.server_of(suite) for suite in suites}
    if mistakes:
        raise FormatError(mistakes)
    selected = select(suites, wanted.selection)
    paired = [(suite, specs[suite.file] or _no_server(suite)) for suite in selected]
    return Plan(suites=tuple(paired), warnings=tuple(warnings))


def load_suites(
    paths: Iterable[str], environment: Mapping[str, str], format: str = ""
) -> tuple[list[Suite], list[Diagnostic], list[Diagnostic]]:
    """The suites, mistakes and warnings in the files that the paths name.

    Each is read in the format that its name or its text shows, unless one is given.
    """
    mistakes: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    suites = _load_all(find_suites(paths), environment, mistakes, warnings, format)
    return suites, mistakes, warnings


def _load_all(
    files: Iterable[str],
    environment: Mapping[str, str],
    mistakes: list[Diagnostic],
    warnings: list[Diagnostic],
    format: str,
) -> list[Suite]:
    registry = builtin_registry(time.time)
    suites = []
    for file in files:
        try:
            text = read_text(file)
            load = _loader_of(format or format_of(file, text))
            suite, slips = load(text, file, registry, environment, _reader_beside(file))
        except FormatError as error:
            mistakes += error.diagnostics
        else:
            suites.append(suite)
            warnings += slips
    return suites


def _loader_of(format: str) -> Loader:
    if format != "cases":
        return load_conductor
    # Nobody else pays for the reader of whole streams of YAML.
    from mcptest.formats.cases import load_cases  # noqa: PLC0415

    return partial(load_cases, bounded=_PATTERN_LIMIT)


class _Servers:
    """Which server each suite is tested against.

    What the command line says counts most, then what the file itself says, then a config
    in the folder where the command was started, then one beside the file.
    """

    def __init__(
        self,
        wanted: Wanted,
        environment: Mapping[str, str],
        mistakes: list[Diagnostic],
        warnings: list[Diagnostic],
    ) -> None:
        self._wanted = wanted
        self._environment = environment
        self._mistakes = mistakes
        self._warnings = warnings
        self._configs: dict[str, ServerSpec | None] = {}
        self._told = self._from_command_line()
        here = find_config(".")
        # Its mistakes are told with the others, even when no suite gets as far as needing it.
        self._here = self._from_config(here) if here and not self._told else None

    def server_of(self, suite: Suite) -> ServerSpec | None:
        """The server for a suite; None when nobody names one, or it has mistakes."""
        folder = os.path.dirname(suite.file) or "."
        spec = self._told
        if spec is None and suite.server:
            spec = placed(suite.server, folder)
        if spec is None and not self._wanted.config:
            beside = find_config(folder)
            spec = self._here or (self._from_config(beside) if beside else None)
        limit_s = self._wanted.timeout_s
        if spec and suite.format == "cases" and spec.isolation == "run":
            # A contract is a conversation with one process, from its beginning.
            spec = spec.but(isolation="file")
        return spec.but(timeout_s=limit_s) if spec and limit_s else spec

    def _from_command_line(self) -> ServerSpec | None:
        command, config = self._wanted.server_command, self._wanted.config
        if command:
            return ServerSpec(
                name=os.path.basename(command[0]),
                command=command,
                startup_timeout_s=default_startup_s(command[0]),
            )
        if config and not os.path.exists(config):
            raise UsageError(f"there is no config file {visible(config)!r}")
        return self._from_config(config) if config else None

    def _from_config(self, path: str) -> ServerSpec | None:
        if path not in self._configs:
            self._configs[path] = self._read(path)
        return self._configs[path]

    def _read(self, path: str) -> ServerSpec | None:
        try:
            spec, slips = load_config(read_text(path), path, self._environment)
        except FormatError as error:
            self._mistakes += error.diagnostics
            return None
        self._warnings += slips
        return placed(spec, os.path.dirname(path) or ".")


def _no_server(suite: Suite) -> NoReturn:
    block = (
        "a _server: key into its first document"
        if suite.format == "cases"
        else ("a server: block into it")
    )
    raise UsageError(
        f"no server to test {visible(suite.file)} against",
        f"give --config FILE or --server-command, put a {CONFIG_NAMES[0]} in this folder or "
        f"beside the test file, or {block}",
    )


def placed(spec: ServerSpec, folder: str) -> ServerSpec:
    """The server with its working folder made definite.

    A relative `cwd` is taken from the folder of the file that names it; where no such
    folder exists, from where the command was started.
    """
    beside = os.path.normpath(os.path.join(folder, spec.cwd))
    if spec.cwd and not os.path.isdir(beside) and os.path.isdir(spec.cwd):
        beside = spec.cwd
    return spec.but(cwd=os.path.abspath(beside))


def _reader_beside(file: str) -> Callable[[str], str]:
    """Reads what a test file names, relative to its own folder."""

    def read(name: str) -> str:
        try:
            return read_text(os.path.join(os.path.dirname(file), name))
        except FormatError as error:
            raise ValueError(error.diagnostics[0].message) from None

    return read
