"""Rules about resources, prompts and completions."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.rule import Rule

__all__ = ["RESOURCE_RULES"]

RESOURCE_RULES: tuple[Rule, ...] = ()
