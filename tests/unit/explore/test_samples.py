"""Arguments generated from schemas fit those schemas."""

from __future__ import annotations

import re
from typing import Any

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.strict_json import dump_json
from mcptest.explore.arguments import is_fit_to_write, sample_arguments
from mcptest.matching.regex import sample_match


def sample(part: object, name: str = "a") -> object:
    return sample_arguments({"properties": {name: part}, "required": [name]}).arguments[name]


@each_case(
    ("part", "value"),
    [
        ({"const": 7, "type": "string"}, 7),
        ({"type": "integer", "default": 9}, 9),
        ({"type": "string", "examples": ["first", "second"]}, "first"),
        ({"enum": ["x", "y"]}, "x"),
        ({"type": "null"}, None),
        ({"type": "boolean"}, False),
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "integer", "exclusiveMinimum": 5}, 6),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "minimum": 4, "multipleOf": 5}, 5),
        ({"type": "number", "exclusiveMaximum": 1, "minimum": 0}, 0.5),
        ({"type": "number", "minimum": 0.5, "maximum": 0.75}, 0.75),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "array", "items": {"const": "x"}, "minItems": 3}, ["x", "x", "x"]),
        ({"type": "array", "maxItems": 0}, []),
        ({"type": "object", "properties": {"b": {}, "c": {}}, "required": ["c"]}, {"c": "example"}),
        ({"type": ["null", "integer"]}, 1),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, False),
        ({"anyOf": [{"type": "string", "default": "d"}]}, "d"),
        ({"type": "string", "format": "date"}, "2025-01-01"),
        ({"type": "string", "format": "uuid"}, "00000000-0000-4000-8000-000000000000"),
        ({"type": "string", "pattern": r"^\d{4}-\d{2}$"}, "1111-11"),
        ({"type": "string", "minLength": 9}, "exampleaa"),
        ({"type": "string", "maxLength": 3}, "exa"),
        ({"type": "string"}, "example"),
        ({}, "example"),
        (None, "example"),
    ],
)
def test_a_sample_fits_its_schema(part: object, value: object) -> None:
    assert dump_json(sample(part)) == dump_json(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("source_timezone", "UTC"), ("userId", "1"), ("id", "1"), ("width", "example")],
)
def test_a_name_tells_what_is_often_meant_by_it(name: str, value: str) -> None:
    assert sample({"type": "string"}, name) == value


def test_only_what_is_required_is_given() -> None:
    schema = {"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}
    assert sample_arguments(schema).arguments == {"a": 1}
    assert sample_arguments({"properties": {"a": {}}}).arguments == {}


@pytest.mark.parametrize("schema", [None, [], "x", True, {"required": "a"}, {"properties": []}])
def test_a_schema_that_is_none_gives_no_arguments(schema: object) -> None:
    assert sample_arguments(schema).arguments == {}


def test_references_are_followed_and_circles_end() -> None:
    schema: dict[str, Any] = {
        "$defs": {
            "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}},
            "loop": {"$ref": "#/$defs/loop"},
        },
        "properties": {"a": {"$ref": "#/$defs/node"}, "b": {"$ref": "#/$defs/loop"}},
        "required": ["a", "b"],
    }
    schema["$defs"]["node"]["required"] = ["next"]
    found = sample_arguments(schema).arguments
    assert found["b"] == "example"
    assert dump_json(found["a"]).startswith('{"next":{"next":')
    assert is_fit_to_write(found["a"])


def test_an_example_that_cannot_be_written_is_skipped() -> None:
    assert sample({"type": "string", "default": "${HOME}", "enum": ["x"]}) == "x"
    assert sample({"type": "string", "default": "a" * 5000}) == "example"
    assert sample({"type": "string", "default": "\ud800"}) == "example"
    assert sample({"type": "string", "default": "\U0001f600"}) == "\U0001f600"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "required", "items", "anyOf", "enum", "$ref", "minimum"]
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(JSON)
def test_no_schema_however_odd_is_too_much(schema: object) -> None:
    dump_json(sample_arguments(schema).arguments)


# Patterns


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[A-Z]{2}\d{3,5}$",
        r"^(?:foo|bar)-\w+$",
        r"^v\d+\.\d+(?:\.\d+)?$",
        r"[^a-c0]x",
        r"^(?P<year>\d{4})/(?<rest>a)*$".replace("(?<rest>", "("),
        r"^\S+@\S+\.\S+$",
        r"^#[0-9a-fA-F]{6}$",
        r"a{2}b?c*?d+?",
        r"",
        r"^\s?$",
    ],
)
def test_a_simple_pattern_gives_a_text_that_it_matches(pattern: str) -> None:
    made = sample_match(pattern)
    assert made is not None
    assert re.search(pattern, made)


@pytest.mark.parametrize(
    "pattern", [r"(?=a)", r"(a)\1", "(", "[a", "a)", r"\p{L}", "*", "a{9999}", "(" * 60 + ")" * 60]
)
def test_a_pattern_beyond_us_gives_nothing(pattern: str) -> None:
    assert sample_match(pattern) is None


@given(st.text(st.sampled_from("ab1^$.|()[]{}?*+\\dw-,:<>P=!"), max_size=15))
def test_no_pattern_however_odd_is_too_much(pattern: str) -> None:
    made = sample_match(pattern)
    assert made is None or len(made) <= 500
