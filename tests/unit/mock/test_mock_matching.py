"""Which case answers a request."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case
from stage import a_case, cases, contract

ADD = a_case("Adds", "{name: add, arguments: {a: 1, b: 2}}", "three")


def test_a_request_is_answered_by_the_case_with_its_method_and_params() -> None:
    stage = contract(cases(ADD, a_case("Other", "{name: other}", "something")))
    assert stage.call("other") == "something"
    assert stage.call("add", a=1, b=2) == "three"


@pytest.mark.parametrize("id", [7, "seven", -1, ""])
def test_the_answer_carries_the_id_of_the_caller(id: object) -> None:
    params = {"name": "add", "arguments": {"a": 1, "b": 2}}
    assert contract(ADD).ask("tools/call", params, id)["id"] == id


def test_the_answer_is_what_the_case_says_and_nothing_else() -> None:
    answer = contract(ADD).ask("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    content = [{"type": "text", "text": "three"}]
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {"content": content}}


def test_an_error_of_the_contract_is_sent_as_it_is() -> None:
    stage = contract(
        "in: {jsonrpc: '2.0', id: 1, method: tools/call, params: {name: bad}}\n"
        "out: {jsonrpc: '2.0', id: 1, error: {code: -32001, message: no}}\n"
    )
    assert stage.error("tools/call", {"name": "bad"}) == {"code": -32001, "message": "no"}


@each_case("match", ["", "_match: partial\n", "_match: exact\n"])
@each_case(
    ("params", "path"),
    [
        ({"name": "add", "arguments": {"a": 1}}, "params.arguments.b"),
        ({"name": "add", "arguments": {"a": 1, "b": 2, "c": 3}}, "params.arguments.c"),
        ({"name": "add", "arguments": {"a": 1, "b": 2}, "task": {}}, "params.task"),
        ({"name": "add"}, "params.arguments.a"),
    ],
)
def test_a_request_is_answered_when_it_is_exactly_what_is_written(
    params: dict[str, Any], path: str, match: str
) -> None:
    stage = contract(ADD + match)
    assert stage.call("add", b=2, a=1) == "three"
    error = stage.error("tools/call", params)
    assert error["code"] == -32602
    assert error["data"]["differences"][0]["path"] == path


ANN = a_case("Greeting somebody", "{name: greet, arguments: {who: Ann}}", "Hello Ann")
NOBODY = a_case("Nobody to greet", "{name: greet, arguments: {}}", "Nobody")


@pytest.mark.parametrize("text", [cases(ANN, NOBODY), cases(NOBODY, ANN)])
def test_a_case_without_arguments_answers_no_call_with_some(text: str) -> None:
    stage = contract(text)
    assert stage.call("greet", who="Ann") == "Hello Ann"
    assert stage.call("greet") == "Nobody"
    error = stage.error("tools/call", {"name": "greet", "arguments": {"who": "Bob"}})
    assert 'params.arguments.who: differs, expected "Ann", got "Bob"' in error["message"]


def test_the_case_with_an_optional_argument_answers_the_call_with_it() -> None:
    stage = contract(
        cases(
            a_case("All", "{name: search, arguments: {q: a}}", "all"),
            a_case("Some", "{name: search, arguments: {q: a, limit: 1}}", "some"),
        )
    )
    assert stage.call("search", q="a", limit=1) == "some"
    assert stage.call("search", q="a") == "all"


@each_case(
    ("written", "sent", "fits"),
    [
        ("1", 1.0, True),
        ("1.0", 1, True),
        ("0.0", -0.0, True),
        ("1", True, False),
        ("1", "1", False),
        ("1", 2, False),
        ("null", None, True),
        ("null", False, False),
        ("{a: 1, b: [x]}", {"b": ["x"], "a": 1}, True),
        ("{a: 1}", {"a": 1, "b": 2}, False),
        ("[1, 2]", [1, 2], True),
        ("[1, 2]", [2, 1], False),
        ("[1, 2]", [1, 2, 3], False),
        ("[]", {}, False),
    ],
)
def test_values_are_the_same_when_json_says_so(written: str, sent: object, fits: bool) -> None:
    stage = contract(a_case("V", f"{{name: v, arguments: {{v: {written}}}}}", "v"))
    answer = stage.ask("tools/call", {"name": "v", "arguments": {"v": sent}})
    assert ("result" in answer) == fits


@pytest.mark.parametrize("tag", ["!!any", "!!type object", "!!bind a"])
@pytest.mark.parametrize("sent", [{}, {"arguments": {}}, {"arguments": {"a": 1}}])
def test_a_tag_for_all_arguments_is_met_by_none_of_them(tag: str, sent: dict[str, Any]) -> None:
    stage = contract(a_case("Goes", f"{{name: go, arguments: {tag}}}", "gone"))
    assert "result" in stage.ask("tools/call", {"name": "go", **sent})


@pytest.mark.parametrize("meta", [{}, {"progressToken": 4}])
def test_meta_hinders_no_match(meta: dict[str, Any]) -> None:
    params = {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": meta}
    for text in (ADD, ADD + "_match: exact\n", ADD.replace("{name", "{_meta: {x: 1}, name")):
        assert "result" in contract(text).ask("tools/call", params)


EMPTY = (
    "in: {{jsonrpc: '2.0', id: 1, method: a/b{}}}\nout: {{jsonrpc: '2.0', id: 1, result: {{}}}}\n"
)


@each_case("written", ["", ", params: {}"])
@each_case("sent", [None, {}, [], {"_meta": {}}])
@each_case("exact", ["", "_match: exact\n"])
def test_empty_params_hinder_no_match(written: str, sent: object, exact: str) -> None:
    assert contract(EMPTY.format(written) + exact).result("a/b", sent) == {}


@pytest.mark.parametrize("written", ["{name: go}", "{name: go, arguments: {}}"])
@pytest.mark.parametrize("sent", [{}, {"arguments": {}}, {"arguments": None}])
def test_empty_arguments_hinder_no_match(written: str, sent: dict[str, Any]) -> None:
    stage = contract(a_case("Goes", written, "gone") + "_match: exact\n")
    assert "result" in stage.ask("tools/call", {"name": "go", **sent})


def test_tags_match_many_requests() -> None:
    stage = contract(
        a_case("Greets", "{name: greet, arguments: {who: !!re '^A', n: !!type number}}", "hi")
    )
    assert stage.call("greet", who="Ada", n=1.5) == "hi"
    assert "error" in stage.ask(
        "tools/call", {"name": "greet", "arguments": {"who": "Bob", "n": 1}}
    )


def test_the_first_unused_case_answers_in_written_order() -> None:
    stage = contract(cases(*(a_case(f"Number {n}", "{name: next}", f"n{n}") for n in (1, 2, 3))))
    assert [stage.call("next") for _ in range(3)] == ["n1", "n2", "n3"]


def test_when_all_are_used_the_last_one_answers_again() -> None:
    stage = contract(cases(*(a_case(f"Number {n}", "{name: next}", f"n{n}") for n in (1, 2))))
    assert [stage.call("next") for _ in range(4)] == ["n1", "n2", "n2", "n2"]
    assert stage.report.wrong == ()


def test_with_once_a_used_case_is_an_error() -> None:
    stage = contract(ADD, once=True)
    assert stage.call("add", a=1, b=2) == "three"
    error = stage.error("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    assert error["code"] == -32602
    assert "used" in error["message"]
    assert error["data"] == {
        "nearest": {"case": "Adds", "file": "contract.yaml", "line": 1},
        "differences": [],
    }
    assert len(stage.report.wrong) == 1


def test_with_once_the_session_can_still_be_asked_for() -> None:
    stage = contract(ADD, once=True)
    for _ in range(2):
        assert stage.result("ping") == {}
        assert "tools" in stage.result("tools/list")
        assert "protocolVersion" in stage.result("initialize", {})


def test_files_are_searched_in_the_order_they_are_given() -> None:
    stage = contract(
        a_case("one", "{name: next}", "first"), a_case("two", "{name: next}", "second")
    )
    assert [stage.call("next") for _ in range(2)] == ["first", "second"]


def test_several_dialogues_of_one_case_are_each_for_themselves() -> None:
    one, two = (
        a_case("x", f"{{name: {name}}}", name).partition("\n")[2] for name in ("alpha", "beta")
    )
    stage = contract("case: Both\n" + one + two)
    assert stage.call("beta") == "beta"
    assert stage.missed == ["Both"]
    assert stage.call("alpha") == "alpha"
    assert stage.exercised == ["Both"]


def test_a_skipped_case_is_not_played_and_not_missed() -> None:
    stage = contract(cases(ADD, a_case("Skipped", "{name: skipped}", "x") + "_skip: not yet\n"))
    assert "error" in stage.ask("tools/call", {"name": "skipped"})
    assert stage.missed == ["Adds"]


def test_only_leaves_out_the_others_as_in_a_run() -> None:
    stage = contract(cases(ADD, a_case("Alone", "{name: alone}", "x") + "_only: true\n"))
    assert stage.missed == ["Alone"]


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("tools/call", {"content": []}),
        ("resources/read", {"contents": []}),
        ("prompts/get", {"messages": []}),
        ("completion/complete", {"completion": {"values": []}}),
        ("logging/setLevel", {}),
        ("x/y", {}),
        ("tools/list", {"tools": []}),
    ],
)
def test_a_request_without_an_answer_gets_one_that_says_nothing(
    method: str, result: object
) -> None:
    stage = contract(f"case: Open\nin: {{jsonrpc: '2.0', id: 1, method: {method}}}\n")
    assert stage.result(method) == result
    assert stage.exercised == ["Open"]


def test_a_value_is_generated_for_a_tag_in_an_answer() -> None:
    stage = contract(
        "in: {jsonrpc: '2.0', id: 1, method: a}\n"
        "out: {jsonrpc: '2.0', id: !!any, result: {n: !!type integer,"
        " t: !!re '^v\\d$', a: !!any}}\n"
    )
    result = stage.result("a")
    assert isinstance(result["n"], int)
    assert (result["t"], list(result)) == ("v1", ["n", "t", "a"])


def test_the_same_value_is_generated_each_time() -> None:
    stage = contract(EMPTY.format("").replace("result: {}", "result: {x: !!type string}"))
    assert stage.result("a/b") == stage.result("a/b")
