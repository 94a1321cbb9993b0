"""Rules about what a server asks of its client: sampling, roots, elicitation, input in rounds."""

from __future__ import annotations

from mcptest.invariants.elicitation import ELICITATION_RULES
from mcptest.invariants.elicitation_urls import URL_RULES
from mcptest.invariants.input_rounds import ROUND_RULES
from mcptest.invariants.sampling import SAMPLING_RULES
from mcptest.invariants.secret_words import SECRET_RULES
from mcptest.invariants.task_extension import TASK_RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.rule import Rule

__all__ = ["CLIENT_RULES"]

CLIENT_RULES: tuple[Rule, ...] = (
    *SAMPLING_RULES,
    *sorted((*ELICITATION_RULES, *URL_RULES, *SECRET_RULES), key=lambda rule: rule.id),
    *ROUND_RULES,
    *TASK_RULES,
)
