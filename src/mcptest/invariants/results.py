"""Results that are what their method promises, and the things that are listed in them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.said import Said

    Members = dict[str, Any]

__all__ = ["LISTED", "complete_result", "listed_in", "objects_in"]

# The member under which the result of each method lists its things.
LISTED = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


def complete_result(said: Said, facts: Facts) -> Members | None:
    """The result, or None when it is no object, or asks for more, or says that work goes on."""
    result = said.message.get("result")
    if not isinstance(result, dict):
        return None
    if facts.is_stateless:
        return result if result.get("resultType", "complete") == "complete" else None
    is_task = "task" in said.asked and isinstance(result.get("task"), dict)
    return None if is_task else result


def listed_in(said: Said, facts: Facts) -> Iterator[tuple[str, Any]]:
    """Everything that the result of a list has, with its path."""
    result = complete_result(said, facts) or {}
    member = LISTED.get(said.method, "")
    things = result.get(member)
    if isinstance(things, list):
        for index, thing in enumerate(things):
            yield f"result.{member}[{index}]", thing


def objects_in(said: Said, facts: Facts) -> Iterator[tuple[str, Members]]:
    """What a list has and what is an object, with its path."""
    for path, thing in listed_in(said, facts):
        if isinstance(thing, dict):
            yield path, thing
