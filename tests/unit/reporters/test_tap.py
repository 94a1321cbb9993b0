"""The TAP report: points, directives and diagnostics as version 14 has them."""

from __future__ import annotations

import pytest
from sample_run import (
    FAILED,
    FINDING,
    FLAKY,
    PASSED,
    SKIPPED,
    bad_file_run,
    full_run,
    rendered,
    run_of,
)

from mcptest.core.results import Finding
from mcptest.reporters.tap import TapReporter


def test_every_verdict_is_a_point_and_what_did_not_simply_pass_has_a_block() -> None:
    run = run_of(PASSED, FAILED, SKIPPED, FLAKY)
    assert rendered(TapReporter(), run.replay()) == (
        "TAP version 14\n"
        "1..4\n"
        "ok 1 - lists the tools\n"
        "not ok 2 - adds\n"
        "  ---\n"
        '  message: "result.n: differs (and 1 more)"\n'
        '  severity: "fail"\n'
        '  suite: "Files"\n'
        '  file: "tests/files.test.mcp.yml"\n'
        "  line: 9\n"
        "  duration_ms: 3.0\n"
        "  mismatches:\n"
        '    - {"path": "result.n", "expected": 1, "actual": "one", "message": "differs", '
        '"hint": "it is a text"}\n'
        '    - {"path": "result.m", "expected": "{\\"a\\": 1}", "message": "is missing"}\n'
        "  ...\n"
        "ok 3 - sleeps # SKIP too slow\n"
        "ok 4 - sometimes works\n"
        "  ---\n"
        "  attempts: 2\n"
        "  flaky: true\n"
        "  tags:\n"
        '    - "net"\n'
        "  ...\n"
    )


def test_a_fault_is_shown_with_its_evidence() -> None:
    text = rendered(TapReporter(), full_run().replay())
    assert (
        '  kind: "exited_during_call"\n'
        '  hint: "look at its stderr"\n'
        '  ended: "exited with 1"\n'
        '  server_stderr: "Error: boom\\n"\n'
    ) in text


def test_a_missed_gate_is_a_point_that_fails_and_coverage_a_comment() -> None:
    text = rendered(TapReporter(), full_run().replay())
    assert '\nnot ok 7 - the gate is reached\n  ---\n  message: "coverage is 40 %, wanted' in text
    assert text.endswith(
        "# note: ends lines with CRLF (2 times)\n"
        "# coverage of Files: 40 % (2 of 5)\n"
        "#   tools never called    drop\n"
        "#   prompts never used    ask\n"
        "#   inputs never given    add.b\n"
    )


def test_a_run_that_never_began_bails_out_and_is_not_ok() -> None:
    assert rendered(TapReporter(), bad_file_run()) == (
        "TAP version 14\n"
        "1..1\n"
        "not ok 1 - the tests can be run\n"
        "  ---\n"
        '  message: "1 mistake in the files given"\n'
        '  severity: "error"\n'
        '  kind: "bad_file"\n'
        "  files:\n"
        '    - "a.yml:3:5: error[F006]: unknown key; remove it"\n'
        "  ...\n"
        "Bail out! 1 mistake in the files given\n"
    )


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_only_an_interrupted_run_bails_out(is_interrupted: bool) -> None:
    text = rendered(TapReporter(), run_of(PASSED, interrupted=is_interrupted).replay())
    assert ("Bail out! interrupted: 1 of 1 test ran\n" in text) == is_interrupted


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("issue #12", "issue \\#12"),
        ("a \\ b", "a \\\\ b"),
        ("x # SKIP no", "x \\\\u0023 SKIP no"),
        ("x #todo", "x \\\\u0023todo"),
    ],
)
def test_a_name_cannot_become_a_directive(name: str, written: str) -> None:
    text = rendered(TapReporter(), run_of(PASSED.but(name=name)).replay())
    assert text.splitlines()[2] == f"ok 1 - {written}"


def test_a_run_that_fails_for_a_finding_has_a_point_that_fails() -> None:
    shared = Finding(kind="snapshot_shared", server="", message="two values for one snapshot")
    run = run_of(PASSED, findings=(FINDING, shared), broken_rules=("snapshot_shared", "BASE-02"))
    assert rendered(TapReporter(), run.replay()) == (
        "TAP version 14\n"
        "1..2\n"
        "ok 1 - lists the tools\n"
        "not ok 2 - no rule is broken\n"
        "  ---\n"
        '  message: "rules broken: snapshot_shared, BASE-02"\n'
        '  severity: "fail"\n'
        "  findings:\n"
        '    - "two values for one snapshot"\n'
        "  ...\n"
        "# note: ends lines with CRLF (2 times)\n"
        "# note: two values for one snapshot\n"
    )


def test_a_finding_that_fails_nothing_is_a_comment_alone() -> None:
    text = rendered(TapReporter(), run_of(PASSED, findings=(FINDING,)).replay())
    assert f"{FINDING.message}" in text
    assert "not ok" not in text
