"""Rules about every frame: JSON-RPC, errors and `_meta`."""

from __future__ import annotations

from mcptest.invariants.base_errors import ERROR_RULES
from mcptest.invariants.base_frames import FRAME_RULES
from mcptest.invariants.base_ids import ID_RULES
from mcptest.invariants.base_negotiated import NEGOTIATED_RULES
from mcptest.invariants.base_results import RESULT_RULES
from mcptest.invariants.meta_keys import KEY_RULES
from mcptest.invariants.meta_trace import TRACE_RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.rule import Rule

__all__ = ["BASE_RULES"]

BASE_RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *FRAME_RULES,
            *ID_RULES,
            *ERROR_RULES,
            *RESULT_RULES,
            *KEY_RULES,
            *TRACE_RULES,
            *NEGOTIATED_RULES,
        ),
        key=lambda rule: rule.id,
    )
)
