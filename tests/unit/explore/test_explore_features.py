"""The features of a server are listed to the end, and what is wrong with a list is reported."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.core.coverage import KINDS
from mcptest.protocol.lists import MAX_PAGES, Listing, is_declared, list_features

TOOLS = KINDS["tools"]


def listing(*answers: dict[str, Any], kind: str = "tools") -> Listing:
    waiting = list(answers)
    return list_features(lambda method, params: waiting.pop(0), KINDS[kind])


def page(*names: object, **more: object) -> dict[str, Any]:
    return {"result": {"tools": [{"name": name} for name in names], **more}}


def test_all_pages_are_put_together() -> None:
    found = listing(page("a", nextCursor="1"), page("b", "c", nextCursor=""), page("d"))
    assert (found.names, found.first_page_count) == (("a", "b", "c", "d"), 1)
    assert (len(found.answers), found.problem) == (3, "")
    assert (found.find("c"), found.find("x")) == ({"name": "c"}, None)


def test_a_list_without_an_end_is_cut() -> None:
    pages = (page(str(number), nextCursor=str(number)) for number in range(2 * MAX_PAGES))
    found = list_features(lambda method, params: next(pages), TOOLS)
    assert len(found.features) == MAX_PAGES
    assert found.problem == "tools/list does not end (pages read: 200, entries: 200)"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"error": {"code": -1, "message": "no"}}, "the server refused tools/list: code -1"),
        ({"result": []}, 'the result of tools/list has no array "tools": []'),
        (page("a", None, 7), "2 of the tools have no name; they are left out"),
    ],
)
def test_a_list_that_is_wrong_is_reported(answer: dict[str, Any], problem: str) -> None:
    assert listing(answer).problem.startswith(problem)


def test_features_without_a_name_do_not_hide_the_pages_behind_them() -> None:
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
