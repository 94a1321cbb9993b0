"""Rules about every frame: JSON-RPC, errors and `_meta`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.rule import Rule

__all__ = ["BASE_RULES"]

BASE_RULES: tuple[Rule, ...] = ()
