"""The plugins of a run: starting, asking and stopping them."""

from __future__ import annotations

import time

from mcptest.core.errors import CheckError, UsageError
from mcptest.core.results import Evidence, Fault, Finding
from mcptest.core.text import visible
from mcptest.plugins.host import HostError, PluginCrashed, PluginHost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcptest.core.plan import PluginSpec
    from mcptest.transport.process.guardian import Guardian
    from mcptest.transport.process.signals import Interrupts

__all__ = ["DeclaredPlugins", "PluginManager", "index_plugins"]


class PluginManager:
    """Starts each plugin with the first call to it, and stops all of them with the run."""

    def __init__(self) -> None:
        self._hosts: dict[PluginSpec, PluginHost] = {}
        self._guardian: Guardian | None = None
        self._interrupts: Interrupts | None = None
        # Processes that plugins left behind.
        self.findings: list[Finding] = []

    def open(self, guardian: Guardian, interrupts: Interrupts) -> None:
        """Set what plugins are started with; a forked process calls it again."""
        self._guardian, self._interrupts = guardian, interrupts

    def ask(self, spec: PluginSpec, method: str, params: object) -> object:
        """The result of a call; a `CheckError` if there is none."""
        host = self._hosts.get(spec) or self._host(spec)
        try:
            response = host.call(method, params)
        except HostError as error:
            raise CheckError(_failed(spec, error)) from None
        if response.error:
            error_ = response.error
            message = (
                f"the plugin {spec.name!r} answered {visible(method)!r} with an error: "
                f"code {error_.code}, {visible(error_.message)}"
            )
            raise CheckError(Fault(kind="plugin_failed", message=message))
        return response.result

    def _host(self, spec: PluginSpec) -> PluginHost:
        host = PluginHost(
            spec.command,
            spec.call_timeout_s,
            cwd=spec.cwd,
            guardian=self._guardian,
            interrupts=self._interrupts,
            name=spec.name,
        )
        self._hosts[spec] = host
        return host

    def close(self) -> None:
        """Stop all plugins; without waiting for them if the run was interrupted."""
        at_once = bool(self._interrupts and self._interrupts.count)
        hosts, self._hosts = self._hosts, {}
        # First end the input of all of them, so that they end at the same time.
        for host in hosts.values():
            host.hang_up()
        began = time.monotonic()
        for spec, host in hosts.items():
            host.close(at_once=at_once, waited_s=time.monotonic() - began)
            self.findings += _left_by(spec, host)


class DeclaredPlugins:
    """The plugins that one file may ask; `specs` is called with the first use of one."""

    def __init__(self, manager: PluginManager, specs: Callable[[], Iterable[PluginSpec]]) -> None:
        self._manager = manager
        self._find = specs
        self._found: dict[str, PluginSpec] | None = None

    @property
    def _specs(self) -> dict[str, PluginSpec]:
        if self._found is None:
            self._found = index_plugins(self._find())
        return self._found

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._specs)

    def ask(self, name: str, method: str, params: object) -> object:
        return self._manager.ask(self._specs[name], method, params)


def index_plugins(specs: Iterable[PluginSpec]) -> dict[str, PluginSpec]:
    """The plugins by name; a `UsageError` if two are declared under one name."""
    found: dict[str, PluginSpec] = {}
    for spec in specs:
        other = found.setdefault(spec.name, spec)
        if other is not spec:
            owners = f"{visible(other.owner)} and {visible(spec.owner)}"
            message = f"the plugin {spec.name!r} has two owners: {owners}"
            raise UsageError(message, "give one of them another name")
    return found


def _left_by(spec: PluginSpec, host: PluginHost) -> Iterator[Finding]:
    message = f"the plugin {spec.name!r} left processes behind; they were killed"
    for pid, command in host.left_behind.items():
        quote = f"{pid}: {visible(command)}"
        yield Finding(kind="left_behind", server="", message=message, quote=quote)


def _failed(spec: PluginSpec, error: HostError) -> Fault:
    stderr = error.stderr if isinstance(error, PluginCrashed) else ""
    return Fault(
        kind="plugin_failed",
        message=f"the plugin {spec.name!r} failed ({type(error).__name__}): {error.message}",
        hint=error.hint,
        evidence=Evidence(command=spec.command, cwd=spec.cwd, stderr_tail=stderr),
    )
