"""When another try of a test needs a fresh server. Pure."""

from __future__ import annotations

from mcptest.core.jsonrpc import can_replace_id
from mcptest.core.record import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.plan import Case

__all__ = ["reason_to_start_afresh"]


def reason_to_start_afresh(case: Case, kind: str) -> str:
    """Why another try needs a fresh server, "" when it does not; `kind` is how the last broke."""
    if kind == "timeout":
        return "the try before was never answered"
    steps = (*case.steps, *case.teardown)
    has_fixed_id = any(
        step.id is not ABSENT and (step.keeps_id or not can_replace_id(step.id)) for step in steps
    )
    if case.dialogue or has_fixed_id:
        return "the test is tried again, and its ids may be used once in a session"
    return ""
