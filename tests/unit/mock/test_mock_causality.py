"""The order of messages: requests of the server, notifications, answers that wait, openings."""

from __future__ import annotations

from typing import Any

import pytest
from stage import cases, contract, request

ASK = "out_q: {jsonrpc: '2.0', id: 77, method: elicitation/create, params: {message: Who?}}\n"
REPLY = "in_a: {jsonrpc: '2.0', id: 77, result: {action: accept, content: {name: !!bind name}}}\n"
CALL = "in: {jsonrpc: '2.0', id: 4, method: tools/call, params: {name: ask}}\n"
ANSWER = "out: {jsonrpc: '2.0', id: 4, result: {text: !!ref name}}\n"
ASKS_BACK = "case: Asks back\n" + CALL + ASK + REPLY + ANSWER

ACCEPTED = {"action": "accept", "content": {"name": "Ada"}}


def log(text: str, key: str = "out_log") -> str:
    return f"{key}: {{jsonrpc: '2.0', method: notifications/message, params: {{data: {text}}}}}\n"


def said(messages: list[Any]) -> list[object]:
    """What was sent, in short: the data of a message, a method, or the id of an answer."""
    return [
        each["params"]["data"]
        if each.get("method") == "notifications/message"
        else each.get("method", each.get("id"))
        for each in messages
    ]


def call(id: object = 9) -> dict[str, Any]:
    return request("tools/call", {"name": "ask"}, id)


def test_an_answer_waits_for_what_the_client_answers_in_between() -> None:
    stage = contract(ASKS_BACK)
    assert said(stage.send(call())) == ["elicitation/create"]
    (answer,) = stage.reply(77, ACCEPTED)
    assert (answer["id"], answer["result"]["text"]) == (9, "Ada")
    assert stage.exercised == ["Asks back"]


def test_an_answer_that_differs_makes_the_waiting_request_fail_and_is_wrong() -> None:
    stage = contract(ASKS_BACK)
    stage.send(call())
    (answer,) = stage.reply(77, {"action": "decline"})
    assert answer["id"] == 9
    assert "elicitation/create" in answer["error"]["message"]
    paths = [each["path"] for each in answer["error"]["data"]["differences"]]
    assert paths == ["result.action", "result.content"]
    assert len(stage.report.wrong) == 1
    assert stage.missed == ["Asks back"]


def test_an_answer_may_say_more_than_is_written() -> None:
    stage = contract(ASKS_BACK)
    stage.send(call())
    (answer,) = stage.reply(77, {**ACCEPTED, "more": 1})
    assert answer["result"]["text"] == "Ada"


def test_in_an_exact_case_an_answer_may_not_say_more() -> None:
    stage = contract(ASKS_BACK + "_match: exact\n")
    stage.send(call())
    (answer,) = stage.reply(77, {**ACCEPTED, "more": 1})
    assert [each["path"] for each in answer["error"]["data"]["differences"]] == ["result.more"]


def test_an_error_instead_of_a_result_differs() -> None:
    stage = contract(ASKS_BACK)
    stage.send(call())
    error = {"code": -32601, "message": "I cannot"}
    (answer,) = stage.send({"jsonrpc": "2.0", "id": 77, "error": error})
    assert answer["error"]["data"]["differences"][0]["path"] == "result"


def test_a_second_answer_to_the_same_question_is_wrong_and_nothing_follows() -> None:
    stage = contract(ASKS_BACK)
    stage.send(call())
    stage.reply(77, ACCEPTED)
    assert stage.reply(77, ACCEPTED) == []
    assert stage.report.wrong[0].differences[0]["message"] == "answers nothing that was asked"


@pytest.mark.parametrize("id", ["77", 77.5, None, 78])
def test_an_answer_with_another_id_makes_the_only_request_that_waits_fail(id: object) -> None:
    stage = contract(ASKS_BACK)
    stage.send(call())
    (answer,) = stage.reply(id, ACCEPTED)
    assert answer["id"] == 9
    (difference,) = answer["error"]["data"]["differences"]
    assert (difference["path"], difference["expected"], difference["actual"]) == ("id", 77, id)
    assert len(stage.report.wrong) == 1
    assert stage.missed == ["Asks back"]


def test_an_answer_with_another_id_answers_nothing_when_several_are_awaited() -> None:
    stage = contract(ASKS_BACK)
    stage.send(call(8))
    (other,) = stage.send(call(9))
    assert stage.reply("77", ACCEPTED) == []
    assert said(stage.reply(77, ACCEPTED)) == [8]
    assert said(stage.reply(other["id"], ACCEPTED)) == [9]
    assert len(stage.report.wrong) == 1


