"""A client drives whatever carries its requests, and follows redirects by the same way."""

from __future__ import annotations

import math
import os
import select
import socket
import time
from typing import TYPE_CHECKING

import pytest
from raw_http import RawHttp, silent_place

from mcptest.protocol.http_address import parse_url
from mcptest.transport import wait_ready
from mcptest.transport.http.client import HttpClient, HttpRequest, parse_head
from mcptest.transport.http.connection import Trust

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.transport.http.client import Head
    from mcptest.transport.http.connection import HttpConnectionError

REQUEST = HttpRequest(method="POST", address=parse_url("http://shop.example/mcp"), body=b"{}")
GOOD: list[Head | bytes] = [parse_head(200, [(b"A", b"1"), (b"a", b"2")]), b"yes"]
REDIRECT: list[Head | bytes] = [parse_head(307, [(b"Location", b"/other")])]


class FakeConnection:
    """Carries nothing, and knows whether it was let go."""

    fd = -1
    patience_left_s = math.inf
    is_closed = False

    def has_more(self) -> bool:
        return False

    def close(self) -> None:
        self.is_closed = True


class ScriptedExchange:
    """An exchange without a connection: all of its answer is there at once."""

    wants = select.POLLIN
    progress = ""
    has_head = is_over = False
    reusable_connection = None

    def __init__(self, request: HttpRequest, pieces: list[Head | bytes]) -> None:
        self.request = request
        self.connection = FakeConnection()
        self._pieces = pieces

    def advance(self) -> Iterator[Head | bytes]:
        yield from self._pieces
        self.is_over = True


class ScriptedClient(HttpClient):
    """Plays these answers, one for each request."""

    def __init__(self, *answers: list[Head | bytes]) -> None:
        super().__init__(Trust(), {})
        self._answers = list(answers)
        self.made: list[ScriptedExchange] = []

    def exchange_for(self, request: HttpRequest) -> ScriptedExchange:
        if not self._answers:
            raise OSError(24, os.strerror(24))
        self.made.append(ScriptedExchange(request, self._answers.pop(0)))
        return self.made[-1]


class AnswerCollector:
    """Keeps what it receives."""

    def __init__(self) -> None:
        self.heard: list[object] = []

    def take_head(self, head: Head) -> None:
        self.heard += [head.status, head.headers]

    def take_piece(self, chunk: bytes) -> None:
        self.heard.append(chunk)

    def take_end(self) -> None:
        self.heard.append("end")

    def take_failure(self, error: HttpConnectionError) -> None:
        self.heard.append(error.message)


def frames_from(client: HttpClient) -> list[object]:
    listener = AnswerCollector()
    client.start(REQUEST, listener)
    return listener.heard


def test_an_answer_is_received_whole_in_any_transfer_encoding() -> None:
    client = ScriptedClient(GOOD)
    assert frames_from(client) == [200, {"a": "1, 2"}, b"yes", "end"]
    assert [each.connection.is_closed for each in client.made] == [True]


def test_a_redirect_is_carried_like_the_request_that_it_answers() -> None:
    client = ScriptedClient(REDIRECT, GOOD)
    assert frames_from(client)[-1] == "end"
    assert [each.request.address.target for each in client.made] == ["/mcp", "/other"]
    assert [each.connection.is_closed for each in client.made] == [True, True]


def test_a_request_that_cannot_be_sent_fails_without_raising() -> None:
    assert frames_from(ScriptedClient()) == ["no connection can be made: Too many open files"]


def test_every_request_has_a_host_and_a_length() -> None:
    asked = REQUEST.but(headers=(("Accept", "a/b"),))
    assert asked.all_headers == [
        ("Host", "shop.example"),
        ("Accept", "a/b"),
        ("Content-Length", "2"),
    ]
    assert asked.but(body=b"").all_headers == asked.all_headers[:-1]


def test_an_address_that_is_silent_is_left_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    collector = AnswerCollector()
    client = HttpClient(Trust(), {})
    until = time.monotonic() + 30
    with silent_place() as silent, RawHttp() as server:
        places = [silent, ("127.0.0.1", server.port)]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", place) for place in places]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        client.start(REQUEST.but(method="GET"), collector)
        while not collector.heard and time.monotonic() < until:
            ready = wait_ready(dict(client.handles()), client.limit_wait(30))
            client.move(set(ready))
        client.close()
    assert collector.heard[:1] == [405]
