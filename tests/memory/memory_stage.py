"""Servers in memory, good and bad, and the insistence that no thread of theirs is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.message import SessionMessage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

__all__ = [
    "HELLO",
    "BadServer",
    "adder",
    "answered",
    "json_answer",
    "left_clean",
    "lowlevel_adder",
    "respond",
    "shake_hands",
    "small_app",
    "wait_forever",
    "write_test",
]

# Longer than anything takes that works.
PATIENCE_S = 20.0

Send = Any
Receive = Any
Scope = dict[str, Any]


def adder() -> MCPServer:
    """A server made with the high-level class."""
    server: MCPServer = MCPServer("adder")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    @server.tool()
    async def fail() -> str:
        """Never works."""
        raise ValueError("no luck")

    @server.resource("note://one")
    def one() -> str:
        return "hello"

    @server.prompt()
    def greet(name: str) -> str:
        return f"Say hello to {name}"

    return server


def lowlevel_adder() -> Server[Any]:
    """The same made with the low-level class; its handler raises for numbers below 0."""

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
        return types.ListToolsResult(tools=[types.Tool(name="more", input_schema=schema)])

    async def call_tool(context: Any, params: Any) -> types.CallToolResult:
        number = params.arguments["a"]
        if number < 0:
            raise LookupError("below nothing")
        text = types.TextContent(type="text", text=str(number + 1))
        return types.CallToolResult(content=[text])

    return Server("lowly", on_list_tools=list_tools, on_call_tool=call_tool)


class BadServer:
    """Has what a low-level server is recognised by; `act` is all that it does."""

    name = "bad"

    def __init__(self, act: Callable[[Any, Any], Awaitable[None]]) -> None:
        self._act = act
        self.runs = 0

    def create_initialization_options(self) -> None:
        """It takes none."""

    async def run(self, read: Any, write: Any, options: None) -> None:
        self.runs += 1
        await self._act(read, write)


async def answered(write: Any, id: int | str, result: dict[str, Any]) -> None:
    """Write an answer, as the SDK has them."""
    await write.send(SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=id, result=result)))


HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "bad", "version": "1"},
}


async def shake_hands(read: Any, write: Any) -> None:
    """Answer initialize, and take what completes the handshake."""
    first = await read.receive()
    await answered(write, first.message.id, HELLO)
    await read.receive()


def small_app(answer: Callable[[dict[str, Any]], Awaitable[Any]]) -> Any:
    """A tiny ASGI app: initialize is answered here, everything else by `answer`.

    An answer is a result, or what is sent whole: (status, body).
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", scope["type"]
        if scope["method"] != "POST":
            await respond(send, 405, b"")
            return
        request = types.jsonrpc_message_adapter.validate_json((await receive())["body"])
        asked = request.model_dump(by_alias=True)
        if "id" not in asked:
            await respond(send, 202, b"")
        elif asked["method"] == "initialize":
            await respond(send, 200, json_answer(asked["id"], HELLO))
        else:
            outcome = await answer({"id": asked["id"], "scope": scope, "send": send, **asked})
            if isinstance(outcome, dict):
                await respond(send, 200, json_answer(asked["id"], outcome))

    return app


async def respond(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def json_answer(id: int | str, result: dict[str, Any]) -> bytes:
    answer = types.JSONRPCResponse(jsonrpc="2.0", id=id, result=result)
    return answer.model_dump_json(by_alias=True).encode()


@contextlib.contextmanager
def left_clean() -> Iterator[None]:
    """Every thread that was begun inside ends, and no handle is left open."""
    threads, handles = set(threading.enumerate()), _handles()
    yield
    for thread in set(threading.enumerate()) - threads:
        # Ours must be gone; workers of others, which theirs had, end a moment after their loops.
        thread.join(0 if thread.name == "mcptest-memory" else PATIENCE_S)
    assert set(threading.enumerate()) <= threads, "a thread is left"
    assert _handles() == handles, "a handle is left"


def _handles() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def write_test(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


async def wait_forever() -> None:
    await asyncio.Event().wait()
