"""Which server each file is tested against, and which plugins its tests may ask."""

from __future__ import annotations

import os

from mcptest.core.errors import FormatError, UsageError
from mcptest.core.plan import ServerSpec
from mcptest.core.text import visible
from mcptest.formats.conductor_config import default_startup_s, load_config
from mcptest.runner.discovery import find_config, glob_root, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.plan import PluginSpec, Suite
    from mcptest.runner.loading import Wanted

__all__ = ["Servers", "Unneeded", "placed"]


class Unneeded(dict[str, str]):
    """An environment for those who will start no server: every variable is set."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return ""


class Servers:
    """Which server each suite is tested against.

    What the command line says counts most, then what the file itself says, then a config
    in the folder where the command was started, then one beside the file, then one above it, up
    to a folder that the command line names. Further up it is somebody else's.
    """

    def __init__(
        self,
        wanted: Wanted,
        environment: Mapping[str, str],
        mistakes: list[Diagnostic],
        warnings: list[Diagnostic],
    ) -> None:
        self._wanted = wanted
        # Where a command names the server, that of a config need not be complete.
        self._environment = Unneeded(environment) if wanted.server_command else environment
        self._mistakes = mistakes
        self._warnings = warnings
        self._configs: dict[str, ServerSpec | None] = {}
        paths = filter(os.path.isdir, map(glob_root, wanted.paths or (".",)))
        self._named = tuple(map(os.path.abspath, paths))
        self._told = self._from_command_line()
        here = find_config(".")
        # Its mistakes are told with the others, even when no suite gets as far as needing it.
        self._here = self._from_config(here) if here and not self._told else None

    def server_of(self, suite: Suite, suites: Sequence[Suite]) -> ServerSpec | None:
        """The server for a suite; None when nobody names one, or it has mistakes."""
        folder = os.path.dirname(suite.file) or "."
        spec = self._told
        if suite.format == "suite":
            spec = self._instead_of(suite, suites)
        if spec is None and suite.server:
            spec = placed(suite.server, folder)
        if spec is None and not self._wanted.config:
            beside = self._config_near(folder)
            spec = self._here or (self._from_config(beside) if beside else None)
        limit_s = self._wanted.timeout_s
        if spec and suite.format == "cases" and spec.isolation == "run":
            # A contract is a conversation with one process, from its beginning.
            spec = spec.but(isolation="file")
        if spec and self._wanted.spec_version:
            spec = spec.but(spec_version=self._wanted.spec_version)
        return spec.but(timeout_s=limit_s) if spec and limit_s else spec

    def _instead_of(self, suite: Suite, suites: Sequence[Suite]) -> ServerSpec | None:
        """What the command line puts in the place of a suite's own server.

        A suite names its servers itself, so a config, which describes one, is for other files.
        """
        is_told = self._wanted.server_command or self._wanted.server
        if not (self._told and is_told) or suite.server is None:
            return None
        names = {each.server.name for each in suites if each.home == suite.home and each.server}
        if len(names) > 1:
            message = f"{visible(suite.file)} has {len(names)} servers: {', '.join(sorted(names))}"
            option = "--url" if self._wanted.server else "--server-command"
            raise UsageError(f"{option} names one server, and {message}")
        told = self._told
        secrets = (*suite.server.secrets, *told.secrets)
        return suite.server.but(
            command=told.command, cwd=os.getcwd(), http=told.http, secrets=secrets
        )

    def plugins_of(self, file: str) -> tuple[PluginSpec, ...]:
        """The plugins that the tests of a file may ask, in the order of who declared them."""
        config = self._config_of(file)
        return (*self._wanted.plugins, *(config.plugins if config else ()))

    def secrets_of(self, file: str) -> tuple[str, ...]:
        """What the config for a file wants blanked."""
        config = self._config_of(file)
        return config.secrets if config else ()

    def _config_of(self, file: str) -> ServerSpec | None:
        if self._wanted.server_command:
            # It names the server, and says nothing of plugins.
            path = find_config(".") or self._config_near(os.path.dirname(file) or ".")
            return self._from_config(path) if path else None
        config = self._told
        if config is None and not self._wanted.config:
            beside = self._config_near(os.path.dirname(file) or ".")
            config = self._here or (self._from_config(beside) if beside else None)
        return config

    def _config_near(self, folder: str) -> str:
        """The config in a folder, or in the next one above that may be looked into; else ""."""
        found, path = find_config(folder), os.path.abspath(folder)
        while not found and self._is_below_named(path):
            path = os.path.dirname(path)
            found = find_config(path)
            found = os.path.relpath(found) if found and not os.path.isabs(folder) else found
        return found

    def _is_below_named(self, path: str) -> bool:
        return any(path.startswith(named.rstrip(os.sep) + os.sep) for named in self._named)

    def _from_command_line(self) -> ServerSpec | None:
        command, config = self._wanted.server_command, self._wanted.config
        if self._wanted.server:
            startup_s = default_startup_s(command[0]) if command else 0.0
            return self._wanted.server.but(
                command=command,
                cwd=os.getcwd(),
                startup_timeout_s=startup_s or self._wanted.server.startup_timeout_s,
            )
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
        folder = os.path.dirname(path) or "."
        spec = spec.but(plugins=tuple(_at_home(plugin, folder) for plugin in spec.plugins))
        return placed(spec, folder)


def _at_home(plugin: PluginSpec, folder: str) -> PluginSpec:
    """The plugin in the folder of the file that declares it."""
    return plugin.but(cwd=os.path.abspath(folder))


def placed(spec: ServerSpec, folder: str) -> ServerSpec:
    """The server with its working folder, and its file of authorities, made definite.

    A relative `cwd` is taken from the folder of the file that names it; where no such
    folder exists, from where the command was started.
    """
    beside = os.path.normpath(os.path.join(folder, spec.cwd))
    if spec.cwd and not os.path.isdir(beside) and os.path.isdir(spec.cwd):
        beside = spec.cwd
    if spec.http and spec.http.ca_file:
        ca_file = os.path.abspath(os.path.join(folder, spec.http.ca_file))
        spec = spec.but(http=spec.http.but(ca_file=ca_file))
    return spec.but(cwd=os.path.abspath(beside))
