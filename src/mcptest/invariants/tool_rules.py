"""Rules about tools: how they are listed; those about calling them stand beside this module."""

from __future__ import annotations

from mcptest.invariants.icons import icon_breaches
from mcptest.invariants.list_changed import list_changed_rule
from mcptest.invariants.listed_once import ListedOnce
from mcptest.invariants.results import LISTED, complete_result, listed_in, objects_in
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.sentences import gathered, member_faults, must_be
from mcptest.invariants.tool_outputs import OUTPUT_RULES
from mcptest.invariants.tool_results import RESULT_RULES
from mcptest.invariants.wording import seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

    Members = dict[str, Any]

__all__ = ["TOOL_RULES"]

_MAX_NAME_CHARS = 128
_IN_NAMES = frozenset("_.-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

_ROOT = {"properties": "an object", "required": "an array"}
_TOOL = {"name": "text", "inputSchema": "an object"}
_HINTS = dict.fromkeys(
    ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"], "a boolean"
)
_ANNOTATIONS = {"title": "text"} | _HINTS


def _required_members(said: Said, facts: Facts) -> Breaches:
    result = complete_result(said, facts)
    if result is None:
        return None
    if not isinstance(result.get("tools"), list):
        return [*member_faults(result, "result", {"tools": "an array"})]
    return gathered(
        member_faults(tool, path, _TOOL)
        if isinstance(tool, dict)
        else [must_be(path, "an object", tool)]
        for path, tool in listed_in(said, facts)
    )


def _input_schema_object(said: Said, facts: Facts) -> Breaches:
    return gathered(
        _root_faults(f"{path}.inputSchema", tool["inputSchema"])
        for path, tool in objects_in(said, facts)
        if isinstance(tool.get("inputSchema"), dict)
    )


def _output_schema_object(said: Said, facts: Facts) -> Breaches:
    return gathered(
        _root_faults(f"{path}.outputSchema", tool["outputSchema"])
        if isinstance(tool["outputSchema"], dict)
        else member_faults(tool, path, {"outputSchema": "an object"})
        for path, tool in objects_in(said, facts)
        if "outputSchema" in tool
    )


def _root_faults(path: str, schema: Members) -> Iterator[str]:
    """What is wrong with the parts of a schema that the protocol itself asks for."""
    if schema.get("type") != "object":
        yield f'{path}.type must be "object" and is {seen(schema, "type")}'
    yield from member_faults(schema, path, {}, _ROOT)
    properties, required = schema.get("properties"), schema.get("required")
    for name, part in properties.items() if isinstance(properties, dict) else ():
        # A schema is an object, or a boolean where all or no values are valid.
        if type(part) not in (dict, bool):
            yield must_be(f"{path}.properties[{shown(name)}]", "a schema", part)
    if isinstance(required, list) and not all(isinstance(name, str) for name in required):
        yield must_be(f"{path}.required", "an array of texts", required)


def _name_charset(said: Said, facts: Facts) -> Breaches:
    return gathered(
        _name_faults(f"{path}.name", tool["name"])
        for path, tool in objects_in(said, facts)
        if isinstance(tool.get("name"), str)
    )


def _name_faults(path: str, name: str) -> Iterator[str]:
    if not 1 <= len(name) <= _MAX_NAME_CHARS:
        yield f"{path} should have 1 to {_MAX_NAME_CHARS} characters and has {len(name):,}"
    elif not _IN_NAMES.issuperset(name):
        yield f"{path} should have only letters, digits, _, . and -, and is {shown(name)}"


def _annotations_types(said: Said, facts: Facts) -> Breaches:
    return gathered(
        member_faults(tool["annotations"], f"{path}.annotations", {}, _ANNOTATIONS)
        if isinstance(tool["annotations"], dict)
        else member_faults(tool, path, {"annotations": "an object"})
        for path, tool in objects_in(said, facts)
        if "annotations" in tool
    )


_ALL = at_levels("ABCDE")
_LISTS = ("result:tools/list",)

_OF_LISTS = (
    Rule(
        id="TOOL-03",
        name="required-members",
        category="tools",
        property="every tool has a name, which is text, and an inputSchema, which is an object",
        levels=_ALL,
        topics=_LISTS,
        start=lambda: Looking(_required_members),
        nothing="no tool was listed",
    ),
    Rule(
        id="TOOL-04",
        name="input-schema-object",
        category="tools",
        property='every inputSchema is a schema of the type "object"',
        levels=_ALL,
        topics=_LISTS,
        start=lambda: Looking(_input_schema_object),
        nothing="no tool was listed with an inputSchema",
    ),
    Rule(
        id="TOOL-05",
        name="unique-names",
        category="tools",
        property="no two tools share a name",
        levels=at_levels(should="ABCDE"),
        topics=_LISTS,
        start=lambda: ListedOnce("name"),
        nothing="no tool was listed",
    ),
    Rule(
        id="TOOL-06",
        name="name-charset",
        category="tools",
        property="the names of tools have 1 to 128 letters, digits, underscores, dots and hyphens",
        levels=at_levels(should="DE"),
        topics=_LISTS,
        start=lambda: Looking(_name_charset),
        nothing="no tool was listed",
    ),
    Rule(
        id="TOOL-10",
        name="output-schema-object",
        category="tools",
        property='every outputSchema is a schema of the type "object"',
        levels=at_levels("CD"),
        topics=_LISTS,
        start=lambda: Looking(_output_schema_object),
        nothing="no tool was listed with an outputSchema",
    ),
    Rule(
        id="TOOL-19",
        name="annotations-types",
        category="tools",
        property="the hints in the annotations of tools are booleans, and their titles are text",
        levels=at_levels("BCDE"),
        topics=_LISTS,
        start=lambda: Looking(_annotations_types),
        nothing="no tool was listed with annotations",
        elsewhere="no annotations of tools",
    ),
    list_changed_rule("TOOL-20", "tools"),
    Rule(
        id="TOOL-25",
        name="icons-safe",
        category="tools",
        property="icons have https: or data: addresses, and sizes such as 48x48 or any",
        levels=at_levels(should="DE"),
        topics=(
            *(f"result:{method}" for method in LISTED),
            "result:initialize",
            "result:server/discover",
        ),
        start=lambda: Looking(icon_breaches),
        nothing="nothing was named with an icon",
        elsewhere="no icons",
    ),
)

TOOL_RULES: tuple[Rule, ...] = tuple(
    sorted((*_OF_LISTS, *OUTPUT_RULES, *RESULT_RULES), key=lambda rule: rule.id)
)
