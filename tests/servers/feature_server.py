"""A server with a bit of everything: tools, resources, prompts, and questions to its client.

Its first argument, when there is one, is a file that counts how often `flaky` was called by
any process.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

TOOLS = [
    {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {}, "loud": {}}}},
    {"name": "flaky", "inputSchema": {"type": "object", "properties": {"until": {}}}},
    {"name": "ask", "inputSchema": {"type": "object", "properties": {"method": {}}}},
    {"name": "notify", "inputSchema": {"type": "object", "properties": {"when": {}}}},
    {"name": "sleep", "inputSchema": {"type": "object", "properties": {"ms": {}}}},
    {"name": "new_id", "inputSchema": {"type": "object"}},
    {"name": "signal_parent", "inputSchema": {"type": "object", "properties": {"number": {}}}},
]
LISTS: Message = {
    "tools/list": {"tools": TOOLS},
    "resources/list": {"resources": [{"uri": "memo://one", "name": "one"}]},
    "resources/templates/list": {
        "resourceTemplates": [{"uriTemplate": "memo://notes/{name}", "name": "notes"}]
    },
    "prompts/list": {"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]},
    "ping": {},
}


def say(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words: object) -> Message:
    return {"content": [{"type": "text", "text": words if isinstance(words, str) else str(words)}]}


def nested(levels: int) -> Message:
    return {"x": nested(levels - 1)} if levels else {}


def ask(method: str, params: object) -> object:
    """What the client answers, as its whole result or error."""
    say({"id": f"q-{method}", "method": method, "params": params})
    answer = json.loads(sys.stdin.readline())
    return answer.get("result", answer.get("error"))


def log(data: str) -> None:
    say({"method": "notifications/message", "params": {"level": "info", "data": data}})


def call(name: str, given: Message) -> Message:
    if name == "flaky":
        tally = Path(sys.argv[1])
        count = len(tally.read_text(encoding="utf-8")) + 1 if tally.exists() else 1
        tally.write_text("x" * count, encoding="utf-8")
        return text("ok" if count >= given["until"] else f"not yet, {count}")
    if name == "ask":
        return text(json.dumps(ask(given["method"], given.get("params", {}))))
    if name == "notify":
        log("first")
        log("second")
    if name == "sleep":
        time.sleep(given["ms"] / 1000)
    if name == "signal_parent":
        os.kill(os.getppid(), given["number"])
    if name == "deep":
        return {"structuredContent": nested(given["levels"])}
    if name == "new_id":
        return text("id") | {"structuredContent": {"id": 4711, "name": 'it\'s\n"new"'}}
    return text(given.get("text", ""))


def answer_to(request: Message) -> Message:
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "features", "version": "1"},
            "instructions": json.dumps(params["capabilities"]),
        }
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": f"this is {params['uri']}"}]}
    if method == "prompts/get":
        who = params.get("arguments", {}).get("who", "you")
        content = {"type": "text", "text": f"Hello {who}"}
        return {"messages": [{"role": "user", "content": content}]}
    result: Message = LISTS[method]
    if os.environ.get("ENDLESS_LISTS"):
        return result | {"nextCursor": "again"}
    return result


def main() -> None:
    while line := sys.stdin.readline():
        request = json.loads(line)
        if "id" in request:
            say({"id": request["id"], "result": answer_to(request)})
            given = request.get("params", {}).get("arguments", {})
            if given.get("when") == "later":
                time.sleep(0.05)
                log("late")


if __name__ == "__main__":
    main()
