"""All active checks, by family: each module has the table `CHECKS` of some families."""

from __future__ import annotations

from mcptest.compliance.check import family_of, name_checks
from mcptest.compliance.checks import (
    authorization,
    http,
    http_stateless,
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
from mcptest.rules.rule import CATEGORIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.compliance.check import Check

__all__ = ["CHECKS"]

_MODULES = (
    *(jsonrpc, lifecycle, stdio, http, http_stateless),
    *(tools, resources, prompts, utilities, tasks, input, authorization),
)
_FAMILIES = [*dict.fromkeys(map(family_of, CATEGORIES)), "TASK", "AUTH"]


def _order(check: Check) -> tuple[int, str]:
    return _FAMILIES.index(family_of(check.id)), check.id


CHECKS: tuple[Check, ...] = tuple(
    sorted((check for module in _MODULES for check in name_checks(module.CHECKS)), key=_order)
)
