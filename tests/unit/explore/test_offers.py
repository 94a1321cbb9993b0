"""Lists are followed page by page, and a server that lists nonsense is told."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.explore.offers import KINDS, MAX_PAGES, Listing, is_declared, list_offers

TOOLS = KINDS["tools"]


def listing(*answers: dict[str, Any], kind: str = "tools") -> Listing:
    waiting = list(answers)
    return list_offers(lambda method, params: waiting.pop(0), KINDS[kind])


def page(*names: object, **more: object) -> dict[str, Any]:
    return {"result": {"tools": [{"name": name} for name in names], **more}}


def test_all_pages_are_put_together() -> None:
    found = listing(page("a", nextCursor="1"), page("b", "c", nextCursor=""), page("d"))
    assert (found.names, found.first, found.problem) == (("a", "b", "c", "d"), 1, "")
    assert len(found.answers) == 3


def test_each_page_is_asked_for_with_the_cursor_of_the_one_before() -> None:
    asked: list[object] = []
    answers = [page(nextCursor="x"), page()]

    def ask(method: str, params: dict[str, object]) -> dict[str, Any]:
        asked.append((method, params))
        return answers.pop(0)

    list_offers(ask, TOOLS)
    assert asked == [("tools/list", {}), ("tools/list", {"cursor": "x"})]


def test_a_cursor_that_comes_again_ends_the_list() -> None:
    found = listing(page("a", nextCursor="x"), page("b", nextCursor="x"))
    assert found.names == ("a", "b")
    assert found.problem.startswith('the server gave the cursor "x" twice')


def test_a_list_without_an_end_is_cut() -> None:
    count = 0

    def ask(method: str, params: dict[str, object]) -> dict[str, Any]:
        nonlocal count
        count += 1
        return page(str(count), nextCursor=str(count))

    found = list_offers(ask, TOOLS)
    assert len(found.offers) == MAX_PAGES
    assert "more than these 200" in found.problem


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"error": {"code": -1, "message": "\x1bno"}}, "the server refused tools/list: code -1"),
        ({"result": []}, 'the result of tools/list has no array "tools": []'),
        ({"result": {"tools": {}}}, 'the result of tools/list has no array "tools"'),
        (page("a", nextCursor=5), "nextCursor must be text and is 5"),
        (page("a", None, 7), "2 of the tools have no name; they are left out"),
    ],
)
def test_a_list_that_is_wrong_is_told(answer: dict[str, Any], problem: str) -> None:
    found = listing(answer)
    assert found.problem.startswith(problem)
    assert "\x1b" not in found.problem


def test_offers_without_a_name_do_not_hide_the_pages_behind_them() -> None:
    found = listing(page(None, nextCursor="x"), page("a"))
    assert (found.names, found.problem[:1]) == (("a",), "1")


def test_only_templates_may_be_unknown_to_a_server_with_resources() -> None:
    unknown = {"error": {"code": -32601, "message": ""}}
    assert listing(unknown, kind="resourceTemplates").problem == ""
    assert listing(unknown, kind="resources").problem


def test_a_kind_is_declared_by_its_capability() -> None:
    assert is_declared(KINDS["resourceTemplates"], {"resources": {}})
    assert not is_declared(TOOLS, {"resources": {}})
    assert not is_declared(TOOLS, None)
