"""Patterns as matchers of a suite, and expectations for elements as JSON Schemas."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case
from migrating import setting

from mcptest.migrate.drafts import LeftBehindError
from mcptest.migrate.matchers import convert_pattern, convert_to_schema

PATTERNS: list[tuple[str, dict[str, Any]]] = [
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
]


@each_case(("pattern", "matcher"), PATTERNS)
def test_a_pattern_becomes_a_matcher_that_makes_the_same_check(
    pattern: str, matcher: dict[str, Any]
) -> None:
    assert convert_pattern(pattern, setting()) == matcher


def test_a_pattern_with_a_captured_value_stays_a_pattern() -> None:
    found = convert_pattern("match:contains:${id}", setting(has_references=True))
    assert found == {"pattern": "contains:${id}"}


SCHEMAS: list[tuple[object, dict[str, Any]]] = [
    ("a", {"const": "a"}),
    ({"a": [1]}, {"const": {"a": [1]}}),
    ("match:exists", {"not": {"type": "null"}}),
    ("match:type:string|null", {"type": ["string", "null"]}),
    ("match:type:array", {"type": "array"}),
    ("match:not:type:string", {"not": {"type": "string"}}),
    ("match:integer", {"type": "integer"}),
    ("match:stringNotEmpty", {"type": "string", "minLength": 1}),
    ("match:stringLength:2", {"type": "string", "minLength": 2, "maxLength": 2}),
    ("match:arrayLength:2", {"type": "array", "minItems": 2, "maxItems": 2}),
    ({"match:arrayElements": 1}, {"type": "array", "items": {"const": 1}}),
    ({"match:anyElement": 1}, {"type": "array", "contains": {"const": 1}}),
    ({"match:all": [1, 2]}, {"allOf": [{"const": 1}, {"const": 2}]}),
    ({"match:any": [1, 2]}, {"anyOf": [{"const": 1}, {"const": 2}]}),
    (
        {"a": "match:type:string", "b": "match:not:exists"},
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "null"}},
            "required": ["a"],
            "additionalProperties": False,
        },
    ),
    (
        {"match:partial": {"a": 1}},
        {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]},
    ),
    (
        ["match:type:string", 1],
        {
            "type": "array",
            "minItems": 2,
            "prefixItems": [{"type": "string"}, {"const": 1}],
            "maxItems": 2,
        },
    ),
    (
        {"match:partial": [1]},
        {"type": "array", "minItems": 1, "prefixItems": [{"const": 1}]},
    ),
    (
        {"match:any": [1, 2], "a": 3},
        {
            "allOf": [
                {"anyOf": [{"const": 1}, {"const": 2}]},
                {"type": "object", "properties": {"a": {"const": 3}}, "required": ["a"]},
            ]
        },
    ),
]


@each_case(("value", "schema"), SCHEMAS)
def test_an_expectation_for_elements_becomes_a_schema(value: object, schema: Any) -> None:
    assert convert_to_schema(value) == schema


@pytest.mark.parametrize(
    "value",
    [
        "match:contains:a",
        "match:not:contains:a",
        {"a": "match:uuid"},
        {"match:extractField": "a", "value": 1},
        {"match:crossField": "a < b"},
    ],
)
def test_expectations_that_no_schema_expresses_are_left_out(value: object) -> None:
    with pytest.raises(LeftBehindError):
        convert_to_schema(value)
