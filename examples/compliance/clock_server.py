"""A small MCP server on stdio that keeps to the specification: a clock, and a tool that waits."""

from __future__ import annotations

import json
import sys
import threading
from datetime import UTC, datetime
from typing import Any

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
READ_ONLY = {"readOnlyHint": True}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "now",
        "description": "The time in UTC.",
        "inputSchema": {
            "type": "object",
            "properties": {"format": {"enum": ["iso", "unix"]}},
            "required": ["format"],
            "additionalProperties": False,
        },
        "annotations": READ_ONLY,
    },
    {
        "name": "wait",
        "description": "Wait for some seconds.",
        "inputSchema": {
            "type": "object",
            "properties": {"seconds": {"type": "number", "minimum": 0, "maximum": 60}},
            "required": ["seconds"],
            "additionalProperties": False,
        },
        "annotations": READ_ONLY,
    },
]

writing = threading.Lock()
# The calls under way: an event that ends each of them.
waiting: dict[object, threading.Event] = {}


class RefusedError(Exception):
    """A request that gets an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def send(message: dict[str, Any]) -> None:
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def main() -> None:
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            send({"id": None, "error": {"code": -32700, "message": "this is not JSON"}})
            continue
        receive(message)
    for event in list(waiting.values()):
        event.set()


def receive(message: object) -> None:
    is_message = isinstance(message, dict) and message.get("jsonrpc") == "2.0"
    if not isinstance(message, dict) or not is_message or "method" not in message:
        if not (isinstance(message, dict) and ("result" in message or "error" in message)):
            send({"id": None, "error": {"code": -32600, "message": "this is no request"}})
        return
    if "id" not in message:
        if message["method"] == "notifications/cancelled":
            cancel(message.get("params"))
        return
    id = message["id"]
    if isinstance(id, bool) or not isinstance(id, (str, int)):
        send({"id": None, "error": {"code": -32600, "message": "an id is a string or an integer"}})
        return
    params = message.get("params", {})
    try:
        if not isinstance(params, dict):
            raise RefusedError(-32602, "params must be an object")
        answer(id, message["method"], params)
    except RefusedError as error:
        send({"id": id, "error": {"code": error.code, "message": str(error)}})


def answer(id: object, method: str, params: dict[str, Any]) -> None:
    if method == "initialize":
        asked = params.get("protocolVersion")
        info = {"name": "clock", "version": "1.0.0"}
        version = asked if asked in VERSIONS else VERSIONS[-1]
        result: dict[str, Any] = {"protocolVersion": version, "capabilities": {"tools": {}}}
        send({"id": id, "result": {**result, "serverInfo": info}})
    elif method == "ping":
        send({"id": id, "result": {}})
    elif method == "tools/list":
        if "cursor" in params:
            raise RefusedError(-32602, "there is only one page")
        send({"id": id, "result": {"tools": TOOLS}})
    elif method == "tools/call":
        call(id, params.get("name"), params.get("arguments", {}))
    else:
        raise RefusedError(-32601, f"there is no method {method!r}")


def call(id: object, name: object, arguments: object) -> None:
    if name not in [tool["name"] for tool in TOOLS]:
        raise RefusedError(-32602, f"there is no tool {name!r}")
    problem = find_problem(str(name), arguments)
    if problem:
        content = [{"type": "text", "text": problem}]
        send({"id": id, "result": {"content": content, "isError": True}})
        return
    assert isinstance(arguments, dict)
    if name == "wait":
        threading.Thread(target=wait, args=(id, arguments["seconds"])).start()
        return
    time = datetime.now(UTC)
    text = time.isoformat() if arguments["format"] == "iso" else str(int(time.timestamp()))
    send({"id": id, "result": {"content": [{"type": "text", "text": text}]}})


def find_problem(name: str, arguments: object) -> str:
    """What is wrong with the arguments of a call, "" if nothing is."""
    if not isinstance(arguments, dict):
        return "arguments must be an object"
    (needed,) = next(tool for tool in TOOLS if tool["name"] == name)["inputSchema"]["required"]
    if set(arguments) != {needed}:
        return f"{name} takes the argument {needed}, and no other"
    value = arguments[needed]
    if name == "now":
        return "" if value in ("iso", "unix") else "format must be iso or unix"
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "" if is_number and 0 <= value <= 60 else "seconds must be a number from 0 to 60"


def wait(id: object, seconds: float) -> None:
    waiting[id] = threading.Event()
    is_cancelled = waiting[id].wait(seconds)
    del waiting[id]
    if not is_cancelled:
        send({"id": id, "result": {"content": [{"type": "text", "text": f"{seconds} s later"}]}})


def cancel(params: object) -> None:
    id = params.get("requestId") if isinstance(params, dict) else None
    if isinstance(id, (str, int)) and id in waiting:
        waiting[id].set()


main()
