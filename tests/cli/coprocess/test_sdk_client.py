"""`mcptest.connect`: a server asked from Python, with `with` and with `async with`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from connect_back import PORT_VARIABLE, Listener
from scripted_binary import hello, scripted

import mcptest
from mcptest.sdk.errors import (
    ContractError,
    CoprocessError,
    RefusedError,
    UpstreamError,
    UpstreamGoneError,
)

SERVERS = Path(__file__).parents[2] / "servers"
SERVER = [sys.executable, "-S", "-E", str(SERVERS / "sdk_server.py")]
GONE = [sys.executable, "-c", "raise SystemExit('no server here')"]
PATIENCE_S = 30.0


@pytest.fixture
def home(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> Listener:
    monkeypatch.setenv(PORT_VARIABLE, listener.environment[PORT_VARIABLE])
    return listener


# Calls


def test_everything_a_server_offers_can_be_asked() -> None:
    with mcptest.connect(SERVER) as server:
        assert server.initialize()["serverInfo"] == {"name": "sdk", "version": "1"}
        assert "add" in [tool["name"] for tool in server.list_tools()]
        assert server.list_resources() == [{"uri": "memo://a", "name": "a"}]
        assert server.read_resource("memo://a")["contents"][0]["text"] == "# memo://a"
        prompt = server.get_prompt("greet", {"who": "Ada"})
        assert prompt["messages"][0]["content"]["text"] == "Hi Ada"


def test_a_command_can_be_a_text() -> None:
    with mcptest.connect(" ".join(SERVER)) as server:
        assert server.call_tool("count").text == "1"


def test_a_call_returns_a_verdict() -> None:
    with mcptest.connect(SERVER) as server:
        verdict = server.call_tool("add", {"a": 2, "b": 3})
    assert (verdict.success, verdict.data, verdict.text) == (True, {"sum": 5}, '{"sum": 5}')
    assert verdict.error is None
    assert verdict.duration_ms > 0
    assert verdict.raw["structuredContent"] == {"sum": 5}
    mcptest.expect(verdict).to_succeed().to_match(
        {"content": "match:arrayLength:1", "structuredContent": {"sum": "match:between:4:6"}}
    )


def test_an_error_that_a_tool_reports_is_a_verdict() -> None:
    with mcptest.connect(SERVER) as server:
        verdict = server.call_tool("fail")
    assert (verdict.success, verdict.error) == (False, "it cannot be done")
    mcptest.expect(verdict).to_fail()


def test_a_refusal_has_what_the_server_said() -> None:
    with mcptest.connect(SERVER) as server:
        with pytest.raises(UpstreamError) as caught:
            server.call_tool("refuse")
        assert caught.value.code == -32000
        expected = {"code": -32602, "message": "I would rather not", "data": {"why": "mood"}}
        assert caught.value.data == expected
        assert "I would rather not" in str(caught.value)
        assert server.call_tool("count").success


def test_a_server_that_dies_is_reported_with_what_it_left_behind() -> None:
    with mcptest.connect(SERVER) as server:
        for _ in range(2):
            with pytest.raises(UpstreamGoneError, match="exit status 3") as caught:
                server.call_tool("die", {"words": "out of luck"})
            assert any("last words: out of luck" in note for note in caught.value.__notes__)


def test_a_server_that_does_not_start_raises_on_entering() -> None:
    connection = mcptest.connect(GONE)
    with pytest.raises(UpstreamGoneError) as caught, connection:
        pytest.fail("it was entered")
    assert any("no server here" in note for note in caught.value.__notes__)


@pytest.mark.long
def test_a_call_that_takes_too_long_times_out_in_the_binary_and_the_next_one_works() -> None:
    late = pytest.warns(mcptest.CoprocessWarning, match="answered after its time was up")
    with late, mcptest.connect(SERVER, timeout=1.5) as server:
        with pytest.raises(UpstreamError, match="no answer to tools/call within") as caught:
            server.call_tool("slow", {"ms": 1600})
        assert str(caught.value).endswith("\nit may have taken effect anyway")
        assert server.call_tool("count").text == "2"


def test_folder_and_variables_are_those_of_the_server(tmp_path: Path) -> None:
    with mcptest.connect(SERVER, cwd=str(tmp_path), env={"TOWN": "Ærø"}) as server:
        assert server.call_tool("cwd").text == str(tmp_path)
        assert server.call_tool("env", {"name": "TOWN"}).text == "Ærø"


def test_values_that_are_not_json_are_not_sent() -> None:
    with mcptest.connect(SERVER) as server:
        with pytest.raises(ValueError, match="JSON has no such number"):
            server.call_tool("echo", {"text": float("nan")})
        with pytest.raises(TypeError):
            server.call_tool("echo", {"text": {1, 2}})
        assert server.call_tool("echo", {"text": "Ærø 🙂"}).text == "Ærø 🙂"


def test_a_large_argument_and_a_large_answer_arrive_whole() -> None:
    words = "é" * 1_500_000
    with mcptest.connect(SERVER) as server:
        assert server.call_tool("echo", {"text": words}).text == words


# Cassettes, caching, uploads


def test_a_cassette_is_recorded_and_replayed_without_the_server(tmp_path: Path) -> None:
    cassette = str(tmp_path / "tape.ndjson")
    with mcptest.connect(SERVER, record=cassette) as server:
        recorded = [server.call_tool("count").text for _ in range(2)]
        tools = server.list_tools()
    with mcptest.connect(GONE, replay=cassette) as server:
        assert server.initialize()["serverInfo"]["name"] == "sdk"
        assert [server.call_tool("count").text for _ in range(2)] == recorded == ["1", "2"]
        assert server.list_tools() == tools
        with pytest.raises(UpstreamError, match="not in the cassette"):
            server.call_tool("add", {"a": 1, "b": 2})


def test_the_path_of_a_cassette_is_relative_to_the_test_not_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "server").mkdir()
    monkeypatch.chdir(tmp_path)
    with mcptest.connect(SERVER, cwd="server", record="tape.ndjson"):
        pass
    assert (tmp_path / "tape.ndjson").exists()


def test_the_cassette_can_be_changed_during_a_session(tmp_path: Path) -> None:
    cassette = str(tmp_path / "tape.ndjson")
    with mcptest.connect(SERVER) as server:
        server.set_cassette("record", cassette)
        server.call_tool("count")
        server.set_cassette("off")
        assert server.call_tool("count").text == "2"
        server.set_cassette("replay", cassette)
        assert server.call_tool("count").text == "1"


def test_one_cassette_is_not_recorded_and_replayed_at_once() -> None:
    with pytest.raises(ValueError, match="recorded or replayed"):
        mcptest.connect(SERVER, record="a", replay="b")


def test_a_file_that_is_not_a_cassette_raises_on_entering(tmp_path: Path) -> None:
    (tmp_path / "tape").write_text("[]", encoding="utf-8")
    connection = mcptest.connect(SERVER, replay=str(tmp_path / "tape"))
    with pytest.raises(RefusedError, match="cannot be used to replay"), connection:
        pytest.fail("it was entered")


def test_results_are_kept_for_the_next_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCPTEST_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        with mcptest.connect(SERVER, cache="read_write") as server:
            assert server.call_tool("count", {"a": 1}).text == "1"
            server.set_cache("off")
            assert server.call_tool("count").text in ("1", "2")
    with pytest.raises(ValueError, match=r"cache is one of off, read_write, .*, not 'of'"):
        mcptest.connect(SERVER, cache="of")


def test_calls_are_delivered_when_they_are_asked_for(tmp_path: Path) -> None:
    target = tmp_path / "calls.ndjson"
    with mcptest.connect(SERVER) as server:
        server.upload_to(f"file://{target}")
        server.call_tool("count")
        server.call_tool("fail")
        assert server.flush() == 2
        assert server.flush() == 0
        with pytest.raises(RefusedError, match="target"):
            server.upload_to("ftp://example.org/")
    records = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert [(each["tool"], each["success"]) for each in records] == [
        ("count", True),
        ("fail", False),
    ]


# A binary of another release


@pytest.mark.parametrize(
    ("result", "ask"),
    [
        ({"tools": {}}, lambda server: server.list_tools()),
        ([], lambda server: server.list_tools()),
        ({"resource": []}, lambda server: server.list_resources()),
        ("text", lambda server: server.read_resource("a:b")),
        (None, lambda server: server.get_prompt("a")),
        ({"flushed": "2"}, lambda server: server.flush()),
        ([{"ok": 1}], lambda server: server.call_tool("a")),
        (5, lambda server: server.initialize()),
    ],
)
def test_a_result_of_another_shape_is_contract_drift(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    result: object,
    ask: Callable[[Any], object],
) -> None:
    answers: list[object] = [{"result": {}}, {"result": result}]
    for name, value in scripted(tmp_path, hello(2), *answers).items():
        monkeypatch.setenv(name, value)
    with (
        mcptest.connect(SERVER) as server,
        pytest.raises(ContractError, match="contract drift: the result of mcp"),
    ):
        ask(server)


# Awaited


def test_everything_can_be_awaited(tmp_path: Path) -> None:
    async def talk() -> list[object]:
        async with mcptest.connect(SERVER) as server:
            await server.set_cache("off")
            await server.set_cassette("off")
            await server.upload_to(f"file://{tmp_path / 'calls'}")
            return [
                (await server.initialize())["serverInfo"]["name"],
                (await server.call_tool("add", {"a": 1, "b": 2})).data,
                len(await server.list_tools()) > 3,
                await server.list_resources(),
                (await server.read_resource("memo://a"))["contents"][0]["text"],
                (await server.get_prompt("greet"))["messages"][0]["content"]["text"],
                await server.flush(),
            ]

    assert asyncio.run(talk()) == [
        "sdk",
        {"sum": 3},
        True,
        [{"uri": "memo://a", "name": "a"}],
        "# memo://a",
        "Hi you",
        1,
    ]


def test_calls_that_are_made_at_once_go_out_in_their_order() -> None:
    async def talk() -> list[str | None]:
        async with mcptest.connect(SERVER) as server:
            calls = [server.call_tool("count") for _ in range(40)]
            return [verdict.text for verdict in await asyncio.gather(*calls)]

    assert asyncio.run(talk()) == [str(number) for number in range(1, 41)]


def test_other_work_continues_while_a_call_is_awaited(home: Listener) -> None:
    async def talk() -> bool:
        async with mcptest.connect(SERVER) as server:
            caller = home.next_caller()
            call = asyncio.create_task(server.call_tool("slow", {"ms": 300}))
            # This would never end if the call blocked the loop.
            word = await asyncio.get_running_loop().run_in_executor(None, caller.next_word)
            is_under_way = word == "hangs" and not call.done()
            return is_under_way and (await call).success

    assert asyncio.run(talk())


def test_two_servers_answer_side_by_side() -> None:
    async def talk() -> list[str | None]:
        async with mcptest.connect(SERVER) as one, mcptest.connect(SERVER) as two:
            both = await asyncio.gather(one.call_tool("count"), two.call_tool("count"))
            return [verdict.text for verdict in both]

    assert asyncio.run(talk()) == ["1", "1"]


def test_a_call_that_is_cancelled_is_waited_for_by_the_next_one() -> None:
    async def talk() -> str | None:
        async with mcptest.connect(SERVER) as server:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(server.call_tool("slow", {"ms": 300}), 0.05)
            return (await server.call_tool("count")).text

    assert asyncio.run(talk()) == "2"


def test_leaving_does_not_wait_for_a_call_that_hangs(home: Listener) -> None:
    async def talk() -> BaseException | None:
        async with mcptest.connect(SERVER) as server:
            caller = home.next_caller()
            call = asyncio.create_task(server.call_tool("hang"))
            await asyncio.get_running_loop().run_in_executor(None, caller.next_word)
        with pytest.raises(CoprocessError, match=r"closed before mcp\.call was answered"):
            await call
        assert caller.is_dead_within(PATIENCE_S)
        return call.exception()

    assert isinstance(asyncio.run(talk()), CoprocessError)


def test_a_task_that_is_cancelled_while_entering_leaves_no_process_behind(
    home: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDK_MODE", "no-answer")

    async def talk() -> None:
        entering = asyncio.create_task(mcptest.connect(SERVER).__aenter__())
        caller = await asyncio.get_running_loop().run_in_executor(None, home.next_caller)
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering
        assert caller.is_dead_within(PATIENCE_S)

    asyncio.run(talk())


def test_a_server_that_does_not_start_raises_in_the_task_that_awaits_it() -> None:
    async def talk() -> None:
        async with mcptest.connect(GONE):
            pytest.fail("it was entered")

    with pytest.raises(UpstreamGoneError):
        asyncio.run(talk())
