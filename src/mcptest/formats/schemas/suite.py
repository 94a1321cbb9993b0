"""The schema of `mcptest.yaml`."""

from __future__ import annotations

from mcptest.core.plan import ISOLATIONS
from mcptest.formats.schemas.parts import (
    ARGUMENTS,
    FLAG,
    MATCHER,
    NAME_PATTERN,
    NON_EMPTY,
    TEXT,
    TEXTS,
    closed,
    document,
    duration,
    filled_text,
    filled_value,
    matcher,
    number,
    only,
    ref,
    said,
    skip,
    tags,
    target,
    whole_number,
    words,
)
from mcptest.formats.schemas.servers import plugins, source, suite_server
from mcptest.formats.suite.expect import (
    _MAX_TOKENS,
    _MAX_WEIGHT,
    ASSERTION_KEYS,
    BUDGETS,
    DAY_MS,
    EXPECT_KEYS,
)
from mcptest.formats.suite.lanes import (
    _MOST_TURNS,
    AGENT_KEYS,
    CHECK_KEYS,
    CHECKS,
    COMPLIANCE_KEYS,
    CRITERION_KEYS,
    EVAL_KEYS,
    RUBRIC_KEYS,
    SECURITY_KEYS,
    SEVERITIES,
    TARGETS_OF_AGENTS,
)
from mcptest.formats.suite.loader import (
    _MOST_WORKERS,
    COVERAGE_KEYS,
    FILE_KEYS,
    IMPORT_KEYS,
    PERFORMANCE_KEYS,
    RUN_KEYS,
)
from mcptest.formats.suite.tests import (
    _CALL,
    CALLS,
    DEFAULT_KEYS,
    ENTRY_KEYS,
    MOST_RETRIES,
    STEP_KEYS,
)
from mcptest.formats.suite.variables import CONFIG_DIR
from mcptest.matching.suite_matchers import ROOTS
from mcptest.protocol.revisions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.formats.schemas.parts import Schema
    from mcptest.matching.registry import Registry

__all__ = [
    "SERVER",
    "agents",
    "budgets",
    "compliance",
    "entry",
    "evals",
    "expect",
    "security",
    "suite_schema",
]


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


# `tools:`, `resources:` and `prompts:` of a suite: entries, steps, and what they expect.


# The definitions that hold a step, and what is expected of a call.
STEP, EXPECT = "step", "expect"

_STEPS: Schema = {"type": "array", "minItems": 1, "items": ref(STEP)}

# How much of no assertions must hold is no question.
_WEIGHED = {"threshold": ["expect"]}

SERVER = said("The server that is meant; it may be left out when there is only one.", TEXT)

_CALLED = {
    "tool": said("The tool to call.", NON_EMPTY, "find_order"),
    "uri": said("The resource to read.", NON_EMPTY, "file:///readme"),
    "prompt": said("The prompt to get.", NON_EMPTY, "greet"),
}
_ARGS = said("The arguments of the call.", filled_value(ARGUMENTS), {"id": "${order}"})
_NO_ARGS = said("A resource takes no arguments.", {"not": {}})
# A prompt is given texts.
_PROMPT_ARGS = said(_ARGS["description"], filled_value({**ARGUMENTS, "additionalProperties": TEXT}))


def entry(lane: str) -> Schema:
    """One test of a lane: a call, or several steps."""
    call = CALLS[lane]
    members = {
        "name": said("What reports call this test.", NON_EMPTY),
        "server": SERVER,
        "tags": tags(),
        "skip": skip(),
        "only": only(),
        **_patience(),
        call: _CALLED[call],
        "args": {"tool": _ARGS, "uri": _NO_ARGS, "prompt": _PROMPT_ARGS}[call],
        **_what_comes(),
        "steps": said("Several calls, one after the other.", _STEPS),
        **_around(),
    }
    apart = dict.fromkeys((call, *_CALL), False)
    return {
        **closed(ENTRY_KEYS[lane], members, ("name",)),
        "if": {"required": ["steps"]},
        "then": {"properties": apart},
        "else": {"required": [call]},
        "dependentRequired": _WEIGHED,
        "dependentSchemas": _budgets_once(),
    }


