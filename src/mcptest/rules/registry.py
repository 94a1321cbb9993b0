"""Every rule there is, in the order in which reports show them: by family, then by id.

A new rule is one entry, under its id and its name, in the table of its family.
"""

from __future__ import annotations

from mcptest.rules import (
    client_requests,
    errors,
    http,
    jsonrpc,
    meta,
    notifications,
    resources,
    session,
    shapes,
    stdio,
    tools,
)
from mcptest.rules.rule import CATEGORIES, name_rules
from mcptest.rules.shapes import with_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.rules.rule import Rule

__all__ = ["RULES"]

_FAMILIES = [name.partition("-")[0] for name in CATEGORIES]
_MODULES = (
    *(session, jsonrpc, errors, meta, shapes, stdio, http),
    *(tools, resources, notifications, client_requests),
)


def _order(rule: Rule) -> tuple[int, str]:
    return _FAMILIES.index(rule.id.partition("-")[0]), rule.id


RULES: tuple[Rule, ...] = tuple(
    sorted(
        (with_shape(rule) for module in _MODULES for rule in name_rules(module.RULES)), key=_order
    )
)
