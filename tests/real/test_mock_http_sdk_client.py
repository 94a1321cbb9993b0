"""The official Python SDK as the client of a mock over HTTP, in both eras of the protocol."""

from __future__ import annotations

import contextlib
import select
import subprocess
import sys
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.subscriptions import ToolsListChanged

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp.client.context import ClientRequestContext

PATIENCE_S = 60

CONTRACT = """
case: Opens the session
in: {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
     "capabilities": {}, "clientInfo": {"name": "somebody else", "version": "1"}}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {"tools": {"listChanged": true},
      "resources": {}, "prompts": {}}, "serverInfo": {"name": "from the contract", "version": "7"}}}
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
---
case: Reads a note
in: {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "note://one"}}
out: {"jsonrpc": "2.0", "id": 1, "result": {"contents": [{"uri": "note://one", "text": "first"}]}}
---
case: Grows
in: {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "grow"}}
out: {"jsonrpc": "2.0", "id": 4, "result": {"content": [{"type": "text", "text": "grown"}]}}
out_changed: {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
"""


@contextlib.contextmanager
def mocking(folder: Path) -> Iterator[str]:
    """The address of a mock that is gone afterwards, and whose contract must have been kept."""
    (folder / "contract.yaml").write_text(CONTRACT, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "mcptest", "mock", "contract.yaml", "--http", "0", "--verify"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    assert process.stderr
    try:
        assert select.select([process.stderr], [], [], PATIENCE_S)[0], "the mock tells nothing"
        yield process.stderr.readline().decode("utf-8").rpartition(" ")[2].strip()
        process.terminate()
        _, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, err.decode("utf-8")) == (
            0,
            "mcptest mock: 4 of 4 cases exercised\n",
        )
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        process.stderr.close()


async def elicit(
    context: ClientRequestContext, params: types.ElicitRequestParams
) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada"})


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


async def explore(client: Client) -> None:
    """Do all that is in the contract."""
    received: list[float] = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        received.append(progress)

    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("from the contract", "7")
    assert [tool.name for tool in (await client.list_tools()).tools] == ["ask", "grow"]
    assert text_of(await client.call_tool("ask", progress_callback=progressed)) == "Ada"
    assert received == [0.5]
    (contents,) = (await client.read_resource("note://one")).contents
    assert isinstance(contents, types.TextResourceContents)
    assert contents.text == "first"
    assert text_of(await client.call_tool("grow")) == "grown"


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_a_contract_is_an_ordinary_server_in_each_era(
    tmp_path: Path, mode: str, version: str
) -> None:
    async def visit(url: str) -> None:
        with anyio.fail_after(PATIENCE_S):
            async with Client(url, mode=mode, elicitation_callback=elicit) as client:
                assert client.protocol_version == version
                await explore(client)

    with mocking(tmp_path) as url:
        anyio.run(visit, url)


def test_clients_of_both_eras_at_once(tmp_path: Path) -> None:
    async def visit(url: str) -> None:
        with anyio.fail_after(PATIENCE_S):
            async with (
                Client(url, mode="legacy", elicitation_callback=elicit) as one,
                Client(url, mode="legacy", elicitation_callback=elicit) as two,
                Client(url, elicitation_callback=elicit) as three,
                Client(url, elicitation_callback=elicit) as four,
                anyio.create_task_group() as tasks,
            ):
                for client in (one, two, three, four):
                    tasks.start_soon(explore, client)

    with mocking(tmp_path) as url:
        anyio.run(visit, url)


def test_a_client_with_a_session_receives_changes_on_its_own_stream(tmp_path: Path) -> None:
    async def visit(url: str) -> None:
        changed = anyio.Event()

        async def handle(message: object) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                changed.set()

        with anyio.fail_after(PATIENCE_S):
            async with Client(
                url, mode="legacy", message_handler=handle, elicitation_callback=elicit
            ) as client:
                await explore(client)
                await changed.wait()

    with mocking(tmp_path) as url:
        anyio.run(visit, url)


def test_a_client_without_one_receives_them_when_it_listens(tmp_path: Path) -> None:
    async def visit(url: str) -> None:
        with anyio.fail_after(PATIENCE_S):
            async with (
                Client(url, elicitation_callback=elicit) as client,
                client.listen(tools_list_changed=True) as changes,
            ):
                await explore(client)
                assert await anext(aiter(changes)) == ToolsListChanged()

    with mocking(tmp_path) as url:
        anyio.run(visit, url)
