"""Plain answers are skipped, and everything else is not."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.protocol.framing import Frame, Noise, encode_line
from mcptest.rules.watch import RuleWatch

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


def plain_call(id: object) -> bytes:
    params = {"name": "echo", "arguments": {}}
    return encode_line({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def call(watch: RuleWatch, id: object, result: Any = None, answer_id: object = None) -> None:
    """A call and its answer, as a run has them: the rules are asked in between."""
    watch.sent(plain_call(id))
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
        ({"content": "text"}, "TOOL-12"),
        ({"content": [], "isError": 0}, "TOOL-15"),
        ({"content": [{"type": "text"}]}, "TOOL-13"),
        ({"content": [{"type": "text", "text": 5}]}, "TOOL-13"),
        ({"content": [{"type": "hologram", "text": ""}]}, "TOOL-13"),
    ],
)
def test_a_violation_after_many_plain_answers_is_found_with_its_place(
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


def test_an_answer_with_half_a_surrogate_pair_for_an_id_is_judged_like_any_other() -> None:
    watch = opened()
    for id in range(1, 50):
        call(watch, id)
    call(watch, "a\ud800")
    call(watch, 51, answer_id="\ud800")
    assert broken(watch)["BASE-08"] == 52


@pytest.mark.parametrize("pause", [1, 7, 10_000], ids="looks every {}".format)
def test_the_verdict_is_the_same_however_seldom_the_rules_are_asked(pause: int) -> None:
    """A run asks them whenever it waits; how often it does must not show."""
    watch = opened()
    for id in range(1, 700):
        text: Any = {"content": [{"type": "text", "text": "hi"}]}
        bad = {"content": [{"type": "text"}]}
        watch.sent(plain_call(id))
        answer = {"jsonrpc": "2.0", "id": id, "result": bad if id == 650 else text}
        watch.received(frame(answer))
        if id % pause == 0:
            watch.work()
    assert broken(watch)["TOOL-13"] == 651


def test_messages_with_an_answer_are_judged_as_well() -> None:
    watch = opened()
    for id in range(1, 20):
        call(watch, id)
    watch.sent(plain_call(20))
    text = {"content": [{"type": "text", "text": "hi"}]}
    answer = {"jsonrpc": "2.0", "id": 20, "result": text}
    watch.received([*frame(answer), *frame(answer)])
    assert "BASE-08" in broken(watch)


def test_noise_between_plain_answers_is_judged() -> None:
    watch = opened()
    for id in range(1, 20):
        call(watch, id)
    watch.received([Noise(raw=b"debug: here", size=11, reason="not JSON", line=1)])
    for id in range(20, 30):
        call(watch, id)
    assert broken(watch) == {"STDIO-01": 20}


def test_a_tool_with_an_output_schema_is_checked_from_then_on() -> None:
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


LIST = encode_line({"jsonrpc": "2.0", "id": "list", "method": "tools/list"})


def is_behind(watch: RuleWatch) -> bool:
    watch.work()
    return watch.is_behind


def test_messages_that_need_all_rules_are_judged_when_no_request_is_pending() -> None:
    watch = opened()
    call(watch, 1)
    assert not is_behind(watch)
    watch.sent(LIST)
    assert is_behind(watch)
    watch.received(frame({"jsonrpc": "2.0", "id": "list", "result": {"tools": "none"}}))
    call(watch, 2)
    assert is_behind(watch)
    watch.catch_up()
    assert not is_behind(watch)
    # From here on they are loaded, and nothing has to be left.
    watch.sent(LIST)
    assert not is_behind(watch)
    assert broken(watch) == {"BASE-41": 3}


def test_the_id_of_an_answer_is_not_looked_for_in_arguments() -> None:
    """A late answer that arrives before the right one is not mistaken for it."""
    watch = opened()
    for id in range(1, 10):
        call(watch, id)
    late = {"jsonrpc": "2.0", "id": 101, "method": "tools/call", "params": {"name": "slow"}}
    watch.sent(encode_line(late))
    call(watch, 11)
    arguments = {"id": 101, "verbose": True}
    params = {"name": "echo", "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": 12, "method": "tools/call", "params": params}
    watch.sent(encode_line(request))
    result = {"content": [{"type": "text", "text": "it"}]}
    for id in (101, 12):
        watch.received(frame({"jsonrpc": "2.0", "id": id, "result": result}))
        watch.work()
    assert broken(watch) == {}


@pytest.mark.parametrize("id", [100, "100"])
def test_a_second_answer_to_a_skipped_call_is_reported_as_a_duplicate(id: int | str) -> None:
    watch = opened()
    for other in range(1, 100):
        call(watch, other)
    call(watch, id)
    again = {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": ""}]}}
    watch.received(frame(again))
    score, _ = watch.finish("exit status 0")
    (message,) = [each.message for each in score.verdicts if each.id == "BASE-08"]
    assert message == f"the request with the id {encode_line(id).decode().strip()} " + (
        "was answered more than once"
    )


def test_only_a_limited_number_of_skipped_calls_are_remembered() -> None:
    watch = opened()
    for id in range(12_000):
        call(watch, id)
    for id in (50, 11_999):
        again = {"jsonrpc": "2.0", "id": id, "result": {"content": []}}
        watch.received(frame(again))
    score, _ = watch.finish("exit status 0")
    (message,) = [each for each in score.verdicts if each.id == "BASE-08"]
    assert (message.message, message.count) == (
        "a response has the id 50, and no request had it",
        2,
    )


def test_calls_that_are_queued_are_counted_before_those_that_follow() -> None:
    watch = opened()
    for id in range(1, 21):
        call(watch, id)
    watch.catch_up()
    result = {"content": [{"type": "text", "text": "hello"}]}
    watch.sent(plain_call(100))
    watch.sent(plain_call(101))
    for id in (100, 101, 100):
        watch.received(frame({"jsonrpc": "2.0", "id": id, "result": result}))
    # Nothing was judged since: the calls from 100 on wait in the queue.
    call(watch, 102)
    # The handshake is exchange 0, its notification 1.
    assert broken(watch) == {"BASE-08": 23}
