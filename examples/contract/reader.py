"""A reader of the library, over HTTP: a client, tried before there is a server.

mcptest mock examples/contract/library.cases.yaml --http 8000
python3 examples/contract/reader.py http://127.0.0.1:8000/mcp
"""

from __future__ import annotations

import json
import sys
import urllib.request
from itertools import count
from typing import Any

REVISION = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    "io.modelcontextprotocol/clientInfo": {"name": "reader", "version": "1.0.0"},
}
IDS = count(1)


def call(url: str, tool: str, arguments: dict[str, str], **more: object) -> Any:
    """The result of a tool; there is no session, so each request says all there is to say."""
    params = {"name": tool, "arguments": arguments, "_meta": ENVELOPE, **more}
    message = {"jsonrpc": "2.0", "id": next(IDS), "method": "tools/call", "params": params}
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    request = urllib.request.Request(url, json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)["result"]


def tell(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")


def main(url: str) -> None:
    found = call(url, "search", {"words": "whale"})
    book = found["structuredContent"]["books"][0]
    tell("found", book["title"])
    wanted = {"book": book["mark"]}
    result = call(url, "borrow", wanted)
    # The library asks back: the same request again, with the answers and its state.
    while result["resultType"] == "input_required":
        answers = {}
        for key, question in result["inputRequests"].items():
            tell("asked", question["params"]["message"])
            answers[key] = {"action": "accept", "content": {}}
        state = result["requestState"]
        result = call(url, "borrow", wanted, inputResponses=answers, requestState=state)
    tell("heard", result["content"][0]["text"])


if __name__ == "__main__":
    main(sys.argv[1])
