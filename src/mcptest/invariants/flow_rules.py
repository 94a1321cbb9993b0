"""Rules about what flows beside requests: changes, logs, pages, progress, cancelling, caching."""

from __future__ import annotations

from mcptest.invariants.caching import CACHING_RULES
from mcptest.invariants.cancelling import CANCELLING_RULES
from mcptest.invariants.listening import LISTENING_RULES
from mcptest.invariants.logs import LOG_RULES
from mcptest.invariants.progress import PROGRESS_RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.rule import Rule

__all__ = ["FLOW_RULES"]

FLOW_RULES: tuple[Rule, ...] = (
    *LISTENING_RULES,
    *LOG_RULES,
    *CACHING_RULES,
    *PROGRESS_RULES,
    *CANCELLING_RULES,
)
