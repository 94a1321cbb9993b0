"""A lending library that fulfils `library.cases.yaml`."""

from __future__ import annotations

import json
import sys
from typing import Any

Message = dict[str, Any]

BOOKS = {"MD-1851": "Moby-Dick", "FR-1818": "Frankenstein"}


def tool(name: str, description: str, argument: str, meaning: str) -> Message:
    properties = {argument: {"type": "string", "description": meaning}}
    schema = {"type": "object", "properties": properties, "required": [argument]}
    return {"name": name, "description": description, "inputSchema": schema}


TOOLS = [
    tool("search", "Finds books by words of their title", "words", "Words of the title"),
    tool(
        "borrow",
        "Lends a book, once the reader has agreed to the date",
        "book",
        "The mark of the book",
    ),
]
# What a reader may call the books.
KEYWORDS = {"whale": "MD-1851", "monster": "FR-1818"}


def send(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def said(text: str, **members: object) -> Message:
    return {"content": [{"type": "text", "text": text}], "isError": False, **members}


def search(words: str) -> Message:
    marks = [mark for word, mark in KEYWORDS.items() if word in words.lower()]
    books = [{"title": BOOKS[mark], "mark": mark} for mark in marks]
    listed = "; ".join(f"{book['title']}, mark {book['mark']}" for book in books)
    return said(listed or "Nothing.", structuredContent={"books": books})


def borrow(book: str) -> Message:
    if book not in BOOKS:
        return said(f"There is no {book}.") | {"isError": True}
    params = {
        "message": "Back by 2030-01-31?",
        "requestedSchema": {"type": "object", "properties": {}},
    }
    send({"id": f"consent-{book}", "method": "elicitation/create", "params": params})
    answer = json.loads(sys.stdin.readline())
    agreed = answer.get("result", {}).get("action") == "accept"
    return said("Enjoy it." if agreed else "Another time, then.")


def call(params: Message) -> Message:
    arguments = params.get("arguments", {})
    if params["name"] == "search":
        return search(arguments["words"])
    return borrow(arguments["book"])


def result_of(method: str, params: Message) -> Message | None:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "library", "version": "1.4.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    return call(params) if method == "tools/call" else None


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        method = message["method"]
        result = result_of(method, message.get("params", {}))
        if result is None:
            send({"id": message["id"], "error": {"code": -32601, "message": f"No {method} here"}})
        else:
            send({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
