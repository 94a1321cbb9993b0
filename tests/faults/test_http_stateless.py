"""The era without a handshake over HTTP: what each request has, and how it is cancelled."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from http_runs import run_over_http, with_config
from raw_http import (
    EVENTS,
    Asked,
    Line,
    RawHttp,
    as_json,
    good,
    hangs_up_after,
    on,
    refusal,
    result_for,
    says,
)
from staging import echo

if TYPE_CHECKING:
    from pathlib import Path

    from raw_http import Script

STATELESS = "2026-07-28"
PINNED = ("--spec-version", STATELESS)
CALL, DISCOVER, INITIALIZE = "tools/call", "server/discover", "initialize"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Text"}}}
HINTS = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

# Results of this era have more members than those of the other.
ECHO = echo("hi ü") | {
    "expect": {"response": {"match:partial": {"id": 1, "result": "match:type:object"}}}
}


def error(asked: Asked, code: int) -> dict[str, Any]:
    message = {"code": code, "message": "no"}
    return {"jsonrpc": "2.0", "id": asked.message.get("id"), "error": message}


def stateless(asked: Asked, line: Line) -> None:
    """A server of that era and no other."""
    if asked.method != "POST":
        line.send(refusal("405 Method Not Allowed"))
    elif asked.about == INITIALIZE:
        line.send(as_json(error(asked, -32022), "400 Bad Request"))
    elif asked.about == DISCOVER:
        found = HINTS | {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}}
        line.send(as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": found}))
    elif asked.about == "tools/list":
        found = HINTS | {"tools": [{"name": "echo", "inputSchema": SCHEMA}]}
        line.send(as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": found}))
    elif asked.about == CALL:
        answer = result_for(asked)
        line.send(as_json(answer | {"result": answer["result"] | {"resultType": "complete"}}))
    else:
        good(asked, line)


@pytest.mark.parametrize("words", [(), PINNED])
def test_a_server_of_that_era_is_found_or_spoken_to_at_once(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    with RawHttp(stateless) as server:
        report = run_over_http(tmp_path, server.url, ECHO, words=words)
    assert (report.status, report.statuses) == (0, ["passed"])
    asked = [each.about for each in server.asked]
    assert asked[: 2 - len(words) // 2] == ([DISCOVER] if words else [INITIALIZE, DISCOVER])
    assert not {"GET", "DELETE", "notifications/initialized"} & set(asked)


def test_every_request_repeats_in_headers_what_it_is_about(tmp_path: Path) -> None:
    with RawHttp(stateless) as server:
        run_over_http(tmp_path, server.url, ECHO, words=PINNED)
    assert {each.headers["mcp-protocol-version"] for each in server.asked} == {STATELESS}
    assert [each.headers["mcp-method"] for each in server.asked] == [
        each.about for each in server.asked
    ]
    (call,) = server.about(CALL)
    assert call.headers["mcp-name"] == "echo"


def test_arguments_are_mirrored_once_the_schema_is_known(tmp_path: Path) -> None:
    listed = {
        "it": "lists",
        "request": {"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {}},
        "expect": {"response": {"match:partial": {"id": 9}}},
    }
    with RawHttp(stateless) as server:
        report = run_over_http(tmp_path, server.url, listed, ECHO, words=PINNED)
    assert report.statuses == ["passed", "passed"]
    (call,) = server.about(CALL)
    assert call.headers["mcp-param-text"] == "=?base64?aGkgw7w=?="


def test_a_call_is_cancelled_by_closing_its_response(tmp_path: Path) -> None:
    """In this era there is no other cancellation over HTTP."""
    ends: list[bool] = []

    def hangs(asked: Asked, line: Line) -> None:
        line.send(EVENTS)
        ends.append(line.wait_for_the_end())

    with RawHttp(on(CALL, hangs, stateless)) as server:
        report = run_over_http(tmp_path, server.url, ECHO, words=(*PINNED, "--timeout", "300ms"))
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert server.about("notifications/cancelled") == []
    assert ends == [True]


def test_a_stream_that_broke_off_is_not_resumed(tmp_path: Path) -> None:
    script = on(CALL, hangs_up_after(EVENTS, b"id: e1\ndata:\n\n"), stateless)
    with RawHttp(script) as server:
        report = run_over_http(tmp_path, server.url, ECHO, words=PINNED)
    assert (report.status, report.fault["kind"]) == (1, "event_stream")
    assert server.about("GET") == []


@pytest.mark.parametrize(
    "script",
    [
        lambda asked, line: line.send(as_json(error(asked, -32601), "404 Not Found")),
        lambda asked, line: line.send(as_json(error(asked, -32000), "400 Bad Request")),
    ],
)
def test_a_server_with_a_handshake_is_reported_as_such(script: Script, tmp_path: Path) -> None:
    with RawHttp(on(DISCOVER, script)) as server:
        report = run_over_http(tmp_path, server.url, words=PINNED)
    assert (report.status, report.fault["kind"]) == (3, "unsupported_version")
    assert "does not speak the stateless era" in report.fault["message"]
    assert INITIALIZE not in [each.about for each in server.asked]


def test_a_refusal_with_a_status_alone_gets_a_hint(tmp_path: Path) -> None:
    with RawHttp(on(DISCOVER, says(refusal("400 Bad Request", b"no session")))) as server:
        report = run_over_http(tmp_path, server.url, words=PINNED)
    assert (report.status, report.fault["kind"]) == (3, "http_status")
    assert "leave out --spec-version" in report.fault["hint"]


# A revision that is refused and listed


@pytest.mark.parametrize("words", [(), PINNED])
@pytest.mark.parametrize(("times", "status"), [(1, 0), (2, 3)])
def test_a_revision_that_is_refused_but_listed_as_supported_is_offered_again(
    words: tuple[str, ...], times: int, status: int, tmp_path: Path
) -> None:
    refused: list[object] = []

    def script(asked: Asked, line: Line) -> None:
        if asked.about != DISCOVER or len(refused) == times:
            stateless(asked, line)
            return
        refused.append(asked.message["id"])
        found = error(asked, -32022)
        found["error"]["data"] = {"supported": [STATELESS], "requested": STATELESS}
        line.send(as_json(found, "400 Bad Request"))

    with RawHttp(script) as server:
        report = run_over_http(tmp_path, server.url, ECHO, words=words)
    assert report.status == status
    assert len(refused) == times
    assert len({asked.message["id"] for asked in server.about(DISCOVER)}) == 2
    if status == 0:
        message = f"the server refused {STATELESS} and listed it as supported"
        assert message in str(report.members["findings"])


# Tools that must not be called


def test_a_tool_with_a_wrong_annotation_is_not_called(tmp_path: Path) -> None:
    wrong = {"type": "object", "properties": {"text": {"type": "number", "x-mcp-header": "T"}}}

    def script(asked: Asked, line: Line) -> None:
        found = HINTS | {"tools": [{"name": "echo", "inputSchema": wrong}]}
        answer = {"jsonrpc": "2.0", "id": asked.message.get("id"), "result": found}
        (says(as_json(answer)) if asked.about == "tools/list" else stateless)(asked, line)

    words = [sys.executable, "-m", "mcptest", "call", "echo", "text=5", "--url"]
    with RawHttp(script) as server:
        done = subprocess.run([*words, server.url], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 1
        message = done.stderr.decode("utf-8")
        assert (
            "the tool echo must not be called over HTTP: x-mcp-header of properties.text" in message
        )
        assert "--no-check calls it anyway" in message
        assert server.about(CALL) == []
        words += [server.url, "--no-check"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0
        assert len(server.about(CALL)) == 1


# Rounds

ASK = {
    "resultType": "input_required",
    "inputRequests": {"who": {"method": "elicitation/create", "params": {"message": "?"}}},
}
CLIENT = {"elicitation": "decline"}


def asking(then: Script) -> Script:
    """A server that asks for input before it answers a call."""

    def script(asked: Asked, line: Line) -> None:
        if asked.about == CALL and "inputResponses" not in asked.message["params"]:
            line.send(as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": ASK}))
        else:
            (then if asked.about == CALL else stateless)(asked, line)

    return script


def test_a_second_round_is_a_request_of_its_own(tmp_path: Path) -> None:
    with RawHttp(asking(stateless)) as server:
        report = with_config(tmp_path, server.url, ECHO, client=CLIENT)
    assert report.statuses == ["passed"]
    first, second = server.about(CALL)
    assert first.message["id"] != second.message["id"]
    assert second.headers["mcp-name"] == "echo"


def test_a_second_round_that_fails_fails_the_call_at_once(tmp_path: Path) -> None:
    with RawHttp(asking(says(refusal("500 Oops", b"boom")))) as server:
        report = with_config(tmp_path, server.url, ECHO, client=CLIENT)
    assert (report.status, report.fault["kind"]) == (1, "http_status")


def test_a_second_round_that_hangs_is_cancelled_by_closing_its_response(tmp_path: Path) -> None:
    ends: list[bool] = []

    def hangs(asked: Asked, line: Line) -> None:
        ends.append(line.wait_for_the_end())

    with RawHttp(asking(hangs)) as server:
        report = with_config(tmp_path, server.url, ECHO, client=CLIENT, timeout=300)
    assert (report.status, report.fault["kind"]) == (1, "timeout")
    assert server.about("notifications/cancelled") == []
    assert ends == [True]