def step() -> Schema:
    """One call among several."""
    members = {
        "name": said("What reports call this step.", TEXT),
        **{call: _CALLED[call] for call in CALLS.values()},
        "args": _ARGS,
        **_what_comes(),
    }
    return {
        **closed(STEP_KEYS, members),
        "oneOf": [{"required": [call]} for call in CALLS.values()],
        "dependentRequired": _WEIGHED,
        "dependentSchemas": {
            "uri": {"properties": {"args": False}},
            "prompt": {"properties": {"args": _PROMPT_ARGS}},
            **_budgets_once(),
        },
    }


def defaults() -> Schema:
    """What holds for every entry that does not say it itself."""
    members = {
        "server": SERVER,
        "tags": tags(),
        **_patience(),
        **_around(),
        **budgets(),
    }
    description = "What holds for every entry of this file that does not say it itself."
    return said(description, closed(DEFAULT_KEYS, members))


def expect(roots: Sequence[str], example: dict[str, object]) -> Schema:
    """Assertions about what came, by themselves or with what it may cost."""
    assertions: Schema = {"type": "array", "minItems": 1, "items": _assertion(roots)}
    members = {
        "assertions": said("What must hold of the answer.", filled_value(assertions)),
        **budgets(),
    }
    found = {
        **assertions,
        **closed(EXPECT_KEYS, members),
        "type": ["array", "object"],
        "minProperties": 1,
        "dependentRequired": {"threshold": ["assertions"]},
    }
    return said(
        "What must hold of the answer; without it, that the call succeeds.",
        filled_value(found),
        [example],
    )


def budgets() -> dict[str, Schema]:
    """What an answer may cost, and how much of what is expected must hold."""
    return {
        "threshold": said(
            "The part of the weights that must hold; 1 is all of them.",
            filled_value(number(0, 1, is_open=True)),
            0.8,
        ),
        "max_duration_ms": said(
            "The longest time that the answer may take.", filled_value(number(0.001, DAY_MS)), 900
        ),
        "max_response_tokens": said(
            "The largest answer, in tokens: a token is four bytes of its JSON.",
            filled_value(whole_number(1, _MAX_TOKENS)),
            2000,
        ),
    }


def _assertion(roots: Sequence[str]) -> Schema:
    members = {
        "target": said(
            f"Where to look: a path that begins with {', '.join(roots)}.",
            filled_text(target(roots)),
        ),
        "matcher": ref(MATCHER),
        "message": said("What it means when this does not hold.", TEXT),
        "weight": said(
            "How much it counts where there is a threshold; 1 when nothing is said.",
            filled_value(number(0, _MAX_WEIGHT, is_open=True)),
        ),
    }
    return filled_value(closed(ASSERTION_KEYS, members, ("target", "matcher")))


def _what_comes() -> dict[str, Schema]:
    capture: Schema = {
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": NAME_PATTERN},
        "additionalProperties": target(("result", "error")),
    }
    about = "What to keep of the answer, by name; ${name} stands for it in the steps that follow."
    kept = said(about, capture, {"order": "result.structuredContent.id"})
    return {"capture": kept, "expect": ref(EXPECT), **budgets()}


def _patience() -> dict[str, Schema]:
    about = "How often a test that does not pass is tried again."
    return {
        "timeout": duration("Longest wait for one answer of this test."),
        "retries": said(about, whole_number(0, MOST_RETRIES)),
    }


def _around() -> dict[str, Schema]:
    return {
        "setup": said("Calls that are made before.", _STEPS),
        "teardown": said("Calls that are made after, whatever came of the test.", _STEPS),
    }


