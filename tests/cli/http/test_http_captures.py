"""What a capture keeps of HTTP, and what the rules make of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from console import mcptest
from raw_http import (
    EVENTS,
    Asked,
    Line,
    RawHttp,
    answer,
    as_json,
    event,
    good,
    hangs_up_after,
    refusal,
    result_for,
)

if TYPE_CHECKING:
    from pathlib import Path

    from raw_http import Script

NOTE = {
    "jsonrpc": "2.0",
    "method": "notifications/message",
    "params": {"level": "info", "data": "at work"},
}
SUITE = {
    "description": "a suite",
    "tests": [
        {
            "it": "echoes",
            "request": {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "echo", "arguments": {"text": "hi"}},
            },
            "expect": {"response": {"match:partial": {"id": 1, "result": "match:type:object"}}},
        }
    ],
}


def captured(folder: Path, script: Script, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code of a run, and the session that it has captured."""
    (folder / "a.test.mcp.yml").write_text(json.dumps(SUITE), encoding="utf-8")
    with RawHttp(script) as server:
        ended = mcptest(
            folder, "run", "a.test.mcp.yml", "--url", server.url, "--capture", "c.json", *words
        )
    return ended.code, json.loads((folder / "c.json").read_text(encoding="utf-8"))


def exchange(session: dict[str, Any], method: str) -> dict[str, Any]:
    (found,) = [each for each in session["exchanges"] if each["request"]["method"] == method]
    return dict(found)


def streaming(*ids: str) -> Script:
    """A server with sessions that answers calls in a stream, whose events have these ids."""

    def script(asked: Asked, line: Line) -> None:
        if asked.about == "initialize":
            line.send(as_json(result_for(asked), Mcp_Session_Id="s1", Set_Cookie="token=canary"))
        elif asked.about == "tools/call":
            note, last = (f"id: {id}" for id in ids)
            hangs_up_after(EVENTS, event(NOTE, note), event(result_for(asked), last))(asked, line)
        else:
            good(asked, line)

    return script


def test_a_capture_says_how_each_message_was_transported(tmp_path: Path) -> None:
    status, session = captured(tmp_path, streaming("e1", "e2"))
    assert status == 0
    assert session["transport"].startswith("http:http://127.0.0.1:")
    first = exchange(session, "initialize")["http"]["response"]
    assert first == {
        "stream": "post",
        "request_id": "mcptest-initialize",
        "status": 200,
        "content_type": "application/json",
        "headers": {"content-type": "application/json"},
        "session_id": "s1",
    }
    call = exchange(session, "tools/call")["http"]
    assert (call["response"]["content_type"], call["response"]["event_id"]) == (
        "text/event-stream",
        "e2",
    )
    assert [each["event_id"] for each in call["server_messages"]] == ["e1"]
    assert "canary" not in json.dumps(session)


def test_a_capture_of_the_older_transport_says_so(tmp_path: Path) -> None:
    streams: list[Line] = []

    def script(asked: Asked, line: Line) -> None:
        if asked.method == "GET":
            streams.append(line)
            line.send(EVENTS, b"event: endpoint\ndata: /messages\n\n")
            line.wait_for_the_end()
        elif asked.target != "/messages":
            line.send(refusal("405 Method Not Allowed"))
        else:
            line.send(answer(b"", "202 Accepted", ""))
            if "id" in asked.message:
                streams[-1].send(event(result_for(asked)))

    status, session = captured(tmp_path, script)
    assert status == 0
    assert session["transport"].startswith("sse:http://127.0.0.1:")
    assert exchange(session, "tools/call")["http"]["response"]["stream"] == "get"


def rules(folder: Path) -> tuple[int, dict[str, str]]:
    words = ("compliance", "check", "--capture", "c.json", "--format", "json")
    ended = mcptest(folder, *words)
    (session,) = ended.report()["sessions"]
    return ended.code, {each["id"]: each["status"] for each in session["invariants"]}


def test_the_rules_about_http_are_asked_of_a_capture(tmp_path: Path) -> None:
    captured(tmp_path, streaming("e1", "e2"))
    status, found = rules(tmp_path)
    assert status == 0
    kept = ("HTTP-03", "HTTP-10", "HTTP-11", "HTTP-23")
    assert {id: found[id] for id in kept} == dict.fromkeys(kept, "pass")


def test_a_rule_about_http_that_is_broken_is_found_in_a_capture(tmp_path: Path) -> None:
    captured(tmp_path, streaming("same", "same"))
    status, found = rules(tmp_path)
    assert (status, found["HTTP-23"]) == (1, "fail")


def test_and_while_the_session_runs(tmp_path: Path) -> None:
    assert captured(tmp_path, streaming("e1", "e2"), "--strict-invariants")[0] == 0
    assert captured(tmp_path, streaming("same", "same"), "--strict-invariants")[0] == 1
    assert captured(tmp_path, streaming("same", "same"))[0] == 0


def test_sessions_over_http_never_share_a_transport(tmp_path: Path) -> None:
    """They go to one URL and begin in the same second; each is a session of its own."""
    server = {"name": "shop", "isolation": "test"}
    tests = [SUITE["tests"][0], {**SUITE["tests"][0], "it": "again"}]  # type: ignore[dict-item]
    with RawHttp(good) as there:
        suite = {**SUITE, "tests": tests, "server": server | {"url": there.url}}
        (tmp_path / "a.test.mcp.yml").write_text(json.dumps(suite), encoding="utf-8")
        ended = mcptest(tmp_path, "run", "--strict-invariants", "--capture", "c.json")
    assert ended.code == 0, ended.out
    sessions = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert len({session["transport"] for session in sessions}) == 2
    assert "id_collision" not in mcptest(tmp_path, "compliance", "score", "c.json").out
