"""Every matcher: on what it passes, on what it does not, and in which words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest.matching.builtins import builtin_registry
from mcptest.matching.patterns import parse_pattern
from mcptest.matching.registry import Matcher, Registry

REGISTRY = builtin_registry()
JSON_VALUES: list[object] = [
    "", "text", 0, 1.5, 10**400, True, False, None, [], ["a", 1, None, {}], {}, {"a": 1},
]  # fmt: skip


def why_not(source: str, actual: object) -> tuple[str, str] | None:
    mismatch = parse_pattern(source, REGISTRY).mismatch(actual, None)
    return (mismatch.message, mismatch.hint) if mismatch else None


@pytest.mark.parametrize(
    ("source", "actual"),
    [
        ("match:regex:^v[0-9]+$", "v12"),
        ("match:regex:b", "abc"),
        ("match:regex:^12$", 12),
        ("match:regex:^1.5$", 1.5),
        ("match:regex:^true$", True),
        ("match:regex:null", None),
        ('match:regex:"a":1', {"a": 1}),
        ("match:regex:a.b", "xa:by"),
        ("match:File not found", "Error: File not found: x"),
        ("match:contains:sun", "sunny"),
        ("match:contains:2", 123),
        ("match:contains:ru", True),
        ("match:contains:b", ["a", "abc"]),
        ("match:contains:2", [1, 2]),
        ('match:contains:"k"', [{"k": 1}]),
        ("match:startsWith:Err", "Error"),
        ("match:startsWith:1", 12),
        ("match:endsWith:.txt", "a.txt"),
        ("match:endsWith:5", 1.5),
        ("match:type:string", ""),
        ("match:type:number", 1),
        ("match:type:number", 1.5),
        ("match:type:integer", 1),
        ("match:type:integer", 1.0),
        ("match:type:integer", 10**400),
        ("match:type:boolean", False),
        ("match:type:object", {}),
        ("match:type:array", []),
        ("match:type:null", None),
        ("match:type:string|null", None),
        ("match:exists", ""),
        ("match:exists", 0),
        ("match:exists", False),
        ("match:exists", []),
        ("match:length:0", ""),
        ("match:length:2", "é🙂"),
        ("match:length:1", [None]),
        ("match:count:0", {}),
        ("match:count:1", [1]),
        ("match:count:2", {"a": 1, "b": 2}),
        ("match:arrayLength:0", []),
        ("match:arrayLength:2", [1, 1]),
        ("match:arrayContains:a", ["b", "a"]),
        ("match:arrayContains:1", [1]),
        ("match:arrayContains:1", ["1"]),
        ("match:arrayContains:true", [True]),
        ("match:arrayContains:null", [None]),
        ('match:arrayContains:{"a":1}', [{"a": 1}]),
        ("match:arrayContains:name:read_file", [{"name": "read_file"}]),
        ("match:arrayContains:a.b:1", [{"a": {"b": 1}}]),
        ("match:arrayContains:url:http://x", [{"url": "http://x"}]),
        ("match:arrayContains:name:x", ["name:x"]),
        ("match:not:regex:a", "b"),
        ("match:not:contains:a", None),
        ("match:not:type:string", 1),
        ("match:not:exists", None),
        ("match:not:arrayContains:a", []),
    ],
)
def test_a_value_that_meets_the_pattern_passes(source: str, actual: object) -> None:
    assert why_not(source, actual) is None


@pytest.mark.parametrize(
    ("source", "actual", "message", "hint"),
    [
        (
            "match:regex:^v$",
            "V",
            "text that matches /^v$/; it does not match",
            "it matches when case is ignored",
        ),
        ("match:regex:^v$", "w", "text that matches /^v$/; it does not match", ""),
        ("match:File", "Folder", "text that matches /File/; it does not match", ""),
        ("match:contains:sun", "rain", 'text that contains "sun"; it does not', ""),
        (
            "match:contains:SUN",
            "sunny",
            'text that contains "SUN"; it does not',
            "differs only in case",
        ),
        ("match:contains:a", None, 'text that contains "a"; it is null', ""),
        ("match:contains:a", {"a": 1}, 'text that contains "a"; it is an object', ""),
        (
            "match:contains:x",
            ["a", "b"],
            'text that contains "x"; it has 2 elements and none contains it',
            "",
        ),
        (
            "match:contains:x",
            ["a"],
            'text that contains "x"; it has 1 element and none contains it',
            "",
        ),
        ("match:contains:x", [], 'text that contains "x"; it is empty', ""),
        (
            "match:startsWith:e",
            "Error",
            'text that starts with "e"; it does not',
            "differs only in case",
        ),
        ("match:startsWith:a", ["a"], 'text that starts with "a"; it is an array', ""),
        ("match:endsWith:a", "ab", 'text that ends with "a"; it does not', ""),
        ("match:endsWith:a", None, 'text that ends with "a"; it is null', ""),
        ("match:type:string", 1, "a value of type string; it is a number", ""),
        ("match:type:number", True, "a value of type number; it is a boolean", ""),
        (
            "match:type:number",
            "1",
            "a value of type number; it is text",
            "it is a number written as text",
        ),
        (
            "match:type:integer",
            "-1",
            "a value of type integer; it is text",
            "it is a number written as text",
        ),
        ("match:type:integer", 1.5, "a value of type integer; it is a number", ""),
        ("match:type:object", None, "a value of type object; it is null", ""),
        ("match:type:object", [], "a value of type object; it is an array", ""),
        ("match:type:string|null", 1, "a value of type string or null; it is a number", ""),
        ("match:exists", None, "a value; it is null", ""),
        ("match:length:3", "ab", "a text or array of length 3; it has 2", ""),
        ("match:length:1", {"a": 1}, "a text or array of length 1; it is an object", ""),
        ("match:length:1", 1, "a text or array of length 1; it is a number", ""),
        ("match:count:1", {}, "an array of 1 elements or an object of 1 keys; it has 0", ""),
        ("match:count:1", "a", "an array of 1 elements or an object of 1 keys; it is text", ""),
        ("match:arrayLength:1", [], "an array of length 1; it has 0", ""),
        ("match:arrayLength:1", "a", "an array of length 1; it is text", ""),
        (
            "match:arrayContains:a",
            ["A"],
            'an array that holds "a"; it has 1 element and none is it',
            "one differs only in case",
        ),
        (
            "match:arrayContains:a",
            ["ab", 1],
            'an array that holds "a"; it has 2 elements and none is it',
            "",
        ),
        ("match:arrayContains:a", [], 'an array that holds "a"; it is empty', ""),
        ("match:arrayContains:a", "a", 'an array that holds "a"; it is text', ""),
        (
            "match:arrayContains:n:x",
            [{"n": "y"}, {}, 1],
            'an array that holds "n:x"; it has 3 elements and none is it',
            "",
        ),
        ("match:not:regex:a", "a", "anything but text that matches /a/; it is just that", ""),
        ("match:not:type:null", None, "anything but a value of type null; it is just that", ""),
        ("match:not:exists", 0, "nothing, or null; it is there", ""),
    ],
)
def test_a_value_that_does_not_meet_the_pattern_says_why(
    source: str, actual: object, message: str, hint: str
) -> None:
    assert why_not(source, actual) == (f"expected {message}", hint)


@pytest.mark.parametrize("matcher", list(REGISTRY), ids=lambda matcher: matcher.name)
@pytest.mark.parametrize("actual", JSON_VALUES, ids=lambda value: repr(value)[:12])
def test_any_value_is_judged_and_its_negation_is_the_opposite(
    matcher: Matcher, actual: object
) -> None:
    plain = parse_pattern(matcher.example, REGISTRY).mismatch(actual, None)
    negated_source = matcher.example.replace("match:", "match:not:", 1)
    negated = parse_pattern(negated_source, REGISTRY).mismatch(actual, None)
    assert (plain is None) != (negated is None)
    for mismatch in (plain, negated):
        if mismatch:
            assert re.match(r"expected .+; it (is|has|does)\b", mismatch.message)


@given(st.text(min_size=1), st.text(), st.text())
def test_text_holds_what_was_put_in(needle: str, before: str, after: str) -> None:
    text = before + needle + after
    assert why_not(f"match:contains:{needle}", text) is None
    assert why_not(f"match:startsWith:{needle}", needle + after) is None
    assert why_not(f"match:endsWith:{needle}", before + needle) is None
    assert why_not(f"match:length:{len(text)}", text) is None


# The registry


def test_every_name_is_there_once_and_these_are_all() -> None:
    assert REGISTRY.names == (
        "regex",
        "contains",
        "startsWith",
        "endsWith",
        "type",
        "exists",
        "length",
        "count",
        "arrayLength",
        "arrayContains",
    )
    assert tuple(REGISTRY.directives) == ("partial", "arrayElements", "extractField")


@pytest.mark.parametrize("matcher", list(REGISTRY), ids=lambda matcher: matcher.name)
def test_every_entry_has_a_summary_and_an_example_that_is_one_of_it(matcher: Matcher) -> None:
    assert matcher.summary.endswith(".")
    assert parse_pattern(matcher.example, REGISTRY).matcher == matcher


@pytest.mark.parametrize("name", sorted(REGISTRY.directives))
def test_every_directive_has_a_summary_and_an_example(name: str) -> None:
    directive = REGISTRY.directives[name]
    assert directive.summary.endswith(".")
    assert f"match:{name}" in directive.example


def test_two_matchers_of_one_name_are_refused() -> None:
    regex = REGISTRY.get("regex")
    assert regex is not None
    with pytest.raises(ValueError, match=r"^two matchers are named 'regex'$"):
        Registry([regex, regex], [])
