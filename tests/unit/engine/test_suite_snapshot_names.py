"""Each snapshot of a suite has a name of its own, and none is denied."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcptest.core.errors import FormatError
from mcptest.engine.snapshots import Snapshots
from mcptest.formats.suite.loader import SuiteContext, load_suite
from mcptest.matching.registry import builtin_registry

if TYPE_CHECKING:
    from pathlib import Path

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.plan import Suite

SNAPSHOT = {"target": "result", "matcher": {"snapshot": True}}


def entry(name: str, *expect: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"name": name, "tool": "echo", "expect": list(expect) or [SNAPSHOT], **keys}


def matching(matcher: object) -> dict[str, Any]:
    return {"target": "result", "matcher": matcher}


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "mcptest.yaml")


def load(file: str, *tools: dict[str, Any], **keys: Any) -> list[Suite]:
    suite = {"servers": {"shop": {"command": ["shop-server"]}}, "tools": list(tools), **keys}
    context = SuiteContext(
        environment={},
        folder="/home/me",
        read_beside=lambda name: "",
        registry_with=lambda plugins: builtin_registry(),
        book_of=Snapshots("check").book,
    )
    return load_suite(json.dumps(suite), file, context)[0]


def names(file: str, *tools: dict[str, Any], **keys: Any) -> list[str]:
    """What the snapshots are called, in the order of the file."""
    [suite] = load(file, *tools, **keys)
    checks: list[Any] = [
        assertion.check
        for case in suite.cases
        for step in case.steps
        for assertion in step.expectation.assertions
    ]
    return [check.parameter.key for check in checks if hasattr(check, "parameter")]


def refused(file: str, *tools: dict[str, Any]) -> list[Diagnostic]:
    with pytest.raises(FormatError) as caught:
        load(file, *tools)
    return list(caught.value.diagnostics)


def test_a_second_test_of_one_name_has_a_number(file: str) -> None:
    found = names(file, entry("dup"), entry("dup"), entry("dup"))
    assert found == ["dup > result", "dup (2) > result", "dup (3) > result"]


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_the_number_never_makes_it_the_name_of_another_test(file: str, turn: int) -> None:
    tools = [entry("dup"), entry("dup")]
    tools.insert(turn, entry("dup (2)"))
    found = names(file, *tools)
    assert sorted(found) == ["dup (2) > result", "dup (3) > result", "dup > result"]
    assert found[turn] == "dup (2) > result"


def test_names_that_become_the_same_are_refused_with_their_place(file: str) -> None:
    steps = {"name": "a", "steps": [{"tool": "echo", "expect": [SNAPSHOT]}]}
    [found] = refused(file, steps, entry("a > step 1"))
    assert found.code == "F013"
    assert found.message == (
        'the matcher "snapshot" has the same name as another one, '
        "'a > step 1 > result': they could not be told apart"
    )
    assert found.help == "give one of them another name: {snapshot: NAME}"


def test_two_of_one_target_in_one_test_are_refused_unless_one_has_a_name(file: str) -> None:
    other = matching({"snapshot": {"ignore": ["isError"]}})
    assert len(refused(file, entry("a", SNAPSHOT, other))) == 1
    named = matching({"snapshot": {"ignore": ["isError"], "name": "b"}})
    assert names(file, entry("a", SNAPSHOT, named)) == ["a > result", "b"]


def test_names_from_defaults_do_not_clash(file: str) -> None:
    setup = {"setup": [{"tool": "echo", "expect": [SNAPSHOT]}]}
    found = names(file, entry("a"), entry("b"), defaults=setup)
    assert sorted(found) == [
        "a > result",
        "a > setup 1 > result",
        "b > result",
        "b > setup 1 > result",
    ]


@pytest.mark.parametrize(
    "inner",
    [
        {"snapshot": True},
        {"all": [{"snapshot": True}]},
        {"any": [{"contains": "a"}, {"all": [{"snapshot": "x"}]}]},
        {"not": {"snapshot": True}},
    ],
)
def test_a_snapshot_beneath_not_is_refused_however_deep(file: str, inner: object) -> None:
    [found] = refused(file, entry("a", matching({"any": [{"not": inner}]})))
    assert found.message == (
        'the matcher "snapshot" cannot be denied: what is new would be accepted and fail'
    )


@pytest.mark.parametrize(
    "matcher",
    [
        {"all": [{"snapshot": True}, {"not": {"contains": "a"}}]},
        {"snapshot": True, "not": {"contains": "a"}},
    ],
)
def test_one_beside_not_is_fine(file: str, matcher: object) -> None:
    assert len(load(file, entry("not", matching(matcher)))) == 1
