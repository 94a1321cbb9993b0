"""Words on a command line become arguments, as the schema reads them."""

from __future__ import annotations

from typing import Any

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.errors import UsageError
from mcptest.core.strict_json import dump_json
from mcptest.explore.arguments import Word, build_arguments, parse_words


def built(schema: dict[str, Any], *words: str, **given: Any) -> dict[str, Any]:
    return build_arguments(parse_words(words), schema, given)


def of(part: object) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": part}}


def refusal(schema: dict[str, Any], *words: str, **given: Any) -> str:
    with pytest.raises(UsageError) as caught:
        built(schema, *words, **given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("word", "parsed"),
    [
        ("a=b", Word(key="a", value="b")),
        ("a=", Word(key="a", value="")),
        ("a=b=c", Word(key="a", value="b=c")),
        ("a:=1", Word(key="a", value="1", is_json=True)),
        ("a=b:=c", Word(key="a", value="b:=c")),
        ("a=x\ny", Word(key="a", value="x\ny")),
    ],
)
def test_a_word_is_cut_at_its_first_mark(word: str, parsed: Word) -> None:
    assert parse_words([word]) == (parsed,)


@pytest.mark.parametrize("word", ["a", "=a", ":=1", ""])
def test_a_word_without_a_key_or_a_mark_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="neither key=value nor key:=json"):
        parse_words([word])


@each_case(
    ("part", "text", "value"),
    [
        ({"type": "string"}, "5", "5"),
        ({"type": "integer"}, "-5", -5),
        ({"type": "number"}, "5", 5),
        ({"type": "number"}, "-1.5e3", -1500.0),
        ({"type": "boolean"}, "false", False),
        ({"type": "null"}, "null", None),
        ({"type": "array"}, "[1]", [1]),
        ({"type": "object"}, "{}", {}),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": ["string", "integer"]}, "x", "x"),
        ({"type": ["string", "integer"]}, "7", 7),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "7", 7),
        ({"oneOf": [{"type": "boolean"}, {"$ref": "#/properties/b"}]}, "true", True),
        ({"enum": [1, "1", "x"]}, "x", "x"),
        ({"enum": [1, True]}, "true", True),
        ({"const": 3}, "3", 3),
        ({"allOf": [{"type": "integer"}, {"minimum": 1}]}, "3", 3),
        ({}, "3", "3"),
        (True, "3", "3"),
        (None, "3", "3"),
        ({"type": "unheard-of"}, "3", "3"),
        ({"$ref": "#/nowhere"}, "3", "3"),
        ({"$ref": "#/properties/a"}, "3", "3"),
    ],
)
def test_a_value_is_what_its_schema_says(part: object, text: str, value: object) -> None:
    arguments = built(of(part), f"a={text}")
    assert dump_json(arguments) == dump_json({"a": value})


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "integer"}, "1.5"),
        ({"type": "integer"}, "0x10"),
        ({"type": "number"}, "NaN"),
        ({"type": "boolean"}, "yes"),
        ({"type": "array"}, "a,b"),
        ({"type": "object"}, "[]"),
        ({"type": ["integer", "null"]}, "none"),
        ({"enum": ["a", "b"]}, "c"),
        ({"enum": [1]}, "2"),
    ],
)
def test_a_value_that_its_schema_cannot_mean_is_refused(part: object, text: str) -> None:
    assert refusal(of(part), f"a={text}").startswith(("a must be ", "a cannot be "))


@given(st.text(min_size=1, max_size=20))
def test_a_string_is_never_read_as_another_type(text: str) -> None:
    assert built(of({"type": "string"}), f"a={text}") == {"a": text}


@given(st.integers(-(10**30), 10**30))
def test_any_whole_number_is_read(number: int) -> None:
    assert built(of({"type": "integer"}), f"a={number}") == {"a": number}


def test_a_dot_leads_into_an_object() -> None:
    schema = of({"type": "object", "properties": {"n": {"type": "integer"}, "m": {}}})
    assert built(schema, "a.n=1", "a.m=2") == {"a": {"n": 1, "m": "2"}}


def test_a_property_that_has_a_dot_in_its_name_is_meant_first() -> None:
    schema = {"properties": {"a.b": {"type": "integer"}, "a": {"type": "object"}}}
    assert built(schema, "a.b=1") == {"a.b": 1}


def test_words_win_over_what_was_given_also_inside_objects() -> None:
    schema = of({"type": "object", "properties": {"x": {}, "y": {}}})
    given: dict[str, Any] = {"x": "old", "y": "kept"}
    assert built(schema, "a.x=new", a=given) == {"a": {"x": "new", "y": "kept"}}
    assert given == {"x": "old", "y": "kept"}


@pytest.mark.parametrize("words", [("a={}", "a.b=1"), ("a.b=1", "a={}")])
def test_an_object_whole_and_in_parts_is_refused(words: tuple[str, ...]) -> None:
    schema = of({"type": "object", "properties": {"b": {}}})
    assert refusal(schema, *words) == "a is given whole and in parts; give it one way"


def test_an_unknown_name_is_refused_with_the_one_that_was_meant() -> None:
    schema: dict[str, Any] = {"properties": {"colour": {}, "where": {"properties": {"city": {}}}}}
    assert refusal(schema, "color=1") == "there is no argument 'color'; did you mean 'colour'?"
    assert "'where.cty'; did you mean 'city'?" in refusal(schema, "where.cty=1")
    assert "'colr'" in refusal(schema, colr=1)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"properties": {"b": {}}, "additionalProperties": True},
        {"properties": {"b": {}}, "patternProperties": {"^a": {}}},
    ],
)
def test_an_unknown_name_is_taken_where_the_schema_allows_it(schema: dict[str, Any]) -> None:
    assert built(schema, "a=1") == {"a": "1"}


def test_the_schema_of_all_other_properties_is_heeded() -> None:
    schema = {"properties": {"b": {}}, "additionalProperties": {"type": "integer"}}
    assert built(schema, "a=1") == {"a": 1}


def test_every_required_argument_that_is_missing_is_named_with_its_type() -> None:
    schema = {"properties": {"a": {"type": "integer"}, "b": {}, "c": {}}, "required": ["a", "b"]}
    assert refusal(schema, "c=1") == "2 required arguments are missing: a (integer), b (any)"
    assert built(schema, "a=1", b=2) == {"a": 1, "b": 2}


def test_nothing_is_refused_when_nothing_is_checked() -> None:
    schema = {"properties": {"a": {"type": "integer"}}, "required": ["b"]}
    words = parse_words(["a=1", "z.y=2"])
    assert build_arguments(words, schema, {}, is_checked=False) == {"a": 1, "z": {"y": "2"}}


def test_without_a_check_what_does_not_fit_its_type_is_sent_as_text() -> None:
    schema = {"properties": {"a": {"type": "number"}}}
    assert build_arguments(parse_words(["a=x"]), schema, {}, is_checked=False) == {"a": "x"}


def test_a_name_of_a_server_is_never_shown_raw() -> None:
    with pytest.raises(UsageError) as caught:
        built({"properties": {"\x1b[31m": {}}}, "b=1")
    assert "\x1b" not in str(caught.value) + caught.value.help
