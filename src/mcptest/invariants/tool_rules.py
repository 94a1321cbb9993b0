"""Rules about tools and what calling them brings."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.rule import Rule

__all__ = ["TOOL_RULES"]

TOOL_RULES: tuple[Rule, ...] = ()
