"""Expectations of one value that cannot hold together are found when a file is loaded."""

from __future__ import annotations

from itertools import combinations

import pytest
from geo_plugin import GeoPlugin

from mcptest.matching import clash
from mcptest.matching.builtins import builtin_registry
from mcptest.matching.expectation import Compiler
from mcptest.matching.group import Group
from mcptest.matching.patterns import parse_pattern

REGISTRY = builtin_registry(plugins=GeoPlugin())


def clashes(expected: object) -> list[tuple[tuple[str | int, ...], str]]:
    compiler = Compiler(REGISTRY)
    compiler.compile(expected, None)
    assert {found.code for found in compiler.complaints} <= {"F017"}
    return [(found.steps, found.message) for found in compiler.complaints]


def why_not_both(left: object, right: object) -> str:
    """Why two expectations cannot hold together, "" when they may."""
    found = clashes({"match:all": [left, right]})
    assert clashes({"match:all": [right, left]}) or not found
    if not found:
        return ""
    ((steps, message),) = found
    assert steps[:2] == ("match:all", 1)
    return message.rpartition(": ")[2]


@pytest.mark.parametrize(
    ("left", "right", "why"),
    [
        ("match:type:string", "match:type:array", "one wants array, the other string"),
        ("match:type:string", "match:arrayLength:1", "one wants array, the other string"),
        ("match:type:boolean|null", "match:between:1:2", None),
        ("match:uuid", 5, "one wants number, the other string"),
        ("match:exists", None, None),
        (1, 2, "they are two values"),
        ("match:equals:a", "match:equals:b", "nothing meets both"),
        ("match:equals:1", "match:equals:2", "no number meets both"),
        ("match:equals:a", "match:startsWith:b", "nothing meets both"),
        ("match:oneOf:a|b", "match:stringLength:2", "nothing meets both"),
        ("match:equals:5", "match:greaterThan:5", "no number meets both"),
        ("abc", "match:stringLengthLessThan:3", "it does not meet it"),
        ("match:contains:x", "abc", "it does not meet it"),
        ("match:contains:x", "match:not:contains:x", "one is the opposite of the other"),
        ("match:greaterThan:5", "match:lessThan:5.0", "no number meets both"),
        ("match:between:1:2", "match:between:3:4", "no number meets both"),
        ("match:positive", "match:lessThanOrEqual:0", "no number meets both"),
        ("match:negative", "match:positive", "no number meets both"),
        ("match:stringEmpty", "match:stringNotEmpty", "no length meets both"),
        ("match:stringLength:3", "match:stringLengthGreaterThan:3", "no length meets both"),
        ("match:empty", "match:notEmpty", "no length meets both"),
        ({"match:arrayElements": 1}, "match:type:object", "one wants object, the other array"),
        ({"match:anyElement": 1}, {"match:partial": {"a": 1}}, "one wants object, the other array"),
    ],
)
def test_two_that_cannot_both_hold(left: object, right: object, why: str | None) -> None:
    found = why_not_both(left, right)
    assert found == why if why else found


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("match:type:string", "match:stringLength:3"),
        ("match:type:integer", "match:type:number"),
        ("match:type:integer", "match:multipleOf:2"),
        ("match:contains:a", "match:contains:b"),
        ("match:contains:a", "match:not:contains:b"),
        ("match:not:type:string", "match:not:type:array"),
        ("match:greaterThanOrEqual:5", "match:lessThanOrEqual:5"),
        ("match:equals:5", "match:startsWith:05"),
        ("match:equals:5", "match:type:string"),
        ("match:equals:true", "match:type:boolean"),
        ('match:equals:{"a":1}', "match:type:object"),
        ("match:regex:^a$", "b"),
        ("match:dateAge:1d", "2020-01-01"),
        ("match:dateAge:1d", "match:dateValid"),
        ("match:stringLength:3", "match:greaterThan:5"),
        ({"a": 1}, {"match:partial": {"a": 1}}),
        ({"match:partial": {"a": 1}}, {"match:partial": {"b": 2}}),
        ({"match:any": [1, 2]}, 3),
        ([1, 2], {"match:partial": [1]}),
        (1, 1.0),
    ],
)
def test_two_that_may_both_hold(left: object, right: object) -> None:
    assert why_not_both(left, right) == ""


