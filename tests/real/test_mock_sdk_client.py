"""The official Python SDK as the client of a mock: it must find an ordinary server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.client.context import ClientRequestContext
    from mcp.client.session import ElicitationFnT

PATIENCE_S = 60

WITHOUT_INITIALIZE = """
case: Adds two numbers
in: {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
     "params": {"name": "add", "arguments": {"a": 1, "b": 2}}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "3"}]}}
---
case: Reads a note
in: {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "note://one"}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"contents": [{"uri": "note://one", "text": "first"}]}}
"""

WITH_INITIALIZE = """
case: Opens the session
in: {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2024-11-05",
     "capabilities": {}, "clientInfo": {"name": "somebody else", "version": "1"}}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18",
      "capabilities": {"tools": {}}, "serverInfo": {"name": "from the contract", "version": "7"}}}
in_initialized: {"jsonrpc": "2.0", "method": "notifications/initialized"}
---
case: Lists its tools
in: {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
out: {"jsonrpc": "2.0", "id": 1, "result": {"tools": [
      {"name": "ask", "inputSchema": {"type": "object"}}]}}
---
case: Asks back before it answers
in: {"jsonrpc": "2.0", "id": 3, "method": "tools/call",
     "params": {"name": "ask", "_meta": {"progressToken": "t"}}}
out_progress: {"jsonrpc": "2.0", "method": "notifications/progress",
               "params": {"progressToken": "t", "progress": 0.5}}
out_question: {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params":
               {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}}
in_answer: {"jsonrpc": "2.0", "id": "q", "result": {"action": "accept",
            "content": {"name": !!bind name}}}
out: {"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text", "text": !!ref name}]}}
"""

MANIFEST = """
name: canned
tools:
  - name: greet
    inputSchema: {type: object, properties: {who: {type: string}}, required: [who]}
    answer: "Hello ${args.who}"
prompts:
  - {name: hello, arguments: [{name: who, required: true}], text: "Say hello to ${args.who}"}
"""


def parameters(folder: Path, text: str) -> StdioServerParameters:
    file = folder / "contract.yaml"
    file.write_text(text, encoding="utf-8")
    words = ["-m", "mcptest", "mock", str(file), "--quiet"]
    return StdioServerParameters(command=sys.executable, args=words)


def visited(
    folder: Path,
    text: str,
    work: Callable[[ClientSession], Awaitable[None]],
    elicit: ElicitationFnT | None = None,
) -> None:
    """Open a session with a mock of this text, and do something in it."""

    async def visit() -> None:
        with anyio.fail_after(PATIENCE_S):
            async with (
                stdio_client(parameters(folder, text)) as (read, write),
                ClientSession(read, write, elicitation_callback=elicit) as session,
            ):
                await work(session)

    anyio.run(visit)


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def test_a_contract_without_initialize_is_an_ordinary_server(tmp_path: Path) -> None:
    async def work(session: ClientSession) -> None:
        opened = await session.initialize()
        assert opened.server_info.name == "contract"
        assert opened.capabilities.tools is not None
        assert opened.capabilities.resources is not None
        assert opened.capabilities.prompts is None
        (tool,) = (await session.list_tools()).tools
        assert (tool.name, tool.input_schema["required"]) == ("add", ["a", "b"])
        result = await session.call_tool("add", {"a": 1, "b": 2})
        assert isinstance(result, types.CallToolResult)
        assert text_of(result) == "3"
        (contents,) = (await session.read_resource("note://one")).contents
        assert isinstance(contents, types.TextResourceContents)
        assert contents.text == "first"

    visited(tmp_path, WITHOUT_INITIALIZE, work)


def test_a_contract_with_initialize_answers_as_it_says_and_may_ask_back(tmp_path: Path) -> None:
    received: list[float] = []

    async def elicit(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        received.append(progress)

    async def work(session: ClientSession) -> None:
        opened = await session.initialize()
        assert (opened.server_info.name, opened.server_info.version) == ("from the contract", "7")
        assert opened.protocol_version == "2025-06-18"
        assert [tool.name for tool in (await session.list_tools()).tools] == ["ask"]
        result = await session.call_tool("ask", progress_callback=progressed)
        assert isinstance(result, types.CallToolResult)
        assert text_of(result) == "Ada"
        assert received == [0.5]

    visited(tmp_path, WITH_INITIALIZE, work, elicit)


def test_a_manifest_is_an_ordinary_server(tmp_path: Path) -> None:
    async def work(session: ClientSession) -> None:
        assert (await session.initialize()).server_info.name == "canned"
        assert [tool.name for tool in (await session.list_tools()).tools] == ["greet"]
        result = await session.call_tool("greet", {"who": "you"})
        assert isinstance(result, types.CallToolResult)
        assert text_of(result) == "Hello you"
        (prompt,) = (await session.list_prompts()).prompts
        assert prompt.name == "hello"
        got = await session.get_prompt("hello", {"who": "all"})
        assert isinstance(got, types.GetPromptResult)
        (message,) = got.messages
        assert isinstance(message.content, types.TextContent)
        assert message.content.text == "Say hello to all"

    visited(tmp_path, MANIFEST, work)


def test_a_client_that_asks_for_the_stateless_era_first_is_of_it(tmp_path: Path) -> None:
    async def visit() -> None:
        transport = stdio_client(parameters(tmp_path, WITHOUT_INITIALIZE))
        with anyio.fail_after(PATIENCE_S):
            async with Client(transport) as client:
                assert client.protocol_version == "2026-07-28"
                assert text_of(await client.call_tool("add", {"a": 1, "b": 2})) == "3"

    anyio.run(visit)
