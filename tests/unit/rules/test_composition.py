"""Clashes between servers, and everything that is none."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.rules.scorer import SessionNames, find_conflicts


def member(
    label: str, *tools: str, ids: tuple[object, ...] = (), transport: str = ""
) -> SessionNames:
    made = SessionNames(label, transport)
    listed = {"result": {"tools": [{"name": name} for name in tools]}}
    made.add_exchange({"method": "tools/list"}, listed)
    for id in ids:
        made.add_exchange({"id": id, "method": "ping"}, None)
    return made


def kinds(*members: SessionNames) -> list[str]:
    return [conflict.kind for conflict in find_conflicts(list(members))]


def test_the_same_tool_on_two_servers_is_named_with_both() -> None:
    [conflict] = find_conflicts([member("stdio://a", "x", "y"), member("stdio://b", "x")])
    assert (conflict.kind, conflict.what, conflict.servers) == (
        "tool_overlap",
        ("x",),
        ("stdio://a", "stdio://b"),
    )
    assert conflict.message.startswith("the tool x is offered by stdio://a and stdio://b:")


def test_a_tool_that_carries_its_server_clashes_with_nothing() -> None:
    assert kinds(member("stdio://a", "a__x"), member("stdio://b", "b__x")) == []
    assert kinds(member("stdio://a", "a__x"), member("stdio://b", "a__x")) == []
    assert kinds(member("stdio://a", "c__x"), member("stdio://b", "c__x")) == ["tool_overlap"]


def test_two_sessions_of_one_server_offer_the_same_tools() -> None:
    assert kinds(member("stdio://a", "x"), member("stdio://a", "x")) == []


def test_servers_that_share_a_label_are_distinguished_by_their_names() -> None:
    one, other = member("stdio://python3", "x"), member("stdio://python3", "x")
    for made, name in ((one, "weather"), (other, "news")):
        made.add_exchange({"method": "initialize"}, {"result": {"serverInfo": {"name": name}}})
    [conflict] = find_conflicts([one, other])
    assert conflict.servers == ("stdio://python3 (weather)", "stdio://python3 (news)")
    other.add_exchange({"method": "initialize"}, {"result": {"serverInfo": {"name": "weather"}}})
    assert find_conflicts([one, other]) == []


def test_many_sessions_with_the_same_ids_are_reported_up_to_a_limit() -> None:
    members = [member(f"stdio://{number}", ids=(1,)) for number in range(500)]
    assert len(find_conflicts(members)) == 100


def test_the_requests_of_a_batch_count() -> None:
    one, other = member("a"), member("b")
    for made in (one, other):
        made.add_exchange([{"id": 1, "method": "ping"}, 5], None)
    assert kinds(one, other) == ["id_collision"]


def test_an_id_that_two_sessions_used_collides() -> None:
    [conflict] = find_conflicts([member("a", ids=(1, 2, "k")), member("b", ids=(2, "k", 9))])
    assert (conflict.kind, conflict.what) == ("id_collision", (2, "k"))


@pytest.mark.parametrize(("one", "other"), [(1, "1"), (1, True), (0, False), (1, 2)])
def test_ids_are_the_same_only_with_the_same_type(one: object, other: object) -> None:
    assert kinds(member("a", ids=(one,)), member("b", ids=(other,))) == []


def test_sessions_on_different_transports_cannot_collide() -> None:
    one, other = member("a", ids=(1,), transport="s:1"), member("b", ids=(1,), transport="s:2")
    assert kinds(one, other) == []
    assert kinds(one, member("b", ids=(1,), transport="s:1")) == ["id_collision"]
    assert kinds(one, member("b", ids=(1,))) == ["id_collision"]


@pytest.mark.parametrize(
    "response", [None, [], {}, {"result": 3}, {"result": {"tools": 3}}, {"result": {"tools": [3]}}]
)
def test_odd_answers_contain_no_tools(response: Any) -> None:
    made = SessionNames("a", "")
    made.add_exchange({"method": "tools/list"}, response)
    made.add_exchange([1], response)
    assert made.tools == {}
