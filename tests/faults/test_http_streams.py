"""Row 140 of the fault catalogue: event streams, whole, broken off and resumed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from command import peak_memory_bytes
from http_runs import run_over_http, with_config, words_for
from raw_http import (
    EVENTS,
    Asked,
    Line,
    RawHttp,
    event,
    good,
    hangs_up_after,
    holds_after,
    on,
    refusal,
    result_for,
    says,
)
from staging import echo

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from raw_http import Script

CALL = "tools/call"
SHORT = ("--timeout", "400ms")


def streams(write: Callable[[Asked], list[bytes]]) -> Script:
    """A server that answers calls with a stream of these pieces, and ends it."""

    def script(asked: Asked, line: Line) -> None:
        line.send(EVENTS, *write(asked))
        line.close()

    return on(CALL, script)


def the_answer(asked: Asked) -> str:
    return json.dumps(result_for(asked), ensure_ascii=False)


GOOD: dict[str, Callable[[Asked], list[bytes]]] = {
    "one event": lambda asked: [event(result_for(asked))],
    "with name and id": lambda asked: [event(result_for(asked), "event: message", "id: 1")],
    "after comments": lambda asked: [b": ping\n\n" * 50, event(result_for(asked))],
    "after a priming event": lambda asked: [b"id: 0\ndata:\n\n", event(result_for(asked))],
    "CR only": lambda asked: [f"data: {the_answer(asked)}\r\r".encode()],
    "CRLF": lambda asked: [f"data: {the_answer(asked)}\r\n\r\n".encode()],
    "a BOM": lambda asked: [b"\xef\xbb\xbf", event(result_for(asked))],
    "byte by byte": lambda asked: [
        bytes([byte]) for byte in f"data: {the_answer(asked)}\r\n\r\n".encode()
    ],
    "retry 0": lambda asked: [b"retry: 0\n\n", event(result_for(asked))],
}


@pytest.mark.parametrize("name", GOOD)
def test_an_answer_in_a_stream_is_an_answer(name: str, tmp_path: Path) -> None:
    with RawHttp(streams(GOOD[name])) as server:
        report = run_over_http(tmp_path, server.url, echo("Grüße, 世界 👋"))
    assert (report.status, report.statuses) == (0, ["passed"])


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ([], "ended its event stream before it had answered tools/call"),
        ([b'data: {"jsonrpc": "2.0"}\n'], "without the empty line that ends it"),
        ([b"data: {oops\n\n"], "an event that is not JSON"),
        ([b"event: answer\ndata: {}\n\n"], "an event named 'answer'"),
    ],
)
def test_a_stream_that_ends_without_the_answer_is_reported_with_the_likely_reason(
    pieces: list[bytes], words: str, tmp_path: Path
) -> None:
    with RawHttp(streams(lambda asked: pieces)) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (1, "event_stream")
    assert words in report.story


def test_a_stream_that_breaks_off_after_the_answer_has_answered(tmp_path: Path) -> None:
    head = EVENTS.replace(b"Connection: close", b"Transfer-Encoding: chunked")

    def script(asked: Asked, line: Line) -> None:
        body = event(result_for(asked))
        line.send(head, f"{len(body):x}\r\n".encode() + body + b"\r\n")
        line.close()

    with RawHttp(on(CALL, script)) as server:
        report = run_over_http(tmp_path, server.url)
    assert report.statuses == ["passed"]


def test_a_giant_event_is_refused_by_name(tmp_path: Path) -> None:
    with RawHttp(streams(lambda asked: [b"data: " + b"x" * 5000])) as server:
        report = with_config(tmp_path, server.url, maxLineBytes=4096)
    assert (report.status, report.fault["kind"]) == (1, "line_too_long")
    assert "an event of more than 4,096 bytes" in report.story


def test_a_stream_that_continues_without_the_answer_times_out(tmp_path: Path) -> None:
    with RawHttp(on(CALL, holds_after(EVENTS, b": ping\n\n"))) as server:
        report = run_over_http(tmp_path, server.url, words=SHORT)
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert "status 200 came and no message that answers it" in report.story


@pytest.mark.parametrize("flood", [b": ping\n\n" * 1000, b"\n" * 4000, b"id: 7\n\n" * 500])
def test_a_flood_of_nothing_ends_by_the_timeout_and_costs_no_memory(
    flood: bytes, tmp_path: Path
) -> None:
    def script(asked: Asked, line: Line) -> None:
        line.send(EVENTS)
        line.flood(flood)

    with RawHttp(on(CALL, script)) as server:
        words = words_for(tmp_path, server.url, words=("--timeout", "1s"))
        peak, report = peak_memory_bytes(words, tmp_path)
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert peak < 100 * 1024 * 1024


# Resumption


def broken_off(then: Script, beginning: bytes = b"id: e1\nretry: 0\ndata:\n\n") -> Script:
    """A server whose answer breaks off after an event with an id; `then` answers the GET."""

    def script(asked: Asked, line: Line) -> None:
        if asked.about == CALL:
            hangs_up_after(EVENTS, beginning)(asked, line)
        elif asked.method == "GET" and "last-event-id" in asked.headers:
            then(asked, line)
        else:
            good(asked, line)

    return script


REST = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "hi"}]}}


def resumed(server: RawHttp) -> list[str]:
    """The ids after which the rest was asked for."""
    gets = server.about("GET")
    return [asked.headers["last-event-id"] for asked in gets if "last-event-id" in asked.headers]


def test_a_stream_that_broke_off_is_resumed_after_its_last_event(tmp_path: Path) -> None:
    script = broken_off(hangs_up_after(EVENTS, event(REST, "id: e2")))
    with RawHttp(script) as server:
        report = run_over_http(tmp_path, server.url)
    assert report.statuses == ["passed"]
    assert resumed(server) == ["e1"]
    assert len(server.about(CALL)) == 1


def test_an_incomplete_event_is_requested_again(tmp_path: Path) -> None:
    beginning = b"id: e1\ndata:\n\n" + event(REST, "id: e2")[:-4]
    script = broken_off(hangs_up_after(EVENTS, event(REST, "id: e2")), beginning)
    with RawHttp(script) as server:
        report = run_over_http(tmp_path, server.url)
    assert report.statuses == ["passed"]
    assert resumed(server) == ["e1"]


def test_a_stream_may_break_off_more_than_once(tmp_path: Path) -> None:
    def then(asked: Asked, line: Line) -> None:
        is_first = asked.headers["last-event-id"] == "e1"
        hangs_up_after(EVENTS, *([b"id: e2\ndata:\n\n"] if is_first else [event(REST)]))(
            asked, line
        )

    with RawHttp(broken_off(then)) as server:
        report = run_over_http(tmp_path, server.url)
    assert report.statuses == ["passed"]
    assert resumed(server) == ["e1", "e2"]


def test_a_rest_that_is_refused_ends_the_call(tmp_path: Path) -> None:
    with RawHttp(broken_off(says(refusal("405 Method Not Allowed")))) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (1, "event_stream")
    assert "the GET for the rest of its answer to tools/call with status 405" in report.story
    assert resumed(server) == ["e1"]


def test_a_stream_without_ids_cannot_be_resumed(tmp_path: Path) -> None:
    with RawHttp(broken_off(good, b"data:\n\n")) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (1, "event_stream")
    assert resumed(server) == []


@pytest.mark.long
def test_a_storm_of_resumptions_is_slowed_down_and_reported(tmp_path: Path) -> None:
    """The server asks us to reconnect at once, again and again: at most five times in a second."""
    then = hangs_up_after(EVENTS, b"id: e1\nretry: 0\ndata:\n\n")
    with RawHttp(broken_off(then)) as server:
        report = run_over_http(tmp_path, server.url, words=("--timeout", "2s"))
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert "its event stream broke off and was asked for again" in report.story
    assert len(resumed(server)) <= 10


def test_a_server_is_waited_for_as_long_as_it_wants(tmp_path: Path) -> None:
    script = broken_off(hangs_up_after(EVENTS, event(REST)), b"id: e1\nretry: 60000\ndata:\n\n")
    with RawHttp(script) as server:
        report = run_over_http(tmp_path, server.url, words=SHORT)
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert resumed(server) == []


# The server's own stream


def test_messages_on_the_get_stream_are_received(tmp_path: Path) -> None:
    ping = {"jsonrpc": "2.0", "id": "s1", "method": "ping"}

    def script(asked: Asked, line: Line) -> None:
        if asked.method == "GET":
            holds_after(EVENTS, event(ping))(asked, line)
        elif asked.about == CALL and not server.about("an answer"):
            # Its own question is answered while this one is open.
            server.heard.wait(20)
            good(asked, line)
        else:
            if asked.about == "an answer":
                server.heard.set()
            good(asked, line)

    with RawHttp(script) as server:
        report = run_over_http(tmp_path, server.url)
    assert report.statuses == ["passed"]
    (reply,) = server.about("an answer")
    assert reply.message == {"jsonrpc": "2.0", "id": "s1", "result": {}}


@pytest.mark.parametrize("status", ["404 Not Found", "405 Method Not Allowed"])
def test_a_server_without_a_get_stream_is_accepted(status: str, tmp_path: Path) -> None:
    with RawHttp(on("GET", says(refusal(status)))) as server:
        report = run_over_http(tmp_path, server.url)
    report.assert_spotless()
    assert len(server.about("GET")) == 1


def test_another_refusal_of_that_stream_is_a_finding(tmp_path: Path) -> None:
    with RawHttp(on("GET", says(refusal("500 Oops")))) as server:
        report = run_over_http(tmp_path, server.url)
    assert report.statuses == ["passed"]
    assert "with status 500 and no event stream" in report.findings["event_stream"]["message"]
