"""What must hold of elements, as a schema and back."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.migrate.element_schemas import expectation_of, schema_of
from mcptest.migrate.remarks import LeftBehindError

BOTH_WAYS: list[tuple[object, dict[str, Any]]] = [
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
]


@pytest.mark.parametrize(("value", "schema"), BOTH_WAYS)
def test_a_schema_says_the_same_and_comes_back(value: object, schema: dict[str, Any]) -> None:
    assert schema_of(value) == schema
    assert expectation_of(schema) == value


def test_several_directives_are_all_in_the_schema() -> None:
    assert schema_of({"match:any": [1, 2], "a": 3}) == {
        "allOf": [
            {"anyOf": [{"const": 1}, {"const": 2}]},
            {"type": "object", "properties": {"a": {"const": 3}}, "required": ["a"]},
        ]
    }


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
def test_what_no_schema_says_is_left_behind(value: object) -> None:
    with pytest.raises(LeftBehindError):
        schema_of(value)


@pytest.mark.parametrize(
    "schema",
    [
        *({"minimum": 1}, {"type": "string", "format": "uuid"}, {"const": "match:uuid"}, {}, True),
        *({"type": "object", "properties": {"a": {}}}, {"$ref": "#"}, {"properties": 5}),
        {"type": "array", "items": {"minimum": 1}},
    ],
)
def test_a_schema_of_somebody_else_is_left_behind(schema: object) -> None:
    with pytest.raises(LeftBehindError):
        expectation_of(schema)
