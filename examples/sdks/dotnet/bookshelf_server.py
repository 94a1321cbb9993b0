"""A small MCP server over stdio that keeps books on a shelf. Standard library only."""

from __future__ import annotations

import json
import sys
from typing import Any

BOOK = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
TOOLS = [
    {
        "name": "add_book",
        "description": "Puts a book on the shelf.",
        "inputSchema": {
            "type": "object",
            "properties": {"title": {"type": "string"}},
            "required": ["title"],
        },
        "outputSchema": BOOK,
    },
    {
        "name": "find_book",
        "description": "Finds a book by its id.",
        "inputSchema": BOOK,
    },
]
SHELF: list[str] = []


def text(words: str, **more: object) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "add_book":
        SHELF.append(arguments["title"])
        book = {"id": len(SHELF)}
        return text(json.dumps(book), structuredContent=book, isError=False)
    if 0 < arguments["id"] <= len(SHELF):
        return text(SHELF[arguments["id"] - 1], isError=False)
    return text(f"there is no book {arguments['id']}", isError=True)


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "shelf", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    return call(params["name"], params.get("arguments", {})) if method == "tools/call" else {}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message["method"], message.get("params", {}))
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
