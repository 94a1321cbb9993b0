"""The notifications that a test waits for: the same ones do in a suite."""

from __future__ import annotations

from typing import Any

import pytest
from migrating import (
    calling,
    carried,
    case_of_conductor,
    case_of_suite,
    conductor,
    conductor_from,
    is_met,
    left,
    suite_from,
)

from mcptest.migrate.yaml_page import render_page

LOG, PROGRESS = "notifications/message", "notifications/progress"


def notice(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}


HEARD: tuple[tuple[dict[str, Any], ...], ...] = (
    (),
    (notice(LOG),),
    (notice(PROGRESS), notice(LOG)),
    (notice(LOG), notice(LOG), notice(PROGRESS)),
    (notice(LOG, level="info"),),
    (notice(LOG, level="info", data=1), notice("x")),
    (notice(f'{LOG}"{PROGRESS}'),),
    (notice("notifications/message/more"),),
)
WISHES: tuple[list[Any], ...] = (
    [LOG],
    [LOG, PROGRESS],
    [LOG, LOG],
    [{"method": LOG}],
    [{"method": LOG, "params": {"level": "info"}}],
    [{"match:partial": {"method": LOG, "params": {"level": "info"}}}],
    [{"method": LOG, "params": {"level": "match:type:string"}}],
)


@pytest.mark.parametrize("wish", WISHES)
def test_a_wish_judges_the_same_in_a_suite_and_back(wish: list[Any]) -> None:
    text = conductor(calling({"notifications": wish}))
    suite = suite_from(text).text
    back = conductor_from(suite).text
    judged = [is_met(case_of_conductor(text), {"result": {}}, heard=heard) for heard in HEARD]
    for case in (case_of_suite(suite), *([case_of_conductor(back)] if back else [])):
        assert [is_met(case, {"result": {}}, heard=heard) for heard in HEARD] == judged
    assert set(judged) == {True, False}


def test_a_method_is_looked_for_among_all_methods() -> None:
    entry = carried(calling({"notifications": [LOG]}))["tools"][0]
    assert entry["expect"] == [
        {"target": "notifications[*].method", "matcher": {"pattern": f"arrayContains:{LOG}"}}
    ]


def test_only_methods_have_an_order_in_a_suite() -> None:
    assert left(calling({"notifications": [LOG, {"method": PROGRESS}]})) == [
        "the order of notifications is known to a suite by their methods only"
    ]


@pytest.mark.parametrize(
    ("target", "matcher"),
    [
        ("notifications[*].method", {"exact": [LOG]}),
        ("notifications[*].method", {"regex": "message"}),
        ("notifications[*].method", {"pattern": "arrayContains:a b"}),
        ("notifications[0].method", {"exact": LOG}),
        ("notifications", {"length": 1}),
        ("notifications", {"contains": {"method": LOG}}),
    ],
)
def test_any_other_assertion_about_notifications_is_left_behind(
    target: str, matcher: dict[str, Any]
) -> None:
    entry = {"name": "n", "tool": "t", "expect": [{"target": target, "matcher": matcher}]}
    found = conductor_from(render_page({"servers": {"s": {"command": ["run"]}}, "tools": [entry]}))
    assert [each.reason for each in found.remarks] == [
        "a Conductor file names the notifications that must come, and no more"
    ]
