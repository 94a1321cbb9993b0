"""What is told at the end."""

from __future__ import annotations

import json

from stage import a_case, cases, contract, request

from mcptest.mock.report import render_report, render_summary

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
    stage = contract(BOTH)
    stage.call("go")
    stage.error("tools/call", {"name": "add", "arguments": {"a": 2}})
    assert render_summary(stage.report) == (
        "mcptest mock: 1 of 2 cases exercised, 1 wrong call\n"
        "  missed  Adds (contract.yaml:1)\n"
        "  wrong   tools/call; nearest: Adds (contract.yaml:1); "
        "params.arguments.a: differs, expected 1, got 2\n"
    )


def test_the_summary_of_a_kept_contract_is_one_line() -> None:
    stage = contract(a_case("Goes", "{name: go}", "gone"))
    stage.call("go")
    assert render_summary(stage.report) == "mcptest mock: 1 of 1 cases exercised\n"


def test_names_and_values_cannot_act_on_a_terminal() -> None:
    stage = contract(a_case('"red \\e[31m"', "{name: go}", "gone"))
    stage.error("tools/call", {"name": "\x1b[31m\u202e"})
    for text in (render_summary(stage.report), render_report(stage.report)):
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_what_was_not_recorded_is_counted() -> None:
    stage = contract(BOTH)
    for _ in range(203):
        stage.error("nope")
    wrong = json.loads(render_report(stage.report))["wrong"]
    assert len(wrong) == 201
    assert wrong[-1]["differences"][0]["message"] == "3 more wrong calls were not recorded"
    summary = render_summary(stage.report)
    assert "203 wrong calls" in summary
    assert summary.endswith("… and 183 more\n")
