"""Requests to a client that cannot be asked: `input_required`, and the repeated request."""

from __future__ import annotations

from typing import Any

import pytest
from http_stage import envelope
from stage import Stage, cases, contract, request

ASKS = """
case: Asks back
in: {jsonrpc: '2.0', id: 1, method: tools/call, params: {name: ask}}
out_question: {jsonrpc: '2.0', id: who, method: elicitation/create, params: {message: Who?}}
in_answer: {jsonrpc: '2.0', id: who, result: {action: accept, content: {name: !!bind name}}}
out: {jsonrpc: '2.0', id: 1, result: {content: [{type: text, text: !!ref name}]}}
"""

TWICE = """
case: Asks twice
in: {jsonrpc: '2.0', id: 1, method: prompts/get, params: {name: ask}}
out_one: {jsonrpc: '2.0', id: one, method: roots/list}
out_two: {jsonrpc: '2.0', id: 2, method: sampling/createMessage, params: {messages: []}}
in_one: {jsonrpc: '2.0', id: one, result: {roots: []}}
in_two: {jsonrpc: '2.0', id: 2, result: {role: assistant}}
out_three: {jsonrpc: '2.0', id: three, method: elicitation/create, params: {message: Sure?}}
in_three: {jsonrpc: '2.0', id: three, result: {action: accept}}
out: {jsonrpc: '2.0', id: 1, result: {messages: []}}
"""

ABLE = ("elicitation", "sampling", "roots")
ADA = {"action": "accept", "content": {"name": "Ada"}}


def ask(
    stage: Stage,
    method: str = "tools/call",
    id: object = 1,
    able: tuple[str, ...] = ABLE,
    **params: object,
) -> Any:
    """The answer to a request of the stateless era; it is all that is sent."""
    meta = envelope("2026-07-28", *able)
    (message,) = stage.send(request(method, {"name": "ask", **params, "_meta": meta}, id))
    assert message["id"] == id
    return message


def test_a_server_request_is_the_result_and_its_answer_is_in_the_repeated_request() -> None:
    stage = contract(ASKS)
    first = ask(stage)["result"]
    assert first["resultType"] == "input_required"
    assert first["inputRequests"] == {
        "who": {"method": "elicitation/create", "params": {"message": "Who?"}}
    }
    assert stage.missed == ["Asks back"]
    answered = ask(stage, id=2, inputResponses={"who": ADA}, requestState=first["requestState"])
    assert answered["result"]["resultType"] == "complete"
    assert answered["result"]["content"][0]["text"] == "Ada"
    assert stage.exercised == ["Asks back"]
    assert stage.report.wrong == ()


def test_several_questions_are_asked_together_and_there_may_be_several_rounds() -> None:
    stage = contract(TWICE)
    first = ask(stage, "prompts/get", "a")["result"]
    assert list(first["inputRequests"]) == ["one", "2"]
    assert first["inputRequests"]["one"] == {"method": "roots/list"}
    given = {"one": {"roots": []}, "2": {"role": "assistant"}}
    state = first["requestState"]
    second = ask(stage, "prompts/get", "b", inputResponses=given, requestState=state)["result"]
    assert list(second["inputRequests"]) == ["three"]
    assert second["requestState"] != state
    last = ask(
        stage,
        "prompts/get",
        "c",
        inputResponses={"three": {"action": "accept"}},
        requestState=second["requestState"],
    )
    assert last["result"]["resultType"] == "complete"
    assert stage.exercised == ["Asks twice"]


def test_clients_that_are_asked_at_the_same_time_are_distinguished() -> None:
    stage = contract(ASKS)
    tokens = [ask(stage)["result"] for _ in range(3)]
    assert all(list(each["inputRequests"]) == ["who"] for each in tokens)
    for name, each in zip("ABC", reversed(tokens), strict=True):
        given = {"who": {"action": "accept", "content": {"name": name}}}
        answered = ask(stage, inputResponses=given, requestState=each["requestState"])
        assert answered["result"]["content"][0]["text"] == name


@pytest.mark.parametrize("given", [{}, {"other": ADA}, {"who": "Ada"}, None])
def test_an_answer_that_is_missing_is_asked_for_again(given: object) -> None:
    stage = contract(ASKS)
    first = ask(stage)["result"]
    params: dict[str, Any] = {} if given is None else {"inputResponses": given}
    again = ask(stage, id=2, requestState=first["requestState"], **params)["result"]
    assert again == first
    state = again["requestState"]
    assert ask(stage, inputResponses={"who": ADA, "more": {}}, requestState=state)["result"]
    assert stage.exercised == ["Asks back"]


