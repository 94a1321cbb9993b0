"""`agents:`, `evals:`, `compliance:` and `security:` of a suite."""

from __future__ import annotations

from mcptest.core.revisions import REVISIONS
from mcptest.formats.schemas.shape import closed, said, words
from mcptest.formats.schemas.suite_calls import SERVER, expect
from mcptest.formats.schemas.values import (
    FLAG,
    TEXT,
    TEXTS,
    number,
    only,
    skip,
    tags,
    whole_number,
)
from mcptest.formats.suite_lanes import (
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.schemas.shape import Schema

__all__ = ["agents", "compliance", "evals", "security"]

_MODEL = said("The model to ask.", TEXT, "some-model")
_MOST_WEIGHT = 1_000_000

_EXAMPLE: dict[str, object] = {
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
        "expect": expect(TARGETS_OF_AGENTS, _EXAMPLE),
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
