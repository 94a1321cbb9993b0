"""Schemas as tables: every rule in words, and no schema too odd or too large."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case

from mcptest.docgen.build import MAX_ROWS, schema_table
from mcptest.docgen.model import Code, Row, Table


def table_of(schema: object) -> Table:
    return schema_table("Arguments", schema, "nothing")


def rows_of(schema: object) -> dict[str, Row]:
    return {row.name: row for row in table_of(schema).rows}


def row_of(part: object, **root: Any) -> Row:
    """The row of one property."""
    return rows_of({"type": "object", "properties": {"a": part}, **root})["a"]


def words_of(row: Row) -> list[str]:
    return ["".join(rule) for rule in row.rules]


def test_a_property_is_a_row_with_its_name_type_rules_and_description() -> None:
    part = {"type": "integer", "minimum": 1, "default": 5, "description": "how many"}
    schema = {"type": "object", "properties": {"count": part}, "required": ["count"]}
    assert table_of(schema) == Table(
        title="Arguments",
        rows=(
            Row(
                name="count",
                type="integer",
                required="yes",
                rules=(("default ", Code("5")), ("at least ", Code("1"))),
                description="how many",
            ),
        ),
    )


@each_case(
    ("part", "words"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": {"type": "string"}}, "array of string"),
        ({"type": "array", "items": True}, "array"),
        ({"type": "array", "items": {"type": ["a", "b"]}}, "array of (a or b)"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "object of number"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"oneOf": [{"type": "a"}, {"oneOf": [{"type": "b"}, {"type": "a"}]}]}, "a or b or a"),
        ({"enum": ["a", 1, None]}, "string or number or null"),
        ({"const": True}, "boolean"),
        ({"properties": {"b": {}}}, "object"),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, "string"),
        ({"$ref": "#/$defs/x"}, "number"),
        ({"$ref": "#/$defs/none"}, "any"),
        ({"$ref": "https://example.com/schema"}, "any"),
        ({"type": 5}, "any"),
        ({}, "any"),
        (True, "any"),
        (False, "nothing"),
        ("odd", "any"),
        (None, "any"),
    ],
)
def test_a_type_is_said_in_words(part: object, words: str) -> None:
    assert row_of(part, **{"$defs": {"x": {"type": "number"}}}).type == words


@each_case(
    ("part", "words"),
    [
        ({"enum": ["a", 1]}, ['one of "a", 1']),
        ({"enum": list(range(40))}, ["one of " + ", ".join(map(str, range(30))) + ", …"]),
        ({"const": {"a": 1}}, ['always {"a": 1}']),
        ({"pattern": "^a|b$", "format": "uri"}, ["format uri", "matches ^a|b$"]),
        ({"exclusiveMinimum": 0, "maximum": 1}, ["more than 0", "at most 1"]),
        ({"exclusiveMinimum": True, "minimum": 1}, ["at least 1"]),
        ({"minLength": 1, "maxLength": 2}, ["length at least 1", "length at most 2"]),
        ({"minItems": 1, "uniqueItems": True}, ["number of items at least 1", "no item twice"]),
        ({"uniqueItems": False, "deprecated": True}, ["deprecated"]),
        ({"examples": [1, 2, 3, 4]}, ["for example 1, 2, 3"]),
        ({"items": {"enum": ["a"]}}, ['each: one of "a"']),
        ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, ["at least 1"]),
        (
            {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "minLength": 2}]},
            ["integer: at least 1", "string: length at least 2"],
        ),
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}, ['one of "a", "b"']),
        ({"$ref": "https://example.com/x"}, ["as described in https://example.com/x"]),
        ({"properties": {"b": {}}, "additionalProperties": False}, ["no other members"]),
        ({"type": "string"}, []),
    ],
)
def test_further_constraints_are_described_in_words(part: object, words: list[str]) -> None:
    assert words_of(row_of(part)) == words


def test_members_of_objects_and_of_items_have_dotted_names() -> None:
    item = {"type": "object", "properties": {"x": {"type": "string"}, "y z": {}}, "required": ["x"]}
    inner = {"type": "object", "properties": {"b": {"type": "integer"}}}
    schema = {
        "type": "object",
        "properties": {"a": inner, "list": {"type": "array", "items": item}},
    }
    found = rows_of(schema)
    assert list(found) == ["a", "a.b", "list", "list[*].x", 'list[*]["y z"]']
    assert (found["a"].type, found["a.b"].type) == ("object", "integer")
    assert [found[name].required for name in ("a", "list[*].x")] == ["no", "yes"]


def test_an_object_that_may_be_null_still_shows_its_members() -> None:
    place = {"type": "object", "properties": {"lat": {}, "lon": {}}, "required": ["lat"]}
    schema = {
        "properties": {"at": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]}},
        "$defs": {"Place": place},
    }
    found = rows_of(schema)
    assert list(found) == ["at", "at.lat", "at.lon"]
    assert (found["at.lat"].required, found["at.lon"].required) == ("yes", "no")


def test_a_member_that_only_one_of_two_choices_requires_is_not_required() -> None:
    choices = [
        {"properties": {"a": {}, "kind": {}}, "required": ["a", "kind"]},
        {"properties": {"b": {}, "kind": {}}, "required": ["b", "kind"]},
    ]
    found = rows_of({"type": "object", "oneOf": choices})
    assert {name: row.required for name, row in found.items()} == {
        "a": "no",
        "kind": "yes",
        "b": "no",
    }


def test_parts_that_all_must_hold_are_laid_over_each_other() -> None:
    schema = {
        "allOf": [
            {"$ref": "#/$defs/a"},
            {"properties": {"b": {"type": "string"}}, "required": ["b"]},
        ],
        "$defs": {"a": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}},
    }
    found = rows_of(schema)
    assert [(row.name, row.type, row.required) for row in found.values()] == [
        ("a", "integer", "yes"),
        ("b", "string", "yes"),
    ]


def test_members_without_a_name_have_a_row_too() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {}},
        "patternProperties": {"^x-": {"type": "string"}},
        "additionalProperties": {"type": "integer", "description": "counts"},
    }
    found = rows_of(schema)
    assert [(row.name, row.type, row.description) for row in found.values()][1:] == [
        ("/^x-/", "string", "Every name that matches."),
        ("*", "integer", "counts"),
    ]


def test_an_object_of_objects_shows_the_members_of_these() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "string"}}}
    found = rows_of({"properties": {"a": {"type": "object", "additionalProperties": inner}}})
    assert [(row.name, row.type) for row in found.values()] == [
        ("a", "object of object"),
        ("a.*", "object"),
        ("a.*.b", "string"),
    ]


def test_constraints_implied_by_the_type_have_no_row() -> None:
    env = {"type": "object", "additionalProperties": {"type": "string"}}
    found = rows_of({"properties": {"env": env}})
    assert [(row.name, row.type) for row in found.values()] == [("env", "object of string")]


def test_a_required_name_without_a_description_is_there() -> None:
    assert rows_of({"required": ["ghost", 5]})["ghost"] == Row(
        name="ghost", type="any", required="yes"
    )


def test_a_title_is_a_description_unless_it_repeats_the_name() -> None:
    schema = {"properties": {"max_age": {"title": "Max Age"}, "b": {"title": "Bananas"}}}
    found = rows_of(schema)
    assert (found["max_age"].description, found["b"].description) == ("", "Bananas")


@pytest.mark.parametrize(
    ("schema", "notes"),
    [
        ({"type": "object"}, ["nothing"]),
        ({}, ["nothing"]),
        ({"type": "object", "properties": {"a": {}}}, []),
        (
            {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
            ["Nothing else is allowed."],
        ),
        (
            {"type": "object", "properties": {"a": {}}, "minProperties": 1},
            ["As a whole: number of members at least 1."],
        ),
        ({"type": "array", "items": {"type": "string"}}, ["Type: array of string."]),
        (True, ["The schema is not an object: true."]),
        ([1], ["The schema is not an object: [1]."]),
        (None, ["The schema is not an object: null."]),
    ],
)
def test_constraints_that_fit_no_row_are_notes(schema: object, notes: list[str]) -> None:
    assert ["".join(words) for words in table_of(schema).notes] == notes


# Odd, endless and enormous schemas


def test_a_schema_that_holds_itself_is_cut_where_it_begins_again() -> None:
    node = {
        "type": "object",
        "properties": {
            "value": {"type": "string"},
            "next": {"$ref": "#/$defs/Node"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        },
    }
    found = rows_of({"$ref": "#/$defs/Node", "$defs": {"Node": node}})
    assert [(row.name, row.type) for row in found.values()] == [
        ("value", "string"),
        ("next", "…"),
        ("next.…", "…"),
        ("children", "array of …"),
    ]


def test_nesting_beyond_the_limit_is_cut_and_said() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(30):
        schema = {"type": "object", "properties": {"a": schema}}
    assert list(rows_of(schema)) == ["a", "a.a", "a.a.a", "a.a.a.a", "a.a.a.a.a", "a.a.a.a.a.…"]


def test_rows_beyond_the_limit_are_cut_and_said() -> None:
    rows = table_of({"properties": {f"p{number}": {} for number in range(5_000)}}).rows
    assert len(rows) == MAX_ROWS + 1
    assert rows[-1] == Row(name="…", description="There is more than is shown here.")


SELF: dict[str, Any] = {"$ref": "#"}


@pytest.mark.slow
@each_case(
    "schema",
    [
        SELF,
        {"anyOf": [SELF] * 50},
        {"oneOf": [{"anyOf": [SELF] * 9}] * 9, "properties": {"a": SELF}},
        {"allOf": [SELF] * 500},
        {
            "allOf": [{"allOf": [{"$ref": "#/$defs/a"}] * 20}] * 20,
            "$defs": {"a": {"allOf": [SELF]}},
        },
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"properties": {f"p{number}": {"anyOf": [SELF] * 9} for number in range(300)}},
        {"type": "array", "items": SELF},
        {"additionalProperties": SELF, "patternProperties": {"a": SELF}},
        {"enum": [[[]]] * 10_000},
        {"properties": {"a": {"default": ["x" * 1000] * 10_000}}},
        {"$ref": "#/$defs/0/1/../a", "$defs": [[], {}]},
        {"$ref": "#/properties/a~1b", "properties": {"a/b": {"properties": {"c": SELF}}}},
    ],
)
def test_an_endless_schema_ends(schema: object) -> None:
    assert len(table_of(schema).rows) <= MAX_ROWS + 1


@each_case(
    "key",
    [
        "properties",
        "required",
        "allOf",
        "anyOf",
        "oneOf",
        "$ref",
        "items",
        "type",
        "enum",
        "patternProperties",
        "description",
        "additionalProperties",
        "examples",
        "title",
        "default",
    ],
)
@each_case("value", [None, True, 1, 1.5, "x", [], [1, None, "a"], {}, {"a": 1}, {"a": []}])
def test_members_that_are_not_what_they_should_be_do_no_harm(key: str, value: object) -> None:
    table_of({key: value})
    table_of({"type": "object", "properties": {"a": {key: value}}})


def test_long_texts_are_cut() -> None:
    row = row_of({"type": "y" * 9_000, "description": "x" * 9_000, "default": "z" * 9_000})
    assert len(row.description) <= 1_000
    assert len(row.type) <= 120
    assert max(map(len, words_of(row))) < 200
