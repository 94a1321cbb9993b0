"""mcptest: test Model Context Protocol servers, and the clients that talk to them.

From Python:

    with mcptest.connect(["python3", "server.py"]) as server:
        mcptest.expect(server.call_tool("add", {"a": 1, "b": 2})).to_match({...})
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.sdk.client import AsyncClient, Client, connect
    from mcptest.sdk.coprocess import Coprocess
    from mcptest.sdk.errors import (
        BinaryError,
        ClosedError,
        ContractError,
        CoprocessError,
        CoprocessWarning,
        OverdueError,
        RefusedError,
        UpstreamError,
        UpstreamGoneError,
        VersionError,
    )
    from mcptest.sdk.expect import BadExpectationError, Verdict, expect
    from mcptest.sdk.memory import MemoryRun, connect_memory, run_memory

__all__ = [
    "AsyncClient",
    "BadExpectationError",
    "BinaryError",
    "Client",
    "ClosedError",
    "ContractError",
    "Coprocess",
    "CoprocessError",
    "CoprocessWarning",
    "MemoryRun",
    "OverdueError",
    "RefusedError",
    "UpstreamError",
    "UpstreamGoneError",
    "Verdict",
    "VersionError",
    "__version__",
    "connect",
    "connect_memory",
    "expect",
    "run_memory",
]

__version__ = "0.1.0"

# Where each name comes from. Modules are imported when a name is used: most programs
# import us only to start a command, or because pytest does.
_HOMES = {
    "AsyncClient": "mcptest.sdk.client",
    "BadExpectationError": "mcptest.sdk.expect",
    "BinaryError": "mcptest.sdk.errors",
    "Client": "mcptest.sdk.client",
    "ClosedError": "mcptest.sdk.errors",
    "ContractError": "mcptest.sdk.errors",
    "Coprocess": "mcptest.sdk.coprocess",
    "CoprocessError": "mcptest.sdk.errors",
    "CoprocessWarning": "mcptest.sdk.errors",
    "MemoryRun": "mcptest.sdk.memory",
    "OverdueError": "mcptest.sdk.errors",
    "RefusedError": "mcptest.sdk.errors",
    "UpstreamError": "mcptest.sdk.errors",
    "UpstreamGoneError": "mcptest.sdk.errors",
    "Verdict": "mcptest.sdk.expect",
    "VersionError": "mcptest.sdk.errors",
    "connect": "mcptest.sdk.client",
    "connect_memory": "mcptest.sdk.memory",
    "expect": "mcptest.sdk.expect",
    "run_memory": "mcptest.sdk.memory",
}


# Type checkers have seen the imports above; a name that is not there is a mistake to them.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'mcptest' has no attribute {name!r}")
        module = __import__(_HOMES[name], fromlist=[name])
        return getattr(module, name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
