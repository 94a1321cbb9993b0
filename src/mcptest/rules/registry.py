"""Every rule there is, in the order in which reports show them: by family, then by id.

A new rule is one entry in the module of its family.
"""

from __future__ import annotations

from itertools import chain

from mcptest.rules import (
    client_requests,
    elicitation,
    errors,
    http,
    input_rounds,
    jsonrpc,
    lists,
    meta,
    notifications,
    prompts,
    resources,
    session,
    shapes,
    stdio,
    subscriptions,
    tasks,
    tools,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.rules.rule import Rule

__all__ = ["RULES"]

_FAMILIES = (
    *("INV", "BASE", "LIFE", "STDIO", "HTTP", "TOOL", "RES", "PROMPT", "COMP", "SUB", "LOG"),
    *("PAGE", "CACHE", "PROG", "CANC", "SAMP", "ROOT", "ELIC", "MRTR", "XTASK"),
)
_MODULES = (
    *(session, jsonrpc, errors, meta, shapes, stdio, http, tools, resources, prompts, lists),
    *(subscriptions, notifications, client_requests, elicitation, input_rounds, tasks),
)


def _order(rule: Rule) -> tuple[int, str]:
    return _FAMILIES.index(rule.id.partition("-")[0]), rule.id


RULES: tuple[Rule, ...] = tuple(
    sorted(chain.from_iterable(module.RULES for module in _MODULES), key=_order)
)
