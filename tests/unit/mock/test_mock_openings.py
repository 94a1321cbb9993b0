"""Cases that begin with something the server says are opened in their turn."""

from __future__ import annotations

from typing import Any

from stage import Stage, cases, contract, request


def log(text: str) -> str:
    return (
        f"out_{text}: {{jsonrpc: '2.0', method: notifications/message, params: {{data: {text}}}}}\n"
    )


def answered(method: str) -> str:
    return (
        f"in: {{jsonrpc: '2.0', id: 1, method: {method}}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {}}\n"
    )


def told(messages: list[Any]) -> list[object]:
    """The logged texts, and the ids of answers."""
    return [each["params"]["data"] if "method" in each else each["id"] for each in messages]


def ready(*texts: str) -> tuple[Stage, list[object]]:
    """A session that is ready, and what was said when it was."""
    stage = contract(*texts)
    return stage, told(stage.notify("notifications/initialized"))


def test_an_opening_is_said_when_the_case_before_it_has_been_exercised() -> None:
    stage, first = ready(
        cases(log("one") + answered("a"), log("two") + answered("b"), log("three") + answered("c"))
    )
    assert first == ["one"]
    assert told(stage.hear(request("a"))) == [1, "two"]
    assert told(stage.hear(request("b"))) == [1, "three"]
    assert told(stage.hear(request("c"))) == [1]
    assert stage.missed == []


def test_a_case_is_exercised_when_all_of_it_came() -> None:
    stage, _ = ready(cases(answered("a") + "in_n: {jsonrpc: '2.0', method: n}\n", log("two")))
    assert told(stage.hear(request("a"))) == [1]
    assert told(stage.notify("n")) == ["two"]


def test_a_case_that_waits_for_an_answer_of_the_client_is_not_exercised() -> None:
    asks = (
        "in: {jsonrpc: '2.0', id: 1, method: a}\n"
        "out_q: {jsonrpc: '2.0', id: 7, method: roots/list}\n"
        "in_a: {jsonrpc: '2.0', id: 7, result: {}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {}}\n"
    )
    stage, _ = ready(cases(asks, log("two")))
    assert [each["method"] for each in stage.hear(request("a"))] == ["roots/list"]
    assert told(stage.reply(7, {})) == [1, "two"]


def test_cases_of_which_nothing_is_asked_open_one_after_the_other() -> None:
    stage, first = ready(cases(log("one"), log("two"), answered("a"), log("three"), log("four")))
    assert first == ["one", "two"]
    assert told(stage.hear(request("a"))) == [1, "three", "four"]
    assert stage.missed == []


def test_every_file_has_a_first_case() -> None:
    stage, first = ready(
        cases(log("one") + answered("a"), log("two")), cases(log("three") + answered("b"))
    )
    assert first == ["one", "three"]
    assert told(stage.hear(request("b"))) == [1]
    assert told(stage.hear(request("a"))) == [1, "two"]


def test_a_case_that_is_called_before_its_turn_is_answered_and_opened_later() -> None:
    stage, _ = ready(cases(answered("a"), log("two") + answered("b"), log("three")))
    assert told(stage.hear(request("b"))) == [1]
    assert stage.exercised == []
    assert told(stage.hear(request("a"))) == [1, "two", "three"]
    assert stage.missed == []


def test_a_handshake_that_a_case_has_counts_for_the_next_one() -> None:
    greets = (
        "in: {jsonrpc: '2.0', id: 1, method: initialize, params: {}}\n"
        "out: {jsonrpc: '2.0', id: 1, result: {}}\n"
    )
    stage = contract(cases(greets, log("two")))
    assert told(stage.hear(request("initialize", {}))) == [1]
    assert told(stage.notify("notifications/initialized")) == ["two"]


def test_openings_of_very_many_cases_come_in_order() -> None:
    stage, first = ready(cases(*(log(f"t{at}") + answered(f"m{at}") for at in range(500))))
    heard = [first, *(told(stage.hear(request(f"m{at}")))[1:] for at in range(500))]
    assert heard == [*([f"t{at}"] for at in range(500)), []]
