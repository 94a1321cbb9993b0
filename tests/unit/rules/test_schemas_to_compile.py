"""Schemas of which a validator is made only when it is needed, because they are surely valid."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case

from mcptest.matching.matchers.objects import declared_schema
from mcptest.matching.registry import BadSchemaError
from mcptest.rules.schemas import can_surely_be_compiled

TEXT = {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def nest(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


SURE: list[dict[str, Any]] = [
    {},
    TEXT,
    TEXT | {"$schema": DRAFT_7, "required": ["a"], "additionalProperties": False},
    {"anyOf": [TEXT, {"enum": ["x", "y"]}], "title": "\U0001f600", "format": "date"},
    nest(150),
]
# Each of these needs a validator to find out; not all of them are valid.
UNSURE: list[object] = [
    *(True, None, [], "string"),
    {"type": "objekt"},
    {"$schema": "https://elsewhere.example/dialect"},
    {"properties": {"a": {"$schema": DRAFT_7}}, "$schema": DRAFT_7},
    {"$ref": "#/$defs/missing"},
    {"properties": {"a": {"pattern": "("}}},
    {"required": ["a", "a"]},
    {"description": "\ud800"},
    {"not": {}},
    nest(400),
]


@each_case("schema", SURE)
def test_what_is_surely_valid_can_be_compiled(schema: dict[str, Any]) -> None:
    assert can_surely_be_compiled(schema)
    assert declared_schema(schema).source == schema


@each_case("schema", UNSURE)
def test_everything_else_is_left_to_the_validator(schema: object) -> None:
    assert not can_surely_be_compiled(schema)


@pytest.mark.parametrize("schema", [{"$ref": "#/$defs/missing"}, {"description": "\ud800"}])
def test_a_validator_refuses_what_only_looks_plain(schema: object) -> None:
    with pytest.raises(BadSchemaError):
        declared_schema(schema)
