"""Rules about what flows beside requests: logs, pages, progress, cancelling, subscriptions, caching."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.rule import Rule

__all__ = ["FLOW_RULES"]

FLOW_RULES: tuple[Rule, ...] = ()
