"""Over HTTP, too, a test passes only on the answer to its own request, from its own server."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from http_runs import run, run_over_http, write_suite
from raw_http import EVENTS, RawHttp, answer, as_json, event, good, hangs_up_after, on, result_for
from staging import echo

if TYPE_CHECKING:
    from raw_http import Asked, Line

CALL = "tools/call"
RAW_SERVER = str(Path(__file__).parent.parent / "servers" / "raw_http.py")


@pytest.mark.parametrize(
    "status", ["500 Oops", "503 Busy", "403 Forbidden", "401 Who", "429 Slow", "404 No"]
)
def test_a_result_under_a_refusing_status_is_not_an_answer(tmp_path: Path, status: str) -> None:
    def script(asked: Asked, line: Line) -> None:
        line.send(as_json(result_for(asked), status))

    with RawHttp(on(CALL, script)) as server:
        report = run_over_http(tmp_path, server.url)
    assert report.statuses == ["error"]
    assert f"with status {status[:3]}" in report.fault["message"]


def test_an_error_under_a_refusing_status_is_the_answer(tmp_path: Path) -> None:
    def script(asked: Asked, line: Line) -> None:
        error = {"code": -32602, "message": "no"}
        line.send(as_json({"jsonrpc": "2.0", "id": asked.message["id"], "error": error}, "400 Bad"))

    test = echo()
    test["expect"]["response"] = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602}}
    test["expect"]["response"]["error"]["message"] = "no"
    with RawHttp(on(CALL, script)) as server:
        report = run_over_http(tmp_path, server.url, test)
    assert report.statuses == ["passed"]


def test_a_second_answer_on_one_stream_is_not_matched_to_the_next_request(tmp_path: Path) -> None:
    first_line: list[Line] = []

    def script(asked: Asked, line: Line) -> None:
        right = result_for(asked)
        if not first_line:
            first_line.append(line)
            line.send(EVENTS, event(right))
            line.wait_for_the_end()
            return
        # On the stream of the first request, the answer to the second one.
        first_line[0].send(event(right))
        wrong = right | {"result": {"content": [{"type": "text", "text": "wrong"}]}}
        line.send(EVENTS, event(wrong))
        line.close()

    with RawHttp(on(CALL, script)) as server:
        report = run_over_http(tmp_path, server.url, echo("hi", "x"), echo("ho", "x"))
    assert report.statuses == ["passed", "failed"]
    assert set(report.findings) == {"duplicate_response"}


def test_an_event_that_a_resumed_stream_repeats_is_ignored(tmp_path: Path) -> None:
    def script(asked: Asked, line: Line) -> None:
        if asked.method == "GET" and "last-event-id" not in asked.headers:
            good(asked, line)
        elif asked.method == "GET":
            logged = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
            line.send(EVENTS, event(logged, "id: 1"), event(result_for(calls[0]), "id: 2"))
            line.close()
        elif asked.about == CALL:
            calls.append(asked)
            logged = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
            hangs_up_after(EVENTS, event(logged, "id: 1"))(asked, line)
        else:
            good(asked, line)

    calls: list[Asked] = []
    with RawHttp(script) as server:
        report = run_over_http(tmp_path, server.url)
    assert report.statuses == ["passed"]
    assert "again" in report.findings["event_stream"]["message"]


def test_events_of_another_name_cost_no_time(tmp_path: Path) -> None:
    command = f"{sys.executable} {RAW_SERVER} {{port}} oddly-named"
    words = ("--server-command", command, "--timeout", "5s")
    report = run_over_http(tmp_path, "http://127.0.0.1:{port}/mcp", words=words)
    assert report.statuses == ["passed"]
    assert report.findings["event_stream"]["count"] == 2000


def test_an_event_id_that_no_header_can_hold_ends_in_a_fault_of_the_stream(tmp_path: Path) -> None:
    script = hangs_up_after(EVENTS, "id: é\ndata: \n\n".encode())
    with RawHttp(on(CALL, script)) as server:
        report = run_over_http(tmp_path, server.url)
    assert report.fault["kind"] == "event_stream"


def test_a_server_that_asks_without_end_and_takes_no_answer_is_borne(tmp_path: Path) -> None:
    unread = 0
    has_reached_the_limit = threading.Event()

    def script(asked: Asked, line: Line) -> None:
        nonlocal unread
        if asked.about == CALL:
            pings = [{"jsonrpc": "2.0", "id": f"p{n}", "method": "ping"} for n in range(600)]
            line.send(EVENTS, *(event(ping) for ping in pings))
            assert has_reached_the_limit.wait(20)
            line.send(event(result_for(asked)))
            line.close()
        elif asked.about == "an answer":
            unread += 1
            if unread == 200:
                has_reached_the_limit.set()
            line.wait_for_the_end()
        else:
            good(asked, line)

    with RawHttp(script) as server:
        report = run_over_http(tmp_path, server.url)
    assert report.statuses == ["passed"]
    assert report.findings["http_body"]["count"] >= 600 - 200


def test_a_server_may_close_idle_connections_at_once(tmp_path: Path) -> None:
    def script(asked: Asked, line: Line) -> None:
        # A moment later, the next request could be on its way already, and be lost.
        line.hold()
        good(asked, line)
        line.close()

    with RawHttp(script) as server:
        report = run_over_http(tmp_path, server.url, *(echo("hi", n) for n in range(20)))
    assert report.statuses == ["passed"] * 20


def test_a_batch_that_begins_with_a_notification_has_its_answer(tmp_path: Path) -> None:
    def script(asked: Asked, line: Line) -> None:
        message = json.loads(asked.body) if asked.body else {}
        if isinstance(message, list):
            result = {"jsonrpc": "2.0", "id": 1, "result": {}}
            line.send(answer(json.dumps([result]).encode()))
            return
        if message.get("method") == "initialize":
            found = result_for(asked)
            found["result"] = found["result"] | {"protocolVersion": "2025-03-26"}
            line.send(as_json(found))
            return
        good(asked, line)

    case = """