def test_an_answer_that_is_not_what_the_case_says_is_an_error_and_wrong() -> None:
    stage = contract(ASKS)
    state = ask(stage)["result"]["requestState"]
    given = {"who": {"action": "decline"}}
    error = ask(stage, inputResponses=given, requestState=state)["error"]
    assert error["code"] == -32602
    assert error["data"]["differences"][0]["path"] == "result.action"
    assert len(stage.report.wrong) == 1


def test_a_state_that_was_changed_is_refused() -> None:
    stage = contract(ASKS)
    state = ask(stage)["result"]["requestState"]
    for other in (state[:-1] + "x", "x" + state, state.upper(), "", 5):
        error = ask(stage, inputResponses={"who": ADA}, requestState=other)["error"]
        assert error["code"] == -32602
    assert stage.missed == ["Asks back"]


def test_a_state_is_good_for_its_own_request_and_once() -> None:
    stage = contract(cases(ASKS, ASKS.replace("name: ask", "name: other").replace("who", "other")))
    state = ask(stage)["result"]["requestState"]
    foreign = ask(stage, name="other", inputResponses={"who": ADA}, requestState=state)
    assert foreign["error"]["code"] == -32602
    assert ask(stage, inputResponses=[], requestState=state)["error"]["code"] == -32602
    assert "result" in ask(stage, inputResponses={"who": ADA}, requestState=state)
    assert "error" in ask(stage, inputResponses={"who": ADA}, requestState=state)


def test_a_client_without_the_capability_is_not_asked() -> None:
    stage = contract(cases(ASKS, TWICE))
    error = ask(stage, able=("roots",))["error"]
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {"elicitation": {}}}
    error = ask(stage, "prompts/get", able=("roots",))["error"]
    assert error["data"] == {"requiredCapabilities": {"sampling": {}}}
    assert stage.report.wrong == ()
    assert "elicitation" in stage.report.notes[0]
    assert ask(stage)["result"]["resultType"] == "input_required"


def test_a_ping_counts_as_answered() -> None:
    text = ASKS.replace("elicitation/create, params: {message: Who?}", "ping").replace(
        "{action: accept, content: {name: !!bind name}}", "{}"
    )
    stage = contract(text.replace("!!ref name", "pong"))
    assert ask(stage)["result"]["content"][0]["text"] == "pong"
    assert stage.exercised == ["Asks back"]


def test_a_question_that_cannot_be_asked_makes_the_case_unplayable() -> None:
    stage = contract(ASKS.replace("elicitation/create", "x/ask"))
    assert ask(stage)["error"]["code"] == -32603
    assert any("cannot be played" in note for note in stage.report.notes)
    assert stage.missed == ["Asks back"]


def test_a_question_that_the_server_begins_with_is_left_out_with_a_note() -> None:
    opening = (
        "case: Begins\nout: {jsonrpc: '2.0', id: r, method: roots/list}\n"
        "in: {jsonrpc: '2.0', id: r, result: {roots: []}}\n"
    )
    plain = (
        "case: Answers\nin: {jsonrpc: '2.0', id: 1, method: tools/call, params: {name: ask}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {content: []}}\n"
    )
    stage = contract(cases(opening, plain))
    assert "result" in ask(stage)
    assert stage.missed == ["Begins"]
    assert any("roots/list cannot be asked" in note for note in stage.report.notes)


def test_a_contract_may_hold_such_results_as_they_are() -> None:
    text = """
case: Asks by itself
in: {jsonrpc: '2.0', id: 1, method: tools/call, params: {name: ask}}
out: {jsonrpc: '2.0', id: 1, result: {resultType: input_required, requestState: mine,
      inputRequests: {r: {method: roots/list}}}}
in_again: {jsonrpc: '2.0', id: 2, method: tools/call, params: {name: ask, requestState: mine,
           inputResponses: {r: {roots: !!any}}}}
out_again: {jsonrpc: '2.0', id: 2, result: {content: []}}
"""
    stage = contract(text)
    first = ask(stage)["result"]
    assert (first["requestState"], "ttlMs" in first) == ("mine", False)
    last = ask(stage, id=2, inputResponses={"r": {"roots": []}}, requestState="mine")
    assert last["result"]["resultType"] == "complete"
    assert stage.exercised == ["Asks by itself"]


def test_a_client_with_a_handshake_is_asked_as_ever() -> None:
    stage = contract(ASKS).greet("elicitation")
    (question,) = stage.send(request("tools/call", {"name": "ask"}, 5))
    assert (question["id"], question["method"]) == ("who", "elicitation/create")
