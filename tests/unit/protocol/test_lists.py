"""Lists are read page by page, and end whatever the server sends."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.protocol.lists import ListPages


def page(*names: object, **more: object) -> dict[str, Any]:
    return {"result": {"tools": [{"name": name} for name in names], **more}}


def read(*answers: dict[str, Any], **options: Any) -> tuple[list[object], list[object], ListPages]:
    """The params that were requested and the entries that were read."""
    pages = ListPages("tools/list", "tools", **options)
    waiting = list(answers)
    asked: list[object] = []
    entries: list[object] = []
    while (params := pages.next_params()) is not None:
        asked.append(params)
        entries += [each["name"] for each in pages.add(waiting.pop(0))]
    assert waiting == []
    return asked, entries, pages


def test_each_page_is_requested_with_the_cursor_of_the_one_before() -> None:
    # An empty cursor is a cursor.
    asked, entries, pages = read(page("a", nextCursor="x"), page(nextCursor=""), page("b", "c"))
    assert asked == [{}, {"cursor": "x"}, {"cursor": ""}]
    assert (entries, pages.count, pages.problem) == (["a", "b", "c"], 3, None)


@pytest.mark.parametrize(
    ("answers", "kind", "message"),
    [
        (
            [{"error": {"code": -1, "message": "\x1bno", "data": 5}}],
            "refused",
            'the server refused tools/list: code -1, "\\u001bno", data 5',
        ),
        ([{"error": "no"}], "refused", 'the server refused tools/list: "no"'),
        ([{}], "malformed", 'the result of tools/list has no array "tools": null'),
        ([{"result": []}], "malformed", 'the result of tools/list has no array "tools": []'),
        (
            [{"result": {"tools": {}}}],
            "malformed",
            'the result of tools/list has no array "tools": {"tools":{}}',
        ),
        ([page(nextCursor=5)], "cursor", "the nextCursor of tools/list is not a string: 5"),
        (
            [page(nextCursor="x"), page(nextCursor="y"), page(nextCursor="x")],
            "circle",
            'tools/list goes in a circle: a cursor came twice: "x"',
        ),
        (
            [page("a", nextCursor=f"{number}") for number in range(5)],
            "endless",
            "tools/list does not end (pages read: 5, entries: 5)",
        ),
        (
            [page(*range(10), nextCursor="x")],
            "endless",
            "tools/list does not end (pages read: 1, entries: 10)",
        ),
    ],
)
def test_a_list_that_is_wrong_ends_with_a_problem(
    answers: list[dict[str, Any]], kind: str, message: str
) -> None:
    *_, pages = read(*answers, max_pages=5, max_entries=10)
    assert pages.problem
    assert (pages.problem.kind, pages.problem.message) == (kind, message)
    assert pages.next_params() is None


def test_the_reason_holds_nothing_that_the_server_sent() -> None:
    *_, pages = read(page(nextCursor="secret"), page(nextCursor="secret"))
    assert pages.problem
    assert (pages.problem.value, "secret" in pages.problem.reason) == ("secret", False)


def test_null_is_the_last_page_unless_it_is_read_strictly() -> None:
    assert read(page("a", nextCursor=None))[2].problem is None
    problem = read(page("a", nextCursor=None), is_strict=True)[2].problem
    assert problem
    assert (problem.kind, problem.value) == ("cursor", None)


def test_without_time_nothing_more_is_requested() -> None:
    pages = ListPages("tools/list", "tools", limit_s=2.0)
    assert pages.next_params(0.5) == {}
    pages.add(page("a", nextCursor="x"))
    assert pages.next_params(0.0) is None
    assert pages.problem
    assert pages.problem.message == "tools/list is not at its end after 2 s"


def test_after_the_last_page_time_does_not_matter() -> None:
    *_, pages = read(page("a"))
    assert (pages.next_params(-1.0), pages.problem) == (None, None)