def test_an_answer_with_both_result_and_error_is_wrong() -> None:
    stage = contract(ASKS_BACK)
    stage.send(call())
    (answer,) = stage.send({"jsonrpc": "2.0", "id": 77, "result": ACCEPTED, "error": {}})
    assert answer["id"] == 9
    assert "both" in answer["error"]["data"]["differences"][0]["message"]


def test_two_who_ask_the_same_get_their_own_answers_in_any_order() -> None:
    stage = contract(ASKS_BACK)
    (first,) = stage.send(call("one"))
    (second,) = stage.send(call("two"))
    assert first["id"] == 77
    assert second["id"] != 77
    (answer,) = stage.reply(second["id"], {"action": "accept", "content": {"name": "Bob"}})
    assert (answer["id"], answer["result"]["text"]) == ("two", "Bob")
    (answer,) = stage.reply(77, ACCEPTED)
    assert (answer["id"], answer["result"]["text"]) == ("one", "Ada")


def test_an_id_that_was_answered_is_used_again() -> None:
    stage = contract(ASKS_BACK)
    for _ in range(2):
        (question,) = stage.send(call())
        assert question["id"] == 77
        stage.reply(77, ACCEPTED)


@pytest.mark.parametrize("id", ["!!bind q", "!!any"])
def test_an_id_that_is_not_written_is_generated(id: str) -> None:
    reply = REPLY.replace("id: 77", "id: !!ref q" if "bind" in id else "id: !!any")
    stage = contract(CALL + ASK.replace("id: 77", f"id: {id}") + reply + ANSWER)
    (question,) = stage.send(call())
    (answer,) = stage.reply(question["id"], ACCEPTED)
    assert answer["result"]["text"] == "Ada"


def test_several_questions_are_asked_one_after_the_other() -> None:
    second = ASK.replace("out_q", "out_r").replace("77", "78")
    reply = REPLY.replace("in_a", "in_b").replace("77", "78")
    stage = contract(CALL + ASK + REPLY + second + reply + ANSWER)
    assert said(stage.send(call())) == ["elicitation/create"]
    assert said(stage.reply(77, ACCEPTED)) == ["elicitation/create"]
    assert said(stage.reply(78, ACCEPTED)) == [9]


def test_a_question_without_a_written_answer_holds_up_nothing() -> None:
    stage = contract(CALL + ASK + "out: {jsonrpc: '2.0', id: 4, result: {}}\n")
    assert said(stage.send(call())) == ["elicitation/create", 9]
    assert stage.reply(77, {"anything": 1}) == []
    assert stage.report.wrong == ()


def test_a_server_request_written_after_the_answer_is_sent_after_it() -> None:
    stage = contract(
        CALL + "out: {jsonrpc: '2.0', id: 4, result: {}}\n" + ASK + REPLY + log("done")
    )
    assert said(stage.send(call())) == [9, "elicitation/create"]
    assert said(stage.reply(77, ACCEPTED)) == ["done"]


def test_messages_after_a_request_are_sent_in_written_order() -> None:
    stage = contract(
        CALL
        + log("before", "out_a")
        + "out: {jsonrpc: '2.0', id: 4, result: {}}\n"
        + log("after", "out_b")
    )
    assert said(stage.send(call())) == ["before", 9, "after"]


def test_an_answer_that_waits_for_nothing_is_sent_at_once() -> None:
    """The question belongs to another request: a client that only sends this one must not wait."""
    other = "in_other: {jsonrpc: '2.0', id: 5, method: other}\n"
    rest = "out_other: {jsonrpc: '2.0', id: 5, result: {}}\n"
    plain = "out: {jsonrpc: '2.0', id: 4, result: {}}\n"
    stage = contract(CALL + other + ASK + REPLY + plain + rest)
    assert said(stage.send(call())) == [9]
    assert said(stage.send(request("other", None, 8))) == ["elicitation/create"]
    assert said(stage.reply(77, ACCEPTED)) == [8]


def test_a_question_from_before_the_request_holds_up_nothing() -> None:
    stage = contract(ASK + CALL + REPLY + "out: {jsonrpc: '2.0', id: 4, result: {}}\n")
    assert said(stage.send(call())) == ["elicitation/create", 9]


# Before any message of the client

OPENING = log("welcome") + CALL + "out: {jsonrpc: '2.0', id: 4, result: {}}\n"


def test_messages_before_any_of_the_client_are_sent_when_the_session_is_ready() -> None:
    stage = contract(OPENING)
    stage.send(request("initialize", {}))
    assert stage.result("ping") == {}
    assert said(stage.notify("notifications/initialized")) == ["welcome"]
    assert said(stage.send(call())) == [9]


def test_a_client_that_is_never_ready_gets_it_before_its_first_answer() -> None:
    assert said(contract(OPENING).send(call())) == ["welcome", 9]


