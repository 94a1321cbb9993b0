"""Plain answers are skipped, and everything else is not."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.core.framing import Frame, encode_line
from mcptest.runner.watching_rules import RuleWatch

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "1"},
}


def frame(message: Any) -> list[Any]:
    return [Frame(value=message, line=1)]


def opened() -> RuleWatch:
    watch = RuleWatch("stdio://s", "stdio:1")
    watch.sent(encode_line({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}))
    watch.received(frame({"jsonrpc": "2.0", "id": 0, "result": HELLO}))
    watch.sent(encode_line({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    watch.work()
    return watch


def call(watch: RuleWatch, id: object, result: Any = None, answer_id: object = None) -> None:
    """A call and its answer, as a run has them: the rules are asked in between."""
    params = {"name": "echo", "arguments": {}}
    watch.sent(encode_line({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
    watch.work()
    text = {"content": [{"type": "text", "text": f"hello {id}"}], "isError": False}
    answered = id if answer_id is None else answer_id
    watch.received(frame({"jsonrpc": "2.0", "id": answered, "result": result or text}))


def broken(watch: RuleWatch) -> dict[str, int | None]:
    score, _ = watch.finish("exit status 0")
    return {each.id: each.exchange for each in score.verdicts if each.status == "fail"}


def test_a_session_of_plain_answers_breaks_nothing_and_has_its_verdicts() -> None:
    watch = opened()
    for id in range(1, 200):
        call(watch, id)
    score, _ = watch.finish("exit status 0")
    statuses = {each.id: each.status for each in score.verdicts}
    assert (statuses["INV-004"], statuses["INV-005"], statuses["BASE-08"]) == ("pass",) * 3


@pytest.mark.parametrize(
    ("result", "rule"),
    [
        ({"content": "text"}, "INV-005"),
        ({"content": [], "isError": 0}, "INV-005"),
        ({"content": [{"type": "text"}]}, "TOOL-13"),
        ({"content": [{"type": "text", "text": 5}]}, "TOOL-13"),
        ({"content": [{"type": "hologram", "text": ""}]}, "TOOL-13"),
    ],
)
def test_a_breach_after_many_plain_answers_is_found_with_its_place(
    result: object, rule: str
) -> None:
    watch = opened()
    for id in range(1, 100):
        call(watch, id)
    call(watch, 100, result)
    for id in range(101, 110):
        call(watch, id)
    # The handshake is exchange 0, its notification 1.
    assert broken(watch)[rule] == 101


def test_an_answer_to_something_else_is_not_skipped() -> None:
    watch = opened()
    for id in range(1, 50):
        call(watch, id)
    call(watch, 50, answer_id="50")
    assert "BASE-08" in broken(watch)


def test_a_tool_that_promises_more_is_looked_at_from_then_on() -> None:
    watch = opened()
    for id in range(1, 20):
        call(watch, id)
    tool = {"name": "echo", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}
    watch.sent(encode_line({"jsonrpc": "2.0", "id": 20, "method": "tools/list"}))
    watch.received(frame({"jsonrpc": "2.0", "id": 20, "result": {"tools": [tool]}}))
    for id in range(21, 40):
        call(watch, id)
    score, _ = watch.finish("exit status 0")
    [verdict] = [each for each in score.verdicts if each.id == "TOOL-08"]
    assert (verdict.status, verdict.count) == ("fail", 19)