def _budgets_once() -> dict[str, Schema]:
    """A budget stands beside `expect` or in it, not in both."""
    return {
        budget: {"properties": {"expect": {"properties": {budget: False}}}} for budget in BUDGETS
    }


# `agents:`, `evals:`, `compliance:` and `security:` of a suite.


_MODEL = said("The model to ask.", TEXT, "some-model")
_MOST_WEIGHT = 1_000_000

_LANES_EXAMPLE: dict[str, object] = {
    "target": "tool_calls[0].name",
    "matcher": {"exact": "find_order"},
}


def agents() -> Schema:
    members = {
        **_marks(),
        "servers": said("The servers whose tools the agent may use.", TEXTS),
        "model": _MODEL,
        "models": said("Several models, each of which is asked.", TEXTS),
        "system_prompt": said("What the model is told before anything else.", TEXT),
        "prompt": said("What the agent is asked to do.", TEXT, "Refund order A-17"),
        "max_turns": said("How often the model may be asked.", whole_number(1, _MOST_TURNS)),
        "runs": said("How often it is done.", whole_number(1, _MOST_TURNS)),
        "expect": expect(TARGETS_OF_AGENTS, _LANES_EXAMPLE),
        "threshold": said(
            "The part of the weights that must hold; 1 is all of them.", number(0, 1, is_open=True)
        ),
    }
    entry = closed(AGENT_KEYS, members, ("name", "prompt"))
    entry["dependentRequired"] = {"threshold": ["expect"]}
    return said("What a model does with the tools of the servers.", _several(entry))


def evals() -> Schema:
    members = {
        **_marks(),
        "model": _MODEL,
        "prompt": said("What the model is asked.", TEXT, "Say no politely"),
        "rubric": _rubric(),
        "threshold": said("The least mark that passes.", number(0, 1), 0.7),
    }
    entry = closed(EVAL_KEYS, members, ("name", "prompt", "rubric"))
    return said("Answers of a model that another judges by a rubric.", _several(entry))


def compliance() -> Schema:
    """Checks one by one in a list, or several of them in a mapping."""
    entry = closed(
        CHECK_KEYS,
        {**_marks(), "check": said("What is looked at.", words(CHECKS))},
        ("name", "check"),
    )
    members = {
        "spec_version": said("The revision of the protocol to judge by.", words(REVISIONS)),
        "tests": said(
            "What is looked at; everything when it is left out.",
            _several(words(CHECKS)),
        ),
        "server": SERVER,
    }
    found = {**_several(entry), **closed(COMPLIANCE_KEYS, members), "type": ["array", "object"]}
    return said("Whether the servers keep to the protocol.", found, {"tests": ["initialize"]})


def security() -> Schema:
    members = {
        "scan": said("false: no scan.", FLAG),
        "fail_on": said("The least severity that fails the run.", words(SEVERITIES)),
    }
    return said("What is hostile in the definitions of a server.", closed(SECURITY_KEYS, members))


def _several(item: Schema) -> Schema:
    return {"type": "array", "minItems": 1, "items": item}


def _rubric() -> Schema:
    criterion = closed(
        CRITERION_KEYS,
        {
            "name": said("What is judged.", TEXT, "kindness"),
            "description": said("What it means.", TEXT),
            "weight": said("How much it counts.", number(0, _MOST_WEIGHT)),
        },
        ("name",),
    )
    members = {
        "criteria": said("What is judged, one by one.", {"type": "array", "items": criterion}),
        "threshold": said("The least mark that passes.", number(0, 1)),
    }
    found = {**closed(RUBRIC_KEYS, members, ("criteria",)), "type": ["string", "object"]}
    return said("What a good answer is like.", found, "The answer declines and stays kind")


def _marks() -> dict[str, Schema]:
    return {
        "name": said("What reports call it.", TEXT),
        "server": SERVER,
        "tags": tags(),
        "skip": skip(),
        "only": only(),
    }
