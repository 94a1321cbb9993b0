"""Schemas are resolved step by step, also those that never end."""

from __future__ import annotations

from typing import Any

import pytest

from mcptest.core.schema_walk import MAX_MEMBERS, SchemaWalker, dict_at, list_at, required_names

DEFS = {
    "n": {"type": "number"},
    "a/b": {"type": "string"},
    "list": [{"type": "null"}],
    "loop": {"$ref": "#/$defs/loop"},
}


@pytest.mark.parametrize(
    ("part", "schema"),
    [
        ({"$ref": "#/$defs/n"}, {"type": "number"}),
        ({"$ref": "#/$defs/n", "minimum": 1}, {"type": "number", "minimum": 1}),
        ({"$ref": "#/$defs/a~1b"}, {"type": "string"}),
        ({"$ref": "#/$defs/list/0"}, {"type": "null"}),
        ({"allOf": [{"$ref": "#/$defs/n"}, {"minimum": 1}]}, {"type": "number", "minimum": 1}),
        (
            {
                "allOf": [{"properties": {"a": 1}, "required": ["a"]}],
                "properties": {"b": 2},
                "required": ["b"],
            },
            {"properties": {"a": 1, "b": 2}, "required": ["a", "b"]},
        ),
        ({"allOf": "odd"}, {"allOf": "odd"}),
        ({"$ref": 5}, {"$ref": 5}),
        (True, {}),
        (None, {}),
    ],
)
def test_references_and_parts_are_resolved(part: object, schema: dict[str, Any]) -> None:
    node = SchemaWalker({"$defs": DEFS}).resolve(part)
    assert (node.schema, node.is_cut, node.external_ref) == (schema, False, "")


@pytest.mark.parametrize("reference", ["#/$defs/none", "#/$defs/list/7", "https://a.b/c", "x"])
def test_a_reference_that_leads_nowhere_is_named(reference: str) -> None:
    node = SchemaWalker({"$defs": DEFS}).resolve({"$ref": reference, "title": "t"})
    assert (node.schema, node.external_ref) == ({"title": "t"}, reference)


def test_a_reference_to_itself_is_cut() -> None:
    walker = SchemaWalker({"$defs": DEFS})
    assert walker.resolve({"$ref": "#/$defs/loop"}).is_cut
    node = walker.resolve({"$ref": "#/$defs/n"})
    assert node.trail == {"#/$defs/n"}
    assert walker.resolve({"$ref": "#/$defs/n"}, node.trail).is_cut


@pytest.mark.parametrize(
    ("schema", "branches"),
    [
        (
            {"anyOf": [{"type": "string"}, {"type": ["integer", "null"]}], "title": "t"},
            [
                {"title": "t", "type": "string"},
                {"title": "t", "type": "integer"},
                {"title": "t", "type": "null"},
            ],
        ),
        ({"oneOf": [{"anyOf": [{"const": 1}]}, {"const": 2}]}, [{"const": 2}, {"const": 1}]),
        ({"type": "string"}, [{"type": "string"}]),
        (5, [{}]),
        ({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, []),
    ],
)
def test_the_branches_are_the_plain_schemas(schema: object, branches: list[object]) -> None:
    assert list(SchemaWalker(schema).branches(schema)) == branches


SELF = {"$ref": "#"}


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"anyOf": [{"anyOf": [{"type": "string"}] * 50}] * 50}] * 50},
        {"allOf": [{"allOf": [{"allOf": [SELF] * 50}] * 50}] * 50},
        {"allOf": [SELF] * 500, "anyOf": [SELF] * 500},
    ],
)
def test_a_schema_with_too_many_parts_ends(schema: object) -> None:
    walker = SchemaWalker(schema)
    assert len(list(walker.branches(schema))) <= 50
    for _ in range(10_000):
        walker.resolve({})
    assert walker.resolve({}).is_cut


def test_members_are_bounded_and_odd_ones_are_none() -> None:
    assert (dict_at({"a": []}, "a"), list_at({"a": {}}, "a")) == ({}, [])
    assert len(dict_at({"a": {str(number): 1 for number in range(5_000)}}, "a")) == MAX_MEMBERS
    assert len(list_at({"a": [1] * 5_000}, "a")) == MAX_MEMBERS
    assert required_names({"required": ["b", 5, "a", "b"]}) == ["b", "a"]