case: a batch
in:
  - {jsonrpc: "2.0", method: notifications/progress, params: {progressToken: 1, progress: 1}}
  - {jsonrpc: "2.0", id: 1, method: ping}
out: {jsonrpc: "2.0", id: 1, result: {}}
"""
    (tmp_path / "a.cases.yaml").write_text(case, encoding="utf-8")
    with RawHttp(script) as server:
        words = ("run", "a.cases.yaml", "--json", "--url", server.url, "--timeout", "3s")
        pinned = ("--spec-version", "2025-03-26")
        report = run(tmp_path, [sys.executable, "-m", "mcptest", *words, *pinned])
    assert report.statuses == ["passed"]


def test_arguments_that_a_schema_wants_in_headers_are_there(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Text"}}}
    discovered = {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "ttlMs": 1,
        "cacheScope": "public",
    }

    def script(asked: Asked, line: Line) -> None:
        found = result_for(asked) if asked.about != "server/discover" else {}
        if asked.about == "server/discover":
            found = {"jsonrpc": "2.0", "id": asked.message["id"], "result": discovered}
        elif asked.about == "tools/list":
            found["result"] = {"tools": [{"name": "echo", "inputSchema": schema}]}
        line.send(as_json(found))

    test = echo()
    with RawHttp(script) as server:
        words = ("--spec-version", "2026-07-28")
        report = run_over_http(tmp_path, server.url, test, words=words)
        (asked,) = server.about(CALL)
    assert report.statuses == ["passed"]
    assert (asked.headers["mcp-param-text"], asked.headers["mcp-name"]) == ("hi", "echo")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1{port}/mcp", "http://127.0.0.1:{port}{port}/"])
def test_a_port_that_can_be_none_is_a_usage_error(tmp_path: Path, url: str) -> None:
    write_suite(tmp_path)
    words = ["run", "--json", "--url", url, "--server-command", "true"]
    report = run(tmp_path, [sys.executable, "-m", "mcptest", *words])
    assert report.status == 2


def test_two_servers_on_one_port_do_not_get_the_verdicts_of_each_other(tmp_path: Path) -> None:
    port = _free_port()
    command = [sys.executable, RAW_SERVER, str(port)]
    received = {"target": "result.content[0].text", "matcher": {"exact": "x"}}
    tools = [{"name": "t", "tool": "echo", "args": {"text": "x"}, "expect": [received]}]
    for name, mode in (("a", "good"), ("b", "mishears")):
        server = {"command": [*command, mode], "url": f"http://127.0.0.1:{port}/mcp"}
        suite = {"servers": {name: server}, "tools": tools}
        (tmp_path / f"{name}.mcptest.yaml").write_text(json.dumps(suite), encoding="utf-8")
    words = ["run", ".", "--json", "--parallel", "2"]
    report = run(tmp_path, [sys.executable, "-m", "mcptest", *words])
    statuses = {suite["server"]: suite["tests"][0]["status"] for suite in report.members["suites"]}
    # The second one may find the port taken; neither is judged by the other's answers.
    assert statuses["a"] in ("passed", "error")
    assert statuses["b"] in ("failed", "error")


def _free_port() -> int:
    with RawHttp() as server:
        return server.port
