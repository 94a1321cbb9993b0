"""A value is measured the same way by every reader."""

from __future__ import annotations

import pytest

from mcptest.formats.yaml import quick
from mcptest.formats.yaml.quick import MAX_DEPTH, is_within_limits


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_depth_counts_collections() -> None:
    assert is_within_limits(nested(MAX_DEPTH))
    assert not is_within_limits(nested(MAX_DEPTH + 1))


def test_nodes_are_collections_keys_and_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "MAX_NODES", 1_000)
    assert is_within_limits([None] * 999)
    assert not is_within_limits([None] * 1_000)
    assert is_within_limits(dict.fromkeys(map(str, range(499))))
    assert not is_within_limits(dict.fromkeys(map(str, range(500))))


def test_a_lone_scalar_is_within_limits() -> None:
    assert is_within_limits("x")
