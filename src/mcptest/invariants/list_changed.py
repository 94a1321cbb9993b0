"""Rules that a server tells of a changed list only if it declared that it would."""

from __future__ import annotations

from mcptest.invariants.rule import Rule, at_levels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["list_changed_rule"]


class _ListChanged:
    """Declared is what the answer to initialize says, or the capture when there is none."""

    def __init__(self, family: str) -> None:
        self._family = family
        self._is_known = False
        self._has_early = False

    def see(self, said: Said, facts: Facts) -> Breaches:
        if said.kind == "result":
            self._is_known = True
            return None
        if self._is_known or facts.capabilities:
            return self._judge(facts)
        self._has_early = True
        return None

    def end(self, facts: Facts) -> Breaches:
        is_known = self._is_known or isinstance(facts.block, dict)
        return self._judge(facts) if self._has_early and is_known else None

    def _judge(self, facts: Facts) -> Breaches:
        declared = facts.capabilities.get(self._family)
        if isinstance(declared, dict) and declared.get("listChanged") is True:
            return ()
        return [
            f"the server sent notifications/{self._family}/list_changed and did not declare "
            f"{self._family}.listChanged"
        ]


def list_changed_rule(id: str, family: str) -> Rule:
    """The rule for tools, resources or prompts."""
    method = f"notifications/{family}/list_changed"
    return Rule(
        id=id,
        name="list-changed-declared",
        category=family,
        property=f"a server that sends {method} declared {family}.listChanged",
        levels=at_levels("CD", should="AB"),
        topics=(f"notification:{method}", "result:initialize"),
        start=lambda: _ListChanged(family),
        nothing=f"no {method} was sent, or what the server declared is not known",
        elsewhere="subscriptions instead",
    )
