"""Every rule there is, in the order in which reports show them."""

from __future__ import annotations

from mcptest.invariants.session_rules import SESSION_RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.rule import Rule

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (*SESSION_RULES,)
