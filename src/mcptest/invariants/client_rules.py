"""Rules about what a server asks of its client: sampling, roots, elicitation, input in rounds."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.rule import Rule

__all__ = ["CLIENT_RULES"]

CLIENT_RULES: tuple[Rule, ...] = ()
