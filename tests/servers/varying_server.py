"""A server whose answers are never the same twice: ids, times, cursors, tokens, durations."""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
import uuid
from typing import Any

Message = dict[str, Any]

NOTES: dict[str, str] = {}
CURSOR = uuid.uuid4().hex


def send(**members: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def text(words: str, **more: Any) -> Message:
    return {"content": [{"type": "text", "text": words}], **more}


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat()


def call(name: str, arguments: Message, meta: Message) -> Message:
    """What a tool answers."""
    if name == "create_note":
        id = str(uuid.uuid4())
        NOTES[id] = arguments["text"]
        note = {"id": id, "createdAt": time.time(), "updated": now(), "pid": os.getpid()}
        return text(json.dumps(note, indent=1), structuredContent=note)
    if name == "read_note":
        words = NOTES.get(arguments["id"])
        if words is None:
            return text("no such note", isError=True)
        return text(f"{words} (read at {now()}, took {os.getpid()} ms)")
    if name == "log_in":
        return text("hello", structuredContent={"accessToken": uuid.uuid4().hex})
    if name == "work":
        for step in (1, 2):
            params = {"progressToken": meta["progressToken"], "progress": step, "total": 2}
            send(method="notifications/progress", params=params)
        return text("done")
    answer = ask("sampling/createMessage", {"messages": [], "maxTokens": 5})
    return text(f"the client said {answer['content']['text']}")


def ask(method: str, params: Message) -> Message:
    """Ask the client, and wait for its answer."""
    id = str(uuid.uuid4())
    send(id=id, method=method, params=params)
    answer = json.loads(sys.stdin.readline())
    assert answer["id"] == id, "the client answers what it was asked"
    result: Message = answer["result"]
    return result


def listed(cursor: object) -> Message:
    if cursor is None:
        return {"tools": [{"name": "create_note", "inputSchema": {}}], "nextCursor": CURSOR}
    assert cursor == CURSOR
    return {"tools": [{"name": "read_note", "inputSchema": {}}]}


def answer(method: str, params: Message) -> Message:
    if method == "initialize":
        info = {"name": "varying", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": info,
        }
    if method == "tools/list":
        return listed(params.get("cursor"))
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}), params.get("_meta", {}))
    return {}


def main() -> None:
    for line in iter(sys.stdin.readline, ""):
        message = json.loads(line)
        if "id" in message:
            send(id=message["id"], result=answer(message["method"], message.get("params", {})))


if __name__ == "__main__":
    main()
