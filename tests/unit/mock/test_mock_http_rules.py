"""Requests that are refused by their head, before the body is read."""

from __future__ import annotations

import pytest
from http_stage import PORT, STATELESS, head, http_manifest

from mcptest.mock.http import check_head


def status(method: str = "POST", target: str = "/mcp", **headers: str | None) -> int:
    refusal = check_head(head(method, target, **headers), PORT)
    return refusal.status if refusal else 0


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000", "[::1]:8000"]
)
def test_a_name_of_this_machine_is_let_in(host: str) -> None:
    assert status(host=host) == 0


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example:8000",
        "127.0.0.1",
        "127.0.0.1:8001",
        "127.0.0.1.evil.example:8000",
        "localhost.evil.example:8000",
        "127.0.0.1:8000, evil.example:8000",
        "127.0.0.2:8000",
        "localhost:8000:8000",
        "evil.example@127.0.0.1:8000",
    ],
)
def test_another_name_is_a_page_that_had_itself_resolved_to_us(host: str | None) -> None:
    assert status(host=host) == 403


def test_two_hosts_are_none() -> None:
    request = head()
    twice = request.but(headers=(*request.headers, ("host", f"127.0.0.1:{PORT}")))
    refusal = check_head(twice, PORT)
    assert refusal is not None
    assert refusal.status == 403


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost",
        "http://localhost:6274",
        "https://127.0.0.1:3000",
        "http://[::1]:1",
        "HTTP://LocalHost",
    ],
)
def test_a_page_of_this_machine_may_ask(origin: str) -> None:
    assert status(origin=origin) == 0


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "http://evil.example",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example:8000",
        "http://localhost@evil.example",
        "http://localhost:1@evil.example",
        "http://localhost/../evil",
        "file://localhost",
        "localhost",
        "http://localhost, http://evil.example",
    ],
)
def test_a_page_from_elsewhere_may_not(origin: str) -> None:
    assert status(origin=origin) == 403


def test_strangers_hear_nothing_of_what_there_is() -> None:
    assert status("GET", "/nothing", host="evil.example") == 403


@pytest.mark.parametrize(
    "target", ["/", "/mcp/", "/MCP", "/mcp/x", "*", "http://127.0.0.1:8000/mcp"]
)
def test_there_is_one_endpoint(target: str) -> None:
    assert status(target=target) == 404


def test_the_query_of_the_url_is_ignored() -> None:
    assert status(target="/mcp?x=1") == 0


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD", "TRACE", "post"])
def test_another_method_is_405_and_names_those_there_are(method: str) -> None:
    refusal = check_head(head(method), PORT)
    assert refusal is not None
    assert (refusal.status, refusal.headers) == (405, {"Allow": "POST, GET, DELETE"})


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_without_a_session_there_is_nothing_to_get_or_delete(method: str) -> None:
    refusal = check_head(head(method), PORT)
    assert refusal is not None
    assert (refusal.status, refusal.headers) == (405, {"Allow": "POST"})
    assert not refusal.is_wrong
    assert status(method, mcp_session_id="x", mcp_protocol_version=STATELESS) == 405
    assert status(method, mcp_session_id="x") == 0


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8"])
def test_json_is_taken(kind: str) -> None:
    assert status(content_type=kind) == 0


@pytest.mark.parametrize("kind", [None, "", "text/plain", "application/json-rpc", "text/json"])
def test_another_content_type_is_415(kind: str | None) -> None:
    assert status(content_type=kind) == 415


@pytest.mark.parametrize(
    "accept",
    [
        "application/json, text/event-stream",
        "TEXT/event-stream;q=0.5,application/json",
        "*/*",
        "application/*, text/*",
    ],
)
def test_a_client_that_accepts_both_kinds_of_answers_is_served(accept: str) -> None:
    assert status(accept=accept) == 0


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "",
        "application/json",
        "text/event-stream",
        "text/html",
        "application/json, text/event-stream;q=0",
        "application/jsonp, text/event-stream",
    ],
)
def test_a_client_that_accepts_only_one_kind_of_answer_gets_406(accept: str | None) -> None:
    assert status(accept=accept) == 406


def test_a_listening_client_must_accept_a_stream() -> None:
    assert status("GET", mcp_session_id="x", accept="text/event-stream") == 0
    assert status("GET", mcp_session_id="x", accept="application/json") == 406


def test_a_refusal_says_in_json_what_to_do() -> None:
    message = http_manifest("tools: []").send(head(accept="text/html\x1b[2J")).message
    assert (message["id"], message["error"]["code"]) == (None, -32600)
    assert "it lacks application/json and text/event-stream" in message["error"]["message"]


def test_text_of_a_client_is_shown_escaped() -> None:
    refusal = check_head(head(host="\x1b[2J" + "x" * 500), PORT)
    assert refusal is not None
    assert "\x1b" not in refusal.sentence
    assert len(refusal.sentence) < 200
