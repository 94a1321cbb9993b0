"""Rules about the shapes of messages and of the schemas in them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.rule import Rule

__all__ = ["SHAPE_RULES"]

SHAPE_RULES: tuple[Rule, ...] = ()
