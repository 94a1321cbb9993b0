"""Rules about what carries the messages: stdio and HTTP, the beginning of a session."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.rule import Rule

__all__ = ["TRANSPORT_RULES"]

TRANSPORT_RULES: tuple[Rule, ...] = ()
