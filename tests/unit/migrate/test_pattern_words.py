"""Patterns as the words of a suite, and words as patterns."""

from __future__ import annotations

import re
from typing import Any

import pytest
from migrating import setting

from mcptest.migrate.pattern_words import matcher_of
from mcptest.migrate.remarks import LeftBehindError
from mcptest.migrate.word_patterns import WordReader, accepts_absence

BOTH_WAYS: list[tuple[str, dict[str, Any]]] = [
    ("match:contains:a:b", {"contains": "a:b"}),
    ("match:containsIgnoreCase:A", {"icontains": "A"}),
    ("match:startsWith:a", {"starts-with": "a"}),
    ("match:endsWith:a", {"ends-with": "a"}),
    ("match:regex:^a$", {"regex": "^a$"}),
    ("match:type:string|null", {"type": "string|null"}),
    ("match:length:3", {"length": 3}),
    ("match:greaterThan:1", {"gt": 1}),
    ("match:greaterThanOrEqual:0.5", {"gte": 0.5}),
    ("match:lessThan:-1", {"lt": -1}),
    ("match:lessThanOrEqual:10", {"lte": 10}),
    ("match:between:1:2.5", {"between": [1, 2.5]}),
    ("match:exists", {"exists": True}),
    ("match:not:exists", {"exists": False}),
    ("match:not:contains:a", {"not": {"contains": "a"}}),
    ("match:uuid", {"pattern": "uuid"}),
    ("match:equals:5", {"pattern": "equals:5"}),
    ("match:not:uuid", {"pattern": "not:uuid"}),
]


@pytest.mark.parametrize(("pattern", "matcher"), BOTH_WAYS)
def test_a_pattern_and_a_word_stand_for_each_other(pattern: str, matcher: dict[str, Any]) -> None:
    assert matcher_of(pattern, setting()) == matcher
    assert WordReader(setting()).expression(matcher) == pattern


@pytest.mark.parametrize(
    ("pattern", "matcher"),
    [
        ("match:File not found", {"regex": "File not found"}),
        ("match:match:x", {"regex": "match:x"}),
        ("match:equals:red", {"exact": "red"}),
        ("match:equals:true", {"pattern": "equals:true"}),
        ("match:oneOf:red|blue", {"one-of": ["red", "blue"]}),
        ("match:oneOf:1|blue", {"pattern": "oneOf:1|blue"}),
        ("match:stringEmpty", {"exact": ""}),
        ("match:range:1:2", {"between": [1, 2]}),
        ("match:length: 3", {"pattern": "length: 3"}),
        (
            "match:greaterThan:0.30000000000000000001",
            {"pattern": "greaterThan:0.30000000000000000001"},
        ),
        ("match:greaterThan:1e999", {"pattern": "greaterThan:1e999"}),
        ("match:jsonSchema:a.json", {"schema": "../a.json"}),
    ],
)
def test_a_pattern_becomes_a_word_only_where_that_is_the_same_check(
    pattern: str, matcher: dict[str, Any]
) -> None:
    assert matcher_of(pattern, setting()) == matcher


def test_what_holds_a_captured_value_stays_a_pattern() -> None:
    found = matcher_of("match:contains:${id}", setting(has_references=True))
    assert found == {"pattern": "contains:${id}"}


@pytest.mark.parametrize(
    ("matcher", "expression"),
    [
        ({"exact": {"a": [1]}}, {"a": [1]}),
        ({"equals": "match:x"}, "match:equals:match:x"),
        ({"exact": ["MATCH:x", "contains:x"]}, ["match:equals:MATCH:x", "match:equals:contains:x"]),
        ({"contains": "a", "length": 3}, {"match:all": ["match:contains:a", "match:length:3"]}),
        ({"contains-all": ["a", "b"]}, {"match:all": ["match:contains:a", "match:contains:b"]}),
        ({"contains-any": ["a"]}, {"match:any": ["match:contains:a"]}),
        ({"one-of": [1, "match:x"]}, {"match:any": [1, "match:equals:match:x"]}),
        ({"partial": {"a": 1}}, {"match:partial": {"a": 1}}),
        ({"schema": "a.json"}, "match:jsonSchema:../a.json"),
        ({"schema": {"type": "array", "items": {"const": 1}}}, {"match:arrayElements": 1}),
        ({"plugin": {"name": "geo", "method": "near"}}, "match:plugin:geo.near"),
        ({"plugin": {"name": "a", "method": "b", "params": "c"}}, "match:plugin:a.b:c"),
        ({"pattern": "match:uuid"}, "match:uuid"),
        ({"not": {"not": {"contains": "a"}}}, "match:contains:a"),
        ({"not": {"exact": "red"}}, "match:not:equals:red"),
        ({"not": {"exact": True}}, {"match:any": [False, "match:not:type:boolean"]}),
        ({"not": {"exact": 5}}, {"match:any": ["match:not:equals:5", "match:not:type:number"]}),
        ({"not": {"exact": None}}, "match:not:type:null"),
        ({"not": {"pattern": "not:uuid"}}, "match:uuid"),
        (
            {"not": {"all": [{"gt": 1}, {"lt": 0}]}},
            {"match:any": ["match:not:greaterThan:1", "match:not:lessThan:0"]},
        ),
        (
            {"not": {"contains-any": ["a", "b"]}},
            {"match:all": ["match:not:contains:a", "match:not:contains:b"]},
        ),
        ({"not": {"one-of": ["red"]}}, {"match:all": ["match:not:equals:red"]}),
    ],
)
def test_a_matcher_becomes_what_a_conductor_file_writes(
    matcher: dict[str, Any], expression: object
) -> None:
    assert WordReader(setting()).expression(matcher) == expression


@pytest.mark.parametrize(
    ("matcher", "reason"),
    [
        ({"contains": 1}, "contains: 1 has no counterpart among patterns"),
        ({"snapshot": True}, "snapshot: true has no counterpart among patterns"),
        ({"exact": {"match:a": 1}}, 'the key "match:a" would be read as a directive'),
        ({"exact": {"crossField": 1}}, 'the key "crossField" would be read as a directive'),
        ({"schema": {"minimum": 1}}, "a schema must stand in a file of its own to be a pattern"),
        (
            {"plugin": {"name": "a", "method": "b", "params": 1}},
            "a plugin is given text by a pattern",
        ),
        ({"not": {"partial": {"a": 1}}}, "what must not hold is more than one pattern can say"),
        ({"not": {"exact": [1]}}, "no pattern means anything but [1]"),
    ],
)
def test_what_no_pattern_says_is_left_behind(matcher: dict[str, Any], reason: str) -> None:
    with pytest.raises(LeftBehindError, match=re.escape(reason)):
        WordReader(setting()).expression(matcher)


@pytest.mark.parametrize(
    ("matcher", "accepted"),
    [
        ({"exists": False}, True),
        ({"pattern": "not:exists"}, True),
        ({"not": {"exists": True}}, True),
        ({"any": [{"exists": False}, {"contains": "a"}]}, True),
        ({"exists": True}, False),
        ({"not": {"contains": "a"}}, False),
        ({"all": [{"exists": False}, {"contains": "a"}]}, False),
        ({"any": [{"contains": "a"}]}, False),
    ],
)
def test_it_is_known_which_matchers_are_met_by_nothing(
    matcher: dict[str, Any], accepted: bool
) -> None:
    assert accepts_absence(matcher) is accepted
