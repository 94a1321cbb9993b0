"""The kinds of things a server offers, and how each is asked for. One table for everybody."""

from __future__ import annotations

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    OfferKind = Literal["tool", "resource", "resourceTemplate", "prompt"]

__all__ = ["KINDS", "Kind"]


class Kind(Record):
    """One kind of offer: `name` is its member in the answer to `method`, `key` what tells
    one offer from another."""

    name: str
    unit: OfferKind
    noun: str
    method: str
    capability: str
    key: str = "name"


KINDS = {
    kind.name: kind
    for kind in (
        Kind(name="tools", unit="tool", noun="tool", method="tools/list", capability="tools"),
        Kind(
            name="resources",
            unit="resource",
            noun="resource",
            method="resources/list",
            capability="resources",
            key="uri",
        ),
        Kind(
            name="resourceTemplates",
            unit="resourceTemplate",
            noun="resource template",
            method="resources/templates/list",
            capability="resources",
            key="uriTemplate",
        ),
        Kind(
            name="prompts",
            unit="prompt",
            noun="prompt",
            method="prompts/list",
            capability="prompts",
        ),
    )
}
