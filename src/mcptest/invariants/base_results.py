"""The type that every result names where there is no handshake."""

from __future__ import annotations

from mcptest.invariants.base_values import members
from mcptest.invariants.facts import META_CAPABILITIES
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.wording import seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["RESULT_RULES"]

_CORE = ("complete", "input_required")
# The types that each extension we know adds.
_ADDED: dict[str, tuple[str, ...]] = {
    "io.modelcontextprotocol/tasks": ("task",),
    "io.modelcontextprotocol/ui": (),
    "io.modelcontextprotocol/skills": (),
    "io.modelcontextprotocol/oauth-client-credentials": (),
    "io.modelcontextprotocol/enterprise-managed-authorization": (),
}


def _type_present(said: Said, _: Facts) -> Breaches:
    result = said.message["result"]
    if not isinstance(result, dict):
        return None
    if isinstance(result.get("resultType"), str):
        return ()
    return [
        f"result.resultType of {shown(said.method)} must be text and is "
        f"{seen(result, 'resultType')}"
    ]


def _type_known(said: Said, _: Facts) -> Breaches:
    named = said.result.get("resultType")
    if not isinstance(named, str) or not said.request:
        return None
    if named in _CORE:
        return ()
    capabilities = members(said.asked.get("_meta")).get(META_CAPABILITIES)
    declared = members(members(capabilities).get("extensions"))
    # An extension that is not known here may add any type.
    if any(named in _ADDED.get(extension, (named,)) for extension in declared):
        return ()
    return [
        f"result.resultType of {shown(said.method)} is {shown(named)}; wanted complete, "
        "input_required or a type of an extension that the request declared"
    ]


_STATELESS = at_levels("E")

RESULT_RULES = (
    Rule(
        id="BASE-21",
        name="result-type-present",
        category="base",
        property="every result has a text resultType",
        levels=_STATELESS,
        topics=("result",),
        start=lambda: Looking(_type_present),
        nothing="no request was answered with a result",
    ),
    Rule(
        id="BASE-22",
        name="result-type-known",
        category="base",
        property="every resultType is one of the protocol or of an extension the request declared",
        levels=_STATELESS,
        topics=("result",),
        start=lambda: Looking(_type_known),
        nothing="no result names its type",
    ),
)
