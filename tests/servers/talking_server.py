"""A server that sends messages of its own: requests, progress, late answers, log messages.

With an argument it writes a banner and a log line to its standard output before anything else.
"""

from __future__ import annotations

import json
import sys
import uuid
from typing import Any

Message = dict[str, Any]

WAITING: list[object] = []


def send(**members: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def ask(method: str, **params: Any) -> Message:
    """Ask the client, and wait for its answer."""
    id = uuid.uuid4().hex[:8]
    send(id=id, method=method, params=params)
    answer = json.loads(sys.stdin.readline())
    assert answer["id"] == id, "the client answers what it was asked"
    result: Message = answer["result"]
    return result


def log(words: str) -> None:
    send(method="notifications/message", params={"level": "info", "data": words})


def answer(id: object, words: str, **beside: Any) -> None:
    send(id=id, result={"content": [{"type": "text", "text": words}], **beside})


def call(id: object, name: str, params: Message) -> None:
    if name == "slow":
        WAITING.append(id)
    elif name == "fast":
        answer(id, "fast")
        while WAITING:
            answer(WAITING.pop(), "slow")
    elif name == "ask":
        said = ask("sampling/createMessage", messages=[], maxTokens=5)["content"]["text"]
        chosen = ask("elicitation/create", message="sure?", requestedSchema={"type": "object"})
        answer(id, f"{said}, {chosen['action']}")
    elif name == "work":
        token = params["_meta"]["progressToken"]
        for step in (1, 2):
            send(method="notifications/progress", params={"progressToken": token, "progress": step})
        answer(id, "done")
        send(method="notifications/tools/list_changed")
        log("after the answer")
    elif name == "add":
        # Digits only, or letters only, would be read as something else.
        note = f"a1{uuid.uuid4().hex[:6]}"
        log(f"adding {note}")
        duration = int(note, 16) % 90
        answer(id, f"Added {note} in {duration} ms", structuredContent={"label": note, "id": note})
    else:
        answer(id, f"{params['arguments']['id']} is here")


def hear(message: Message) -> None:
    method, params, id = message["method"], message.get("params", {}), message.get("id")
    if method == "initialize":
        log("starting")
        version = params["protocolVersion"]
        info = {"name": "talking", "version": "1"}
        send(id=id, result={"protocolVersion": version, "capabilities": {}, "serverInfo": info})
    elif method == "tools/call":
        call(id, params["name"], params)
    elif id is not None:
        send(id=id, result={})


def main() -> None:
    if sys.argv[1:]:
        sys.stdout.write('talking\n{"level": "info"}\n')
    for line in iter(sys.stdin.readline, ""):
        message = json.loads(line)
        for each in message if isinstance(message, list) else [message]:
            hear(each)


if __name__ == "__main__":
    main()
