"""A server on HTTP behind the channel: from a program, from another SDK, from every command."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from console import mcptest as run_mcptest
from exec_client import connected
from raw_http import RawHttp, answer, as_json, hangs_up_after, on, refusal, says

import mcptest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raw_http import Asked, Line

SERVERS = Path(__file__).parents[2] / "servers"
STARTED = [sys.executable, "-S", "-E", str(SERVERS / "raw_http.py"), "{port}"]


@pytest.fixture(autouse=True)
def _without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment of the test run must not affect these tests."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def echo(asked: Asked, line: Line) -> None:
    text = asked.message["params"].get("arguments", {}).get("text", "")
    result = {"content": [{"type": "text", "text": text}]}
    line.send(as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": result}))


@pytest.fixture
def server() -> Iterator[RawHttp]:
    with RawHttp(on("tools/call", echo)) as running:
        yield running


# From a program


def test_a_server_at_a_url_is_asked_like_any_other(server: RawHttp) -> None:
    with mcptest.connect(url=server.url) as client:
        assert client.call_tool("echo", {"text": "a"}).text == "a"
        assert [tool["name"] for tool in client.list_tools()] == ["echo"]
        assert client.initialize()["serverInfo"]


def test_so_is_it_where_calls_are_awaited(server: RawHttp) -> None:
    async def ask() -> str | None:
        async with mcptest.connect(url=server.url) as client:
            return (await client.call_tool("echo", {"text": "b"})).text

    assert asyncio.run(ask()) == "b"


def test_a_token_and_headers_are_read_from_the_environment_and_blanked(
    server: RawHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "s3cr3t-token")
    monkeypatch.setenv("SHOP_KEY", "k3y-of-the-shop")
    headers = {"X-Api-Key": "SHOP_KEY"}
    with mcptest.connect(url=server.url, bearer_env="SHOP_TOKEN", header_env=headers) as client:
        client.call_tool("echo", {"text": "a"})
    (called,) = server.about("tools/call")
    assert called.headers["authorization"] == "Bearer s3cr3t-token"
    assert called.headers["x-api-key"] == "k3y-of-the-shop"


def test_a_command_beside_a_url_starts_the_server_there() -> None:
    url = "http://127.0.0.1:{port}/mcp"
    with mcptest.connect(STARTED, url=url) as client:
        assert client.call_tool("echo", {"text": "c"}).text == "c"


def test_a_revision_that_the_server_does_not_support_is_refused(server: RawHttp) -> None:
    with (
        pytest.raises(mcptest.UpstreamGoneError) as caught,
        mcptest.connect(url=server.url, spec_version="2024-11-05"),
    ):
        pytest.fail("it was entered")
    assert caught.value.data["kind"] == "unsupported_version"
    assert "hint: leave out spec_version to take the revision" in str(caught.value)


REFUSED = says(refusal("500 Internal Server Error", b"out of order"))


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (on("tools/call", REFUSED), "http_status"),
        (on("tools/call", says(answer(b"{", kind="application/json"))), "malformed_json"),
        (on("tools/call", says(answer(b"a", kind="text/html"))), "content_type"),
        (on("tools/call", says(refusal("401 Unauthorized"))), "auth_failed"),
        (on("tools/call", hangs_up_after(b"HTTP/1.1 200 OK\r\nContent-Le")), "http_body"),
    ],
)
def test_http_faults_of_a_call_raise_with_their_kind(script: Any, kind: str) -> None:
    with RawHttp(script) as odd, mcptest.connect(url=odd.url, timeout=5) as client:
        with pytest.raises(mcptest.RefusedError) as caught:
            client.call_tool("echo", {"text": "a"})
        assert caught.value.data["kind"] == kind


def test_a_server_that_is_not_there_is_reported_with_its_url() -> None:
    with (
        pytest.raises(mcptest.UpstreamGoneError) as caught,
        mcptest.connect(url="http://127.0.0.1:1/mcp"),
    ):
        pytest.fail("it was entered")
    data = caught.value.data
    assert (data["kind"], data["url"]) == ("connect_failed", "http://127.0.0.1:1/mcp")
    assert "command" not in data
    assert "hint: is the server running, and on this port?" in str(caught.value)


def test_an_odd_answer_over_http_is_carried_whole() -> None:
    def script(asked: Asked, line: Line) -> None:
        said = {"jsonrpc": "2.0", "id": asked.message["id"], "result": {}, "extra": 1}
        line.send(as_json(said))

    with (
        RawHttp(on("tools/call", script)) as odd,
        mcptest.connect(url=odd.url) as client,
        pytest.raises(mcptest.UpstreamError, match='a member "extra"') as caught,
    ):
        client.call_tool("echo")
    assert caught.value.data["answer"]["extra"] == 1


# Another SDK


def test_another_sdk_asks_a_server_at_a_url(tmp_path: Path, server: RawHttp) -> None:
    with connected(tmp_path, "", "--url", server.url) as sdk:
        assert sdk.text("echo", text="x") == "x"
        assert sdk.ask("mcp.shutdown") == {}
        assert sdk.leave() == (0, "", "")


def test_a_token_that_is_not_set_is_a_mistake_of_the_command_line(tmp_path: Path) -> None:
    words = ("--url", "http://127.0.0.1:1/mcp", "--bearer-env", "NOT_SET_HERE")
    ended = run_mcptest(tmp_path, "exec", "--connection-server", *words)
    assert (ended.code, ended.out) == (2, "")
    assert "'NOT_SET_HERE', which is not set" in ended.err


# Every command


@pytest.mark.parametrize(
    "words",
    [
        ("call", "echo", "text=hi"),
        ("list", "tools"),
        ("discover",),
        ("docs",),
    ],
)
def test_every_command_that_talks_to_a_server_takes_a_url(
    tmp_path: Path, server: RawHttp, words: tuple[str, ...]
) -> None:
    ended = run_mcptest(tmp_path, *words, "--url", server.url)
    assert ended.code == 0, ended.err
    assert ("hi" if words[0] == "call" else "echo") in ended.out


def test_a_suite_discovered_at_a_url_has_the_names_of_variables(
    tmp_path: Path, server: RawHttp
) -> None:
    words = ("--url", server.url, "--bearer-env", "TOKEN", "--header-env", "X-Key=KEY")
    secrets = {"TOKEN": "s3cr3t-token", "KEY": "s3cr3t-key"}
    target = "found.test.mcp.yml"
    ended = run_mcptest(tmp_path, "discover", "-o", target, *words, **secrets)
    assert ended.code == 0, ended.err
    text = (tmp_path / target).read_text(encoding="utf-8")
    assert "s3cr3t" not in text
    ran = run_mcptest(tmp_path, "run", target, **secrets)
    assert ran.code == 0, ran.out + ran.err


def test_capabilities_are_known_without_a_handshake(tmp_path: Path) -> None:
    script = str(SERVERS / "era_server.py")
    log = str(tmp_path / "log")
    command = [sys.executable, "-S", "-E", script, log, "stateless", "-32601"]
    ended = run_mcptest(tmp_path, "list", "tools", "--", *command)
    assert (ended.code, json.loads(ended.out)) == (0, {"tools": []}), ended.err
    ended = run_mcptest(tmp_path, "discover", "--", *command)
    assert "description: era" in ended.out.replace('"', ""), ended.err
