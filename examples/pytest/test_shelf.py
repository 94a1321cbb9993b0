"""The same server, asked from Python."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

import mcptest
from mcptest.sdk.expect import expect


@pytest.fixture(scope="session")
def mcp_server_command() -> list[str]:
    """Which server the fixtures start; for a whole project this is in a conftest.py."""
    return [sys.executable, str(Path(__file__).parent / "shelf_server.py")]


def test_a_book_is_found_again(mcptest_session: mcptest.Client) -> None:
    added = mcptest_session.call_tool("add_book", {"title": "Ulysses"})
    expect(added.data).to_match({"id": 1})
    found = mcptest_session.call_tool("find_book", {"id": 1})
    assert found.text == "Ulysses"


@pytest.mark.parametrize("number", [0, 404])
def test_what_is_not_there_is_an_error(mcptest_client: mcptest.Client, number: int) -> None:
    expect(mcptest_client.call_tool("find_book", {"id": number})).to_fail()


def test_its_tools_are_described(mcptest_client: mcptest.Client) -> None:
    for tool in mcptest_client.list_tools():
        expect(tool["description"]).to_meet({"type": "string", "ends-with": "."})


def test_two_shelves_do_not_share_books(mcp_server_command: list[str]) -> None:
    async def talk() -> list[object]:
        async with (
            mcptest.connect(mcp_server_command) as one,
            mcptest.connect(mcp_server_command) as two,
        ):
            added = [server.call_tool("add_book", {"title": "a"}) for server in (one, two)]
            return [verdict.data for verdict in await asyncio.gather(*added)]

    assert asyncio.run(talk()) == [{"id": 1}, {"id": 1}]
