"""What reports say of a run in several ways."""

from __future__ import annotations

import json

import pytest

from mcptest.core.events import (
    CaseFinished,
    Matrix,
    OfferDifference,
    ResultDifference,
    RunFinished,
    RunStarted,
    SeenResult,
    SeenValue,
    SuiteStarted,
    Way,
    WayRun,
    names_a_way,
)
from mcptest.core.results import CaseResult, Summary
from mcptest.reporters.failure_text import stable_server
from mcptest.reporters.json import JsonReporter, _matrix_members
from mcptest.reporters.junit import JunitReporter
from mcptest.reporters.matrix import matrix_lines
from mcptest.reporters.saved import read_saved_run
from mcptest.reporters.style import Paint, width_of

REVISIONS = ("2025-11-25", "2026-07-28")
WAYS = [Way(transport=name, revision=each) for name in ("stdio", "http") for each in REVISIONS]
PASSED = Summary(passed=2)


def ran(**fields: object) -> Matrix:
    ways = tuple(WayRun(way=way, summary=PASSED) for way in WAYS)
    return Matrix(ways=ways, total=2, compared=2).but(**fields)


def differing(name: str, reason: str = "x: differs", suite: str = "shop") -> ResultDifference:
    seen = [SeenResult(way=way, status="passed") for way in WAYS[:2]]
    seen += [SeenResult(way=WAYS[2], status="failed", reason=reason)]
    seen += [SeenResult(way=WAYS[3], status=None)]
    return ResultDifference(suite=suite, file="s.yml", line=3, test=name, seen=tuple(seen))


def text(matrix: Matrix) -> str:
    return "\n".join(matrix_lines(matrix, Paint(on=False)))


def test_ways_without_differences_have_one_sentence() -> None:
    assert text(ran()).endswith("\n\nall 2 tests have the same result over 4 ways")


def test_tests_that_ran_in_one_way_only_are_not_said_to_be_the_same() -> None:
    shown = text(ran(compared=1))
    assert shown.endswith("\n1 of 2 tests ran in more than one way, with the same result")


def test_one_way_has_nothing_to_be_compared_with() -> None:
    ways = (WayRun(way=WAYS[0], summary=PASSED), WayRun(way=WAYS[1], refusal="no such thing"))
    shown = text(Matrix(ways=ways, total=2))
    assert "stdio, 2026-07-28  not spoken\n      no such thing\n" in shown
    assert shown.endswith("there is one way only, so there is nothing to compare")


def test_a_way_that_broke_cannot_be_opened() -> None:
    ways = (WayRun(way=WAYS[0], summary=PASSED), WayRun(way=WAYS[1], error="status 500"))
    assert "stdio, 2026-07-28  cannot be opened\n      status 500\n" in text(Matrix(ways=ways))


def test_a_way_that_was_not_reached_is_not_run() -> None:
    ways = (WayRun(way=WAYS[0], summary=PASSED), WayRun(way=WAYS[1]))
    assert "  stdio, 2026-07-28  not run\n" in text(Matrix(ways=ways, total=2))


def test_a_row_has_a_column_for_each_way_and_the_reason_below() -> None:
    lines = text(ran(differences=(differing("pays"),))).split("\n")
    assert lines[-6:] == [
        "1 of 2 tests has different results in different ways:",
        " " * 32 + "stdio       stdio       http        http",
        " " * 32 + "2025-11-25  2026-07-28  2025-11-25  2026-07-28",
        "  shop",
        "    pays" + " " * 24 + "passed      passed      failed      -",
        "      http, 2025-11-25: x: differs",
    ]


def test_the_description_of_the_server_is_shown_by_way() -> None:
    missing = OfferDifference(
        what='tool "add"', seen=(SeenValue(way=WAYS[0], value=True), SeenValue(way=WAYS[1]))
    )
    other = OfferDifference(
        what="serverInfo",
        member="version",
        seen=(SeenValue(way=WAYS[0], value="1"), SeenValue(way=WAYS[2])),
    )
    shown = text(ran(offers=(missing, other), unread=("the list of prompts could not be read",)))
    assert "  the list of prompts could not be read\n" in shown
    assert "      over     stdio, 2025-11-25\n      not over stdio, 2026-07-28\n" in shown
    assert '  serverInfo, version\n      stdio, 2025-11-25  "1"\n' in shown
    assert "      http, 2025-11-25   (nothing)\n" in shown


