"""A server on Streamable HTTP, of both eras, made with the SDK of others: `… PORT [json]`."""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("sdk", version="1")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def main(port: str, form: str = "") -> None:
    server.run("streamable-http", port=int(port), json_response=form == "json")


if __name__ == "__main__":
    main(*sys.argv[1:])
