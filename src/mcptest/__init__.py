"""mcptest: test Model Context Protocol servers, and the clients that talk to them.

From Python:

    with mcptest.connect(["python3", "server.py"]) as server:
        mcptest.expect(server.call_tool("add", {"a": 1, "b": 2})).to_match({...})
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest._coprocess import Coprocess, CoprocessError
    from mcptest.sdk.client import connect
    from mcptest.sdk.expecting import expect
    from mcptest.sdk.verdict import Verdict

__all__ = ["Coprocess", "CoprocessError", "Verdict", "__version__", "connect", "expect"]

__version__ = "0.1.0"

# Where each name comes from. Nobody pays for what they do not use: most import us to start a
# command, or because pytest does.
_HOMES = {
    "Coprocess": "mcptest._coprocess",
    "CoprocessError": "mcptest._coprocess",
    "Verdict": "mcptest.sdk.verdict",
    "connect": "mcptest.sdk.client",
    "expect": "mcptest.sdk.expecting",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mcptest' has no attribute {name!r}")
    module = __import__(_HOMES[name], fromlist=[name])
    return getattr(module, name)