@pytest.mark.parametrize("letter", ["n", "世", "\x1b[2J", "\u202e"])
def test_nothing_from_outside_breaks_the_width_or_reaches_the_terminal(letter: str) -> None:
    long = letter * 300
    offer = OfferDifference(
        what=long, member=long, seen=(SeenValue(way=WAYS[0], value=long), SeenValue(way=WAYS[1]))
    )
    row = differing(long, reason=long, suite=long)
    refused = WayRun(way=WAYS[3], refusal=f"{long} {long}")
    matrix = ran(differences=(row,), offers=(offer,), unread=(long,))
    lines = matrix_lines(matrix.but(ways=(*matrix.ways[:3], refused)), Paint(on=False))
    assert [line for line in lines if not line.isprintable()] == []
    assert max(map(width_of, lines)) <= 80


def test_very_many_rows_are_cut_and_counted() -> None:
    rows = tuple(differing(f"t{number}") for number in range(60))
    shown = text(ran(differences=rows))
    assert shown.endswith("  … and 10 more")
    offers = tuple(
        OfferDifference(what=f"tool {number}", seen=(SeenValue(way=WAYS[0], value=True),))
        for number in range(60)
    )
    assert "  … and 15 more\n" in text(ran(offers=offers, more_offers=5))


def a_run(matrix: Matrix) -> JsonReporter:
    reporter = JsonReporter("1")
    reporter(RunStarted(started_at="now", server="shop", suites=1, total=1))
    name = "shop [http, 2025-11-25]"
    reporter(SuiteStarted(name="s", file="s.yml", format="conductor", server=name, total=1))
    reporter(CaseFinished(result=CaseResult(name="a", status="passed", line=1)))
    reporter(RunFinished(summary=Summary(passed=1), duration_s=1.0, matrix=matrix))
    return reporter


def test_the_json_report_has_the_matrix_and_can_be_read_back() -> None:
    offer = OfferDifference(
        what='tool "add"', member="inputSchema", seen=(SeenValue(way=WAYS[0], value=None),)
    )
    gone = OfferDifference(what='tool "sub"', seen=(SeenValue(way=WAYS[0]),))
    ways = (
        WayRun(way=WAYS[0], summary=PASSED),
        WayRun(way=WAYS[1], refusal="no"),
        WayRun(way=WAYS[2]),
        WayRun(way=WAYS[3], error="it broke"),
    )
    matrix = ran(ways=ways, differences=(differing("pays"),), offers=(offer, gone), more_offers=7)
    written = a_run(matrix).render()
    members = json.loads(written)["matrix"]
    assert members == json.loads(json.dumps(_matrix_members(matrix)))
    assert [(each["era"], each["spoken"]) for each in members["ways"]] == [
        ("handshake", True),
        ("stateless", False),
        ("handshake", True),
        ("stateless", False),
    ]
    assert members["ways"][3]["error"] == "it broke"
    finished = read_saved_run(written, "run.json").finished
    assert isinstance(finished, RunFinished)
    assert finished.matrix
    assert finished.matrix == matrix


def test_a_report_of_another_run_has_no_matrix() -> None:
    assert "matrix" not in json.loads(JsonReporter("1").render())


def test_junit_tells_ways_apart_by_the_class_of_a_test() -> None:
    reporter = JunitReporter()
    for way in WAYS[:2]:
        name = way.named("shop")
        reporter(SuiteStarted(name="s", file="s.yml", format="conductor", server=name, total=1))
        reporter(CaseFinished(result=CaseResult(name="a", status="passed", line=1)))
    document = reporter.render()
    assert 'classname="s.shop [stdio, 2025-11-25]"' in document
    assert 'classname="s.shop [stdio, 2026-07-28]"' in document


def test_only_a_way_at_the_end_of_a_name_makes_it_one() -> None:
    assert names_a_way("shop [http, 2026-07-28]")
    assert not names_a_way("shop")
    assert not names_a_way("shop [http]")
    assert not names_a_way("shop [http, 2026-07-28] 2")
    suite = SuiteStarted(name="s", file="s.yml", format="conductor", server="shop", total=1)
    assert stable_server(suite) == ""
