"""The way to a server: over pipes, over HTTP where it has a URL, or inside our own process."""

from __future__ import annotations

from mcptest.wire.stdio import StdioServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from mcptest.core.plan import ServerSpec
    from mcptest.runner.launcher import Launcher
    from mcptest.wire.http_server import HttpServer
    from mcptest.wire.memory_server import MemoryServer

    Wire: TypeAlias = StdioServer | HttpServer | MemoryServer

__all__ = ["wire_to"]


def wire_to(spec: ServerSpec, launcher: Launcher) -> Wire:
    """The server, started if that is our part."""
    if launcher.memory is not None:
        return launcher.memory.wire(spec, launcher.interrupts)
    if spec.http is None:
        return StdioServer(spec, launcher.guardian, launcher.interrupts)
    # Sockets and their library are loaded by those runs alone that have a use for them.
    from mcptest.wire.http_server import HttpServer  # noqa: PLC0415

    return HttpServer(spec, launcher.guardian, launcher.interrupts)
