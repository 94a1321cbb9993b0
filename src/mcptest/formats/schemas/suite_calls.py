"""`tools:`, `resources:` and `prompts:` of a suite: entries, steps, and what they expect."""

from __future__ import annotations

from mcptest.formats.schemas.shape import closed, ref, said
from mcptest.formats.schemas.values import (
    ARGUMENTS,
    NAME_PATTERN,
    NON_EMPTY,
    TEXT,
    duration,
    filled_text,
    filled_value,
    number,
    only,
    skip,
    tags,
    target,
    whole_number,
)
from mcptest.formats.schemas.words import MATCHER
from mcptest.formats.suite_defaults import DEFAULT_KEYS, MOST_RETRIES
from mcptest.formats.suite_entries import _CALL, ENTRY_KEYS
from mcptest.formats.suite_expect import (
    _MAX_TOKENS,
    _MAX_WEIGHT,
    ASSERTION_KEYS,
    BUDGETS,
    DAY_MS,
    EXPECT_KEYS,
)
from mcptest.formats.suite_steps import CALLS, STEP_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.formats.schemas.shape import Schema

__all__ = ["EXPECT", "SERVER", "STEP", "budgets", "defaults", "entry", "expect", "step"]

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
