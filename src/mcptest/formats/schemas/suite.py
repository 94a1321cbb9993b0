"""The schema of `mcptest.yaml`."""

from __future__ import annotations

from mcptest.core.plan import ISOLATIONS
from mcptest.formats.schemas.servers import plugins, source, suite_server
from mcptest.formats.schemas.shape import closed, document, ref, said, words
from mcptest.formats.schemas.suite_calls import EXPECT, STEP, defaults, entry, expect, step
from mcptest.formats.schemas.suite_lanes import agents, compliance, evals, security
from mcptest.formats.schemas.values import NAME_PATTERN, TEXT, TEXTS, number, whole_number
from mcptest.formats.schemas.words import MATCHER, matcher
from mcptest.formats.suite import (
    _MOST_WORKERS,
    COVERAGE_KEYS,
    FILE_KEYS,
    PERFORMANCE_KEYS,
    RUN_KEYS,
)
from mcptest.formats.suite_defaults import MOST_RETRIES
from mcptest.formats.suite_expect import DAY_MS
from mcptest.formats.suite_parts import IMPORT_KEYS
from mcptest.formats.suite_steps import CALLS
from mcptest.formats.suite_variables import CONFIG_DIR
from mcptest.matching.suite_matchers import ROOTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.formats.schemas.shape import Schema
    from mcptest.matching.registry import Registry

__all__ = ["suite_schema"]

_SERVER, _SOURCE = "server", "source"

_ASSERTION: dict[str, object] = {
    "target": "result.content[0].text",
    "matcher": {"contains": "A-17"},
}
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


def suite_schema(registry: Registry) -> Schema:
    """What may stand in a suite; the patterns in it are those of the registry."""
    members = {
        "name": said("What reports call this suite.", TEXT),
        "description": said("What it is about; reports show it where there is no name.", TEXT),
        "$schema": said("Where the schema of this file is, for editors.", TEXT),
        "servers": _servers(),
        "variables": _variables(),
        "imports": _imports(),
        "defaults": defaults(),
        **{lane: _lane(lane) for lane in CALLS},
        "agents": agents(),
        "evals": evals(),
        "compliance": compliance(),
        "security": security(),
        "coverage": _gate(
            "How much of what the servers offer must be called, in percent.", COVERAGE_KEYS, 100
        ),
        "performance": _gate(
            "How long answers may take, in milliseconds.", PERFORMANCE_KEYS, DAY_MS
        ),
        "run_options": _run_options(),
    }
    definitions = {
        _SERVER: suite_server(),
        _SOURCE: source(),
        STEP: step(),
        EXPECT: expect(ROOTS, _ASSERTION),
        MATCHER: matcher(registry),
    }
    body = {**closed(FILE_KEYS, members), "examples": [_EXAMPLE]}
    description = "Servers, and everything that is asked of them: mcptest.yaml."
    return document("suite", "mcptest suite", description, body, definitions)


def _servers() -> Schema:
    return said(
        "The servers by name. Each is started once, and only when a test needs it.",
        {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": r"\S"},
            "additionalProperties": ref(_SERVER),
        },
        _EXAMPLE["servers"],
    )


def _variables() -> Schema:
    value: Schema = {
        "if": {
            "type": "object",
            "anyOf": [{"required": ["from_env"]}, {"required": ["secret_env"]}],
        },
        "then": ref(_SOURCE),
    }
    return said(
        "Values by name; ${name} stands for them in servers, calls and expectations.",
        {
            "type": "object",
            "propertyNames": {"pattern": NAME_PATTERN},
            # It is the folder of the file.
            "properties": {CONFIG_DIR: False},
            "additionalProperties": value,
        },
        {"order": "A-17", "region": {"from_env": "REGION", "default": "eu"}},
    )


def _imports() -> Schema:
    members = {
        "suites": said("Other suites, relative to this file.", TEXTS, ["orders.yaml"]),
        "subprocess_matchers": plugins(),
    }
    found = {**closed(IMPORT_KEYS, members), **TEXTS, "type": ["array", "object"]}
    return said("Other suites that belong to this one, and plugins.", found, ["orders.yaml"])


def _lane(lane: str) -> Schema:
    about = {
        "tools": "Tests that call tools.",
        "resources": "Tests that read resources.",
        "prompts": "Tests that get prompts.",
    }
    return said(about[lane], {"type": "array", "minItems": 1, "items": entry(lane)})


def _gate(description: str, keys: Sequence[str], most: float) -> Schema:
    members = {key: said(_GATES[key], number(0, most)) for key in keys}
    return said(description, {**closed(keys, members), "minProperties": 1})


_GATES = {
    "tools": "Percent of the tools.",
    "resources": "Percent of the resources.",
    "prompts": "Percent of the prompts.",
    "total": "Percent of everything that is offered.",
    "p50_ms": "Half of the answers take no longer.",
    "p90_ms": "90 of 100 answers take no longer.",
    "p95_ms": "95 of 100 answers take no longer.",
    "p99_ms": "99 of 100 answers take no longer.",
    "mean_ms": "The mean of all answers is no longer.",
    "max_ms": "No answer takes longer.",
}


def _run_options() -> Schema:
    members = {
        "parallel": said("How many files run at a time.", whole_number(1, _MOST_WORKERS)),
        "isolation": said("What gets a server process of its own.", words(ISOLATIONS)),
        "retries": said(
            "How often a test that does not pass is tried again.", whole_number(0, MOST_RETRIES)
        ),
    }
    return said("How the tests are run.", closed(RUN_KEYS, members))
