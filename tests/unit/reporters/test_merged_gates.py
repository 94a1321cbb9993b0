"""Gates of a suite that is spread over several shards: asked when all of them are merged."""

from __future__ import annotations

import json

import pytest
from sample_run import PASSED, run_of

from mcptest.core.coverage import CoveredOffer, ServerCoverage
from mcptest.core.errors import FormatError
from mcptest.core.exit_codes import ExitCode
from mcptest.core.measured_gates import MeasuredGates, not_asked
from mcptest.core.snapshots import SnapshotReport
from mcptest.core.verdict import exit_code_of
from mcptest.reporters.json import JsonReporter
from mcptest.reporters.run_model import CollectedRun, merge_runs
from mcptest.reporters.saved import read_saved_run

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
    finding = not_asked([HOME], "this is a shard")
    return run_of(PASSED, file=file, unasked_gates=(gates,), findings=(finding,))


def saved(run: CollectedRun) -> str:
    reporter = JsonReporter("1")
    for event in run.replay():
        reporter(event)
    return reporter.render()


def merged(*runs: CollectedRun) -> CollectedRun:
    """As it is after all reports were written and read."""
    return merge_runs(
        [(f"{n}.json", read_saved_run(saved(run), "a")) for n, run in enumerate(runs)]
    )


def test_gates_that_all_shards_together_reach_are_reached() -> None:
    end = merged(shard(FIRST, HOME), shard(SECOND, PART)).finished
    assert (end.missed_gates, end.findings, end.unasked_gates) == ((), (), ())
    assert exit_code_of(end) == ExitCode.PASSED


def test_gates_that_all_shards_together_miss_are_missed() -> None:
    slow = SECOND.but(servers=(covered(1, 0),), took_ms=(7.0,))
    end = merged(shard(FIRST, HOME), shard(slow, PART)).finished
    assert end.missed_gates == (
        "coverage of tools is 50.0 %, and the suite asks for 100 %; unused: two",
        "max_ms is 7.000 ms over 3 calls, and the suite asks for 5 ms",
    )
    assert exit_code_of(end) == ExitCode.GATE_MISSED


def test_gates_of_a_suite_beside_others_keep_its_name() -> None:
    slow = SECOND.but(took_ms=(7.0,))
    end = merged(shard(FIRST, HOME), shard(slow, PART), run_of(PASSED, file="other.yaml")).finished
    assert end.missed_gates == (
        "mcptest.yaml: max_ms is 7.000 ms over 3 calls, and the suite asks for 5 ms",
    )


def test_without_a_shard_they_are_missed_and_can_be_asked_once_it_is_there() -> None:
    half = merged(shard(FIRST, HOME))
    assert half.finished.missed_gates == (
        "the gates of mcptest.yaml were not asked: no report here has the tests of part.yaml; "
        "merge the reports of all shards",
    )
    assert merged(half, shard(SECOND, PART)).finished.missed_gates == ()


def test_a_server_is_idle_only_if_it_is_so_everywhere() -> None:
    idle = SECOND.but(servers=(), idle=("s",))
    end = merged(shard(FIRST.but(servers=(covered(1, 1),)), HOME), shard(idle, PART)).finished
    assert end.missed_gates == ()
    both = FIRST.but(servers=(), idle=("s",))
    end = merged(shard(both, HOME), shard(idle, PART)).finished
    assert end.missed_gates == (
        "coverage of tools is not known: s could not be asked, for all of its tests are skipped",
    )


def test_a_server_that_was_silent_somewhere_is_not_known() -> None:
    silent = SECOND.but(servers=(), silent=("s",))
    end = merged(shard(FIRST.but(servers=(covered(1, 1),)), HOME), shard(silent, PART)).finished
    assert end.missed_gates == ("coverage of tools is not known: s could not say what there is",)


def test_that_a_filter_kept_gates_from_being_asked_is_still_said() -> None:
    finding = not_asked([HOME], "a filter left tests out")
    end = merged(run_of(PASSED, file=HOME, findings=(finding,))).finished
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
def test_a_report_with_gates_that_nobody_can_ask_is_refused(
    key: str, value: object, code: str
) -> None:
    report = json.loads(saved(shard(FIRST, HOME)))
    report["unasked_gates"][0][key] = value
    with pytest.raises(FormatError) as caught:
        read_saved_run(json.dumps(report), "a")
    assert [found.code for found in caught.value.diagnostics] == [code]


def test_what_became_of_snapshots_is_there_for_all_files() -> None:
    one = run_of(PASSED, file="a", snapshots=SnapshotReport(written={"a": ("x",)}))
    two = run_of(PASSED, file="b", snapshots=SnapshotReport(written={"b": ("y",)}))
    plain = run_of(PASSED, file="c")
    assert merged(one, two, plain).finished.snapshots == SnapshotReport(
        written={"a": ("x",), "b": ("y",)}
    )
    assert merged(plain).finished.snapshots is None
