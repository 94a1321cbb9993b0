"""The SARIF report: results with rules and places."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sample_run import PASSED, bad_file_run, full_run, rendered, run_of

from mcptest.core.results import Fault, Summary
from mcptest.reporters.sarif import SarifReporter


def sarif(events: object) -> dict[str, Any]:
    document = json.loads(rendered(SarifReporter("0.1.0"), events))  # type: ignore[arg-type]
    assert (document["version"], len(document["runs"])) == ("2.1.0", 1)
    run: dict[str, Any] = document["runs"][0]
    return run


def place(result: dict[str, Any]) -> tuple[str, int, int]:
    (location,) = result["locations"]
    physical = location["physicalLocation"]
    region = physical["region"]
    uri = physical["artifactLocation"]["uri"]
    return (uri, region["startLine"], region.get("startColumn", 0))


def test_each_thing_that_is_wrong_is_a_result_at_its_place() -> None:
    run = sarif(full_run().replay())
    file = "tests/files.test.mcp.yml"
    assert [(each["ruleId"], each["level"], place(each)) for each in run["results"]] == [
        ("W001", "warning", (file, 7, 5)),
        ("test-failed", "error", (file, 9, 0)),
        ("fault/exited_during_call", "error", (file, 14, 0)),
        ("test-failed", "error", (file, 30, 0)),
        ("flaky-test", "warning", (file, 25, 0)),
        ("finding/crlf", "note", (file, 1, 0)),
        ("gate-missed", "error", (file, 1, 0)),
    ]
    assert run["results"][1]["message"]["text"] == (
        "adds: result.n: differs (and 1 more)\n"
        'result.n: expected 1, actual "one"\n'
        'result.m: expected {"a": 1}, actual (nothing)'
    )
    assert run["results"][1]["partialFingerprints"] == {"test/v1": f"{file}#adds"}
    assert run["invocations"] == [
        {"executionSuccessful": True, "startTimeUtc": "2026-01-01T00:00:00Z"}
    ]


def test_every_rule_says_what_it_is_about() -> None:
    rules = sarif(full_run().replay())["tool"]["driver"]["rules"]
    assert {rule["id"]: rule["shortDescription"]["text"] for rule in rules} == {
        "W001": "slip that is accepted",
        "test-failed": "A test found something other than what it expects.",
        "fault/exited_during_call": "The server or the run failed: exited during call.",
        "flaky-test": "A test passed only when it was tried again.",
        "finding/crlf": "The server broke a rule: crlf.",
        "gate-missed": "A quality gate was not reached.",
    }


def test_a_run_that_passes_has_no_results_and_says_that_it_was_whole() -> None:
    run = sarif(run_of(PASSED).replay())
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is True


def test_mistakes_in_files_are_results_and_the_run_was_not_whole() -> None:
    run = sarif(bad_file_run())
    assert place(run["results"][0]) == ("a.yml", 3, 5)
    assert [each["ruleId"] for each in run["results"]] == ["F006", "fault/bad_file"]
    assert run["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"fault": Fault(kind="timeout", message="m"), "summary": Summary()}, "fault/timeout"),
        ({"interrupted": True}, "run-interrupted"),
    ],
)
def test_a_fault_of_the_whole_run_is_a_result(fields: dict[str, Any], rule: str) -> None:
    run = sarif(run_of(PASSED, **fields).replay())
    assert [each["ruleId"] for each in run["results"]] == [rule]
    assert run["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize(
    ("file", "uri", "has_base"),
    [
        ("a b/ü.yml", "a%20b/%C3%BC.yml", True),
        ("./a.yml", "a.yml", True),
        ("/abs/a.yml", "file:///abs/a.yml", False),
    ],
)
def test_a_file_is_a_uri(file: str, uri: str, has_base: bool) -> None:
    run = sarif(run_of(PASSED.but(status="failed"), file=file).replay())
    artifact = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": uri} | ({"uriBaseId": "%SRCROOT%"} if has_base else {})


def test_a_text_cannot_become_a_link() -> None:
    run = sarif(run_of(PASSED.but(status="failed", reason="[x](http://evil)")).replay())
    text = run["results"][0]["message"]["text"]
    assert ("evil" in text, "](" in text) == (True, False)
