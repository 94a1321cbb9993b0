"""Several runs as one."""

from __future__ import annotations

import pytest
from sample_run import COVERAGE, FAILED, FINDING, FLAKY, GONE, PASSED, WARNING, run_of

from mcptest.core.coverage import CoveredOffer, CoveredProperty, ServerCoverage
from mcptest.core.errors import UsageError
from mcptest.core.outcome import Fault, Summary
from mcptest.core.verdict import exit_code_of
from mcptest.reporters.run_model import CollectedRun, merge_runs


def merged(*runs: CollectedRun) -> CollectedRun:
    return merge_runs([(f"{number}.json", run) for number, run in enumerate(runs)])


def broken(kind: str) -> CollectedRun:
    run = run_of(summary=Summary(), fault=Fault(kind=kind, message="m"))
    run.all_suites = []
    return run


def test_suites_are_sorted_by_file_and_counted_again() -> None:
    run = merged(run_of(FAILED, file="b.yml"), run_of(PASSED, FLAKY, file="a.yml"))
    assert [suite.file for suite, _ in run.all_suites] == ["a.yml", "b.yml"]
    assert run.finished.summary == Summary(passed=2, failed=1, flaky=1)
    assert (run.started.suites, run.started.total) == (2, 3)


def test_wall_time_is_the_longest_and_tests_keep_theirs() -> None:
    run = merged(
        run_of(PASSED, file="a.yml", duration_s=2.0), run_of(PASSED, file="b.yml", duration_s=3.0)
    )
    assert run.finished.duration_s == 3.0
    assert [result.duration_s for _, result in run.results()] == [0.002, 0.002]


def test_the_earliest_start_and_every_server_are_named() -> None:
    first, second = run_of(PASSED, file="a.yml"), run_of(PASSED, file="b.yml")
    second.started = second.started.but(started_at="2025-01-01T00:00:00Z", server="Files, Other")
    started = merged(first, second).started
    assert (started.started_at, started.server) == ("2025-01-01T00:00:00Z", "Files, Other")


def test_calls_are_added_by_server_offer_and_input() -> None:
    more = ServerCoverage(
        server="Files",
        offers=(
            CoveredOffer(
                kind="tool",
                name="add",
                calls=1,
                properties=(CoveredProperty(name="b", calls=1), CoveredProperty(name="c", calls=0)),
            ),
            CoveredOffer(kind="resource", name="drop", calls=5),
        ),
    )
    other = more.but(server="Other")
    run = merged(
        run_of(PASSED, file="a.yml", coverage=(COVERAGE,)),
        run_of(PASSED, file="b.yml", coverage=(more, other)),
    )
    files, others = run.finished.coverage
    assert others == other
    assert [(offer.kind, offer.name, offer.calls) for offer in files.offers] == [
        ("tool", "add", 4),
        ("tool", "drop", 0),
        ("prompt", "ask", 0),
        ("resource", "drop", 5),
    ]
    assert [(part.name, part.calls) for part in files.offers[0].properties] == [
        ("a", 3),
        ("b", 1),
        ("c", 0),
    ]


def test_findings_are_added_and_warnings_and_gates_told_once() -> None:
    runs = []
    for file in ("a.yml", "b.yml"):
        run = run_of(PASSED, file=file, findings=(FINDING,), missed_gates=("g",))
        run.started = run.started.but(warnings=(WARNING,))
        runs.append(run)
    run = merged(*runs)
    assert run.finished.findings == (FINDING.but(count=4),)
    assert run.started.warnings == (WARNING,)
    assert run.finished.missed_gates == ("g",)


def test_a_file_in_two_reports_is_refused_by_name() -> None:
    with pytest.raises(UsageError) as caught:
        merged(run_of(PASSED, file="a.yml"), run_of(PASSED, file="a.yml"))
    assert str(caught.value) == "0.json and 1.json both hold the tests of a.yml"


def test_a_run_that_could_not_run_is_an_error_among_the_others() -> None:
    run = merged(run_of(PASSED, file="a.yml"), broken("spawn_failed"))
    assert run.finished.fault is None
    assert [(suite.file, result.status) for suite, result in run.results()] == [
        ("1.json", "error"),
        ("a.yml", "passed"),
    ]
    assert exit_code_of(run.finished) == 1


def test_a_shard_for_which_no_tests_were_left_changes_nothing() -> None:
    run = merged(run_of(PASSED, file="a.yml"), broken("nothing_selected"))
    assert [result.status for _, result in run.results()] == ["passed"]
    assert exit_code_of(run.finished) == 0


def test_when_no_run_had_tests_the_worst_reason_is_that_of_all() -> None:
    fault = merged(broken("nothing_selected"), broken("spawn_failed")).finished.fault
    assert fault is not None
    assert fault.kind == "spawn_failed"
    alone = merged(broken("nothing_selected"), broken("nothing_selected")).finished.fault
    assert alone is not None
    assert alone.kind == "nothing_selected"


@pytest.mark.parametrize("name", ["interrupted", "bailed"])
def test_what_befell_one_befell_all(name: str) -> None:
    run = merged(run_of(PASSED, file="a.yml"), run_of(PASSED, file="b.yml", **{name: True}))
    assert getattr(run.finished, name) is True
    assert getattr(merged(run_of(PASSED)).finished, name) is False


def test_evidence_of_a_run_that_could_not_run_is_kept() -> None:
    faulty = broken("x")
    faulty.last = faulty.finished.but(fault=GONE)
    run = merged(faulty, run_of(PASSED, file="b.yml"))
    assert [result.fault for _, result in run.results()] == [GONE, None]
