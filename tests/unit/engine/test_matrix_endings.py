"""One ending of several ways; and when there is none at all."""

from __future__ import annotations

from typing import Any

from mcptest.core.events import RunFinished, Way
from mcptest.core.results import CaptureScore, Fault, Finding, SessionScore, SnapshotReport, Summary
from mcptest.engine.matrix import Opening, Probe, merge_ways, unreachable_fault, with_broken_ways

STDIO = Way(transport="stdio", revision="2025-11-25")
LATER = Way(transport="stdio", revision="2026-07-28")
HTTP = Way(transport="http", revision="2025-11-25")
SPOKEN = Opening(capabilities={})
REFUSED = Fault(kind="unsupported_version", message="not that one", hint="try another")


def end(**fields: Any) -> RunFinished:
    return RunFinished(summary=Summary(), duration_s=1.0).but(**fields)


def test_tests_of_all_ways_are_added_up() -> None:
    one = Summary(passed=2, failed=1, flaky=1)
    merged = merge_ways([(STDIO, end(summary=one)), (HTTP, end(summary=Summary(passed=3)))])
    assert merged.summary == Summary(passed=5, failed=1, flaky=1)


def test_a_finding_names_its_way() -> None:
    rule = Finding(kind="BASE-01", server="shop", message="bad")
    wire = Finding(kind="crlf", server="shop [http, 2025-11-25]", message="odd")
    nobody = Finding(kind="gates_not_asked", server="", message="left out")
    ways = [(STDIO, end(findings=(rule, nobody))), (HTTP, end(findings=(rule, wire, nobody)))]
    assert [(each.server, each.kind, each.count) for each in merge_ways(ways).findings] == [
        ("shop [stdio, 2025-11-25]", "BASE-01", 1),
        ("", "gates_not_asked", 2),
        ("shop [http, 2025-11-25]", "BASE-01", 1),
        ("shop [http, 2025-11-25]", "crlf", 1),
    ]


def test_scores_and_missed_gates_say_in_which_way() -> None:
    score = CaptureScore(sessions=(SessionScore(server_label="stdio://shop", verdicts=()),))
    ways = [(STDIO, end(conformance=score)), (LATER, end(conformance=score, missed_gates=("low",)))]
    merged = merge_ways(ways)
    assert [each.server_label for each in merged.conformance.sessions] == [
        "stdio://shop [stdio, 2025-11-25]",
        "stdio://shop [stdio, 2026-07-28]",
    ]
    assert merged.missed_gates == ("stdio, 2026-07-28: low",)


def test_broken_rules_are_named_once() -> None:
    ways = [(STDIO, end(broken_rules=("A", "B"))), (HTTP, end(broken_rules=("B",)))]
    assert merge_ways(ways).broken_rules == ("A", "B")


def test_snapshots_of_one_file_are_those_of_all_ways() -> None:
    one = SnapshotReport(written={"f": ("a",)}, held={"f": ("b",)})
    other = SnapshotReport(written={"f": ("b",)})
    merged = merge_ways([(STDIO, end(snapshots=one)), (HTTP, end(snapshots=other))])
    assert merged.snapshots == SnapshotReport(written={"f": ("a", "b")}, held={"f": ("b",)})
    assert merge_ways([(STDIO, end())]).snapshots is None


def test_the_last_way_says_how_the_run_ended() -> None:
    last = end(interrupted=True, interrupted_in="a test")
    merged = merge_ways([(STDIO, end()), (HTTP, last)])
    assert (merged.interrupted, merged.interrupted_in) == (True, "a test")
    assert not merge_ways([(STDIO, end()), (HTTP, end())]).interrupted


def test_an_era_that_is_not_spoken_is_nothing_wrong() -> None:
    probes = [Probe(way=STDIO, opening=SPOKEN), Probe(way=LATER, fault=REFUSED)]
    assert unreachable_fault(probes) is None


def test_a_transport_without_any_era_is_a_fault_that_says_what_to_do() -> None:
    dead = Fault(kind="connect_failed", message="nobody listens")
    later = Way(transport="http", revision="2026-07-28")
    probes = [
        Probe(way=STDIO, opening=SPOKEN),
        Probe(way=HTTP, fault=dead),
        Probe(way=later, fault=REFUSED),
    ]
    fault = unreachable_fault(probes)
    assert fault is not None
    assert fault.kind == "connect_failed"
    message = "the server cannot be tested over http: nobody listens; not that one"
    assert fault.message == message
    assert "--http-command is what starts the one at --url" in fault.hint


def test_a_way_that_broke_is_reported_before_one_that_is_not_supported() -> None:
    broken = Fault(kind="http_status", message="status 500")
    later = Way(transport="http", revision="2026-07-28")
    probes = [Probe(way=HTTP, fault=REFUSED), Probe(way=later, fault=broken, is_broken=True)]
    fault = unreachable_fault(probes)
    assert fault is not None
    assert fault.kind == "http_status"


def test_a_way_that_broke_is_a_finding_that_fails_the_run() -> None:
    broken = Fault(kind="http_status", message="status 500")
    probes = [Probe(way=STDIO, opening=SPOKEN), Probe(way=LATER, fault=broken, is_broken=True)]
    finished = with_broken_ways(end(broken_rules=("A",)), probes, "shop")
    assert finished.broken_rules == ("way_broken", "A")
    (finding,) = finished.findings
    assert (finding.kind, finding.server) == ("way_broken", "shop [stdio, 2026-07-28]")
    assert finding.message.endswith("could not be opened: status 500")


def test_a_way_that_is_not_spoken_fails_nothing() -> None:
    probes = [Probe(way=STDIO, opening=SPOKEN), Probe(way=LATER, fault=REFUSED)]
    assert with_broken_ways(end(), probes, "shop") == end()
