"""HTTP-41: the `x-mcp-header` annotations in the schemas of tools."""

from __future__ import annotations

from mcptest.core.text import render_trail, shorten
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.sentences import gathered
from mcptest.invariants.shape_checks import MAX_FAULTS
from mcptest.invariants.shape_schemas import inner_schemas
from mcptest.invariants.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.text import Trail
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

__all__ = ["PARAM_HEADER_RULES"]

_ANNOTATION = "x-mcp-header"
_TYPES = frozenset(["string", "integer", "boolean"])
# What the name of a header may be made of beside letters and digits.
_MARKS = frozenset("!#$%&'*+-.^_`|~")


def _headers(said: Said, _: Facts) -> Breaches:
    tools = said.result.get("tools")
    if not isinstance(tools, list):
        return None
    found = gathered(_judged(index, tool) for index, tool in enumerate(tools))
    return found[:MAX_FAULTS] if found else found


def _judged(index: int, tool: Any) -> Breaches:
    schema = tool.get("inputSchema") if isinstance(tool, dict) else None
    if not isinstance(schema, dict):
        return None
    names: dict[str, str] = {}
    breaches: list[str] | None = None
    for path, annotated, is_reachable in _annotated(schema, _path_of(index)):
        place = shorten(render_trail(path), 120)
        faults = _faults(annotated, is_reachable)
        name = annotated[_ANNOTATION]
        if isinstance(name, str):
            other = names.setdefault(name.lower(), place)
            if other != place:
                faults.append(f"is {shown(name)}, which {other} has too")
        breaches = [] if breaches is None else breaches
        breaches += [f"{place}.{_ANNOTATION} {fault}" for fault in faults]
    return breaches


def _path_of(index: int) -> Trail:
    return (((None, "result"), "tools"), index), "inputSchema"


def _annotated(schema: dict[str, Any], path: Trail) -> Iterator[tuple[Trail, dict[str, Any], bool]]:
    """The annotated schemas, and whether only `properties` lead to each."""
    waiting: list[tuple[Trail, Any, bool, bool]] = [(path, schema, True, True)]
    for place, each, is_reachable, is_root in waiting:
        if isinstance(each, dict):
            if _ANNOTATION in each:
                yield place, each, is_reachable and not is_root
            for keyword, inner_place, inner in inner_schemas(each, place):
                waiting.append(
                    (inner_place, inner, is_reachable and keyword == "properties", False)
                )


def _faults(annotated: dict[str, Any], is_reachable: bool) -> list[str]:
    name, faults = annotated[_ANNOTATION], []
    if not isinstance(name, str) or not name:
        faults.append(f"must be text that is not empty and is {shown(name)}")
    elif not all(char in _MARKS or (char.isascii() and char.isalnum()) for char in name):
        faults.append(f"must be fit for the name of a header and is {shown(name)}")
    if not is_reachable:
        faults.append("is not reached from the root of the schema through properties alone")
    elif not _has_simple_type(annotated):
        kind = shown(annotated["type"])
        faults.append(f"is on the type {kind}; it may only be on string, integer and boolean")
    return faults


def _has_simple_type(schema: dict[str, Any]) -> bool:
    """Whether the type is one that fits in a header; one that is not named may be."""
    kinds = schema.get("type")
    if kinds is None:
        return "type" not in schema
    if isinstance(kinds, list):
        return all(isinstance(kind, str) and kind in _TYPES | {"null"} for kind in kinds)
    return isinstance(kinds, str) and kinds in _TYPES


PARAM_HEADER_RULES = (
    Rule(
        id="HTTP-41",
        name="x-mcp-header-valid",
        category="http",
        property="every x-mcp-header names a header, once in its tool, on a string, an integer "
        "or a boolean to which only properties lead",
        levels=at_levels("E"),
        topics=("result:tools/list",),
        start=lambda: Looking(_headers),
        nothing="no tool has an x-mcp-header",
        elsewhere="no x-mcp-header",
    ),
)
