"""The JSON report: exactly the members that are promised, and always valid JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.coverage import CoveredOffer, CoveredProperty, ServerCoverage
from mcptest.core.diagnostics import Diagnostic
from mcptest.core.events import CaseFinished, Event, RunFinished, RunStarted, SuiteStarted
from mcptest.core.results import CaseResult, Evidence, Fault, Finding, LogLine, Mismatch, Summary
from mcptest.core.value_class import ABSENT
from mcptest.reporters.json import JsonReporter, render_failure

STARTED = RunStarted(started_at="2026-01-01T00:00:00Z", server="Files", suites=1, total=3)
SUITE = SuiteStarted(name="Tools", file="a.yml", format="conductor", server="Files", total=3)
PASSED = CaseResult(name="lists the tools", status="passed", line=4, duration_s=0.0012345)
WRONG = Mismatch(path="result.n", expected=1, actual=ABSENT, message="is missing", hint="h")
FAULT = Fault(
    kind="timeout",
    message="no answer within 30 s",
    hint="raise it",
    effect="indefinite",
    evidence=Evidence(
        command=("node",), exit_status="exited with 1", stderr_tail="err", stdout_tail="out"
    ),
)
DIAGNOSTIC = Diagnostic(
    code="F006", file="a.yml", line=3, column=5, message="unknown key", help="remove it"
)
DIAGNOSTIC_MEMBERS = {
    "code": "F006",
    "file": "a.yml",
    "line": 3,
    "column": 5,
    "message": "unknown key",
    "help": "remove it",
}
PASSED_MEMBERS = {
    "name": "lists the tools",
    "status": "passed",
    "duration_ms": 1.234,
    "line": 4,
    "mismatches": [],
    "error": None,
}
FAULT_MEMBERS = {
    "kind": "timeout",
    "message": "no answer within 30 s",
    "hint": "raise it",
    "effect": "indefinite",
    "exit_status": "exited with 1",
    "stderr_tail": "err",
    "stdout_tail": "out",
    "command": ["node"],
    "cwd": "",
}


def rendered(*events: Event) -> str:
    report = JsonReporter("0.1.0")
    for event in events:
        report(event)
    return report.render()


def reported_test(**fields: object) -> dict[str, object]:
    report = json.loads(rendered(SUITE, CaseFinished(result=PASSED.but(**fields))))
    test: dict[str, object] = report["suites"][0]["tests"][0]
    return test


def reported_value(value: object) -> object:
    test = reported_test(status="failed", mismatches=(WRONG.but(expected=value),))
    return test["mismatches"][0]["expected"]  # type: ignore[index]


def test_the_report_has_exactly_the_promised_members() -> None:
    finding = Finding(kind="stray", server="Files", message="m", quote="q", count=3)
    text = rendered(
        STARTED.but(warnings=(DIAGNOSTIC.but(code="W001", severity="warning"),)),
        SUITE,
        CaseFinished(result=PASSED),
        RunFinished(summary=Summary(passed=1), duration_s=0.0123, findings=(finding,)),
    )
    assert json.loads(text) == {
        "version": 1,
        "tool": "mcptest",
        "tool_version": "0.1.0",
        "started_at": "2026-01-01T00:00:00Z",
        "duration_ms": 12.3,
        "server": "Files",
        "summary": {"total": 1, "passed": 1, "failed": 0, "errors": 0, "skipped": 0, "flaky": 0},
        "suites": [
            {
                "name": "Tools",
                "file": "a.yml",
                "format": "conductor",
                "server": "Files",
                "tests": [PASSED_MEMBERS],
            }
        ],
        "warnings": [DIAGNOSTIC_MEMBERS | {"code": "W001"}],
        "findings": [
            {"kind": "stray", "server": "Files", "message": "m", "quote": "q", "count": 3}
        ],
        "invariants": [],
        "composition": [],
        "coverage": None,
        "gates": [],
        "broken_rules": [],
        "not_run": 0,
        "not_run_allowed": False,
        "error": None,
        "interrupted": False,
        "interrupted_in": None,
        "bailed": False,
        "selected": 3,
    }


def test_each_test_is_on_a_line_of_its_own() -> None:
    text = rendered(SUITE, *[CaseFinished(result=PASSED)] * 2, SUITE)
    lines = text.splitlines()
    first = lines.index('  "suites": [')
    assert json.loads(lines[first + 2].rstrip(",")) == PASSED_MEMBERS
    assert json.loads(lines[first + 3]) == PASSED_MEMBERS
    assert lines[first + 4] == "    ]},"
    assert lines[first + 5].endswith('"server": "Files", "tests": []}')


def test_a_failed_test_has_its_mismatches_and_absence_is_null() -> None:
    assert reported_test(status="failed", mismatches=(WRONG,)) == PASSED_MEMBERS | {
        "status": "failed",
        "mismatches": [
            {
                "path": "result.n",
                "expected": 1,
                "actual": None,
                "missing": ["actual"],
                "message": "is missing",
                "hint": "h",
            }
        ],
    }


def test_a_test_that_broke_has_its_fault() -> None:
    assert reported_test(status="error", fault=FAULT) == PASSED_MEMBERS | {
        "status": "error",
        "error": FAULT_MEMBERS,
    }


def test_a_skipped_test_has_its_reason_and_any_test_its_notes() -> None:
    assert reported_test(status="skipped", reason="why", notes=("n",)) == PASSED_MEMBERS | {
        "status": "skipped",
        "reason": "why",
        "notes": ["n"],
    }


def test_a_test_has_its_tags_its_attempts_and_whether_it_is_flaky() -> None:
    assert reported_test(tags=("slow", "io"), attempts=2) == PASSED_MEMBERS | {
        "tags": ["slow", "io"],
        "attempts": 2,
        "flaky": True,
    }
    failed = reported_test(status="failed", attempts=3)
    assert (failed["attempts"], failed["flaky"]) == (3, False)


def test_a_test_that_failed_has_what_was_sent_wanted_and_answered() -> None:
    test = reported_test(
        status="failed", sent='{"id":1}', expected={"a": ABSENT}, actual=None, stderr="oops\n"
    )
    whole = {name: test[name] for name in ("sent", "actual", "stderr")}
    assert whole == {"sent": '{"id":1}', "actual": None, "stderr": "oops\n"}


SAID = LogLine(at_s=0.25, direction="sent", text='{"id":1}')
SAID_MEMBERS = {"at_ms": 250.0, "direction": "sent", "text": '{"id":1}'}


@pytest.mark.parametrize(
    ("fields", "is_there"),
    [
        ({"status": "failed"}, True),
        ({"status": "error", "fault": FAULT}, True),
        ({"attempts": 2}, True),
        ({}, False),
    ],
    ids=["failed", "error", "flaky", "passed"],
)
def test_the_log_is_there_for_tests_that_did_not_pass_cleanly(
    fields: dict[str, object], is_there: bool
) -> None:
    test = reported_test(log=(SAID,), **fields)
    assert test.get("log") == ([SAID_MEMBERS] if is_there else None)


def test_all_logs_are_there_when_they_are_asked_for() -> None:
    report = JsonReporter("0.1.0", all_logs=True)
    report(SUITE)
    report(CaseFinished(result=PASSED.but(log=(SAID,))))
    assert json.loads(report.render())["suites"][0]["tests"][0]["log"] == [SAID_MEMBERS]


def test_the_last_lines_of_a_very_long_log_are_kept() -> None:
    test = reported_test(status="failed", log=(SAID,) * 499 + (SAID.but(text="last"),) * 3)
    assert len(test["log"]) == 500  # type: ignore[arg-type]
    assert test["log"][-1]["text"] == "last"  # type: ignore[index]
    assert test["notes"] == ["2 earlier lines of the log are left out of this report"]


def test_coverage_and_missed_gates_are_in_the_report() -> None:
    tool = CoveredOffer(
        kind="tool", name="add", calls=2, properties=(CoveredProperty(name="a", calls=0),)
    )
    server = ServerCoverage(
        server="Files", offers=(tool, CoveredOffer(kind="resource", name="r://", calls=0))
    )
    finished = RunFinished(
        summary=Summary(passed=1), duration_s=0.0, coverage=(server,), missed_gates=("33 < 80",)
    )
    report = json.loads(rendered(STARTED, SUITE, CaseFinished(result=PASSED), finished))
    assert report["gates"] == ["33 < 80"]
    assert report["coverage"] == {
        "percent": 33.3,
        "servers": [
            {
                "server": "Files",
                "percent": 33.3,
                "tools": [{"name": "add", "calls": 2, "properties": [{"name": "a", "calls": 0}]}],
                "resources": [{"name": "r://", "calls": 0}],
                "resourceTemplates": [],
                "prompts": [],
            }
        ],
    }


def test_a_run_in_which_no_test_could_run_has_no_suites_and_an_error() -> None:
    report = json.loads(
        rendered(STARTED, SUITE, RunFinished(summary=Summary(), duration_s=0.0, fault=FAULT))
    )
    assert report["suites"] == []
    assert report["error"] == FAULT_MEMBERS | {"diagnostics": []}


def test_a_report_without_a_last_event_says_interrupted_and_counts_what_it_has() -> None:
    report = json.loads(
        rendered(
            STARTED,
            SUITE,
            CaseFinished(result=PASSED),
            CaseFinished(result=PASSED.but(status="error", fault=FAULT)),
        )
    )
    assert report["interrupted"] is True
    assert report["summary"] == {
        "total": 2,
        "passed": 1,
        "failed": 0,
        "errors": 1,
        "skipped": 0,
        "flaky": 0,
    }


def test_a_run_that_never_began_is_reported_with_every_diagnostic() -> None:
    text = render_failure("bad_file", "1 mistake", [DIAGNOSTIC], "0.1.0", "2026-01-01T00:00:00Z")
    assert json.loads(text) == {
        "version": 1,
        "tool": "mcptest",
        "tool_version": "0.1.0",
        "started_at": "2026-01-01T00:00:00Z",
        "duration_ms": 0.0,
        "server": "",
        "summary": {"total": 0, "passed": 0, "failed": 0, "errors": 0, "skipped": 0, "flaky": 0},
        "suites": [],
        "warnings": [],
        "findings": [],
        "invariants": [],
        "composition": [],
        "coverage": None,
        "gates": [],
        "broken_rules": [],
        "not_run": 0,
        "not_run_allowed": False,
        "error": {
            "kind": "bad_file",
            "message": "1 mistake",
            "diagnostics": [DIAGNOSTIC_MEMBERS],
        },
        "interrupted": False,
        "interrupted_in": None,
        "bailed": False,
        "selected": 0,
    }


@pytest.mark.parametrize(
    ("value", "as_json"),
    [
        (None, None),
        (True, True),
        (1.5, 1.5),
        ((1, "a"), [1, "a"]),
        ({1: float("nan"), "b": [float("inf"), -float("inf")]}, {"1": "nan", "b": ["inf", "-inf"]}),
        (ABSENT, None),
    ],
)
def test_values_json_cannot_express_become_strings(value: object, as_json: object) -> None:
    assert reported_value(value) == as_json


def test_a_value_that_would_swell_the_report_is_cut_to_text() -> None:
    assert reported_value("x" * 19_000) == "x" * 19_000
    assert reported_value("x" * 30_000) == f'"{"x" * 20_000}" (… 10,000 more characters)'
    cut = reported_value({"a": ["x"] * 10_000})
    assert isinstance(cut, str)
    assert cut.startswith('{"a": ["x", "x", ')
    assert cut.endswith(" (… 1 key in all)")


def test_a_value_that_was_cut_is_said_to_be() -> None:
    long = "x" * 30_000
    test = reported_test(status="failed", mismatches=(WRONG.but(expected=long),), actual=long)
    assert test["mismatches"][0]["cut"] == ["expected"]  # type: ignore[index]
    assert test["cut"] == ["actual"]


def test_mismatches_beyond_the_limit_are_counted_in_a_note() -> None:
    test = reported_test(status="failed", mismatches=(WRONG,) * 203)
    assert len(test["mismatches"]) == 200  # type: ignore[arg-type]
    assert test["notes"] == ["3 more mismatches are left out of this report"]


def test_a_ci_command_inside_a_text_is_escaped_and_still_the_same_text() -> None:
    text = rendered(SUITE.but(name="\\##[error]x ##vso[y]"))
    assert "##[" not in text
    assert "##vso[" not in text
    assert json.loads(text)["suites"][0]["name"] == "\\##[error]x ##vso[y]"


@given(st.text(st.characters() | st.sampled_from("\ud800\udfff\x00\x1b\u2028#[")))
def test_any_text_survives_the_way_to_bytes_and_back(text: str) -> None:
    report = rendered(
        SUITE.but(name=text),
        CaseFinished(result=PASSED.but(mismatches=(WRONG.but(expected={text: [text]}),))),
    )
    raw = report.encode("utf-8", "backslashreplace")
    suite = json.loads(raw)["suites"][0]
    # A surrogate pair written as two escapes is one character to any JSON reader.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert suite["name"] == whole
    assert suite["tests"][0]["mismatches"][0]["expected"] == {whole: [whole]}


def test_the_same_events_give_the_same_text() -> None:
    events = [STARTED, SUITE, CaseFinished(result=PASSED.but(status="error", fault=FAULT))]
    assert rendered(*events) == rendered(*events)
