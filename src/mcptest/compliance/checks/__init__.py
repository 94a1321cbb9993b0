"""All active checks, by family: each module has the table `CHECKS` of some families."""

from __future__ import annotations

from mcptest.compliance.checks import (
    authorization,
    http,
    input,
    jsonrpc,
    lifecycle,
    prompts,
    resources,
    stdio,
    tasks,
    tools,
    utilities,
)
from mcptest.rules.all_rules import list_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcptest.compliance.check import Check

__all__ = ["CHECKS"]

_MODULES = (
    *(jsonrpc, lifecycle, stdio, http),
    *(tools, resources, prompts, utilities, tasks, input, authorization),
)
_TABLES: Iterable[Mapping[str, Check]] = (module.CHECKS for module in _MODULES)
CHECKS: tuple[Check, ...] = tuple(list_entries(_TABLES))
