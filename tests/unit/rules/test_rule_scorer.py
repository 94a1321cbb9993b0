"""The scorer: live sessions against captures, and answers that are judged once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from case_tables import each_case

from mcptest.core.results import SessionScore
from mcptest.rules import scorer
from mcptest.rules.captures import score_capture
from mcptest.rules.scorer import LiveScorer

CAPTURES = sorted((Path(__file__).parent.parent.parent / "captures").glob("*.json"))


def sessions_in(path: Path) -> list[dict[str, Any]]:
    value = json.loads(path.read_text(encoding="utf-8"))
    return value if isinstance(value, list) else [value]


def judged_live(session: dict[str, Any]) -> SessionScore:
    """Without an order of its own, a capture is replayed as it is written."""
    scorer = LiveScorer(session["server_label"], session.get("transport", "stdio:1"))
    for exchange in session["exchanges"]:
        scorer.client(exchange["request"])
        for message in exchange.get("server_messages", ()):
            scorer.server(message)
        for message in exchange.get("replies", ()):
            scorer.client(message)
        for line in exchange.get("noise", ()):
            scorer.noise(line)
        if exchange.get("response") is not None:
            scorer.server(exchange["response"])
    return scorer.finish("")


def broken_rules(score: SessionScore) -> dict[str, tuple[str, int]]:
    return {
        each.id: (each.message, each.count)
        for each in score.verdicts
        if each.status in ("fail", "warning")
    }


def is_plain(session: dict[str, Any]) -> bool:
    """True if nothing in a capture is lost when it is replayed exchange by exchange."""
    odd = ("prologue", "exit_status", "ended_by", "protocol_version")
    has_tables = any("order" in each or "http" in each for each in session["exchanges"])
    first = session["exchanges"][0]["request"] if session["exchanges"] else None
    has_handshake = isinstance(first, dict) and first.get("method") == "initialize"
    is_stdio = str(session.get("transport", "stdio")).startswith("stdio")
    declared = session["exchanges"][0].get("response") if has_handshake else None
    result = declared.get("result") if isinstance(declared, dict) else None
    block = result.get("capabilities") if isinstance(result, dict) else None
    is_same_block = result is not None and block == session.get("server_capabilities")
    return (
        is_stdio and is_same_block and not has_tables and not any(name in session for name in odd)
    )


PLAIN = [path for path in CAPTURES if all(map(is_plain, sessions_in(path)))]


@pytest.mark.slow
@each_case("path", PLAIN)
def test_a_live_session_breaks_what_its_capture_breaks(path: Path) -> None:
    for session in sessions_in(path):
        session.setdefault("transport", "stdio:1")
        [captured] = score_capture([session]).sessions
        assert broken_rules(judged_live(session)) == broken_rules(captured)


def test_enough_captures_are_plain_to_show_something() -> None:
    assert len(PLAIN) > 150


def test_an_ordinary_session_needs_only_the_rules_that_remember() -> None:
    scorer = LiveScorer("stdio://s", "stdio:1")
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }
    scorer.client({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
    scorer.server({"jsonrpc": "2.0", "id": 0, "result": hello})
    scorer.client({"jsonrpc": "2.0", "method": "notifications/initialized"})
    params = {"name": "echo", "arguments": {}}
    scorer.client({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    text = {"content": [{"type": "text", "text": "hi"}]}
    scorer.server({"jsonrpc": "2.0", "id": 1, "result": text})
    score = scorer.finish("exit status 0")
    families = {verdict.id.partition("-")[0] for verdict in score.verdicts}
    assert families == {"INV", "BASE"}
    assert score.count("fail") == 0


def test_an_unusual_word_activates_all_rules() -> None:
    scorer = LiveScorer("stdio://s", "stdio:1")
    scorer.client({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
    scorer.server({"jsonrpc": "2.0", "id": 0, "result": {}})
    families = {each.id.partition("-")[0] for each in scorer.finish("").verdicts}
    assert {"INV", "BASE", "TOOL", "PROG", "ELIC"} <= families


Exchange = dict[str, Any]


def opening(version: str = "2025-11-25") -> list[Exchange]:
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    result = {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }
    return [
        {
            "request": {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params},
            "response": {"jsonrpc": "2.0", "id": 0, "result": result},
        },
        {"request": {"jsonrpc": "2.0", "method": "notifications/initialized"}},
    ]


def call(id: object, result: Any, **params: Any) -> Exchange:
    params = {"name": "echo", "arguments": {}} | params
    return {
        "request": {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params},
        "response": {"jsonrpc": "2.0", "id": id, "result": result},
    }


def text(words: str, **members: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], "isError": False} | members


def listed(id: object, **members: Any) -> Exchange:
    tool = {"name": "echo", "inputSchema": {"type": "object"}} | members
    return {
        "request": {"jsonrpc": "2.0", "id": id, "method": "tools/list"},
        "response": {"jsonrpc": "2.0", "id": id, "result": {"tools": [tool]}},
    }


def scored(*exchanges: Exchange) -> SessionScore:
    session = {
        "server_label": "stdio://s",
        "server_capabilities": {"tools": {}},
        "exchanges": [*opening(), *exchanges],
    }
    return score_capture([session]).sessions[0]


def broken(score: SessionScore) -> dict[str, int]:
    return {each.id: each.count for each in score.verdicts if each.status == "fail"}


@pytest.mark.long
@pytest.mark.slow
@each_case("path", CAPTURES)
def test_no_capture_is_judged_otherwise_without_it(path: Path) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    sessions = value if isinstance(value, list) else [value]
    quick = score_capture(sessions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scorer, "_likeness_of", lambda *_: None)
        assert score_capture(sessions) == quick


def test_a_violation_among_many_similar_messages_is_found() -> None:
    calls = [call(id, text(f"number {id}")) for id in range(1, 50)]
    odd = call(99, {"content": [{"type": "text"}], "isError": False})
    assert "TOOL-13" in broken(scored(*calls, odd, call(100, text("more"))))
    assert broken(scored(*calls)) == {}


def test_every_similar_violation_is_counted() -> None:
    tool = listed(1, outputSchema={"type": "object"})
    calls = [call(id, text("no structured content")) for id in range(2, 7)]
    assert broken(scored(tool, *calls))["TOOL-08"] == 5


def test_facts_learned_in_between_count_from_then_on() -> None:
    before = [call(id, text("plain")) for id in range(1, 4)]
    tool = listed(10, outputSchema={"type": "object"})
    after = [call(id, text("plain")) for id in range(11, 13)]
    assert broken(scored(*before, tool, *after))["TOOL-08"] == 2


class CountedKey(str):
    """A key that counts how often a key of its kind is taken apart."""

    __slots__ = ()
    partitions = 0

    def partition(self, separator: str, /) -> tuple[str, str, str]:
        CountedKey.partitions += 1
        return super().partition(separator)


def judged_with_meta(meta: dict[str, Any] | None) -> str:
    """The status of BASE-29 in a session of one call, whose result has this `_meta`, if any."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}
    result: dict[str, Any] = {"content": []} | ({} if meta is None else {"_meta": meta})
    session = {
        "server_label": "server",
        "protocol_version": "2025-11-25",
        "exchanges": [
            {"request": request, "response": {"jsonrpc": "2.0", "id": 1, "result": result}}
        ],
    }
    (verdict,) = (
        each for each in score_capture([session]).sessions[0].verdicts if each.id == "BASE-29"
    )
    return verdict.status


def test_reserved_keys_are_judged_only_where_there_are_keys() -> None:
    assert judged_with_meta(None) == "not_applicable"
    assert judged_with_meta({"plain": 1}) == "pass"


def test_a_message_with_thousands_of_reserved_keys_is_judged_by_the_first_of_them() -> None:
    keys = [CountedKey(f"io.modelcontextprotocol.x/k{number}") for number in range(50_000)]
    CountedKey.partitions = 0
    assert judged_with_meta(dict.fromkeys(keys, 1)) == "fail"
    # Another rule reads all of them, once.
    assert CountedKey.partitions < 60_000
