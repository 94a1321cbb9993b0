"""When another try of a test needs a fresh server."""

from __future__ import annotations

import pytest

from mcptest.core.plan import Case, Expectation, Step
from mcptest.core.value_class import ABSENT
from mcptest.engine.case import describe_restart_reason
from mcptest.protocol.dialogue import Dialogue
from mcptest.protocol.framing import encode_line

ODD = [None, True, {"a": 1}]


def step(id: object) -> Step:
    message = {"jsonrpc": "2.0", "method": "ping"} | ({} if id is ABSENT else {"id": id})
    return Step(line=encode_line(message), method="ping", expectation=Expectation(), id=id)


@pytest.mark.parametrize("id", ODD)
def test_odd_ids_and_dialogues_are_tried_again_with_a_fresh_server(id: object) -> None:
    odd = Case(name="x", line=1, steps=(step(1), step(id)))
    talk = Case(name="x", line=1, dialogue=Dialogue(turns=()))
    for case in (odd, talk):
        why = "the test is tried again, and its ids may be used once in a session"
        assert describe_restart_reason(case, "") == why


def test_a_try_that_was_never_answered_is_followed_by_one_with_a_fresh_server() -> None:
    case = Case(name="x", line=1, steps=(step(1),))
    assert describe_restart_reason(case, "timeout") == "the try before was never answered"


@pytest.mark.parametrize("kind", ["", "protocol_violation"])
def test_ordinary_ids_are_tried_again_with_the_same_server(kind: str) -> None:
    case = Case(
        name="x",
        line=1,
        steps=(step("a"), step(5), step(1.5), step(-1), step(ABSENT)),
        teardown=(step("b"),),
    )
    assert describe_restart_reason(case, kind) == ""
