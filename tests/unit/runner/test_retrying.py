"""Another try of a request has an id of its own, and is judged as if it had the written one."""

from __future__ import annotations

import json

import pytest

from mcptest.core.dialogue import Dialogue
from mcptest.core.framing import encode_line
from mcptest.core.outcome import ABSENT
from mcptest.core.plan import Case, Expectation, Step
from mcptest.runner.launcher import Reply
from mcptest.runner.retrying import answered_as, as_try, reason_to_start_afresh

ODD = [None, True, 1.5, -1, 1_000_000, 2**60, {"a": 1}]


def step(id: object) -> Step:
    message = {"jsonrpc": "2.0", "method": "ping"} | ({} if id is ABSENT else {"id": id})
    return Step(line=encode_line(message), method="ping", expectation=Expectation(), id=id)


def reply(id: object) -> Reply:
    return Reply(message={"jsonrpc": "2.0", "id": id, "result": {}}, elapsed_s=0.1, stderr="")


@pytest.mark.parametrize(
    ("id", "ids"), [("a#1", ["a#1", "a#1~2", "a#1~3"]), (7, [7, 1_000_007, 2_000_007]), (0, [0])]
)
def test_each_try_has_an_id_of_its_own_and_of_the_same_type(id: object, ids: list[object]) -> None:
    for attempt, wanted in enumerate(ids, 1):
        sent = as_try(step(id), attempt)
        assert sent.id == wanted
        assert json.loads(sent.line) == {"jsonrpc": "2.0", "method": "ping", "id": wanted}


@pytest.mark.parametrize("id", [ABSENT, *ODD])
def test_what_has_no_id_or_an_odd_one_is_sent_as_it_is_written(id: object) -> None:
    written = step(id)
    assert as_try(written, 2) is written


def test_an_answer_is_judged_with_the_id_that_is_written() -> None:
    written = step("a")
    sent = as_try(written, 2)
    assert answered_as(reply("a~2"), sent, written).message["id"] == "a"
    assert list(answered_as(reply("a~2"), sent, written).message) == ["jsonrpc", "id", "result"]


def test_an_answer_with_another_id_keeps_it() -> None:
    written = step("a")
    for id in (None, "b"):
        came = reply(id)
        assert answered_as(came, as_try(written, 2), written) is came
    came = reply("a")
    assert answered_as(came, written, written) is came


@pytest.mark.parametrize("id", ODD)
def test_odd_ids_and_dialogues_are_tried_again_with_a_fresh_server(id: object) -> None:
    odd = Case(name="x", line=1, steps=(step(1), step(id)))
    talk = Case(name="x", line=1, dialogue=Dialogue(turns=()))
    for case in (odd, talk):
        why = "the test is tried again, and its ids may be used once in a session"
        assert reason_to_start_afresh(case, "") == why


def test_a_try_that_was_never_answered_is_followed_by_one_with_a_fresh_server() -> None:
    case = Case(name="x", line=1, steps=(step(1),))
    assert reason_to_start_afresh(case, "timeout") == "the try before was never answered"


@pytest.mark.parametrize("kind", ["", "protocol_violation"])
def test_ordinary_ids_are_tried_again_with_the_same_server(kind: str) -> None:
    case = Case(name="x", line=1, steps=(step("a"), step(5), step(ABSENT)), teardown=(step("b"),))
    assert reason_to_start_afresh(case, kind) == ""
