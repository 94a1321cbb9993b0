"""The progress line: when it is drawn, what it says, and that it leaves nothing behind."""

from __future__ import annotations

import pytest

from mcptest.reporters.terminal import Progress


def test_nothing_is_drawn_in_the_first_fifth_of_a_second() -> None:
    progress = Progress(width=40, total=500, now=10.0)
    progress.show(12, "suite", "case")
    assert progress.draw(10.19) == ""
    assert progress.clear() == ""


def test_the_line_names_number_suite_and_case() -> None:
    progress = Progress(width=40, total=500, now=0.0)
    progress.show(12, "suite", "case")
    assert progress.draw(0.2) == "  [ 12/500] suite › case"


def test_the_line_is_redrawn_at_most_ten_times_a_second_and_shows_the_latest() -> None:
    progress = Progress(width=40, total=9, now=0.0)
    drawn = []
    for number, now in [(1, 0.2), (2, 0.25), (3, 0.29), (4, 0.31)]:
        progress.show(number, "", "case")
        drawn.append(progress.draw(now))
    assert drawn == ["  [1/9] case", "", "", f"\r{' ' * 12}\r  [4/9] case"]


def test_a_case_that_arrived_too_early_is_drawn_later() -> None:
    progress = Progress(width=40, total=1, now=0.0)
    progress.show(1, "", "slow")
    assert [progress.draw(now) for now in (0.0, 0.3, 0.6)] == ["", "  [1/1] slow", ""]


def test_clearing_blanks_every_cell_and_forgets_the_case() -> None:
    progress = Progress(width=40, total=1, now=0.0)
    progress.show(1, "", "日本")
    progress.draw(0.2)
    assert progress.clear() == f"\r{' ' * 12}\r"
    assert progress.clear() == ""
    assert progress.draw(9.0) == ""


def test_the_line_never_reaches_the_last_column() -> None:
    progress = Progress(width=12, total=1, now=0.0)
    progress.show(1, "", "a long name")
    assert progress.draw(0.2) == "  [1/1] a l"
    progress.show(1, "", "日本語")
    assert progress.draw(0.4) == f"\r{' ' * 11}\r  [1/1] 日"


@pytest.mark.parametrize(
    ("suite", "case", "line"),
    [
        # There are 39 cells, and two are counted for each of … and ›.
        ("A suite with a name that is long", "a test", "  [1/1] A suite with a name… › a test"),
        ("A suite", "a test with a name that is long", "  [1/1] A su… › a test with a name th"),
        ("Suite", "a test with a name that is long", "  [1/1] Suite › a test with a name tha"),
        ("A suite of tests", "a test of 17 char", "  [1/1] A suite… › a test of 17 char"),
        ("日本語日本語日本語", "a test of some length", "  [1/1] 日本… › a test of some length"),
    ],
)
def test_a_name_that_is_too_long_is_cut_in_the_suite_first(
    suite: str, case: str, line: str
) -> None:
    progress = Progress(width=40, total=1, now=0.0)
    progress.show(1, suite, case)
    assert progress.draw(0.2) == line


def test_a_line_without_room_for_the_suite_is_about_the_test() -> None:
    progress = Progress(width=14, total=1, now=0.0)
    progress.show(1, "suite", "a test")
    assert progress.draw(0.2) == "  [1/1] a tes"
