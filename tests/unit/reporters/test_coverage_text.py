"""Coverage in words."""

from __future__ import annotations

import pytest
from sample_run import COVERAGE

from mcptest.core.coverage import CoveredOffer, ServerCoverage
from mcptest.reporters.coverage_text import coverage_lines, percent_shown, percent_text


def server(*calls: int) -> ServerCoverage:
    offers = (
        CoveredOffer(kind="tool", name=f"t{number}", calls=count)
        for number, count in enumerate(calls)
    )
    return ServerCoverage(server="Files", offers=tuple(offers))


def test_what_was_never_exercised_is_listed_by_kind() -> None:
    assert coverage_lines([COVERAGE]) == [
        "coverage of Files: 40 % (2 of 5)",
        "  tools never called    drop",
        "  prompts never used    ask",
        "  inputs never given    add.b",
    ]


def test_full_coverage_is_one_line() -> None:
    assert coverage_lines([server(1, 2)]) == ["coverage of Files: 100 % (2 of 2)"]


def test_long_lists_are_cut_to_a_line() -> None:
    (_, line) = coverage_lines([server(*[0] * 1200)])
    assert line.endswith("t8, t9, … and 1,190 more")
    assert len(line) <= 80


def test_a_name_that_is_longer_than_the_line_is_still_named() -> None:
    long = CoveredOffer(kind="tool", name="x" * 200, calls=0)
    (_, line) = coverage_lines([ServerCoverage(server="Files", offers=(long, long))])
    assert " xxxx" in line
    assert line.endswith(", … and 1 more")


@pytest.mark.parametrize(
    ("calls", "percent"),
    [((1, 0), 50.0), ((1, 1, 0), 66.6), ((1,) * 2999 + (0,), 99.9), ((1,), 100.0), ((), None)],
)
def test_only_what_is_whole_is_a_hundred_percent(
    calls: tuple[int, ...], percent: float | None
) -> None:
    assert percent_shown([server(*calls)]) == percent


def test_of_a_server_that_offers_nothing_nothing_is_said() -> None:
    assert percent_text([server()]) == "nothing is offered"
    assert coverage_lines([server()]) == []
