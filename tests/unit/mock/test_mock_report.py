"""The report of a mock: of one client, and of several together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from stage import a_case, cases, contract, manifest, request

from mcptest.mock.session import MAX_WRONG, join_reports, render_report, render_summary

if TYPE_CHECKING:
    from stage import Stage

BOTH = cases(
    a_case("Adds", "{name: add, arguments: {a: 1}}", "three"), a_case("Goes", "{name: go}", "gone")
)


def test_the_report_has_names_and_wrong_calls_and_nothing_else() -> None:
    stage = contract(BOTH)
    stage.call("go")
    stage.error("tools/call", {"name": "add", "arguments": {"a": 2}})
    assert json.loads(render_report(stage.report)) == {
        "exercised": ["Goes"],
        "missed": ["Adds"],
        "waiting": [],
        "wrong": [
            {
                "request": request("tools/call", {"name": "add", "arguments": {"a": 2}}),
                "nearest": {"case": "Adds", "file": "contract.yaml", "line": 1},
                "differences": [
                    {
                        "path": "params.arguments.a",
                        "expected": 1,
                        "actual": 2,
                        "message": "differs",
                    }
                ],
            }
        ],
    }


def test_the_contract_is_kept_when_nothing_is_missed_and_nothing_wrong() -> None:
    stage = contract(BOTH)
    kept = [stage.report.is_kept]
    stage.call("go")
    stage.call("add", a=1)
    kept.append(stage.report.is_kept)
    stage.error("nope")
    kept.append(stage.report.is_kept)
    assert kept == [False, True, False]


def test_the_summary_says_what_was_missed_and_what_differed_first() -> None:
    stage = contract(BOTH).greet()
    stage.call("go")
    stage.error("tools/call", {"name": "add", "arguments": {"a": 2}})
    assert render_summary(stage.report) == (
        "mcptest mock: 1 of 2 cases exercised, 1 wrong call\n"
        "  missed  Adds (contract.yaml:1)\n"
        "  wrong   tools/call; nearest: Adds (contract.yaml:1); "
        "params.arguments.a: differs, expected 1, got 2\n"
    )


def test_the_summary_of_a_kept_contract_is_one_line() -> None:
    stage = contract(a_case("Goes", "{name: go}", "gone")).greet()
    stage.call("go")
    assert render_summary(stage.report) == "mcptest mock: 1 of 1 cases exercised\n"


def test_names_and_values_cannot_act_on_a_terminal() -> None:
    stage = contract(a_case('"red \\e[31m"', "{name: go}", "gone"))
    stage.error("tools/call", {"name": "\x1b[31m\u202e"})
    for text in (render_summary(stage.report), render_report(stage.report)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\\u202e" in text


def test_wrong_calls_that_were_not_recorded_are_counted() -> None:
    stage = contract(BOTH).greet()
    for _ in range(203):
        stage.error("nope")
    wrong = json.loads(render_report(stage.report))["wrong"]
    assert len(wrong) == 201
    assert wrong[-1]["differences"][0]["message"] == "3 more wrong calls were not recorded"
    summary = render_summary(stage.report)
    assert "203 wrong calls" in summary
    assert summary.endswith("… and 183 more\n")


# Cases that wait


def asking(method: str, reply: str = "in_a: {jsonrpc: '2.0', id: 7, result: {}}\n") -> str:
    return (
        "case: Asks\n"
        "in: {jsonrpc: '2.0', id: 1, method: tools/call, params: {name: ask}}\n"
        f"out_q: {{jsonrpc: '2.0', id: 7, method: {method}}}\n{reply}"
        "out: {jsonrpc: '2.0', id: 1, result: {}}\n"
    )


ASK = request("tools/call", {"name": "ask"})


def test_a_case_that_waits_for_the_clients_answer_is_reported_as_such() -> None:
    stage = contract(asking("sampling/createMessage")).greet("sampling")
    stage.send(ASK)
    assert render_summary(stage.report) == (
        "mcptest mock: 0 of 1 cases exercised\n"
        "  missed  Asks (contract.yaml:1): "
        "waiting for the client's answer to sampling/createMessage\n"
    )
    report = json.loads(render_report(stage.report))
    assert report["missed"] == ["Asks"]
    assert report["waiting"] == [{"case": "Asks", "method": "sampling/createMessage"}]


@pytest.mark.parametrize("hears", [[], [ASK, {"jsonrpc": "2.0", "id": 7, "result": {}}]])
def test_a_case_that_was_not_called_or_has_its_answer_waits_for_nothing(
    hears: list[object],
) -> None:
    stage = contract(asking("roots/list")).greet("roots")
    for message in hears:
        stage.send(message)
    assert "waiting for" not in render_summary(stage.report)
    assert json.loads(render_report(stage.report))["waiting"] == []


def test_an_answer_that_the_case_does_not_have_is_not_waited_for() -> None:
    stage = contract(asking("roots/list", reply="")).greet("roots")
    stage.send(ASK)
    assert stage.exercised == ["Asks"]
    assert json.loads(render_report(stage.report))["waiting"] == []


# Notes


CAPABILITIES = [
    ("sampling/createMessage", "sampling"),
    ("elicitation/create", "elicitation"),
    ("roots/list", "roots"),
]


@pytest.mark.parametrize(("method", "needed"), CAPABILITIES)
def test_a_request_for_an_undeclared_capability_is_noted_once(method: str, needed: str) -> None:
    stage = contract(asking(method)).greet("other")
    for _ in range(2):
        assert [each["method"] for each in stage.send(ASK)] == [method]
    note = f"{method} was sent to a client that did not declare {needed}"
    assert stage.report.notes == (note,)
    assert render_summary(stage.report).endswith(f"\n  note    {note}\n")
    assert stage.report.wrong == ()


@pytest.mark.parametrize(("method", "needed"), [*CAPABILITIES, ("ping", "x"), ("x/y", "x")])
def test_requests_for_declared_capabilities_are_not_noted(method: str, needed: str) -> None:
    stage = contract(asking(method)).greet(needed)
    stage.send(ASK)
    assert stage.report.notes == ()


MANIFEST = "tools: [{name: go, answer: gone}]\n"


@pytest.mark.parametrize("stage", [contract(BOTH), manifest(MANIFEST)])
def test_a_request_before_any_handshake_is_answered_and_noted_once(stage: Stage) -> None:
    assert stage.call("go") == "gone"
    stage.result("tools/list")
    note = "tools/call came before any handshake, and was answered anyway"
    assert stage.report.notes == (note,)
    assert f"\n  note    {note}\n" in render_summary(stage.report)
    assert stage.report.wrong == ()


@pytest.mark.parametrize("stage", [contract(BOTH), manifest(MANIFEST)])
def test_a_client_may_ask_some_things_before_the_handshake_and_all_after_it(stage: Stage) -> None:
    stage.result("ping")
    stage.result("server/discover")
    stage.greet()
    stage.call("go")
    assert stage.report.notes == ()


def test_a_method_in_a_note_cannot_act_on_a_terminal() -> None:
    stage = contract(BOTH)
    stage.error("\x1b[31m")
    text = render_summary(stage.report)
    assert ("\\u001b" in text, "\x1b" in text) == (True, False)


# Several clients of one contract

ASKS = """
case: Asks
in: {jsonrpc: '2.0', id: 1, method: tools/call, params: {name: ask}}
out_question: {jsonrpc: '2.0', id: q, method: roots/list}
in_answer: {jsonrpc: '2.0', id: q, result: {roots: []}}
out: {jsonrpc: '2.0', id: 1, result: {content: []}}
"""
THREE = cases(a_case("Adds", "{name: add}", "one"), a_case("Takes", "{name: take}", "one"), ASKS)


def test_a_case_is_exercised_if_one_client_exercised_it() -> None:
    one, two = contract(THREE), contract(THREE)
    one.call("take")
    two.call("add")
    for report in (join_reports(one.report, two.report), join_reports(two.report, one.report)):
        assert [case.place["case"] for case in report.cases] == ["Adds", "Takes", "Asks"]
        assert [case.place["case"] for case in report.missed] == ["Asks"]
        assert [case.is_exercised for case in report.cases] == [True, True, False]


def test_an_answer_that_one_client_owes_is_reported() -> None:
    one, two = contract(THREE).greet("roots"), contract(THREE)
    one.send(request("tools/call", {"name": "ask"}))
    for report in (join_reports(one.report, two.report), join_reports(two.report, one.report)):
        assert [missed.awaited for missed in report.missed] == ["", "", "roots/list"]


def test_wrong_calls_add_up_and_equal_notes_do_not() -> None:
    one, two = contract(THREE), contract(THREE)
    for stage in (one, two):
        stage.ask("tools/call", {"name": "nope"})
    report = join_reports(one.report, two.report)
    assert (len(report.wrong), len(report.notes), report.is_kept) == (2, 1, False)


def test_the_number_of_recorded_wrong_calls_is_limited() -> None:
    one, two = contract(THREE), contract(THREE)
    for stage in (one, two):
        for _ in range(MAX_WRONG + 1):
            stage.ask("nope")
    report = join_reports(one.report, two.report)
    assert (len(report.wrong), report.more_wrong) == (MAX_WRONG, MAX_WRONG + 2)
