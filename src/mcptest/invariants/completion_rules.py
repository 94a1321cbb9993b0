"""Rules about completions: how many values, of what kinds, and whether there are more."""

from __future__ import annotations

from mcptest.invariants.results import complete_result
from mcptest.invariants.rule import Looking, Rule, at_levels
from mcptest.invariants.sentences import gathered, has_kind, member_faults, must_be
from mcptest.invariants.wording import seen, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

    Members = dict[str, Any]

__all__ = ["COMPLETION_RULES"]

_MAX_VALUES = 100
_PATH = "result.completion"
_OPTIONAL = {"total": "a number", "hasMore": "a boolean"}


def _completion(said: Said, facts: Facts) -> tuple[Members, list[object]] | None:
    """A completion and its values, None when one of them is missing."""
    completion = (complete_result(said, facts) or {}).get("completion")
    if not isinstance(completion, dict) or not isinstance(completion.get("values"), list):
        return None
    return completion, completion["values"]


def _max_values(said: Said, facts: Facts) -> Breaches:
    found = _completion(said, facts)
    if found is None:
        return None
    count = len(found[1])
    if count <= _MAX_VALUES:
        return ()
    return [f"{_PATH}.values must have at most {_MAX_VALUES} values and has {count:,}"]


def _shape(said: Said, facts: Facts) -> Breaches:
    result = complete_result(said, facts)
    return None if result is None else gathered([_faults(result)])


def _faults(result: Members) -> Iterator[str]:
    completion = result.get("completion")
    if not isinstance(completion, dict):
        yield from member_faults(result, "result", {"completion": "an object"})
        return
    yield from member_faults(completion, _PATH, {"values": "an array"}, _OPTIONAL)
    values = completion.get("values")
    for index, value in enumerate(values if isinstance(values, list) else ()):
        if not isinstance(value, str):
            yield must_be(f"{_PATH}.values[{index}]", "text", value)


def _has_more_truth(said: Said, facts: Facts) -> Breaches:
    found = _completion(said, facts)
    if found is None:
        return None
    completion, values = found
    total: Any = completion.get("total")
    if not has_kind(total, "a number"):
        return None
    if total <= len(values) or completion.get("hasMore") is True:
        return ()
    return [
        f"{_PATH}.total is {shown(total)}, more than the values that came ({len(values):,}), so "
        f"{_PATH}.hasMore should be true and is {seen(completion, 'hasMore')}"
    ]


_ALL = at_levels("ABCDE")
_TOPICS = ("result:completion/complete",)

COMPLETION_RULES = (
    Rule(
        id="COMP-02",
        name="max-100",
        category="completion",
        property="a completion has at most 100 values",
        levels=_ALL,
        topics=_TOPICS,
        start=lambda: Looking(_max_values),
        nothing="no completion was answered with values",
    ),
    Rule(
        id="COMP-03",
        name="shape",
        category="completion",
        property="the values of a completion are text, total is a number and hasMore a boolean",
        levels=_ALL,
        topics=_TOPICS,
        start=lambda: Looking(_shape),
        nothing="no completion was answered with a result",
    ),
    Rule(
        id="COMP-06",
        name="has-more-truth",
        category="completion",
        property="a completion whose total is greater than its values says that there are more",
        levels=at_levels(should="ABCDE"),
        topics=_TOPICS,
        start=lambda: Looking(_has_more_truth),
        nothing="no completion names a total",
    ),
)
