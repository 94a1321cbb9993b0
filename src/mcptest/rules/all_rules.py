"""The modules of rules, and from them every rule in the order of reports: by family, then by id.

A new rule is one entry, under its id and its name, in the table of its family.
"""

from __future__ import annotations

from mcptest.rules import (
    client_requests,
    errors,
    http,
    jsonrpc,
    lifecycle,
    meta,
    notifications,
    resources,
    shapes,
    stdio,
    tools,
)
from mcptest.rules.rule import CATEGORIES, family_of, name_entries
from mcptest.rules.shapes import with_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest.rules.rule import Listed, Rule

__all__ = ["INVARIANTS", "RULES", "list_entries"]

_MODULES = (
    *(lifecycle, jsonrpc, errors, meta, shapes, stdio, http),
    *(tools, resources, notifications, client_requests),
)
# AUTH has only active checks.
_FAMILIES = [*map(family_of, CATEGORIES), "AUTH"]


def list_entries(tables: Iterable[Mapping[str, Listed]]) -> list[Listed]:
    """All rules or checks of some tables, in the order in which reports show them."""
    entries = [entry for table in tables for entry in name_entries(table)]
    return sorted(entries, key=lambda entry: (_FAMILIES.index(family_of(entry.id)), entry.id))


_TABLES: Iterable[Mapping[str, Rule]] = (module.RULES for module in _MODULES)
RULES: tuple[Rule, ...] = tuple(map(with_shape, list_entries(_TABLES)))
# What `mcptest compliance invariants` applies.
INVARIANTS = tuple(rule for rule in RULES if family_of(rule.id) == "INV")
