"""A JSON report read back: the same run, or an error that says what is wrong with the file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case
from hostile_runs import HostileRun, hostile_runs
from hypothesis import HealthCheck, given, settings
from sample_run import GONE, MISSING, PASSED, WRONG, bad_file_run, full_run, rendered, run_of

from mcptest.core.errors import FormatError
from mcptest.core.results import LogLine, Summary
from mcptest.core.value_class import ABSENT
from mcptest.reporters.json import JsonReporter, render_failure, render_validation
from mcptest.reporters.run_model import CollectedRun
from mcptest.reporters.saved import read_saved_run


def saved(run: CollectedRun) -> str:
    text = rendered(JsonReporter("0.1.0", all_logs=True), run.replay())
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def diagnostic(text: str) -> tuple[str, str, int, int]:
    with pytest.raises(FormatError) as caught:
        read_saved_run(text, "run.json")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.file == "run.json"
    assert diagnostic.help == "a report is written by: mcptest run … --reporter json=FILE"
    return diagnostic.code, diagnostic.message, diagnostic.line, diagnostic.column


def changed(**members: Any) -> str:
    return json.dumps(json.loads(saved(full_run())) | members)


def changed_test(**members: Any) -> str:
    report = json.loads(saved(run_of(PASSED)))
    report["suites"][0]["tests"][0] |= members
    return json.dumps(report)


def test_a_run_is_read_back_unchanged() -> None:
    log = (LogLine(at_s=0.25, direction="noise", text="x"),)
    run = full_run()
    run.all_suites[0][1][1] = run.all_suites[0][1][1].but(
        sent="{}", actual=None, expected={"a": [1]}, stderr="e", notes=("n",), log=log
    )
    assert list(read_saved_run(saved(run), "run.json").replay()) == list(run.replay())


def test_missing_values_are_read_back_as_missing_and_null_as_null() -> None:
    failed = PASSED.but(status="failed", mismatches=(MISSING, WRONG.but(actual=None)))
    back = read_saved_run(saved(run_of(failed)), "run.json")
    first, second = back.all_suites[0][1][0].mismatches
    assert (first.actual, second.actual) == (ABSENT, None)


def test_a_run_without_a_server_and_one_that_never_began_are_read_back() -> None:
    faulty = run_of(summary=Summary(), fault=GONE)
    faulty.all_suites = []
    assert read_saved_run(saved(faulty), "run.json").finished == faulty.finished
    never = CollectedRun()
    for event in bad_file_run():
        never(event)
    back = read_saved_run(saved(never), "run.json")
    assert (back.started, back.finished) == (never.started.but(suites=0), never.finished)


def test_the_report_of_a_failure_is_read_too() -> None:
    text = render_failure("usage", "there is no such file", (), "0.1.0", "2026-01-01T00:00:00Z")
    fault = read_saved_run(text, "run.json").finished.fault
    assert fault is not None
    assert (fault.kind, fault.message) == ("usage", "there is no such file")


@pytest.mark.long
@pytest.mark.slow
@given(hostile_runs())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_report_rendered_again_is_the_same_report(hostile: HostileRun) -> None:
    text = saved(hostile.run)
    assert saved(read_saved_run(text, "run.json")) == text


def test_an_answer_of_the_maximum_depth_is_read_back() -> None:
    deep: object = 1
    for _ in range(199):
        deep = [deep]
    run = run_of(PASSED.but(status="failed", actual=deep))
    assert read_saved_run(saved(run), "run.json").all_suites[0][1][0].actual == deep


def test_members_of_a_later_version_are_ignored() -> None:
    text = changed(weather="fine")
    assert read_saved_run(text, "run.json").finished == full_run().finished


def test_a_report_of_the_first_mcptest_has_less_and_is_read() -> None:
    report = json.loads(saved(run_of(PASSED)))
    for name in ("server", "coverage", "gates"):
        del report[name]
    del report["summary"]["flaky"]
    back = read_saved_run(json.dumps(report), "run.json")
    assert (back.finished.coverage, back.finished.missed_gates) == ((), ())


@each_case(
    ("text", "code", "message"),
    [
        ("[]", "F008", "the report must be an object, not []"),
        ("{}", "F005", "this is not a JSON report of mcptest"),
        ('{"tool": "other", "version": 1}', "F005", "this is not a JSON report of mcptest"),
        (changed(version=2), "F010", "a report of version 2; this mcptest reads 1"),
        (changed(version=True), "F010", "a report of version true; this mcptest reads 1"),
        (
            render_validation(1, 2, (), "0.1.0"),
            "F005",
            "this is what mcptest validate --json writes, not the report of a run",
        ),
        (changed(suites={}), "F008", "suites must be a list, not {}"),
        (changed(duration_ms="1"), "F008", 'duration_ms must be a number of milliseconds, not "1"'),
        (changed(interrupted=0), "F008", "interrupted must be true or false, not 0"),
        (changed(gates=[1]), "F008", "gates[0] must be a string, not 1"),
        (
            changed_test(status="passd"),
            "F009",
            'suites[0].tests[0].status is "passd"; there are: passed, failed, error, skipped',
        ),
        (
            changed_test(line=-1),
            "F008",
            "suites[0].tests[0].line must be a whole number from 0, not -1",
        ),
        (changed_test(name=None), "F008", "suites[0].tests[0].name must be a string, not null"),
        (
            changed_test(log=[{"at_ms": 1}]),
            "F007",
            'suites[0].tests[0].log[0] needs the key "direction"',
        ),
        (
            changed_test(status="failed"),
            "F009",
            "summary.passed is 1, but counted from suites it is 0",
        ),
        (
            changed(coverage={"servers": [{"server": "", "tools": [{"name": "", "calls": "2"}]}]}),
            "F008",
            'coverage.servers[0].tools[0].calls must be a whole number from 0, not "2"',
        ),
    ],
)  # fmt: skip
def test_an_invalid_report_file_is_refused_with_the_reason(
    text: str, code: str, message: str
) -> None:
    assert diagnostic(text)[:2] == (code, message)


def test_a_file_that_is_not_json_is_pointed_into() -> None:
    code, message, line, column = diagnostic('{"version": 1,\n "tool": }')
    assert (code, line, column) == ("F002", 2, 10)
    assert message.startswith("this is not JSON: ")


@pytest.mark.parametrize("name", ["version", "suites", "summary", "started_at", "duration_ms"])
def test_a_member_that_every_report_has_may_not_be_missing(name: str) -> None:
    report = json.loads(saved(full_run()))
    del report[name]
    assert name in diagnostic(json.dumps(report))[1]


@pytest.mark.parametrize("name", ["name", "status", "duration_ms", "line"])
def test_a_member_that_every_test_has_may_not_be_missing(name: str) -> None:
    report = json.loads(saved(run_of(PASSED)))
    del report["suites"][0]["tests"][0][name]
    assert diagnostic(json.dumps(report))[:2] == (
        "F007",
        f'suites[0].tests[0] needs the key "{name}"',
    )


def test_a_report_that_lacks_tests_without_a_reason_is_an_error() -> None:
    report = json.loads(saved(run_of(PASSED))) | {"selected": 3}
    run = read_saved_run(json.dumps(report), "run.json")
    assert (run.finished.summary.passed, run.finished.summary.errors) == (1, 1)
    suite, (lost,) = run.all_suites[-1]
    assert (suite.file, lost.name) == ("run.json", "the report is whole")
    assert lost.fault is not None
    assert lost.fault.kind == "incomplete_report"
    assert "the results of 1 of 3 selected tests" in lost.fault.message
    # Rendered again it stays what it is.
    again = read_saved_run(saved(run), "again.json")
    assert list(again.replay()) == list(run.replay())


@pytest.mark.parametrize("reason", ["interrupted", "bailed"])
def test_a_run_that_was_stopped_lacks_tests_for_a_reason(reason: str) -> None:
    report = json.loads(saved(run_of(PASSED))) | {"selected": 3, reason: True}
    run = read_saved_run(json.dumps(report), "run.json")
    assert run.finished.summary == Summary(passed=1)
    assert run.started.total == 3