def test_a_case_of_which_nothing_is_asked_is_exercised_when_it_was_said() -> None:
    stage = contract("case: Welcomes\n" + log("welcome"))
    assert stage.missed == ["Welcomes"]
    stage.notify("notifications/initialized")
    assert stage.exercised == ["Welcomes"]


def test_an_opening_that_needs_a_name_is_sent_when_the_name_is_bound() -> None:
    binds = (
        "in: {jsonrpc: '2.0', id: 1, method: bind, params: {v: !!bind v}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {}}\n"
    )
    stage = contract(cases(binds, log("!!ref v")))
    assert stage.notify("notifications/initialized") == []
    assert said(stage.send(request("bind", {"v": "now"}))) == [1, "now"]
    assert said(stage.send(request("bind", {"v": "again"}))) == [1]


def test_several_openings_are_said_in_written_order_and_each_once() -> None:
    binds = (
        "in: {jsonrpc: '2.0', id: 1, method: bind, params: {v: !!bind v}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {}}\n"
    )
    stage = contract(cases(binds, log("!!ref v"), log("first"), log("!!ref v"), log("last")))
    assert said(stage.notify("notifications/initialized")) == []
    assert said(stage.send(request("ping"))) == [1]
    assert said(stage.send(request("bind", {"v": "now"}))) == [1, "now", "first", "now", "last"]
    assert stage.notify("notifications/initialized") == []
    assert stage.missed == []


# Notifications of the client


def noticed(then: str) -> str:
    return "case: Noticed\nin: {jsonrpc: '2.0', method: notifications/x, params: {a: 1}}\n" + then


def test_a_notification_may_have_consequences() -> None:
    stage = contract(noticed(log("seen")))
    assert said(stage.notify("notifications/x", {"a": 1})) == ["seen"]
    assert stage.exercised == ["Noticed"]


def test_a_notification_that_the_contract_does_not_have_is_wrong() -> None:
    stage = contract(noticed(""))
    assert stage.notify("notifications/x", {"a": 2}) == []
    assert stage.notify("notifications/x", {"a": 1, "b": 1}) == []
    for wrong, path in zip(stage.report.wrong, ["params.a", "params.b"], strict=True):
        assert wrong.nearest is not None
        assert wrong.nearest["case"] == "Noticed"
        assert [each["path"] for each in wrong.differences] == [path]


@pytest.mark.parametrize(
    "method",
    [
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
        "notifications/roots/list_changed",
    ],
)
def test_messages_that_a_client_may_always_send_are_never_wrong(method: str) -> None:
    stage = contract(noticed(""), once=True)
    assert stage.notify(method, {"x": 1}) == []
    assert stage.report.wrong == ()


def test_with_once_a_notification_too_many_is_wrong() -> None:
    stage = contract(noticed(log("seen")), once=True)
    stage.notify("notifications/x", {"a": 1})
    assert stage.notify("notifications/x", {"a": 1}) == []
    assert len(stage.report.wrong) == 1


def cancels(params: str) -> str:
    return (
        "case: Cancels\n"
        f"in: {{jsonrpc: '2.0', method: notifications/cancelled, params: {params}}}\n"
        + log("stopped")
    )


def test_id_and_reason_of_a_cancellation_are_the_clients_own() -> None:
    cancelled = {"requestId": "mine", "reason": "it takes too long"}
    stage = contract(cancels("{requestId: 5}"))
    assert said(stage.notify("notifications/cancelled", cancelled)) == ["stopped"]


def test_a_reason_that_is_written_must_be_there() -> None:
    stage = contract(cancels("{requestId: 5, reason: late}"))
    assert stage.notify("notifications/cancelled", {"requestId": 1, "reason": "early"}) == []
    assert stage.missed == ["Cancels"]
    assert said(stage.notify("notifications/cancelled", {"reason": "late"})) == ["stopped"]


def test_a_notification_that_needs_a_name_nothing_has_bound_is_wrong() -> None:
    binds = "in: {jsonrpc: '2.0', id: 1, method: bind, params: {v: !!bind v}}\n"
    stage = contract(cases(binds, noticed(log("!!ref v"))))
    assert stage.notify("notifications/x", {"a": 1}) == []
    assert len(stage.report.wrong) == 1


def test_a_request_is_never_answered_twice() -> None:
    """Messages after the client's answer cannot be sent, and the request has its own."""
    binds = "in: {jsonrpc: '2.0', id: 1, method: bind, params: {v: !!bind v}}\n"
    plain = "out: {jsonrpc: '2.0', id: 4, result: {}}\n"
    stage = contract(cases(binds, CALL + plain + ASK + REPLY + log("!!ref v")))
    assert said(stage.send(call())) == [9, "elicitation/create"]
    assert stage.reply(77, ACCEPTED) == []
    assert len(stage.report.wrong) == 1


