"""Results that ask for more input, and the requests that are sent again with it."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.core.plan import ACCEPT_DEFAULTS, ClientSpec
from mcptest.protocol.session import MAX_INPUTS, MAX_ROUNDS, ClientScript, InputRounds

Message = dict[str, Any]

ELICIT = {"method": "elicitation/create", "params": {"message": "who?"}}
ACCEPTED = {"action": "accept", "content": {"name": "Ada"}}
SCRIPT = ClientSpec(answers={"elicitation/create": {"result": ACCEPTED}})


def rounds(spec: ClientSpec = SCRIPT) -> InputRounds:
    return InputRounds(ClientScript(spec))


def request(id: object = 1, **params: object) -> Message:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "a"} | params}


def wants(requests: object = None, **more: object) -> Message:
    result: Message = {"resultType": "input_required"} | more
    return {"jsonrpc": "2.0", "id": 1, "result": result | ({"inputRequests": requests or {}})}


def test_the_request_is_sent_again_under_a_new_id_with_answers_and_state() -> None:
    found = rounds()
    found.sent(request())
    state = 'opaque\u2028"ü\\'
    again = found.next_round(1, wants({"k": ELICIT}, requestState=state))
    assert again == request("mcptest-round-1", inputResponses={"k": ACCEPTED}, requestState=state)


def test_each_round_starts_from_the_first_request() -> None:
    found = rounds()
    found.sent(request())
    found.next_round(1, wants({"k": ELICIT}, requestState="one"))
    again = found.next_round("mcptest-round-1", wants({"other": ELICIT}))
    assert again == request("mcptest-round-2", inputResponses={"other": ACCEPTED})


def test_state_alone_is_reason_enough_to_ask_again() -> None:
    found = rounds()
    found.sent(request())
    assert found.next_round(1, wants(requestState="s")) == request(
        "mcptest-round-1", requestState="s"
    )


@pytest.mark.parametrize(
    "answer",
    [
        {"result": {"content": []}},
        {"result": {"resultType": "complete"}},
        {"result": {"resultType": "task"}},
        {"result": "text"},
        {"error": {"code": 1, "message": ""}},
        wants(),
        wants([ELICIT]),
        wants({"k": {"method": "sampling/createMessage"}}),
        wants({"k": "text"}),
        wants({"k": {}}),
        wants({"k": ELICIT, "l": {"method": "roots/list"}}),
    ],
)
def test_a_result_that_asks_for_nothing_we_can_answer_is_not_changed(answer: Message) -> None:
    found = rounds()
    found.sent(request())
    assert found.next_round(1, answer) is None


def test_without_a_script_the_result_is_left_as_it_is() -> None:
    found = rounds(ClientSpec())
    found.sent(request())
    assert found.next_round(1, wants({"k": ELICIT})) is None


def test_a_script_that_has_run_out_ends_the_rounds() -> None:
    found = rounds(ClientSpec(answers={"elicitation/create": [{"result": ACCEPTED}]}))
    found.sent(request())
    assert found.next_round(1, wants({"k": ELICIT}))
    assert found.next_round("mcptest-round-1", wants({"k": ELICIT})) is None


def test_a_scripted_error_does_not_answer_an_input_request() -> None:
    error = {"error": {"code": -1, "message": "no"}}
    found = rounds(ClientSpec(answers={"elicitation/create": error}))
    found.sent(request())
    assert found.next_round(1, wants({"k": ELICIT})) is None


def test_a_server_that_is_never_content_is_left_with_its_question() -> None:
    found = rounds()
    found.sent(request())
    id: object = 1
    asked = 1
    while again := found.next_round(id, wants({"k": ELICIT})):
        id = again["id"]
        asked += 1
    assert asked == MAX_ROUNDS == 10
    assert found.unfinished(1) == "the server still asks for input after 10 rounds"
    assert found.unfinished(1) == ""


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (wants()["result"], "the server asks for input and does not say for which"),
        (wants([ELICIT])["result"], "inputRequests must be an object and is something else"),
        (wants({"k": "text"})["result"], 'inputRequests has no method under "k"'),
        (wants({"k": {"method": "roots/\x1b[31m"}})["result"], "no stub answers roots/\\u001b[31m"),
        ({"resultType": "task"}, "it goes on as a task, and tasks are not followed"),
        ({"resultType": "bogus"}, 'resultType is "bogus", which means nothing'),
        ({"resultType": 5}, "resultType is 5, which means nothing"),
        ({"resultType": None}, "resultType is null, which means nothing"),
    ],
)
def test_an_intermediate_result_has_a_reason(result: Message, why: str) -> None:
    found = rounds()
    found.sent(request())
    assert found.next_round(1, {"id": 1, "result": result}) is None
    assert found.unfinished(1) == why


@pytest.mark.parametrize("answer", [{"result": {}}, {"result": {"resultType": "complete"}}, {}])
def test_a_final_result_has_no_reason(answer: Message) -> None:
    found = rounds()
    found.sent(request())
    assert found.next_round(1, answer) is None
    assert found.unfinished(1) == ""


def test_a_script_that_has_run_out_is_the_reason() -> None:
    found = rounds(ClientSpec(answers={"elicitation/create": []}))
    found.sent(request())
    assert found.next_round(1, wants({"k": ELICIT})) is None
    assert found.unfinished(1) == "the stubs have no further result for elicitation/create"


@pytest.mark.parametrize("count", [MAX_INPUTS, MAX_INPUTS + 1])
def test_the_number_of_inputs_given_at_once_is_limited(count: int) -> None:
    found = rounds()
    found.sent(request())
    again = found.next_round(1, wants({str(number): ELICIT for number in range(count)}))
    is_given = count <= MAX_INPUTS
    assert (again is not None) == is_given
    why = "" if is_given else "the server asks for 101 inputs at once; up to 100 are answered"
    assert found.unfinished(1) == why


def test_the_first_id_and_the_newest_lead_to_each_other() -> None:
    found = rounds()
    found.sent(request())
    assert (found.first_id(1), found.newest_id(1)) == (1, 1)
    found.next_round(1, wants({"k": ELICIT}))
    assert (found.first_id("mcptest-round-1"), found.newest_id(1)) == (1, "mcptest-round-1")
    found.over("mcptest-round-1")
    assert (found.first_id("mcptest-round-1"), found.newest_id(1)) == ("mcptest-round-1", 1)


def test_a_reused_id_means_the_newer_request() -> None:
    found = rounds()
    found.sent(request(1, name="old"))
    found.sent(request(1, name="new"))
    again = found.next_round(1, wants({"k": ELICIT}))
    assert again
    assert again["params"]["name"] == "new"


def test_a_round_that_is_sent_is_not_a_first_request() -> None:
    found = rounds()
    found.sent(request())
    again = found.next_round(1, wants({"k": ELICIT}))
    assert again
    found.sent(again)
    assert found.first_id(again["id"]) == 1


def test_the_answer_to_another_request_is_not_taken() -> None:
    assert rounds().next_round(1, wants({"k": ELICIT})) is None


def test_a_form_is_filled_in_with_its_defaults() -> None:
    found = rounds(ClientSpec(answers={"elicitation/create": ACCEPT_DEFAULTS}))
    found.sent(request())
    schema = {"type": "object", "properties": {"a": {"type": "integer", "default": 3}}}
    asked = {"method": "elicitation/create", "params": {"requestedSchema": schema}}
    again = found.next_round(1, wants({"k": asked}))
    accepted = {"action": "accept", "content": {"a": 3}}
    assert again == request("mcptest-round-1", inputResponses={"k": accepted})


def test_an_answer_that_is_an_error_is_not_an_input() -> None:
    found = rounds(ClientSpec(answers={"elicitation/create": ACCEPT_DEFAULTS}))
    found.sent(request())
    assert found.next_round(1, wants({"k": ELICIT})) is None
    assert "answers with an error: the client accepts forms" in found.unfinished(1)
