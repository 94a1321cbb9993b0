"""The official Python SDK on both sides of `mcptest record`: neither may notice it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from mcptest.rules.captures import score_capture

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcp.client.context import ClientRequestContext

    Work = Callable[[ClientSession], Awaitable[list[Any]]]

PATIENCE_S = 60

SERVER = '''
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("recorded", instructions="Ask away.")


class Name(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool()
def fail() -> str:
    raise ValueError("on purpose")


@server.tool()
def much() -> str:
    return "ü" * 1_000_000


@server.tool()
async def work(ctx: Context) -> str:
    for step in range(3):
        await ctx.report_progress(step, 3)
    return "done"


@server.tool()
async def greet(ctx: Context) -> str:
    found = await ctx.elicit(message="Who?", schema=Name)
    return f"Hello {found.data.name}"


@server.resource("note://one")
def note() -> str:
    return "first"


@server.prompt()
def hello(who: str) -> str:
    return f"Say hello to {who}"


server.run("stdio")
'''

# It answers as little as it may, and ignores the end of its input and SIGTERM.
STUBBORN = """
import json, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        server = {"name": "stubborn", "version": "1"}
        version = request["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {}, "serverInfo": server}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
while True:
    signal.pause()
"""


def direct(command: list[str]) -> StdioServerParameters:
    return StdioServerParameters(command=command[0], args=command[1:])


def recorded(command: list[str], file: Path) -> StdioServerParameters:
    words = ["-m", "mcptest", "record", "-o", str(file), "--name", "sdk", "--", *command]
    return StdioServerParameters(command=sys.executable, args=words)


def visited(parameters: StdioServerParameters, work: Work) -> list[Any]:
    """The outcome of some work in a session, in a form that can be compared."""
    seen: list[Any] = []

    async def elicit(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def visit() -> None:
        with anyio.fail_after(PATIENCE_S):
            async with (
                stdio_client(parameters) as (read, write),
                ClientSession(read, write, elicitation_callback=elicit) as session,
            ):
                seen.append(await session.initialize())
                seen.extend(await work(session))

    anyio.run(visit)
    return [each.model_dump() if hasattr(each, "model_dump") else each for each in seen]


def exchanges_of(file: Path, is_ended_by: str = "exit status 0") -> list[dict[str, Any]]:
    """The exchanges of a capture, after a look at the rest of it."""
    capture: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    assert capture["server_label"] == "stdio://sdk"
    assert capture["exit_status"] == is_ended_by
    exchanges: list[dict[str, Any]] = capture["exchanges"]
    assert exchanges[0]["request"]["method"] == "initialize"
    opened = exchanges[0]["response"]["result"]
    assert capture["server_capabilities"] == opened["capabilities"]
    assert capture["protocol_version"] == opened["protocolVersion"]
    for exchange in exchanges:
        # Every request was answered, each by its own answer; notifications by none.
        assert exchange["request"].get("id") == exchange.get("response", {}).get("id")
        assert ("id" in exchange["request"]) == ("response" in exchange)
        assert "noise" not in exchange
    orders = [each["order"]["request"] for each in exchanges]
    assert orders == sorted(orders)
    score = score_capture([capture])
    broken = [each for each in score.sessions[0].verdicts if each.status == "fail"]
    assert broken == []
    assert score.passed
    return exchanges


def methods_of(exchanges: list[dict[str, Any]]) -> list[str]:
    return [each["request"]["method"] for each in exchanges]


@pytest.mark.long
def test_a_session_with_everything_in_it_is_the_same_and_is_captured(tmp_path: Path) -> None:
    steps: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    async def work(session: ClientSession) -> list[Any]:
        steps.clear()
        return [
            await session.list_tools(),
            await session.call_tool("add", {"a": 1, "b": 2}),
            await session.call_tool("fail"),
            await session.call_tool("much"),
            await session.call_tool("work", progress_callback=hear),
            await session.call_tool("greet"),
            await session.list_resources(),
            await session.read_resource("note://one"),
            await session.list_prompts(),
            await session.get_prompt("hello", {"who": "all"}),
            list(steps),
        ]

    script = tmp_path / "server.py"
    script.write_text(SERVER, encoding="utf-8")
    command = [sys.executable, str(script)]
    file = tmp_path / "session.json"
    assert visited(recorded(command, file), work) == visited(direct(command), work)

    exchanges = exchanges_of(file)
    assert methods_of(exchanges)[:3] == ["initialize", "notifications/initialized", "tools/list"]
    called = [each for each in exchanges if each["request"]["method"] == "tools/call"]
    names = [each["request"]["params"]["name"] for each in called]
    assert names == ["add", "fail", "much", "work", "greet"]
    add, _, much, work_, greet = called
    assert add["response"]["result"]["structuredContent"] == {"result": 3}
    assert much["response"]["result"]["content"][0]["text"] == "ü" * 1_000_000
    text = [each["params"]["progress"] for each in work_["server_messages"]]
    assert text == steps == [0, 1, 2]
    (question,) = greet["server_messages"]
    (reply,) = greet["replies"]
    assert question["method"] == "elicitation/create"
    assert (reply["id"], reply["result"]["content"]) == (question["id"], {"name": "Ada"})
    assert greet["response"]["result"]["content"][0]["text"] == "Hello Ada"


@pytest.mark.long
def test_many_calls_at_once_are_answered_and_paired(tmp_path: Path) -> None:
    async def work(session: ClientSession) -> list[Any]:
        results: dict[int, Any] = {}

        async def call(number: int) -> None:
            results[number] = await session.call_tool("add", {"a": number, "b": 1})

        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(call, number)
        return [results[number] for number in range(100)]

    script = tmp_path / "server.py"
    script.write_text(SERVER, encoding="utf-8")
    file = tmp_path / "session.json"
    visited(recorded([sys.executable, str(script)], file), work)
    called = [each for each in exchanges_of(file) if each["request"]["method"] == "tools/call"]
    assert len(called) == 100
    for each in called:
        wanted = each["request"]["params"]["arguments"]["a"] + 1
        assert each["response"]["result"]["structuredContent"] == {"result": wanted}


@pytest.mark.long
def test_the_time_server_of_the_package_index_is_the_same_and_is_captured(tmp_path: Path) -> None:
    async def work(session: ClientSession) -> list[Any]:
        times = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        return [
            await session.list_tools(),
            await session.call_tool("convert_time", times),
            await session.call_tool("get_current_time", {"timezone": "Nowhere/Town"}),
        ]

    command = [sys.executable, "-m", "mcp_server_time"]
    file = tmp_path / "session.json"
    assert visited(recorded(command, file), work) == visited(direct(command), work)
    exchanges = exchanges_of(file)
    assert methods_of(exchanges).count("tools/call") == 2
    assert "T21:00:00" in exchanges[-2]["response"]["result"]["content"][0]["text"]


@pytest.mark.long
def test_a_client_of_the_next_revision_is_served_and_captured(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER, encoding="utf-8")
    file = tmp_path / "session.json"

    async def visit() -> None:
        transport = stdio_client(recorded([sys.executable, str(script)], file))
        with anyio.fail_after(PATIENCE_S):
            async with Client(transport) as client:
                result = await client.call_tool("add", {"a": 1, "b": 2})
                assert result.structured_content == {"result": 3}

    anyio.run(visit)
    capture = json.loads(file.read_text(encoding="utf-8"))
    called = [each for each in capture["exchanges"] if each["request"]["method"] == "tools/call"]
    assert called[0]["response"]["result"]["structuredContent"] == {"result": 3}


@pytest.mark.long
def test_a_server_that_must_be_killed_is_captured_before_the_client_loses_patience(
    tmp_path: Path,
) -> None:
    async def work(session: ClientSession) -> list[Any]:
        return []

    file = tmp_path / "session.json"
    visited(recorded([sys.executable, "-c", STUBBORN], file), work)
    assert methods_of(exchanges_of(file, is_ended_by="killed by SIGKILL"))[0] == "initialize"
