"""What a server sent may be sent on and compared with; it never decides how it is checked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case
from suite_reading import SERVER, case_of, entry, load, mistakes

from mcptest.formats.suite.variables import find_forbidden_uses

CHOOSES = "a captured value can be what a matcher compares with, not choose one"
EXPRESSION = "a captured value cannot be in a regular expression: its server would write the check"
SCHEMA = "in a schema, a captured value can only be under const or enum"
BAR = "a captured value cannot say how much is enough: its server would set its own bar"
REFERRED = (
    "a schema with a captured value in it cannot refer to what is under const or enum: its "
    "server would write that schema"
)
PATTERN = "in this pattern, a captured value would be more than what is compared with"


def steps_with(keys: str) -> str:
    """A test whose second step has these keys, and may use ${x}, which the first captures."""
    first = "{tool: a, capture: {x: result.x}}"
    return entry(f"name: n, steps: [{first}, {{tool: b, {keys}}}]")


def assertion(matcher: str) -> str:
    return f"expect: [{{target: result, matcher: {matcher}}}]"


def marked_mistakes(keys: str) -> list[tuple[str, int, int, str]]:
    """The mistakes of a second step in which the mark (§) shows where one must be reported."""
    return mistakes(steps_with(keys).replace("§", ""))


def place_in(keys: str) -> tuple[int, int]:
    text = steps_with(keys)
    before = text[: text.index("§")]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


@each_case(
    ("keys", "message"),
    [
        ("threshold: §'${x}', " + assertion("{exact: 1}"), BAR),
        ("max_duration_ms: §'${x}'", BAR),
        ("max_response_tokens: §'${x}'", BAR),
        ("expect: {threshold: §'${x}', assertions: [{target: result, matcher: {exact: 1}}]}", BAR),
        ("expect: {max_duration_ms: §'${x}'}", BAR),
        ("expect: [{target: result, matcher: {exact: 1}, weight: §'${x}'}]", BAR),
        (assertion("{regex: §'${x}'}"), EXPRESSION),
        (assertion("{regex: §'^id ${x}$'}"), EXPRESSION),
        (assertion("{not: {regex: §'${x}'}}"), EXPRESSION),
        (assertion("{any: [{exact: 1}, {regex: §'${x}'}]}"), EXPRESSION),
        (assertion("{pattern: §'regex:${x}'}"), EXPRESSION),
        (assertion("{pattern: §'match:not:regex:^${x}'}"), EXPRESSION),
        (assertion("{pattern: §'foo:${x}'}"), PATTERN),
        (assertion("{pattern: §'oneOf:a|${x}'}"), PATTERN),
        (assertion("{pattern: §'between:${x}:9'}"), PATTERN),
        (assertion("{pattern: §'type:${x}'}"), PATTERN),
        (assertion("{type: §'${x}'}"), CHOOSES),
        (assertion("{exists: §'${x}'}"), CHOOSES),
        (assertion("{snapshot: §'${x}'}"), CHOOSES),
        (assertion("{schema: {type: §'${x}'}}"), SCHEMA),
        (assertion("{schema: {minimum: §'${x}'}}"), SCHEMA),
        (assertion("{schema: {allOf: [§'${x}']}}"), SCHEMA),
        (assertion("{schema: §{'${x}': 1}}"), SCHEMA),
        (assertion("{schema: {properties: §{'${x}': {const: 1}}}}"), SCHEMA),
        (assertion("{schema: {properties: {const: {pattern: §'${x}'}}}}"), SCHEMA),
        (assertion("{schema: {$defs: {enum: §'${x}'}}}"), SCHEMA),
        (assertion("{schema: {dependencies: {const: §'${x}'}}}"), SCHEMA),
        (assertion("{schema: {dependentRequired: {const: [§'${x}']}}}"), SCHEMA),
        (
            assertion("{schema: {$ref: §'#/$defs/q/const', $defs: {q: {const: '${x}'}}}}"),
            REFERRED,
        ),
        (
            assertion("{schema: {items: [{$dynamicRef: §'#/a/enum/0'}], a: {enum: ['${x}']}}}"),
            REFERRED,
        ),
        (
            assertion("{schema: {$ref: §'#/$defs/q/%63onst', $defs: {q: {const: '${x}'}}}}"),
            REFERRED,
        ),
    ],
)
def test_where_it_would_decide_it_is_refused_when_the_file_is_read(keys: str, message: str) -> None:
    assert ("F013", *place_in(keys), message) in marked_mistakes(keys)


@each_case(
    "keys",
    [
        "args: {a: '${x}', '${x}': 1}",
        "threshold: 0.5, expect: [{target: result, matcher: {exact: '${x}'}, message: 'is ${x}'}]",
        assertion(
            "{all: [{contains: '${x}'}, {starts-with: 'a${x}'}, {not: {ends-with: '${x}'}}]}"
        ),
        assertion("{gt: '${x}'}"),
        assertion("{between: ['${x}', '${x}']}"),
        assertion("{length: '${x}'}"),
        assertion("{one-of: '${x}'}"),
        assertion("{contains-any: ['${x}', a]}"),
        assertion("{partial: {a: '${x}'}}"),
        assertion("{schema: {properties: {id: {const: '${x}'}, b: {enum: ['${x}', 1]}}}}"),
        assertion("{schema: {$ref: '#/$defs/q', $defs: {q: {const: '${x}'}}}}"),
        assertion("{schema: {$ref: '#/$defs/q/const', $defs: {q: {const: {}}}}, exact: '${x}'}"),
        assertion("{schema: {dependencies: {a: {const: '${x}'}}}}"),
        assertion("{pattern: 'not:contains:${x}'}"),
        assertion("{pattern: 'dateAfter:${x}'}"),
        assertion("{regex: '$${x}'}"),
    ],
)
def test_it_may_be_in_values_that_are_compared_or_sent(keys: str) -> None:
    assert len(case_of(steps_with(keys)).steps) == 2


def test_a_variable_of_the_file_may_be_where_a_captured_value_may_not() -> None:
    keys = "threshold: '${half}', " + assertion("{regex: '^${word}', type: '${kind}'}")
    head = SERVER + "variables: {half: 0.5, word: a, kind: string}\n"
    assert len(case_of(head + steps_with(keys).removeprefix(SERVER)).steps) == 2


def test_every_place_is_reported() -> None:
    call: dict[str, Any] = {
        "threshold": "${x}",
        "expect": [
            {"target": "${x}", "weight": "${x}", "matcher": {"regex": "${x}", "gt": "${x}"}}
        ],
    }
    found = [steps for steps, _ in find_forbidden_uses(call, ["x"])]
    assert found == [
        ("threshold",),
        ("expect", 0, "target"),
        ("expect", 0, "weight"),
        ("expect", 0, "matcher", "regex"),
    ]
    assert list(find_forbidden_uses(call, ["y"])) == []


# `partial`


def fill_partial(matcher: dict[str, Any], value: object) -> None:
    steps = [
        {"tool": "a", "capture": {"x": "result.x"}},
        {"tool": "b", "expect": [{"target": "result", "matcher": matcher}]},
    ]
    [suite], _ = load(f"{SERVER}tools: {json.dumps([{'name': 'n', 'steps': steps}])}\n")
    template = suite.cases[0].steps[1].template
    assert template is not None
    template.fill({"x": value})


@pytest.mark.parametrize("empty", [{}, []])
@pytest.mark.parametrize("matcher", [{"partial": {"v": "${x}"}}, {"not": {"partial": ["${x}"]}}])
def test_an_empty_value_under_partial_asks_nothing_and_is_refused(
    matcher: dict[str, Any], empty: object
) -> None:
    message = "^'x' is empty, and under \"partial\" every value would meet it$"
    with pytest.raises(ValueError, match=message):
        fill_partial(matcher, empty)


@pytest.mark.parametrize("value", [{"a": {}}, [1, [[]]], {"a": [{"b": 1}, {"c": []}]}])
def test_a_value_with_something_empty_in_it_asks_too_little_under_partial(value: object) -> None:
    message = "^'x' has something empty in it, and under \"partial\" every value would meet that"
    with pytest.raises(ValueError, match=message):
        fill_partial({"partial": "${x}"}, value)
    fill_partial({"exact": "${x}"}, value)


def test_an_empty_value_elsewhere_and_a_full_one_under_partial_are_compared_with() -> None:
    fill_partial({"exact": "${x}"}, {})
    fill_partial({"partial": {"v": "${x}"}}, {"a": 1})
    fill_partial({"partial": {"v": "${x}"}}, 0)
