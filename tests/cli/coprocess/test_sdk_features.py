"""What a client can ask beyond tools: lists, completions, subscriptions, notifications, stderr.

The same calls for a server that is started, for an object in memory and for an app.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lending_server import make_library
from scripted_binary import hello, scripted

import mcptest
from mcptest import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.sdk.client import Connection

LIBRARY = [sys.executable, str(Path(__file__).parents[2] / "servers" / "lending_server.py")]
PATIENCE_S = 30.0
UPDATED = "notifications/resources/updated"
WAYS: dict[str, Callable[[], Connection]] = {
    "stdio": lambda: mcptest.connect(LIBRARY, startup_timeout=PATIENCE_S),
    "memory": lambda: mcptest.connect_memory(make_library()),
    "app": lambda: mcptest.connect_memory(lambda: make_library().streamable_http_app()),
}


@pytest.mark.parametrize("way", WAYS)
def test_everything_can_be_asked_for(way: str) -> None:
    with WAYS[way]() as server:
        assert [each["name"] for each in server.list_prompts()] == ["review", "praise"]
        templates = server.list_resource_templates()
        assert [each["uriTemplate"] for each in templates] == ["book://{title}"]
        server.ping()
        ref = {"type": "ref/resource", "uri": "book://{title}"}
        found = server.complete(ref, {"name": "title", "value": "Em"})
        assert found["completion"]["values"] == ["Emma"]
        context = {"arguments": {"author": "Austen"}}
        found = server.complete(ref, {"name": "title", "value": "Em"}, context)
        assert found["completion"]["values"] == ["Emma", "Austen"]


@pytest.mark.parametrize("way", WAYS)
def test_progress_is_reported_where_it_is_asked_for(way: str) -> None:
    with WAYS[way]() as server:
        assert server.call_tool("count").progress is None
        verdict = server.call_tool("count", progress=True)
        assert verdict.text == "done"
        expect(verdict.progress).to_match(
            [
                {"progress": 1, "total": 2, "message": "shelf 1"},
                {"progress": 2, "total": 2, "message": "shelf 2"},
            ]
        )
        assert server.call_tool("lend", progress=True).progress == []


@pytest.mark.parametrize("way", WAYS)
def test_notifications_are_listed_and_waited_for(way: str) -> None:
    with WAYS[way]() as server:
        server.call_tool("lend")
        assert server.notifications == []
        server.subscribe("book://emma")
        server.call_tool("lend")
        server.call_tool("lend")
        expected = {"method": UPDATED, "params": {"uri": "book://emma"}}
        # Each is returned once, also if it is here already.
        assert server.wait_for_notification(UPDATED, timeout=PATIENCE_S) == expected
        assert server.wait_for_notification(UPDATED, timeout=PATIENCE_S) == expected
        assert server.notifications == [expected, expected]
        server.unsubscribe("book://emma")
        server.call_tool("lend")
        with pytest.raises(mcptest.UpstreamError) as caught:
            server.wait_for_notification(UPDATED, timeout=0.1)
        assert caught.value.message == f"the server did not send {UPDATED} within 0.1 s"
        assert caught.value.data["kind"] == "timeout"
        assert f"of 2 notifications, it sent {UPDATED}" in str(caught.value)


def test_stderr_can_be_read_at_any_time() -> None:
    with WAYS["stdio"]() as server:
        assert server.stderr == ""
        server.call_tool("whisper", {"words": "first"})
        server.call_tool("whisper", {"words": "second"})
        assert server.stderr == "first\nsecond\n"


def test_a_secret_is_blanked_in_stderr() -> None:
    secret = "s3cr3t-of-the-library"
    given = {"LIBRARY_TOKEN": secret}
    with mcptest.connect(LIBRARY, env=given, startup_timeout=PATIENCE_S) as server:
        server.call_tool("whisper", {"words": f"the token is {secret}"})
        assert server.stderr.startswith("the token is ")
        assert secret not in server.stderr


def test_an_object_in_memory_has_no_stderr() -> None:
    with (
        WAYS["memory"]() as server,
        pytest.raises(mcptest.RefusedError, match="a server in memory has no stderr"),
    ):
        _ = server.stderr


@pytest.mark.long
def test_a_server_that_exits_while_a_notification_is_awaited_is_gone() -> None:
    with WAYS["stdio"]() as server:
        server.call_tool("whisper", {"words": "goodbye"})
        server.call_tool("leave")
        with pytest.raises(mcptest.UpstreamGoneError) as caught:
            server.wait_for_notification(UPDATED, timeout=PATIENCE_S)
        assert caught.value.exit_code == 7
        # What it has said before can still be read.
        assert server.notifications == []
        assert server.stderr == "goodbye\n"
        with pytest.raises(mcptest.UpstreamGoneError, match="was not sent"):
            server.wait_for_notification(UPDATED)


@pytest.mark.parametrize("way", ["stdio", "memory"])
def test_the_same_can_be_awaited(way: str) -> None:
    async def ask() -> list[Any]:
        async with WAYS[way]() as server:
            await server.ping()
            await server.subscribe("book://emma")
            verdict = await server.call_tool("count", progress=True)
            await server.call_tool("lend")
            update = await server.wait_for_notification(UPDATED, timeout=PATIENCE_S)
            await server.unsubscribe("book://emma")
            ref = {"type": "ref/prompt", "name": "review"}
            completed = await server.complete(ref, {"name": "title", "value": "Em"})
            return [
                len(verdict.progress or []),
                update["params"],
                len(await server.notifications),
                completed["completion"]["values"],
                len(await server.list_prompts()),
                len(await server.list_resource_templates()),
            ]

    assert asyncio.run(ask()) == [2, {"uri": "book://emma"}, 3, ["Emma"], 2, 1]


def test_the_stderr_of_a_server_is_awaited_too() -> None:
    async def ask() -> str:
        async with WAYS["stdio"]() as server:
            await server.call_tool("whisper", {"words": "hush"})
            return await server.stderr

    assert asyncio.run(ask()) == "hush\n"


def test_arguments_that_make_no_sense_are_refused() -> None:
    with WAYS["memory"]() as server:
        with pytest.raises(TypeError, match="ref is a dict, not str"):
            server.complete("review", {})  # type: ignore[arg-type]  # on purpose
        with pytest.raises(TypeError, match="context is a dict, not list"):
            server.complete({}, {}, [])  # type: ignore[arg-type]  # on purpose
        with pytest.raises(ValueError, match="timeout is more than 0"):
            server.wait_for_notification(UPDATED, timeout=0)


def test_a_cassette_has_requests_and_progress_but_no_notifications(tmp_path: Path) -> None:
    cassette = tmp_path / "library.ndjson"
    with mcptest.connect(LIBRARY, record=cassette, startup_timeout=PATIENCE_S) as server:
        server.ping()
        recorded = server.call_tool("count", progress=True)
    with mcptest.connect(["no-such-server"], replay=cassette) as server:
        server.ping()
        replayed = server.call_tool("count", progress=True)
        assert (replayed.raw, replayed.progress) == (recorded.raw, recorded.progress)
        with pytest.raises(mcptest.UpstreamError, match="is replayed, and it has no notifications"):
            _ = server.notifications
        with pytest.raises(mcptest.UpstreamError, match="is replayed, and it has no stderr"):
            _ = server.stderr


def test_an_older_binary_is_named_as_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = {"error": {"code": -32601, "message": "there is no method"}}
    for name, value in scripted(tmp_path, hello(2), {"result": {}}, unknown).items():
        monkeypatch.setenv(name, value)
    calls: list[Callable[[Any], object]] = [
        lambda server: server.list_prompts(),
        lambda server: server.list_resource_templates(),
        lambda server: server.complete({}, {}),
        lambda server: server.ping(),
        lambda server: server.subscribe("a:b"),
        lambda server: server.unsubscribe("a:b"),
        lambda server: server.notifications,
        lambda server: server.wait_for_notification("a"),
        lambda server: server.stderr,
        lambda server: server.call_tool("a", progress=True),
    ]
    with mcptest.connect(["server"]) as server:
        for call in calls:
            with pytest.raises(mcptest.VersionError) as caught:
                call(server)
            start = "the mcptest binary 9.9 is too old for this call: it does not know mcp."
            assert str(caught.value).startswith(start)
            assert "upgrade it" in str(caught.value)
