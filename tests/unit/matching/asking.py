"""What the tests of matchers ask: does this value meet that pattern, and if not, why?"""

from __future__ import annotations

from mcptest.matching.patterns import parse_pattern
from mcptest.matching.registry import builtin_registry

__all__ = ["NOW_S", "is_met", "why_not"]

# 2024-06-01 00:00 UTC, and it stays that time.
NOW_S = 1_717_200_000.0
REGISTRY = builtin_registry(lambda: NOW_S)


def is_met(pattern: str, actual: object) -> bool:
    return parse_pattern(f"match:{pattern}", REGISTRY).is_met(actual)


def why_not(pattern: str, actual: object) -> tuple[str, str]:
    """The expected and the actual value, and the hint; the value must not match the pattern."""
    mismatch = parse_pattern(f"match:{pattern}", REGISTRY).mismatch(actual, None)
    assert mismatch is not None
    return mismatch.message.removeprefix("expected "), mismatch.hint
