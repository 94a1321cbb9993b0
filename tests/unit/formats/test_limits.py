"""A value is measured the same way by every reader."""

from __future__ import annotations

from mcptest.formats.yaml.quick import MAX_DEPTH, MAX_NODES, is_within_limits


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_depth_counts_collections() -> None:
    assert is_within_limits(nested(MAX_DEPTH))
    assert not is_within_limits(nested(MAX_DEPTH + 1))


def test_nodes_are_collections_keys_and_values() -> None:
    assert is_within_limits([None] * (MAX_NODES - 1))
    assert not is_within_limits([None] * MAX_NODES)
    half = MAX_NODES // 2
    assert is_within_limits(dict.fromkeys(map(str, range(half - 1))))
    assert not is_within_limits(dict.fromkeys(map(str, range(half))))


def test_a_lone_scalar_is_within_limits() -> None:
    assert is_within_limits("x")
