"""The schema of `mcptest.yaml`."""

from __future__ import annotations

from mcptest.formats.keys import STRINGS, one_of
from mcptest.formats.schemas.matchers import MATCHER, matcher
from mcptest.formats.schemas.types import (
    NAME_PATTERN,
    Types,
    add_server_types,
    command_or_url,
    document,
    filled,
    list_of,
    ref,
    source,
    target,
)
from mcptest.formats.suite.expect import ASSERTION_KEYS, BUDGETS, EXPECT_KEYS
from mcptest.formats.suite.lanes import (
    AGENT_KEYS,
    CHECK_KEYS,
    CHECKS,
    COMPLIANCE_KEYS,
    CRITERION_KEYS,
    EVAL_KEYS,
    RUBRIC_KEYS,
    TARGETS_OF_AGENTS,
)
from mcptest.formats.suite.loader import (
    COVERAGE_KEYS,
    FILE_KEYS,
    IMPORT_KEYS,
    PERFORMANCE_KEYS,
)
from mcptest.formats.suite.servers import SAID_BY_FROM, SERVER_KEYS
from mcptest.formats.suite.tests import ARGS, CALL_KEYS, CALLS, ENTRY_KEYS, STEP_KEYS
from mcptest.formats.suite.variables import CONFIG_DIR
from mcptest.matching.suite_matchers import ROOTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.formats.keys import Schema
    from mcptest.matching.registry import Registry

__all__ = ["suite_schema"]

_ASSERTION = {"target": "result.content[0].text", "matcher": {"contains": "A-17"}}
_EXAMPLE = {
    "servers": {"shop": {"command": ["python3", "shop_server.py"]}},
    "tools": [
        {
            "name": "finds the order",
            "tool": "find_order",
            "args": {"id": "A-17"},
            "expect": [_ASSERTION],
        }
    ],
}
_AGENT_EXAMPLE = {"target": "tool_calls[0].name", "matcher": {"exact": "find_order"}}


def suite_schema(registry: Registry) -> Schema:
    """The schema of a suite, with the patterns of this registry."""
    types = Types(has_references=True)
    header = {**source(types), "type": ["string", "object"]}
    add_server_types(types, header, spell=str)
    server = {
        **types.mapping(SERVER_KEYS),
        "if": {"required": ["from"]},
        "then": {"properties": dict.fromkeys(SAID_BY_FROM, False)},
        "else": command_or_url(("command",), spell=str),
    }
    types.named |= {
        "matcher": ref(MATCHER),
        "expect": ref("expect"),
        "steps": list_of(ref("step")),
        "capture": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": NAME_PATTERN},
            "additionalProperties": target(("result", "error")),
        },
    }
    definitions = {
        "server": server,
        "source": source(types),
        "step": _step(types),
        "expect": _expect(types, ROOTS, [_ASSERTION]),
        MATCHER: matcher(registry),
    }
    _add_lane_types(types)
    types.named |= {
        "servers": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": r"\S"},
            "additionalProperties": ref("server"),
        },
        "variables": _variables(),
        "imports": {**types.mapping(IMPORT_KEYS), **STRINGS, "type": ["array", "object"]},
        "coverage": {**types.mapping(COVERAGE_KEYS), "minProperties": 1},
        "performance": {**types.mapping(PERFORMANCE_KEYS), "minProperties": 1},
    }
    body = {**types.mapping(FILE_KEYS), "examples": [_EXAMPLE]}
    description = "Servers, and everything that is asked of them: mcptest.yaml."
    return document("suite", "mcptest suite", description, body, definitions)


def _variables() -> Schema:
    is_source = {
        "type": "object",
        "anyOf": [{"required": ["from_env"]}, {"required": ["secret_env"]}],
    }
    return {
        "type": "object",
        "propertyNames": {"pattern": NAME_PATTERN},
        # It is the folder of the file, and cannot be set.
        "properties": {CONFIG_DIR: False},
        "additionalProperties": {"if": is_source, "then": ref("source")},
    }


# Tests, steps, and what they expect.

# A threshold needs assertions to weigh.
_WEIGHED = {"threshold": ["expect"]}

# A budget is beside `expect` or in it, not both.
_BUDGETS_ONCE = {
    budget: {"properties": {"expect": {"properties": {budget: False}}}} for budget in BUDGETS
}


def _entry(types: Types, lane: str) -> Schema:
    """One test: a call, or several steps."""
    call = CALLS[lane]
    return {
        **types.mapping(ENTRY_KEYS[lane]),
        "if": {"required": ["steps"]},
        "then": {"properties": dict.fromkeys((call, *CALL_KEYS), False)},
        "else": {"required": [call]},
        "dependentRequired": _WEIGHED,
        "dependentSchemas": _BUDGETS_ONCE,
    }


def _step(types: Types) -> Schema:
    return {
        **types.mapping(STEP_KEYS),
        "oneOf": [{"required": [call]} for call in CALLS.values()],
        "dependentRequired": _WEIGHED,
        "dependentSchemas": {
            "uri": {"properties": {"args": False}},
            "prompt": {"properties": {"args": types.schema(ARGS["prompt"])}},
            **_BUDGETS_ONCE,
        },
    }


def _expect(types: Types, roots: Sequence[str], example: object) -> Schema:
    """Assertions by themselves, or with budgets."""
    types.named["target"] = {
        **target(roots),
        "description": f"It begins with {', '.join(roots)}.",
    }
    assertions = list_of(filled(types.mapping(ASSERTION_KEYS)))
    types.named["assertions"] = assertions
    found = {
        **assertions,
        **types.mapping(EXPECT_KEYS),
        "type": ["array", "object"],
        "minProperties": 1,
        "dependentRequired": {"threshold": ["assertions"]},
    }
    return {**filled(found), "examples": [example]}


def _add_lane_types(types: Types) -> None:
    """Add the type of every key that holds tests."""
    for lane in CALLS:
        types.named[f"entries_of_{lane}"] = list_of(_entry(types, lane))
    types.named["expect_of_agent"] = _expect(types, TARGETS_OF_AGENTS, [_AGENT_EXAMPLE])
    agent = {**types.mapping(AGENT_KEYS), "dependentRequired": _WEIGHED}
    types.named["agents"] = list_of(agent)
    types.named["criteria"] = {"type": "array", "items": types.mapping(CRITERION_KEYS)}
    types.named["rubric"] = {**types.mapping(RUBRIC_KEYS), "type": ["string", "object"]}
    types.named["evals"] = list_of(types.mapping(EVAL_KEYS))
    types.named["checks"] = list_of(one_of(CHECKS))
    # One by one in a list, or several in a mapping.
    types.named["compliance"] = {
        **list_of(types.mapping(CHECK_KEYS)),
        **types.mapping(COMPLIANCE_KEYS),
        "type": ["array", "object"],
    }
