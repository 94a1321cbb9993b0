"""The minimal report: a line for each failure, one line at the end."""

from __future__ import annotations

from sample_run import PASSED, bad_file_run, full_run, rendered, run_of

from mcptest.core.results import Fault, Finding, SnapshotReport, Summary
from mcptest.reporters.agent import MinimalReporter


def test_a_run_that_passes_is_one_line() -> None:
    assert rendered(MinimalReporter(), run_of(PASSED).replay()) == "1 test: 1 passed, in 510 ms\n"


def test_each_failure_has_a_line_and_the_same_failure_points_to_the_first() -> None:
    assert rendered(MinimalReporter(), full_run().replay()) == (
        "FAIL tests/files.test.mcp.yml:9 adds: result.n: differs (and 1 more)\n"
        "ERROR tests/files.test.mcp.yml:14 divides: exited_during_call: the server exited before "
        "it answered\n"
        "FAIL tests/files.test.mcp.yml:30 adds again: same as tests/files.test.mcp.yml:9\n"
        "GATE coverage is 40 %, wanted 80 %\n"
        "6 tests: 2 passed (1 flaky), 2 failed, 1 error, 1 skipped, in 510 ms; coverage 40 %\n"
    )


def test_mistakes_in_files_have_a_line_each() -> None:
    assert rendered(MinimalReporter(), bad_file_run()) == (
        "a.yml:3:5: error[F006]: unknown key; remove it\n"
        "ERROR 1 mistake in the files given\n"
        "no tests ran, in <1 ms\n"
    )


def test_a_server_that_never_started_is_reported() -> None:
    fault = Fault(kind="spawn_failed", message="no such file")
    run = run_of(summary=Summary(), fault=fault)
    assert rendered(MinimalReporter(), run.replay()) == (
        "ERROR no such file\nno tests ran, in 510 ms\n"
    )


def test_an_interrupted_run_says_so_in_the_last_line() -> None:
    text = rendered(MinimalReporter(), run_of(PASSED, interrupted=True).replay())
    assert text == "1 test: 1 passed, in 510 ms; interrupted: 1 of 1 test ran\n"


def test_snapshot_changes_are_in_the_last_line() -> None:
    report = SnapshotReport(updated={"a": ("x", "y")}, removed={"a": ("z",)})
    text = rendered(MinimalReporter(), run_of(PASSED, snapshots=report).replay())
    assert text == "1 test: 1 passed, in 510 ms; 2 snapshots updated; 1 snapshot removed\n"


def test_snapshots_that_are_what_they_were_are_not_spoken_of() -> None:
    text = rendered(MinimalReporter(), run_of(PASSED, snapshots=SnapshotReport()).replay())
    assert text == "1 test: 1 passed, in 510 ms\n"


def test_an_unverified_certificate_has_a_line() -> None:
    finding = Finding(kind="tls_unverified", server="shop", message="it was not checked")
    text = rendered(MinimalReporter(), run_of(PASSED, findings=(finding,)).replay())
    assert text == "NOTE shop: it was not checked\n1 test: 1 passed, in 510 ms\n"
