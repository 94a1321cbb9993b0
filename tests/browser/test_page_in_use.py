"""What a person does with the page: read, search, filter, print, on any screen, by keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from chromium import required
from reading import assert_fits, assert_named, assert_printed, assert_readable, show
from runs import large_run, ordinary_run, page_of, run_of_texts

if TYPE_CHECKING:
    from pathlib import Path

    from chromium import Tab

pytest_plugins = ["browsing"]

# Names of tests that can be seen; those of a closed suite cannot.
VISIBLE = """Array.from(document.querySelectorAll("SELECTOR"))
    .filter(each => each.checkVisibility()).map(each => each.textContent)"""
ROWS, CARDS = ".tests .name", ".failure > summary .name"

ALL = ["lists the tools", "finds Paris", "comes at last", "waits", "says what falls", "lives on"]


def visible_names(tab: Tab, selector: str) -> list[str]:
    names: list[str] = tab.value(VISIBLE.replace("SELECTOR", selector))
    return names


def click(tab: Tab, selector: str) -> None:
    tab.value(f"document.querySelector({selector!r}).click()")
    tab.settle()


@pytest.fixture
def report(tab: Tab, tmp_path: Path) -> Tab:
    """The page of an ordinary run, on a screen of ordinary size."""
    tab.resize(1200)
    show(tab, tmp_path, page_of(ordinary_run()))
    return tab


def search(report: Tab, text: str) -> list[str]:
    report.value("(box => { box.focus(); box.select(); })(document.querySelector('input'))")
    report.press("Backspace", 8)
    report.type(text)
    return visible_names(report, ROWS)


def test_our_own_style_and_script_are_allowed_and_nothing_is_complained_about(report: Tab) -> None:
    assert report.deeds == []
    assert report.value("document.querySelector('.filter').checkVisibility()")
    assert report.value("getComputedStyle(document.body).maxWidth") == "1216px"


def test_failures_are_first_and_the_first_is_seen_without_scrolling(report: Tab) -> None:
    headings = report.value("Array.from(document.querySelectorAll('h2'), each => each.textContent)")
    assert headings == ["Failures", "Tests", "Durations", "Coverage", "Findings", "Warnings"]
    assert visible_names(report, CARDS) == ["says what falls", "lives on"]
    box = "document.querySelector('.failure pre').getBoundingClientRect().top"
    assert 0 < report.value(box) < 900


def test_without_a_search_every_test_is_shown(report: Tab) -> None:
    assert visible_names(report, ROWS) == ALL
    assert report.value("document.querySelector('output').textContent") == ""


@pytest.mark.parametrize(
    ("text", "rows", "cards"),
    [
        ("PARIS", ["finds Paris"], []),
        ("rain.test", ["says what falls", "lives on"], ["says what falls", "lives on"]),
        ("sunshine", ["lists the tools", "finds Paris", "comes at last", "waits"], []),
        ("europe", ["finds Paris", "says what falls"], ["says what falls"]),
        ("europe rain", ["says what falls"], ["says what falls"]),
        ("skipped", ["waits"], []),
        ("flaky", ["comes at last"], []),
        ("nothing is called this", [], []),
        ("<b>", [], []),
    ],
)
def test_a_search_finds_names_files_suites_tags_and_statuses(
    report: Tab, text: str, rows: list[str], cards: list[str]
) -> None:
    assert search(report, text) == rows
    assert visible_names(report, CARDS) == cards
    message = report.value("document.querySelector('output').textContent")
    assert message == f"{len(rows)} of 6 tests shown"


def test_a_search_that_is_cleared_leaves_everything_as_it_was(report: Tab) -> None:
    report.value("document.querySelector('.suite').open = false")
    assert search(report, "paris") == ["finds Paris"]
    report.press("Escape", 27)
    assert visible_names(report, ROWS) == ALL[4:]
    assert report.value("document.querySelector('input').value") == ""


@pytest.mark.parametrize(
    ("status", "rows"),
    [
        ("passed", ALL[:3]),
        ("failed", ["says what falls"]),
        ("error", ["lives on"]),
        ("skipped", ["waits"]),
        ("flaky", ["comes at last"]),
        ("all", ALL),
    ],
)
def test_a_button_shows_the_tests_of_one_status(report: Tab, status: str, rows: list[str]) -> None:
    click(report, f"button[value={status}]")
    assert visible_names(report, ROWS) == rows
    pressed = "Array.from(document.querySelectorAll('[aria-pressed=true]'), each => each.value)"
    assert report.value(pressed) == [status]


def test_everything_can_be_closed_and_opened(report: Tab) -> None:
    click(report, ".close-all")
    assert visible_names(report, ROWS) == []
    click(report, ".open-all")
    assert visible_names(report, ROWS) == ALL


def test_a_link_into_a_closed_suite_opens_it(report: Tab) -> None:
    click(report, ".close-all")
    click(report, "#durations a")
    assert visible_names(report, ROWS) != []


def test_a_failed_test_in_the_list_leads_to_what_is_known_about_it(report: Tab) -> None:
    click(report, ".tests .failed a")
    assert report.value("document.querySelector(':target summary .name').textContent") == (
        "says what falls"
    )


def test_a_page_without_script_shows_everything_but_the_search(report: Tab) -> None:
    report.reload_without_script()
    assert visible_names(report, ROWS) == ALL
    assert visible_names(report, CARDS) == ["says what falls", "lives on"]
    assert not report.value("document.querySelector('.filter').checkVisibility()")


@pytest.mark.parametrize("texts", [None, ["x" * 5_000, "W" * 400, "\u0e01\u0e33" * 300]])
def test_a_narrow_screen_needs_no_sideways_scrolling(
    tab: Tab, tmp_path: Path, texts: list[str] | None
) -> None:
    tab.resize(360)
    show(tab, tmp_path, page_of(run_of_texts(texts) if texts else ordinary_run()))
    assert_fits(tab, 360)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_in_both_colour_schemes(report: Tab, scheme: str) -> None:
    assert_readable(report, scheme, {"light": "rgb(247, 246, 243)", "dark": "rgb(20, 23, 26)"})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_paper_what_was_closed_is_open_and_paper_is_white(report: Tab, scheme: str) -> None:
    click(report, ".close-all")
    assert_printed(
        report, scheme, closed=".log", blocks=".tests > li, .log, pre", control=".filter"
    )


def test_the_keyboard_reaches_the_search_and_everything_after_it(report: Tab) -> None:
    report.press("/", 191)
    assert report.value("document.activeElement.type") == "search"
    assert report.value("document.activeElement.value") == ""
    reached = []
    for _ in range(12):
        report.press("Tab", 9)
        reached.append(report.value("document.activeElement.localName"))
    assert set(reached) >= {"button", "summary", "pre"}


def test_everything_that_can_be_used_has_a_name_for_those_who_do_not_see_it(report: Tab) -> None:
    assert_named(report, {"button", "searchbox", "link", "DisclosureTriangle"})


@pytest.mark.long
def test_five_thousand_tests_are_a_page_of_a_few_megabytes_that_can_be_searched(
    tab: Tab, tmp_path: Path
) -> None:
    page = page_of(large_run(suites=50, tests=100))
    assert len(page.encode()) < 5_000_000
    show(tab, tmp_path, page)
    assert search(tab, "number 49-9") == [
        f"test number 49-{number} does what it should" for number in (9, *range(90, 100))
    ]
    click(tab, "button[value=failed]")
    assert visible_names(tab, ROWS) == []
    assert len(search(tab, "")) == 1


def test_without_a_browser_tests_are_skipped_except_on_ci() -> None:
    with pytest.raises(pytest.skip.Exception, match="there is no browser here"):
        required(None, is_ci=False)
    with pytest.raises(pytest.fail.Exception, match="there is no browser here"):
        required(None, is_ci=True)
    assert required("/usr/bin/chromium", is_ci=True) == "/usr/bin/chromium"