def test_a_sibling_that_contradicts_a_partial_is_pointed_at() -> None:
    expected = {"match:partial": {"a": {"b": 1, "c": 2}}, "a": {"b": "match:greaterThan:1", "c": 2}}
    assert clashes({"result": expected}) == [
        (
            ("result", "a", "b"),
            "match:greaterThan:1 cannot hold beside 1: it does not meet it",
        )
    ]
    assert clashes({"match:partial": {"a": [1, 2]}, "a": [1, 3]}) == [
        (("a", 1), "3 cannot hold beside 2: they are two values")
    ]
    assert clashes({"match:partial": {"a": 1}, "a": 1, "b": 2}) == []


def test_a_contradiction_deep_inside_is_told_once() -> None:
    inner = {"match:all": ["match:type:string", "match:type:array"]}
    assert len(clashes({"match:all": [inner, "match:exists"]})) == 1
    assert len(clashes({"match:partial": {"a": inner}, "b": 1})) == 1
    apart = {"match:all": [{"match:all": ["match:exists", 1]}, {"match:all": [2, "match:integer"]}]}
    assert len(clashes(apart)) == 1


def test_directives_that_want_another_kind_of_value_are_told_by_name() -> None:
    expected = {"match:arrayElements": 1, "match:crossField": "a < b"}
    assert clashes(expected) == []
    assert clashes({"match:arrayElements": 1, "a": 2}) == [
        (
            (),
            '{"a": 2} cannot hold beside match:arrayElements: one wants object, the other array',
        )
    ]


def test_what_cannot_hold_of_a_sample_is_left_for_the_value() -> None:
    compiler = Compiler(REGISTRY)
    compiler.is_sample = True
    compiler.compile({"match:all": ["match:equals:1", "match:greaterThan:5"]}, None)
    compiler.compile(["match:between:5:1", "match:lenght:1"], None)
    assert [found.code for found in compiler.complaints] == ["F012"]


def test_what_some_value_meets_is_never_called_a_contradiction() -> None:
    matchers = [entry for entry in REGISTRY if not (entry.reads_file or entry.needs_clock)]
    values = [value for entry in REGISTRY for value in (*entry.passes, *entry.fails)]
    patterns = {entry.example: parse_pattern(entry.example, REGISTRY) for entry in matchers}
    met = {
        source: {at for at, value in enumerate(values) if pattern.is_met(value)}
        for source, pattern in patterns.items()
    }
    pairs = list(combinations(patterns, 2))
    apart = [pair for pair in pairs if clashes({"match:all": list(pair)})]
    assert [pair for pair in apart if met[pair[0]] & met[pair[1]]] == []
    assert 0 < len(apart) < len(pairs)


# Very many


def nested(depth: int, leaf: object) -> object:
    return {"match:all": [nested(depth - 1, leaf)] * 2} if depth else leaf


@pytest.mark.parametrize(
    "expected",
    [
        {"match:all": [nested(8, "match:type:string"), nested(8, "match:uuid")]},
        {"match:all": ["match:type:string"] * 500},
        {"match:all": [{"a": [{"match:all": ["match:uuid"] * 20}] * 20}] * 20},
    ],
)
def test_only_so_many_pairs_of_one_group_are_looked_at(
    expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0

    def counting(left: object, right: object) -> str:
        nonlocal looked
        looked += 1
        return ""

    group = Compiler(REGISTRY).compile(expected, None)
    assert isinstance(group, Group)
    monkeypatch.setattr(clash, "_clash", counting)
    assert list(clash.contradictions_in(group, None)) == []
    assert looked == clash.MAX_PAIRS


def test_a_contradiction_deep_in_nested_groups_is_found_all_the_same() -> None:
    deep = {"match:all": [nested(4, "match:type:string"), nested(1, "match:type:array")]}
    found = {(*steps, message.rpartition(": ")[2]) for steps, message in clashes(deep)}
    why = "one wants array, the other string"
    assert found == {("match:all", 1, "match:all", index, why) for index in (0, 1)}
