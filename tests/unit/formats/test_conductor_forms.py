"""Short forms, captures and the other keys beyond the raw request: meaning and mistakes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_tables import each_case

from mcptest.core.errors import FormatError
from mcptest.core.plan import Case, SavedValue
from mcptest.formats.conductor import load_conductor
from mcptest.matching.registry import builtin_registry

REGISTRY = builtin_registry()
FILE = "a.test.mcp.yml"
EXPECT = {"stderr": "toBeEmpty"}


def cases(*tests: dict[str, Any]) -> tuple[Case, ...]:
    text = json.dumps({"description": "d", "tests": [{"it": "t", **test} for test in tests]})
    suite, _ = load_conductor(text, FILE, REGISTRY, {})
    return suite.cases


def mistakes(*tests: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(FormatError) as caught:
        cases(*tests)
    return [(found.code, found.message) for found in caught.value.diagnostics]


def sent(test: dict[str, Any]) -> dict[str, Any]:
    (case,) = cases({"expect": EXPECT} | test)
    message: dict[str, Any] = json.loads(case.steps[0].line)
    return message


@pytest.mark.parametrize(
    ("form", "method", "params"),
    [
        ({"tool": "x"}, "tools/call", {"name": "x", "arguments": {}}),
        (
            {"tool": "x", "arguments": {"a": [1]}},
            "tools/call",
            {"name": "x", "arguments": {"a": [1]}},
        ),
        ({"resource": "a://b"}, "resources/read", {"uri": "a://b"}),
        ({"prompt": "x"}, "prompts/get", {"name": "x"}),
        (
            {"prompt": "x", "arguments": {"a": "b"}},
            "prompts/get",
            {"name": "x", "arguments": {"a": "b"}},
        ),
    ],
)
def test_a_short_form_is_a_whole_request(
    form: dict[str, Any], method: str, params: dict[str, Any]
) -> None:
    id = "a.test.mcp.yml#1"
    assert sent(form) == {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def test_the_ids_of_short_forms_are_distinguished() -> None:
    ids = [case.steps[0].id for case in cases(*[{"list": "tools", "expect": EXPECT}] * 3)]
    assert ids == [f"a.test.mcp.yml#{number}" for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("test", "use"),
    [
        ({"tool": "x", "arguments": {"a": 1, "b": 2}}, ("tool", "x", ("a", "b"))),
        ({"resource": "a://b"}, ("resource", "a://b", ())),
        ({"prompt": "x", "arguments": {"a": "b"}}, ("prompt", "x", ("a",))),
        ({"list": "tools"}, None),
        ({"request": {"id": 1, "method": "tools/call", "params": {"name": 5}}}, None),
        ({"request": {"id": 1, "method": "tools/call", "params": []}}, None),
        (
            {"request": {"id": 1, "method": "tools/call", "params": {"name": "x"}}},
            ("tool", "x", ()),
        ),
    ],
)
def test_a_request_says_what_it_exercises(test: dict[str, Any], use: object) -> None:
    (case,) = cases({"expect": EXPECT} | test)
    assert case.steps[0].use == use


@each_case(
    ("test", "code", "message"),
    [
        ({}, "F007", "a test needs one of the keys request, tool, resource, prompt, list: what"),
        ({"tool": "a", "list": "tools"}, "F003", "a test sends one thing, and this one says tool"),
        ({"list": "tool"}, "F008", '"list" must be one of tools, resources, resourceTemplates'),
        ({"tool": ""}, "F009", '"tool" is empty'),
        ({"tool": 5}, "F008", '"tool" must be text and is a number'),
        ({"resource": "a:b", "arguments": {}}, "F006", '"arguments" goes with "tool" or "prompt"'),
        ({"prompt": "a", "arguments": {"n": 5}}, "F008", '"n" must be text and is a number'),
        ({"tool": "a", "arguments": []}, "F008", '"arguments" must be a mapping and is a list'),
        ({"tool": "a", "retries": -1}, "F009", '"retries" must be from 0 to 100'),
        ({"tool": "a", "only": "yes"}, "F008", '"only" must be true or false and is text'),
        ({"tool": "a", "tags": [1]}, "F008", '"tags" must hold texts; number 1 is a number'),
        ({"tool": "a", "capture": {}}, "F011", '"capture" is empty: it keeps nothing'),
        ({"tool": "a", "capture": {"1x": "result"}}, "F009", "'1x' is not a name: letters, digits"),
        ({"tool": "a", "capture": {"x": "a..b"}}, "F009", "a capture takes a path into the answer"),
        (
            {"request": {"method": "x"}, "capture": {"x": "result"}},
            "F017",
            "a notification has no answer to capture from",
        ),
        (
            {"tool": "a", "expect": {"notifications": []}},
            "F011",
            '"notifications" is empty: it checks nothing',
        ),
        (
            {"tool": "a", "expect": {"notifications": [5]}},
            "F008",
            "a notification is a method or a whole message and is a number",
        ),
        (
            {"tool": "a", "expect": {"response": {"content": []}}},
            "F017",
            'no answer has a key "content" at its top',
        ),
    ],
)
def test_a_mistake_is_reported(test: dict[str, Any], code: str, message: str) -> None:
    (found,) = mistakes({"expect": EXPECT} | test)
    assert found[0] == code
    assert found[1].startswith(message)


CAPTURES = {"tool": "a", "expect": EXPECT, "capture": {"user": "result.id"}}


def test_a_capture_is_a_name_and_a_path() -> None:
    (case,) = cases(CAPTURES)
    assert case.steps[0].captures == (
        SavedValue(name="user", path="result.id", steps=("result", "id")),
    )


@pytest.mark.parametrize(
    "use",
    [
        {"tool": "b", "arguments": {"id": "${usr}"}},
        {"tool": "${usr}"},
        {"resource": "users://${usr}"},
        {"tool": "b", "arguments": {"${usr}": 1}},
        {"tool": "b", "expect": {"stderr": "${usr}"}},
        {"request": {"id": 1, "method": "x", "params": ["${usr}"]}},
    ],
)
def test_a_name_that_was_never_captured_is_an_error_with_a_suggestion(use: dict[str, Any]) -> None:
    (found,) = mistakes(CAPTURES, {"expect": EXPECT} | use)
    message = "no earlier test of this file captures 'usr'; did you mean ${user}?"
    assert found == ("F020", message)


def test_a_test_cannot_use_what_it_captures_itself() -> None:
    (found,) = mistakes(CAPTURES | {"arguments": {"id": "${user}"}})
    assert found == ("F020", "no earlier test of this file captures 'user'")


def test_a_step_is_filled_with_what_was_captured() -> None:
    _, case = cases(
        CAPTURES, {"tool": "b", "arguments": {"id": "${user}", "t": "u${user}"}, "expect": EXPECT}
    )
    template = case.steps[0].template
    assert template is not None
    assert template.needs == ("user",)
    step = template.fill({"user": 5})
    assert json.loads(step.line)["params"]["arguments"] == {"id": 5, "t": "u5"}


def test_arguments_of_a_prompt_stay_strings() -> None:
    _, case = cases(CAPTURES, {"prompt": "b", "arguments": {"id": "${user}"}, "expect": EXPECT})
    template = case.steps[0].template
    assert template is not None
    assert json.loads(template.fill({"user": 5}).line)["params"]["arguments"] == {"id": "5"}


def test_a_pattern_is_checked_before_and_after_it_is_filled() -> None:
    wanted = {"response": {"result": {"n": "match:lenght:${user}"}}}
    assert mistakes(CAPTURES, {"tool": "b", "expect": wanted})[0][0] == "F012"
    wanted = {"response": {"result": {"n": "match:length:${user}"}}}
    _, case = cases(CAPTURES, {"tool": "b", "expect": wanted})
    template = case.steps[0].template
    assert template is not None
    assert template.fill({"user": 3}).expectation.response is not None
    with pytest.raises(ValueError, match="needs a whole number"):
        template.fill({"user": "three"})
