"""Coverage in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_run import COVERAGE

from mcptest.core.coverage import CoveredOffer, ServerCoverage
from mcptest.reporters.style import coverage_lines, percent_shown, percent_text


def server(*calls: int) -> ServerCoverage:
    offers = (
        CoveredOffer(kind="tool", name=f"t{number}", calls=count)
        for number, count in enumerate(calls)
    )
    return ServerCoverage(server="Files", offers=tuple(offers))


def test_features_never_exercised_are_listed_by_kind() -> None:
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


def test_the_count_of_the_rest_is_never_shown_where_the_rest_would_fit() -> None:
    names = ["a" * 20, "b" * 20, "c" * 12]
    offers = tuple(CoveredOffer(kind="tool", name=name, calls=0) for name in names)
    (_, line) = coverage_lines([ServerCoverage(server="Files", offers=offers)])
    assert line == f"  tools never called    {', '.join(names)}"
    assert len(line) <= 80


@given(st.lists(st.text("abc_", min_size=1, max_size=50), min_size=1, max_size=30))
def test_a_whole_list_has_every_name_and_no_line_that_is_too_long(names: list[str]) -> None:
    offers = tuple(CoveredOffer(kind="tool", name=name, calls=0) for name in names)
    server = ServerCoverage(server="Files", offers=offers)
    first, *more = coverage_lines([server], whole=True)[1:]
    assert first.startswith("  tools never called    ")
    assert all(line.startswith(" " * 24) for line in more)
    assert all(len(line) <= 80 for line in (first, *more))
    assert " ".join(line[24:] for line in (first, *more)).split(", ") == names


@pytest.mark.parametrize(
    ("calls", "percent"),
    [((1, 0), 50.0), ((1, 1, 0), 66.6), ((1,) * 2999 + (0,), 99.9), ((1,), 100.0), ((), None)],
)
def test_only_what_is_whole_is_a_hundred_percent(
    calls: tuple[int, ...], percent: float | None
) -> None:
    assert percent_shown([server(*calls)]) == percent


def test_a_server_that_offers_nothing_is_not_mentioned() -> None:
    assert percent_text([server()]) == "nothing is offered"
    assert coverage_lines([server()]) == []
