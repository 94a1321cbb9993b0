"""What is expected on stderr comes to the same with and without the white space around it."""

from __future__ import annotations

import pytest
from migrating import (
    calling,
    carried,
    case_of_conductor,
    case_of_suite,
    conductor,
    conductor_from,
    is_met,
    left,
    suite_from,
)

from mcptest.formats.yaml_text import render_yaml
from mcptest.migrate.yaml_page import render_page

TEXTS = ("", " \n", "ready", " ready\n", "ready on 80\n", "not ready", "ready.", "READY\n", "a b\n")
WISHES = (
    "toBeEmpty",
    "ready",
    "  ready ",
    "ready.",
    "match:ready",
    "match:regex:^ready$",
    "match:regex:^ready on \\d+$",
    "match:regex:on \\d+",
    "match:not:regex:^ready",
    "match:contains:ready",
    "match:not:contains:ready",
    "match:containsIgnoreCase:ready",
    "match:startsWith:ready",
    "match:endsWith:ready",
    "match:stringEmpty",
    "match:not:stringNotEmpty",
    "match:notEmpty",
)


@pytest.mark.parametrize("wish", WISHES)
def test_a_wish_judges_the_same_in_a_suite_and_back(wish: str) -> None:
    text = conductor(calling({"stderr": wish}))
    suite = suite_from(text).text
    back = conductor_from(suite).text
    judged = [is_met(case_of_conductor(text), {"result": {}}, stderr) for stderr in TEXTS]
    for other in (case_of_suite(suite), case_of_conductor(back) if back else case_of_suite(suite)):
        assert [is_met(other, {"result": {}}, stderr) for stderr in TEXTS] == judged
    assert len(set(judged)) == 2


@pytest.mark.parametrize(
    "wish",
    [
        "match:regex:ready $",
        "match:regex: ready",
        "match:regex:ready|set",
        "match:regex:^(ready)?$",
        "match:regex:a*b",
        "match:regex:\\bready",
        "match:regex:re.d.",
        "match:contains: ready",
        "match:equals:ready",
        "match:stringLength:5",
    ],
)
def test_a_wish_that_white_space_could_change_is_left_behind(wish: str) -> None:
    (reason,) = left(calling({"stderr": wish}))
    assert reason.startswith("stderr is looked at with the white space around it")


def test_a_captured_value_on_stderr_is_left_behind() -> None:
    keeps = calling({"response": {"result": {}}}, capture={"a": "result"})
    found = suite_from(conductor(keeps, calling({"stderr": "${a}"})))
    assert [each.reason for each in found.remarks] == ["a captured value is expected on stderr"]


def test_nothing_on_stderr_is_nothing_to_be_seen() -> None:
    entry = carried(calling({"stderr": "toBeEmpty"}))["tools"][0]
    assert entry["expect"] == [{"target": "stderr", "matcher": {"not": {"regex": "\\S"}}}]


@pytest.mark.parametrize(
    ("matcher", "wish"),
    [
        ({"not": {"regex": "\\S"}}, "toBeEmpty"),
        ({"contains": "a b"}, "match:contains:a b"),
        ({"not": {"icontains": "a"}}, "match:not:containsIgnoreCase:a"),
        ({"regex": "^\\s*a\\s*$"}, "match:regex:^\\s*a\\s*$"),
        ({"exact": ""}, ""),
        ({"contains": " a"}, ""),
        ({"regex": "^a"}, ""),
        ({"contains": "a", "icontains": "b"}, ""),
        ({"not": {"not": {"regex": "\\S"}}}, ""),
    ],
)
def test_an_assertion_about_stderr_becomes_a_wish_or_is_left_behind(
    matcher: dict[str, object], wish: str
) -> None:
    entry = {"name": "n", "tool": "t", "expect": [{"target": "stderr", "matcher": matcher}]}
    suite = render_page({"servers": {"s": {"command": ["run"]}}, "tools": [entry]})
    found = conductor_from(suite)
    assert bool(found.text) is bool(wish)
    if wish:
        test = {"it": "n", "tool": "t", "expect": {"stderr": wish}}
        server = {"name": "s", "command": "run", "args": []}
        whole = render_yaml({"description": "d", "server": server, "tests": [test]})
        assert case_of_conductor(found.text).steps[0].expectation == (
            case_of_conductor(whole).steps[0].expectation
        )