def test_a_request_whose_question_cannot_be_followed_up_fails() -> None:
    binds = "in: {jsonrpc: '2.0', id: 1, method: bind, params: {v: !!bind v}}\n"
    stage = contract(cases(binds, CALL + ASK + REPLY + log("!!ref v") + ANSWER))
    stage.send(call())
    (answer,) = stage.reply(77, ACCEPTED)
    assert answer["id"] == 9
    assert "nothing has bound the name v yet" in answer["error"]["message"]


# Batches in a contract

BATCH = (
    "in: [{jsonrpc: '2.0', id: 1, method: a, params: {v: !!bind v}},"
    " {jsonrpc: '2.0', id: 2, method: b},"
    " {jsonrpc: '2.0', method: notifications/x}]\n"
    "out_two: {jsonrpc: '2.0', id: 2, result: {of: b}}\n"
    "out_one: {jsonrpc: '2.0', id: 1, result: {of: !!ref v}}\n"
)


def test_the_requests_of_a_batch_are_cues_like_others() -> None:
    stage = contract("case: Batch\n" + BATCH)
    assert stage.result("a", {"v": "x"}) == {"of": "x"}
    assert stage.missed == ["Batch"]
    assert stage.result("b") == {"of": "b"}
    stage.notify("notifications/x")
    assert stage.exercised == ["Batch"]


# Openings: cases that begin with a message of the server are opened in their turn


def opening(text: str) -> str:
    return log(text, f"out_{text}")


def answered(method: str) -> str:
    return (
        f"in: {{jsonrpc: '2.0', id: 1, method: {method}}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {}}\n"
    )


A_AND_NOTE = answered("a") + "in_n: {jsonrpc: '2.0', method: n}\n"
ONE_A, TWO_B = opening("one") + answered("a"), opening("two") + answered("b")


@pytest.mark.parametrize(
    ("files", "first", "then"),
    [
        pytest.param(
            [cases(ONE_A, TWO_B, opening("three") + answered("c"))],
            ["one"],
            {"a": [1, "two"], "b": [1, "three"], "c": [1]},
            id="after the case before it",
        ),
        pytest.param(
            [cases(A_AND_NOTE, opening("two"))],
            [],
            {"a": [1], "n": ["two"]},
            id="after all messages of the case before it",
        ),
        pytest.param(
            [cases(*map(opening, ("one", "two")), answered("a"), *map(opening, ("three", "four")))],
            ["one", "two"],
            {"a": [1, "three", "four"]},
            id="cases without a request in a row",
        ),
        pytest.param(
            [cases(ONE_A, opening("two")), cases(opening("three") + answered("b"))],
            ["one", "three"],
            {"b": [1], "a": [1, "two"]},
            id="each file has a first case",
        ),
        pytest.param(
            [cases(answered("a"), TWO_B, opening("three"))],
            [],
            {"b": [1], "a": [1, "two", "three"]},
            id="a case called before its turn",
        ),
        pytest.param(
            [cases(*(opening(f"t{at}") + answered(f"m{at}") for at in range(500)))],
            ["t0"],
            {f"m{at}": [1, f"t{at + 1}"] if at < 499 else [1] for at in range(500)},
            id="very many cases",
        ),
    ],
)
def test_a_case_is_opened_when_the_one_before_it_is_exercised(
    files: list[str], first: list[object], then: dict[str, list[object]]
) -> None:
    stage = contract(*files)
    assert said(stage.notify("notifications/initialized")) == first
    for method, expected in then.items():
        found = stage.notify(method) if method == "n" else stage.send(request(method))
        assert said(found) == expected
    assert stage.missed == []


def test_a_case_that_waits_for_the_client_is_not_exercised() -> None:
    asks = (
        "in: {jsonrpc: '2.0', id: 1, method: a}\n"
        "out_q: {jsonrpc: '2.0', id: 7, method: roots/list}\n"
        "in_a: {jsonrpc: '2.0', id: 7, result: {}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {}}\n"
    )
    stage = contract(cases(asks, opening("two")))
    stage.notify("notifications/initialized")
    assert said(stage.send(request("a"))) == ["roots/list"]
    assert said(stage.reply(7, {})) == [1, "two"]


def test_a_handshake_that_a_case_has_counts_for_the_next_one() -> None:
    greets = (
        "in: {jsonrpc: '2.0', id: 1, method: initialize, params: {}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {}}\n"
    )
    stage = contract(cases(greets, opening("two")))
    assert said(stage.send(request("initialize", {}))) == [1]
    assert said(stage.notify("notifications/initialized")) == ["two"]
