"""Row 139 of the fault catalogue: what an HTTP server can do instead of answering."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest
from http_runs import run_over_http, with_config
from raw_http import (
    Asked,
    Line,
    RawHttp,
    answer,
    as_json,
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
    from pathlib import Path

    from raw_http import Script

CALL, INITIALIZE = "tools/call", "initialize"
JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = JSON_HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
SHORT = ("--timeout", "400ms")


def test_a_good_server_passes_without_a_word(tmp_path: Path) -> None:
    with RawHttp() as server:
        report = run_over_http(tmp_path, server.url, echo(), echo("Grüße, 世界", id=2))
    report.assert_spotless()
    call = server.about(CALL)[0]
    assert call.headers["accept"] == "application/json, text/event-stream"
    assert call.headers["accept-encoding"] == "identity"
    assert call.headers["mcp-protocol-version"] == "2025-11-25"
    assert "mcp-protocol-version" not in server.about(INITIALIZE)[0].headers


BROKEN: dict[str, tuple[Script, str, str]] = {
    "headers without end": (
        says(b"HTTP/1.1 200 OK\r\nX-Big: " + b"a" * 1_000_000 + b"\r\n\r\n"),
        "http_body",
        "the headers of the answer are larger than 262,144 bytes",
    ),
    "no final chunk": (
        hangs_up_after(CHUNKED, b'5\r\n{"a":\r\n'),
        "http_body",
        "peer closed connection without sending complete message body",
    ),
    "a chunk that is none": (says(CHUNKED, b"zz\r\n{}\r\n"), "http_body", "not proper HTTP"),
    "less than it promised": (
        hangs_up_after(JSON_HEAD, b"Content-Length: 2000\r\n\r\n{}"),
        "http_body",
        "received 2 bytes, expected 2000",
    ),
    "two lengths": (
        says(JSON_HEAD, b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
        "http_body",
        "the answer does not begin like one of HTTP",
    ),
    "a packed body": (
        says(answer(b"\x1f\x8b\x08", Content_Encoding="gzip")),
        "http_body",
        "a body packed as 'gzip'",
    ),
    "a page for people": (
        says(answer(b"<html>hello", kind="text/html")),
        "content_type",
        "with text/html, neither application/json nor text/event-stream",
    ),
    "no end of interim answers": (
        says(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000),
        "http_body",
        "more than 20 interim answers (1xx) and no real one",
    ),
    "another protocol": (
        says(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"),
        "http_body",
        "the answer does not begin like one of HTTP",
    ),
    "something else than HTTP": (
        hangs_up_after(b"\x15\x03\x01\x00\x02\x02\x46"),
        "http_body",
        "does it want https://?",
    ),
    "no answer": (hangs_up_after(), "http_body", "closed the connection without an answer"),
    "half a status": (hangs_up_after(b"HTTP/1."), "http_body", "without an answer"),
    "no body": (says(answer()), "http_body", "with status 200 and no body"),
    "only a receipt": (says(answer(b"", "202 Accepted")), "http_body", "with status 202"),
    "no JSON": (says(answer(b"{oops")), "malformed_json", "is not JSON at column 2"),
    "the answer to another": (
        says(as_json({"jsonrpc": "2.0", "id": 99, "result": {}})),
        "http_body",
        "a message that is not a response to it",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_answer_is_reported_with_its_layer_and_the_next_test_runs(
    name: str, tmp_path: Path
) -> None:
    script, kind, words = BROKEN[name]

    def first_call(asked: Asked, line: Line) -> None:
        is_first = asked.about == CALL and asked.message["id"] == 1
        (script if is_first else good)(asked, line)

    with RawHttp(first_call) as server:
        report = run_over_http(tmp_path, server.url, echo(), echo("again", id=2))
    assert (report.status, report.statuses) == (1, ["error", "passed"])
    assert report.fault["kind"] == kind
    assert words in report.story


@pytest.mark.parametrize("name", ["no answer", "a page for people", "no JSON", "no body"])
def test_a_handshake_that_breaks_so_means_that_nothing_ran(name: str, tmp_path: Path) -> None:
    script, kind, _ = BROKEN[name]
    with RawHttp(on(INITIALIZE, script)) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (3, kind)


def test_more_than_was_promised_is_never_the_next_answer(tmp_path: Path) -> None:
    """The body is cut where its length says, and what follows it is thrown away."""

    def talks_on(asked: Asked, line: Line) -> None:
        body = json.dumps(result_for(asked)).encode()
        line.send(JSON_HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body + answer(b"1"))

    with RawHttp(on(CALL, talks_on)) as server:
        report = run_over_http(tmp_path, server.url, echo(), echo("again", id=2))
    assert (report.status, report.statuses) == (0, ["passed", "passed"])


def test_a_body_over_the_limit_is_not_kept(tmp_path: Path) -> None:
    with RawHttp(on(CALL, says(answer(b" " * 5000)))) as server:
        report = with_config(tmp_path, server.url, maxLineBytes=4096)
    assert (report.status, report.fault["kind"]) == (1, "line_too_long")
    assert "more than 4,096 bytes" in report.story


# Time


def test_a_body_that_never_ends_times_out_and_its_size_is_reported(tmp_path: Path) -> None:
    with RawHttp(on(CALL, holds_after(answer(b"x" * 100)[:-40]))) as server:
        report = run_over_http(tmp_path, server.url, words=SHORT)
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert "status 200 came and 60 bytes of a message that is not complete" in report.story


def test_headers_that_never_end_time_out(tmp_path: Path) -> None:
    with RawHttp(on(CALL, holds_after(b"HTTP/1.1 200 OK\r\nX: y"))) as server:
        report = run_over_http(tmp_path, server.url, words=SHORT)
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert "the request was sent, and nothing has come" in report.story


def test_a_body_without_end_ends_at_the_limit(tmp_path: Path) -> None:
    def floods(asked: Asked, line: Line) -> None:
        line.send(CHUNKED)
        line.flood(b"1000\r\n" + b" " * 4096 + b"\r\n")

    with RawHttp(on(CALL, floods)) as server:
        report = with_config(tmp_path, server.url, maxLineBytes=1 << 20)
    assert (report.status, report.fault["kind"]) == (1, "line_too_long")


def test_a_handshake_that_is_never_answered_ends_in_its_time(tmp_path: Path) -> None:
    with RawHttp(on(INITIALIZE, holds_after())) as server:
        report = with_config(tmp_path, server.url, startupTimeout=300)
    assert (report.status, report.fault["kind"]) == (3, "handshake_timeout")
    assert "the request was sent, and nothing has come" in report.story


def test_after_a_timeout_the_server_gets_a_cancellation_and_the_next_call_its_own_answer(
    tmp_path: Path,
) -> None:
    def silent_once(asked: Asked, line: Line) -> None:
        if asked.about == CALL and asked.message["id"] == 1:
            line.wait_for_the_end()
        else:
            good(asked, line)

    with RawHttp(silent_once) as server:
        report = run_over_http(tmp_path, server.url, echo(timeout="300ms"), echo("b", id=2))
    assert report.statuses == ["error", "passed"]
    (cancelled,) = server.about("notifications/cancelled")
    assert cancelled.message["params"]["requestId"] == 1


def test_a_cancellation_that_is_refused_breaks_no_other_test(tmp_path: Path) -> None:
    is_refused = threading.Event()

    def silent_once(asked: Asked, line: Line) -> None:
        if asked.about == CALL and asked.message["id"] == 1:
            line.wait_for_the_end()
        elif asked.about == "notifications/cancelled":
            line.send(refusal("400 Bad Request"))
            is_refused.set()
        elif asked.about == CALL:
            # The run must not be over before the refusal has arrived.
            is_refused.wait(10)
            good(asked, line)
        else:
            good(asked, line)

    with RawHttp(silent_once) as server:
        report = run_over_http(tmp_path, server.url, echo(timeout="300ms"), echo("b", id=2))
    assert report.statuses == ["error", "passed"]
    assert "refused notifications/cancelled" in report.findings["http_status"]["message"]


# Reaching it


def test_a_port_without_a_listener_is_reported_at_once(tmp_path: Path) -> None:
    with RawHttp() as server:
        url = server.url
    report = run_over_http(tmp_path, url)
    assert (report.status, report.fault["kind"]) == (3, "connect_failed")
    assert "Connection refused" in report.fault["message"]
    assert "is the server running" in report.fault["hint"]


def test_a_host_name_that_cannot_be_resolved_is_reported(tmp_path: Path) -> None:
    report = run_over_http(tmp_path, "http://nobody.invalid/mcp")
    assert (report.status, report.fault["kind"]) == (3, "name_lookup")
    assert "'nobody.invalid' cannot be looked up" in report.fault["message"]


def test_a_header_that_cannot_be_sent_is_not_an_internal_error_and_is_not_shown(
    tmp_path: Path,
) -> None:
    with RawHttp() as server:
        words = ("--header-env", "X-Key=KEY")
        report = run_over_http(tmp_path, server.url, words=words, KEY=" canary ")
    assert (report.status, report.fault["kind"]) == (3, "connect_failed")
    assert "canary" not in json.dumps(report.members)
    assert server.asked == []


# Refusals


@pytest.mark.parametrize(
    ("status", "kind", "hint"),
    [
        ("401 Unauthorized", "auth_failed", "the server wants credentials"),
        ("403 Forbidden", "http_status", "credentials are not enough"),
        ("404 Not Found", "http_status", "is the path of the URL right?"),
        ("405 Method Not Allowed", "http_status", "is this the MCP endpoint?"),
        ("429 Too Many Requests", "http_status", "it says to come back after 7"),
        ("500 Internal Server Error", "http_status", "its own log says why"),
        ("503 Service Unavailable", "http_status", "is not ready"),
    ],
)
def test_a_refusing_status_is_reported_with_what_to_do(
    status: str, kind: str, hint: str, tmp_path: Path
) -> None:
    script = says(refusal(status, b"go away", Retry_After="7"))
    with RawHttp(script) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (3, kind)
    assert f'refused initialize with status {status[:3]}: "go away"' in report.fault["message"]
    assert hint in report.fault["hint"]


def test_a_refusal_of_one_call_is_that_of_one_test(tmp_path: Path) -> None:
    def refuses_first(asked: Asked, line: Line) -> None:
        if asked.about == CALL and asked.message["id"] == 1:
            line.send(refusal("500 Internal Server Error", b"boom"))
        else:
            good(asked, line)

    with RawHttp(refuses_first) as server:
        report = run_over_http(tmp_path, server.url, echo(), echo("b", id=2))
    assert (report.status, report.statuses) == (1, ["error", "passed"])
    assert (report.fault["kind"], report.fault["effect"]) == ("http_status", "indefinite")


@pytest.mark.long
def test_a_refusal_before_the_request_was_read_counts(
    tmp_path: Path,
) -> None:
    def too_large(asked: Asked, line: Line) -> None:
        if asked.is_whole:
            good(asked, line)
        else:
            line.send(refusal("413 Content Too Large", b"too much"))
            line.wait_for_the_end()

    with RawHttp(too_large, max_body=1 << 20) as server:
        tests = echo("x" * 20_000_000), echo("b", id=2)
        report = run_over_http(tmp_path, server.url, *tests)
    assert (report.status, report.statuses) == (1, ["error", "passed"])
    assert report.fault["kind"] == "http_status"
    assert 'refused tools/call with status 413: "too much"' in report.fault["message"]


@pytest.mark.long
def test_a_request_that_is_never_read_is_reported_as_such(tmp_path: Path) -> None:
    def reads_nothing(asked: Asked, line: Line) -> None:
        if asked.is_whole:
            good(asked, line)
        else:
            server.heard.wait(20)

    with RawHttp(reads_nothing, max_body=1 << 20) as server:
        report = run_over_http(
            tmp_path, server.url, echo("x" * 20_000_000), words=("--timeout", "2s")
        )
        server.heard.set()
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert "bytes of the request have not been read" in report.story


def test_a_refusal_that_names_another_id_is_not_waited_on(tmp_path: Path) -> None:
    error = {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "no"}}
    with RawHttp(on(CALL, says(as_json(error, "400 Bad Request")))) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (1, "http_status")
    assert "unknown_id" in [finding["kind"] for finding in report.members["findings"]]


def test_a_refused_notification_of_the_handshake_means_that_nothing_ran(tmp_path: Path) -> None:
    script = on("notifications/initialized", says(refusal("500 Oops")))
    with RawHttp(script) as server:
        report = run_over_http(tmp_path, server.url)
    assert (report.status, report.fault["kind"]) == (3, "http_status")
    assert "refused notifications/initialized with status 500" in report.fault["message"]


NOTE = {
    "it": "takes a notification",
    "request": {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}},
    "expect": {"stderr": "toBeEmpty"},
}


@pytest.mark.parametrize(
    ("script", "kind"),
    [(says(refusal("400 No")), "http_status"), (hangs_up_after(), "http_body")],
)
def test_a_notification_that_does_not_get_through_fails_its_test(
    script: Script, kind: str, tmp_path: Path
) -> None:
    with RawHttp(on("notifications/progress", script)) as server:
        report = run_over_http(tmp_path, server.url, NOTE)
    assert (report.status, report.fault["kind"]) == (1, kind)


def test_a_notification_that_is_accepted_passes_its_test(tmp_path: Path) -> None:
    with RawHttp() as server:
        report = run_over_http(tmp_path, server.url, NOTE)
    assert report.statuses == ["passed"]
