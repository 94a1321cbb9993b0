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
BOOKS = {"uri": "shelf://books", "name": "books"}
SHELF: list[str] = []
SUBSCRIBED: set[str] = set()


def text(words: str, **more: object) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "add_book":
        SHELF.append(arguments["title"])
        book = {"id": len(SHELF)}
        if BOOKS["uri"] in SUBSCRIBED:
            notify("notifications/resources/updated", {"uri": BOOKS["uri"]})
        return text(json.dumps(book), structuredContent=book, isError=False)
    if 0 < arguments["id"] <= len(SHELF):
        return text(SHELF[arguments["id"] - 1], isError=False)
    return text(f"there is no book {arguments['id']}", isError=True)


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {"subscribe": True}},
            "serverInfo": {"name": "shelf", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "resources/list":
        return {"resources": [BOOKS]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "\n".join(SHELF)}]}
    if method == "resources/subscribe":
        SUBSCRIBED.add(params["uri"])
    if method == "tools/call":
        token = params.get("_meta", {}).get("progressToken")
        if token is not None:
            progress = {"progressToken": token, "progress": 1, "total": 1}
            notify("notifications/progress", progress)
        return call(params["name"], params.get("arguments", {}))
    return {}


def notify(method: str, params: dict[str, Any]) -> None:
    send({"jsonrpc": "2.0", "method": method, "params": params})


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message["method"], message.get("params", {}))
            send({"jsonrpc": "2.0", "id": message["id"], "result": result})


if __name__ == "__main__":
    main()
