"""The server without a fault, in parts that the faulty ones are made of.

It answers `initialize`, `ping`, `tools/list` and `tools/call`; its one tool, echo,
returns its `text`.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Message = dict[str, Any]
    Handler = Callable[..., None]

MODES: dict[str, Callable[..., None]] = {}

INITIALIZE_RESULT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "logging": {}},
    "serverInfo": {"name": "fault_server", "version": "1"},
}
TOOLS = [{"name": "echo", "inputSchema": {"type": "object"}}]
LOG: Message = {
    "jsonrpc": "2.0",
    "method": "notifications/message",
    "params": {"level": "info", "data": "at work"},
}


def mode(function: Handler) -> Handler:
    """Register a program under its name."""
    MODES[function.__name__.rstrip("_").replace("_", "-")] = function
    return function


def on(method: str) -> Callable[[Handler], Handler]:
    """Register a program that is good except for one method.

    The function gets the request, the line a good server would write, and the arguments.
    """

    def register(function: Handler) -> Handler:
        def run(*arguments: str) -> None:
            serve({method: lambda request: function(request, line_for(request), *arguments)})

        run.__name__ = function.__name__
        run.__wrapped__ = function  # type: ignore[attr-defined]  # as functools.wraps does
        mode(run)
        return function

    return register


def serve(handlers: dict[str, Callable[[Message], None]] | None = None) -> None:
    """Answer everything until stdin ends; the handlers have precedence."""
    for request in incoming():
        handler = (handlers or {}).get(request.get("method", ""))
        if handler:
            handler(request)
        elif "id" in request and "method" in request:
            write(line_for(request))


def incoming() -> Iterator[Message]:
    for line in sys.stdin.buffer:
        yield json.loads(line)


def line_for(request: Message) -> bytes:
    return line_of(answer_to(request)) if "id" in request else b""


def answer_to(request: Message) -> Message:
    answer: Message = {"jsonrpc": "2.0", "id": request["id"]}
    method = request["method"]
    if method == "initialize":
        return answer | {"result": INITIALIZE_RESULT}
    if method == "ping":
        return answer | {"result": {}}
    if method == "tools/list":
        return answer | {"result": {"tools": TOOLS}}
    if method == "tools/call":
        return answer | {"result": text_result(request["params"]["arguments"]["text"])}
    return answer | {"error": {"code": -32601, "message": f"unknown method {method}"}}


def text_result(text: str) -> Message:
    return {"content": [{"type": "text", "text": text}]}


def line_of(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def say(message: object) -> None:
    write(line_of(message))


def write(data: bytes, fd: int = 1) -> None:
    """All of it, however the pipe takes it."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


@mode
def good() -> None:
    serve()
