"""Every rule there is, in the order in which reports show them."""

from __future__ import annotations

from mcptest.invariants.base_rules import BASE_RULES
from mcptest.invariants.client_rules import CLIENT_RULES
from mcptest.invariants.flow_rules import FLOW_RULES
from mcptest.invariants.resource_rules import RESOURCE_RULES
from mcptest.invariants.session_rules import SESSION_RULES
from mcptest.invariants.shape_rules import SHAPE_RULES
from mcptest.invariants.tool_rules import TOOL_RULES
from mcptest.invariants.transport_rules import TRANSPORT_RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.rule import Rule

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    *SESSION_RULES,
    *BASE_RULES,
    *TRANSPORT_RULES,
    *SHAPE_RULES,
    *TOOL_RULES,
    *RESOURCE_RULES,
    *FLOW_RULES,
    *CLIENT_RULES,
)
