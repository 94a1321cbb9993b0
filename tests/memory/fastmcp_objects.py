"""Objects of FastMCP in memory, in an environment that has it; `test_memory_fastmcp.py` runs this.

The package fastmcp and version 1 of the official SDK, which has a FastMCP of its own, are installed
into environments of their own: not every version goes with the SDK that our other tests use.
"""

from __future__ import annotations

import contextlib
import logging
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

import mcptest
from mcptest import expect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

IS_FIRST_SDK = find_spec("mcp_types") is None
ERAS = [""] if IS_FIRST_SDK else ["", "2026-07-28"]
MODULES = ["fastmcp", *(["mcp.server.fastmcp"] if IS_FIRST_SDK else [])]


@pytest.fixture(params=MODULES)
def module(request: pytest.FixtureRequest) -> Any:
    return import_module(request.param)


def adder(module: Any, **settings: Any) -> Any:
    """A server with a tool, a resource, a template and a prompt."""
    server = module.FastMCP("adder", **settings)

    @server.tool()  # type: ignore[untyped-decorator]  # not installed where types are checked
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    @server.tool()  # type: ignore[untyped-decorator]  # as above
    def fail() -> str:
        raise ValueError("no luck")

    @server.resource("note://one")  # type: ignore[untyped-decorator]  # as above
    def one() -> str:
        return "hello"

    @server.prompt()  # type: ignore[untyped-decorator]  # as above
    def greet(name: str) -> str:
        return f"Say hello to {name}"

    return server


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("kind", ["object", "maker"])
def test_everything_can_be_asked(module: Any, kind: str, era: str) -> None:
    target = adder(module) if kind == "object" else lambda: adder(module)
    logging.disable()
    with mcptest.connect_memory(target, spec_version=era) as server:
        assert server.initialize()["serverInfo"]["name"] == "adder"
        assert [tool["name"] for tool in server.list_tools()] == ["add", "fail"]
        assert server.call_tool("add", {"a": 20, "b": 3}).data == {"result": 23}
        expect(server.call_tool("fail")).to_fail()
        assert [each["uri"] for each in server.list_resources()] == ["note://one"]
        assert server.read_resource("note://one")["contents"][0]["text"] == "hello"
        said = server.get_prompt("greet", {"name": "Ada"})["messages"][0]["content"]["text"]
        assert said == "Say hello to Ada"


def test_the_lifespan_is_entered_for_each_connection(module: Any) -> None:
    steps: list[str] = []

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[dict[str, str]]:
        steps.append("begin")
        yield {}
        steps.append("end")

    server = adder(module, lifespan=lifespan)
    for _ in range(2):
        with mcptest.connect_memory(server) as client:
            assert client.call_tool("add", {"a": 1, "b": 1}).data == {"result": 2}
    assert steps == ["begin", "end"] * 2


def test_files_are_run_against_it(module: Any, tmp_path: Path) -> None:
    file = tmp_path / "adder.test.mcp.yml"
    text = """description: "Sums"
tests:
  - it: "adds"
    tool: add
    arguments: { a: 20, b: 3 }
    expect:
      response: { match:partial: { result: { structuredContent: { result: 23 } } } }
"""
    file.write_text(text, encoding="utf-8")
    run = mcptest.run_memory(adder(module), str(file)).raise_for_failures()
    assert (run.passed, run.findings) == (1, ())
    file.write_text(text.replace("result: 23", "result: 24"), encoding="utf-8")
    with pytest.raises(AssertionError, match=r"structuredContent\.result: differs"):
        mcptest.run_memory(adder(module), str(file)).raise_for_failures()


@pytest.mark.parametrize("era", ERAS)
def test_its_app_is_an_asgi_app(module: Any, era: str) -> None:
    def make() -> Any:
        server = adder(module)
        app: Callable[[], Any] = getattr(server, "http_app", None) or server.streamable_http_app
        return app()

    with mcptest.connect_memory(make, spec_version=era) as server:
        assert server.call_tool("add", {"a": 20, "b": 3}).data == {"result": 23}


@pytest.mark.skipif(not IS_FIRST_SDK, reason="the suite tests that of version 2")
def test_the_low_level_class_of_version_1() -> None:
    server = import_module("mcp.server").Server("lowly")
    types = import_module("mcp.types")

    @server.call_tool()  # type: ignore[untyped-decorator]  # as above
    async def call(name: str, arguments: dict[str, Any]) -> list[Any]:
        return [types.TextContent(type="text", text=f"{name} {arguments['a'] + 1}")]

    @server.list_tools()  # type: ignore[untyped-decorator]  # as above
    async def tools() -> list[Any]:
        return [types.Tool(name="more", inputSchema={"type": "object"})]

    with mcptest.connect_memory(server) as client:
        assert client.call_tool("more", {"a": 1}).text == "more 2"


def test_another_object_of_the_package_is_refused_with_the_accepted_ones() -> None:
    with pytest.raises(Exception, match="cannot be tested in memory") as caught:
        mcptest.connect_memory(import_module("fastmcp").Client("http://127.0.0.1:9/mcp"))
    assert "package fastmcp (FastMCP)" in caught.value.help  # type: ignore[attr-defined]  # UsageError
