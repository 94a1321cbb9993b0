"""Notifications: in order, others in between, and why one is missing."""

from __future__ import annotations

import pytest

from mcptest.engine.judge import judge_notifications
from mcptest.matching.compiler import Compiler
from mcptest.matching.registry import builtin_registry

A, B, C = ({"method": method, "params": {"n": 1}} for method in "abc")


def judged(wanted: list[object], got: list[object]) -> list[tuple[str, str]]:
    compiled = [Compiler(builtin_registry()).compile(each, None) for each in wanted]
    found = list(judge_notifications(compiled, got))
    assert all(
        mismatch.message.startswith("expected notification did not arrive") for mismatch in found
    )
    return [(mismatch.path, mismatch.hint) for mismatch in found]


@pytest.mark.parametrize(
    ("wanted", "got"),
    [([A], [A]), ([A, C], [A, B, C]), ([A, A], [A, B, A]), ([{"match:partial": A}], [B, A])],
)
def test_notifications_in_order_match(wanted: list[object], got: list[object]) -> None:
    assert judged(wanted, got) == []


@pytest.mark.parametrize(
    ("wanted", "got", "missing"),
    [
        ([A], [], [("notifications[0]", "")]),
        (
            [A, B],
            [B, A],
            [("notifications[1]", "one came earlier; the order matters")],
        ),
        ([A, A], [A], [("notifications[1]", "one came earlier; the order matters")]),
        (
            [A],
            [A | {"params": {"n": 2}}],
            [("notifications[0]", "one with this method came, but params.n: differs")],
        ),
        ([A, B, C], [C], [("notifications[0]", ""), ("notifications[1]", "")]),
    ],
)
def test_a_missing_notification_is_reported_with_its_place(
    wanted: list[object], got: list[object], missing: list[tuple[str, str]]
) -> None:
    assert judged(wanted, got) == missing
