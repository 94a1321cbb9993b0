"""A careful server made with the official SDK for Python, of both eras: `… [PORT]`.

Without a port it serves stdio. What it has is complete: annotations, schemas, arguments.
"""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("careful", version="1.0.0")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.resource("note://today", mime_type="text/plain")
def today() -> str:
    """What there is to do today."""
    return "Nothing."


@server.prompt()
def explain(topic: str) -> str:
    """Ask for an explanation."""
    return f"Explain {topic}."


def main(port: str = "") -> None:
    if port:
        server.run("streamable-http", port=int(port))
    else:
        server.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
