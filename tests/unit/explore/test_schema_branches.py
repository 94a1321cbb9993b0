"""The branches of a schema, also of one that never ends."""

from __future__ import annotations

from mcptest.explore.schema import branches, type_words


def test_the_branches_of_alternatives_are_their_plain_schemas() -> None:
    schema = {"anyOf": [{"type": "string"}, {"type": ["integer", "null"]}]}
    assert list(branches(schema, schema)) == [
        {"type": "string"},
        {"type": "integer"},
        {"type": "null"},
    ]


def test_a_schema_that_refers_to_itself_twice_is_given_up() -> None:
    schema = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}
    assert list(branches(schema, schema)) == []
    assert type_words(schema, schema) == ""
