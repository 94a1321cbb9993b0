"""Server objects and apps of the official SDK, asked without a process and without a socket."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from mcp.server.mcpserver import Context, MCPServer
from memory_stage import adder, left_clean, lowlevel_adder, small_app, wait_forever
from pydantic import BaseModel

import mcptest
from mcptest.core.errors import ServerError, UsageError
from mcptest.sdk.expect import expect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ERAS = ("", "2025-06-18", "2026-07-28")
TARGETS: dict[str, Callable[[], Any]] = {
    "object": adder,
    "app": lambda: adder().streamable_http_app(),
    "json app": lambda: adder().streamable_http_app(json_response=True),
    "stateless app": lambda: adder().streamable_http_app(stateless_http=True),
    "maker of objects": lambda: adder,
    "maker of apps": lambda: lambda: adder().streamable_http_app(),
}


class _Name(BaseModel):
    name: str


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with left_clean():
        yield


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("kind", TARGETS)
def test_everything_can_be_asked_in_every_era(kind: str, era: str) -> None:
    with mcptest.connect_memory(TARGETS[kind](), spec_version=era) as server:
        hello = server.initialize()
        assert hello["protocolVersion"] == (era or "2025-11-25")
        assert [tool["name"] for tool in server.list_tools()] == ["add", "fail"]
        expect(server.call_tool("add", {"a": 1, "b": 2})).to_succeed()
        assert server.call_tool("add", {"a": 20, "b": 3}).data == {"result": 23}
        expect(server.call_tool("fail")).to_fail()
        assert [each["uri"] for each in server.list_resources()] == ["note://one"]
        assert server.read_resource("note://one")["contents"][0]["text"] == "hello"
        message = server.get_prompt("greet", {"name": "Ada"})["messages"][0]["content"]["text"]
        assert message == "Say hello to Ada"


@pytest.mark.parametrize("era", ["", "2026-07-28"])
def test_a_server_of_the_low_level_class_is_one_too(era: str) -> None:
    with mcptest.connect_memory(lowlevel_adder(), spec_version=era) as server:
        assert server.call_tool("more", {"a": 1}).text == "2"
        # What its handler raises is turned into an answer by the SDK, as over any transport.
        with pytest.raises(mcptest.UpstreamError) as caught:
            server.call_tool("more", {"a": -1})
        assert isinstance(caught.value.data, dict)
        assert "code" in caught.value.data


def test_the_same_can_be_awaited() -> None:
    async def ask() -> list[Any]:
        async with mcptest.connect_memory(adder()) as server:
            calls = (server.call_tool("add", {"a": n, "b": n}) for n in range(3))
            return [verdict.data["result"] for verdict in await asyncio.gather(*calls)]

    assert asyncio.run(ask()) == [0, 2, 4]


def test_a_pending_call_raises_when_the_connection_is_closed() -> None:
    async def ask() -> str:
        connection = mcptest.connect_memory(small_app(lambda message: wait_forever()))
        async with connection as server:
            call = asyncio.ensure_future(server.call_tool("x"))
            await asyncio.sleep(0)
        with pytest.raises(mcptest.CoprocessError) as caught:
            await call
        return str(caught.value)

    assert "closed" in asyncio.run(ask())


def test_the_object_keeps_its_state_and_what_is_made_is_fresh() -> None:
    def counter() -> MCPServer:
        server, seen = MCPServer("counter"), []

        @server.tool()
        def count() -> int:
            seen.append(1)
            return len(seen)

        return server

    def counted(target: Any) -> Any:
        with mcptest.connect_memory(target) as server:
            return server.call_tool("count").data["result"]

    one = counter()
    assert [counted(one), counted(one)] == [1, 2]
    assert [counted(counter), counted(counter)] == [1, 1]


def test_our_answers_reach_a_server_that_asks() -> None:
    server: MCPServer = MCPServer("asking")

    @server.tool()
    async def greet(context: Context) -> str:
        """Asks for a name."""
        found = await context.elicit("Who are you?", schema=_Name)
        assert found.action == "accept"
        return f"Hello, {found.data.name}"

    client = {"elicitation": {"action": "accept", "content": {"name": "Ada"}}}
    with mcptest.connect_memory(server, client=client) as asked:
        assert asked.call_tool("greet").text == "Hello, Ada"


def test_an_app_receives_the_path_and_the_headers_of_the_request() -> None:
    seen: list[dict[str, Any]] = []

    async def answer(message: dict[str, Any]) -> dict[str, Any]:
        seen.append(message["scope"])
        return {"content": []}

    headers = {"X-Key": "17"}
    with mcptest.connect_memory(small_app(answer), path="/a%20b/c?d=e", headers=headers) as server:
        server.call_tool("x")
    scope = seen[0]
    assert (scope["path"], scope["query_string"], scope["method"]) == ("/a b/c", b"d=e", "POST")
    sent = dict(scope["headers"])
    assert (sent[b"x-key"], sent[b"host"]) == (b"17", b"localhost:8000")


def test_a_redirect_of_the_app_is_followed() -> None:
    with mcptest.connect_memory(adder().streamable_http_app(streamable_http_path="/mcp/")) as app:
        assert app.call_tool("add", {"a": 1, "b": 1}).data == {"result": 2}


# Neither sockets nor processes


class _NoSocket(socket.socket):
    """Only the pair with which an event loop wakes itself can be made."""

    def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: Any = None):
        assert family == socket.AF_UNIX, "a socket was opened"
        assert fileno is not None, "a socket was opened"
        super().__init__(family, type, proto, fileno)


@pytest.mark.parametrize("kind", TARGETS)
def test_no_socket_is_opened_and_nothing_is_started(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*words: object, **named: object) -> None:
        raise AssertionError("a process was started")

    target = TARGETS[kind]()
    monkeypatch.setattr(socket, "socket", _NoSocket)
    monkeypatch.setattr(os, "fork", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    with mcptest.connect_memory(target) as server:
        assert server.call_tool("add", {"a": 1, "b": 2}).data == {"result": 3}
    with pytest.raises(AssertionError, match="a socket was opened"):
        socket.socket()


def test_importing_the_package_loads_nothing_of_this() -> None:
    program = "import mcptest, sys; mcptest.__all__; print('asyncio' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    assert done.stdout == "False\n"


# Objects that are not servers


@pytest.mark.parametrize("target", [17, "server.py", object(), None])
def test_an_object_that_is_not_a_server_is_refused_with_the_accepted_kinds(target: object) -> None:
    with pytest.raises(UsageError, match="cannot be tested in memory") as caught:
        mcptest.connect_memory(target)
    assert "ASGI app" in caught.value.help
    assert caught.value.__notes__ == [f"help: {caught.value.help}"]


def test_an_exception_of_the_factory_is_named() -> None:
    def make() -> None:
        raise LookupError("no database")

    with pytest.raises(ServerError, match="LookupError: no database") as caught:
        mcptest.connect_memory(make)
    assert caught.value.fault.kind == "server_raised"


def test_arguments_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match='has no key "root"; did you mean "roots"'):
        mcptest.connect_memory(adder(), client={"root": []})
    with pytest.raises(TypeError, match="client is a dict"):
        mcptest.connect_memory(adder(), client="roots")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ValueError, match="spec_version is one of 2024-11-05, "):
        mcptest.connect_memory(adder(), spec_version="2001-01-01")
    with pytest.raises(ValueError, match="timeout is more than 0"):
        mcptest.connect_memory(adder(), timeout=0)
    with pytest.raises(ValueError, match="path is not the path"):
        mcptest.connect_memory(small_app(lambda message: wait_forever()), path="/a b")


def test_options_only_a_coprocess_has_are_refused_by_name() -> None:
    with (
        mcptest.connect_memory(adder()) as server,
        pytest.raises(mcptest.RefusedError, match="is not available in memory"),
    ):
        server.set_cache("off")


def test_a_connection_that_was_left_answers_nothing() -> None:
    with mcptest.connect_memory(adder()) as server:
        pass
    with pytest.raises(mcptest.ClosedError, match=r"has been closed, so mcp\.listTools"):
        server.list_tools()


def test_threads_may_share_a_connection() -> None:
    found: list[int] = []
    with mcptest.connect_memory(adder()) as server:

        def ask(number: int) -> None:
            found.append(server.call_tool("add", {"a": number, "b": 0}).data["result"])

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert sorted(found) == [0, 1, 2, 3, 4]
