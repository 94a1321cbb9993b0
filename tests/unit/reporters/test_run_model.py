"""Runs merged into one, with their gates."""

from __future__ import annotations

import json

import pytest
from sample_run import COVERAGE, FAILED, FINDING, FLAKY, GONE, PASSED, WARNING, run_of

from mcptest.core.coverage import (
    CoveredOffer,
    CoveredProperty,
    MeasuredGates,
    ServerCoverage,
    report_unchecked_gates,
)
from mcptest.core.errors import FormatError, UsageError
from mcptest.core.results import ExitCode, Fault, SnapshotReport, Summary, exit_code_of
from mcptest.reporters.json import JsonReporter
from mcptest.reporters.run_model import CollectedRun, merge_runs
from mcptest.reporters.saved import read_saved_run


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


def test_findings_are_added_and_warnings_and_gates_shown_once() -> None:
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
def test_a_flag_of_one_part_applies_to_the_merged_run(name: str) -> None:
    run = merged(run_of(PASSED, file="a.yml"), run_of(PASSED, file="b.yml", **{name: True}))
    assert getattr(run.finished, name) is True
    assert getattr(merged(run_of(PASSED)).finished, name) is False


def test_evidence_of_a_run_that_could_not_run_is_kept() -> None:
    faulty = broken("x")
    faulty.last = faulty.finished.but(fault=GONE)
    run = merged(faulty, run_of(PASSED, file="b.yml"))
    assert [result.fault for _, result in run.results()] == [GONE, None]


HOME, PART = "mcptest.yaml", "part.yaml"


def covered(one: int, two: int) -> ServerCoverage:
    offers = (
        CoveredOffer(kind="tool", name="one", calls=one),
        CoveredOffer(kind="tool", name="two", calls=two),
    )
    return ServerCoverage(server="s", offers=offers, home=HOME)


GATES = MeasuredGates(
    home=HOME, coverage={"tools": 100.0}, performance={"max_ms": 5.0}, files=(HOME, PART)
)
FIRST = GATES.but(ran=(HOME,), servers=(covered(1, 0),), took_ms=(1.0, 2.5))
SECOND = GATES.but(ran=(PART,), servers=(covered(0, 1),), took_ms=(3.0,))


def shard(gates: MeasuredGates, file: str) -> CollectedRun:
    finding = report_unchecked_gates([HOME], "this is a shard")
    return run_of(PASSED, file=file, unasked_gates=(gates,), findings=(finding,))


def saved(run: CollectedRun) -> str:
    reporter = JsonReporter("1")
    for event in run.replay():
        reporter(event)
    return reporter.render()


def merged_from_files(*runs: CollectedRun) -> CollectedRun:
    """As it is after all reports were written and read."""
    return merge_runs(
        [(f"{n}.json", read_saved_run(saved(run), "a")) for n, run in enumerate(runs)]
    )


def test_gates_that_all_shards_together_miss_are_missed() -> None:
    slow = SECOND.but(servers=(covered(1, 0),), took_ms=(7.0,))
    end = merged_from_files(shard(FIRST, HOME), shard(slow, PART)).finished
    assert end.missed_gates == (
        "coverage of tools is 50.0 %, and the suite asks for 100 %; unused: two",
        "max_ms is 7.000 ms over 3 calls, and the suite asks for 5 ms",
    )
    assert exit_code_of(end) == ExitCode.GATE_MISSED


def test_gates_of_a_suite_beside_others_keep_its_name() -> None:
    slow = SECOND.but(took_ms=(7.0,))
    end = merged_from_files(
        shard(FIRST, HOME), shard(slow, PART), run_of(PASSED, file="other.yaml")
    ).finished
    assert end.missed_gates == (
        "mcptest.yaml: max_ms is 7.000 ms over 3 calls, and the suite asks for 5 ms",
    )


def test_without_a_shard_they_are_missed_and_can_be_asked_once_it_is_there() -> None:
    half = merged_from_files(shard(FIRST, HOME))
    assert half.finished.missed_gates == (
        "the gates of mcptest.yaml were not asked: no report here has the tests of part.yaml; "
        "merge the reports of all shards",
    )
    assert merged_from_files(half, shard(SECOND, PART)).finished.missed_gates == ()


def test_a_server_is_idle_only_if_it_is_so_everywhere() -> None:
    idle = SECOND.but(servers=(), idle=("s",))
    end = merged_from_files(
        shard(FIRST.but(servers=(covered(1, 1),)), HOME), shard(idle, PART)
    ).finished
    assert end.missed_gates == ()
    both = FIRST.but(servers=(), idle=("s",))
    end = merged_from_files(shard(both, HOME), shard(idle, PART)).finished
    assert end.missed_gates == (
        "coverage of tools is not known: s could not be asked, for all of its tests are skipped",
    )


def test_a_server_that_was_silent_somewhere_is_not_known() -> None:
    silent = SECOND.but(servers=(), silent=("s",))
    end = merged_from_files(
        shard(FIRST.but(servers=(covered(1, 1),)), HOME), shard(silent, PART)
    ).finished
    assert end.missed_gates == ("coverage of tools is not known: s could not say what there is",)


def test_that_a_filter_kept_gates_from_being_asked_is_still_said() -> None:
    finding = report_unchecked_gates([HOME], "a filter left tests out")
    end = merged_from_files(run_of(PASSED, file=HOME, findings=(finding,))).finished
    assert (end.findings, end.missed_gates) == ((finding,), ())


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("coverage", {"moods": 1}, "F009"),
        ("performance", {"p12_ms": 1}, "F009"),
        ("coverage", {"tools": "all"}, "F008"),
        ("took_ms", [True], "F008"),
        ("took_ms", [10**400], "F008"),
        ("files", [1], "F008"),
    ],
)
def test_a_report_with_gates_that_cannot_be_checked_is_refused(
    key: str, value: object, code: str
) -> None:
    report = json.loads(saved(shard(FIRST, HOME)))
    report["unasked_gates"][0][key] = value
    with pytest.raises(FormatError) as caught:
        read_saved_run(json.dumps(report), "a")
    assert [found.code for found in caught.value.diagnostics] == [code]


def test_snapshot_changes_are_listed_for_all_files() -> None:
    one = run_of(PASSED, file="a", snapshots=SnapshotReport(written={"a": ("x",)}))
    two = run_of(PASSED, file="b", snapshots=SnapshotReport(written={"b": ("y",)}))
    plain = run_of(PASSED, file="c")
    assert merged_from_files(one, two, plain).finished.snapshots == SnapshotReport(
        written={"a": ("x",), "b": ("y",)}
    )
    assert merged_from_files(plain).finished.snapshots is None
