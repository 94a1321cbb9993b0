"""What several clients did with one contract."""

from __future__ import annotations

from stage import a_case, cases, contract, request

from mcptest.mock.report import join_reports
from mcptest.mock.session import MAX_WRONG

ADD = a_case("Adds", "{name: add}", "one")
TAKE = a_case("Takes", "{name: take}", "one")
ASK = """
case: Asks
in: {jsonrpc: '2.0', id: 1, method: tools/call, params: {name: ask}}
out_question: {jsonrpc: '2.0', id: q, method: roots/list}
in_answer: {jsonrpc: '2.0', id: q, result: {roots: []}}
out: {jsonrpc: '2.0', id: 1, result: {content: []}}
"""
TEXT = cases(ADD, TAKE, ASK)


def test_a_case_that_one_of_them_exercised_is_exercised() -> None:
    one, two = contract(TEXT), contract(TEXT)
    one.call("take")
    two.call("add")
    for report in (join_reports(one.report, two.report), join_reports(two.report, one.report)):
        assert [place["case"] for place in report.exercised] == ["Adds", "Takes"]
        assert [missed.place["case"] for missed in report.missed] == ["Asks"]
        assert report.fates == (True, True, False)


def test_what_one_of_them_is_waited_for_is_told() -> None:
    one, two = contract(TEXT).greet("roots"), contract(TEXT)
    one.hear(request("tools/call", {"name": "ask"}))
    for report in (join_reports(one.report, two.report), join_reports(two.report, one.report)):
        assert [missed.awaited for missed in report.missed] == ["", "", "roots/list"]


def test_what_was_wrong_and_what_is_noted_is_that_of_both_and_not_twice() -> None:
    one, two = contract(TEXT), contract(TEXT)
    for stage in (one, two):
        stage.ask("tools/call", {"name": "nope"})
    report = join_reports(one.report, two.report)
    assert len(report.wrong) == 2
    assert len(report.notes) == 1
    assert not report.is_kept


def test_only_so_much_is_recorded_of_all_of_them() -> None:
    one, two = contract(TEXT), contract(TEXT)
    for stage in (one, two):
        for _ in range(MAX_WRONG + 1):
            stage.ask("nope")
    report = join_reports(one.report, two.report)
    assert (len(report.wrong), report.more_wrong) == (MAX_WRONG, MAX_WRONG + 2)
