"""Values that are valid by a schema, and schemas that are refused when a file is loaded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st

from mcptest.core.errors import CheckError
from mcptest.core.results import Mismatch
from mcptest.matching.compiler import Compiler
from mcptest.matching.patterns import Pattern
from mcptest.matching.registry import BadSchemaError, builtin_registry

if TYPE_CHECKING:
    from collections.abc import Callable

REGISTRY = builtin_registry()
SOURCE = "match:jsonSchema:schemas/s.json"

# More steps than the validator takes, on a string of 41 characters.
HARD = "(?:(?=a)a*)*b"
TEXT = "a" * 40 + "!"


def compiled(text: str) -> tuple[object, Compiler]:
    asked: list[str] = []

    def read_beside(name: str) -> str:
        asked.append(name)
        return text

    compiler = Compiler(REGISTRY, read_beside)
    pattern = compiler.compile(SOURCE, None)
    assert asked == ["schemas/s.json"]
    return pattern, compiler


def mismatch(schema: object, actual: object) -> Mismatch | None:
    pattern, compiler = compiled(json.dumps(schema))
    assert compiler.diagnostics == []
    assert isinstance(pattern, Pattern)
    assert compiler.flags.take()["has_regex"]
    return pattern.mismatch(actual, None)


def refused(text: str) -> str:
    _, compiler = compiled(text)
    (diagnostic,) = compiler.diagnostics
    assert diagnostic.code == "F019"
    assert SOURCE[diagnostic.offset :][: diagnostic.width] == "schemas/s.json"
    return diagnostic.message.removeprefix('the matcher "jsonSchema" ')


@pytest.mark.parametrize(
    ("schema", "good", "bad", "why"),
    [
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}},
            {"a": 1},
            {"a": "x"},
            'a: "x" is not of type "integer"',
        ),
        ({"pattern": "^v[0-9]+$"}, "v1", "v", '"v" does not match "^v[0-9]+$"'),
        ({"format": "email"}, "a@b.co", "a", '"a" is not a "email"'),
        ({"multipleOf": 0.1}, 0.3, 0.25, "0.25 is not a multiple of 0.1"),
        (
            {"$ref": "#/$defs/n", "$defs": {"n": {"type": "null"}}},
            None,
            1,
            '1 is not of type "null"',
        ),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}]},
            [None, 1],
            [1],
            '[0]: 1 is not of type "null"',
        ),
    ],
)
def test_an_invalid_value_is_reported_with_the_reason(
    schema: object, good: object, bad: object, why: str
) -> None:
    assert mismatch(schema, good) is None
    found = mismatch(schema, bad)
    assert found is not None
    assert (
        found.message == f"expected a value that is valid by schemas/s.json; it is not valid: {why}"
    )


def test_only_some_of_many_errors_in_a_value_are_reported() -> None:
    found = mismatch({"items": {"type": "null"}}, [1, 2, 3, 4, 5])
    assert found is not None
    assert found.message.count("is not of type") == 3
    assert found.message.endswith("; …")


def test_a_long_value_is_cut_in_the_message() -> None:
    found = mismatch({"type": "null"}, "a" * 10_000)
    assert found is not None
    assert len(found.message) < 300


@pytest.mark.slow
@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner, max_size=5)))
def test_a_schema_that_refers_to_itself_ends(value: object) -> None:
    tree = {
        "$defs": {"t": {"type": ["array", "string", "integer"], "items": {"$ref": "#/$defs/t"}}}
    }
    assert mismatch(tree | {"$ref": "#/$defs/t"}, value) is None


def test_an_expression_in_a_schema_that_never_ends_is_stopped() -> None:
    with pytest.raises(CheckError, match=r"Max limit for backtracking count exceeded") as caught:
        mismatch({"pattern": r"^(a|a)*\1$"}, "a" * 60 + "!")
    assert (caught.value.fault.kind, "^(a|a)" in str(caught.value)) == ("schema_undecided", True)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"not": {"pattern": HARD}}, TEXT),
        ({"patternProperties": {HARD: False}}, {TEXT: 1}),
        ({"if": {"pattern": HARD}, "then": False}, TEXT),
        ({"$defs": {"a": {"pattern": HARD}}, "anyOf": [{"$ref": "#/$defs/a"}, False]}, TEXT),
    ],
)
def test_it_is_named_wherever_it_occurs(schema: object, value: object) -> None:
    with pytest.raises(CheckError) as caught:
        mismatch(schema, value)
    assert f'gave up on the pattern "{HARD}" of' in str(caught.value)


# Refused when the file is loaded


@each_case(
    ("text", "why"),
    [
        ("{", "reads schemas/s.json, which is not JSON: expecting property name"),
        ("[]", "reads schemas/s.json, which is not a schema: a schema is an object"),
        ("true", "reads schemas/s.json, which every value meets"),
        ("{}", "reads schemas/s.json, which every value meets"),
        (
            '{"properties": {"a": {"type": "strin"}}}',
            "reads schemas/s.json, which is not a schema: properties.a.type: ",
        ),
        ('{"minimum": "x"}', "reads schemas/s.json, which is not a schema: minimum: "),
        ('{"pattern": "("}', "reads schemas/s.json, which is not a schema: pattern: "),
        ('{"const": "\\ud800"}', "reads schemas/s.json, which is not a schema: "),
        ('{"$ref": "#/$defs/x"}', "reads schemas/s.json, which is not a schema: "),
        *(
            (
                json.dumps({"properties": {"a": {"$ref": target}}}),
                f"reads schemas/s.json, which refers to {target}; nothing is fetched, so put what "
                "it needs under $defs",
            )
            for target in (
                "http://127.0.0.1:1/x.json",
                "https://example.org/x",
                "file:///etc/passwd",
            )
        ),
        (
            '{"$ref": "other.json"}',
            "reads schemas/s.json, which refers to other.json; nothing is fetched",
        ),
        ('{"$schema": "https://example.org/mine"}', "reads schemas/s.json, which "),
    ],
)
def test_a_schema_that_is_none_or_needs_another_is_refused(text: str, why: str) -> None:
    assert refused(text).startswith(why)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (FileNotFoundError(2, "No such file or directory"), "no such file or directory"),
        (ValueError("it is not UTF-8"), "it is not UTF-8"),
        (OSError("odd"), "odd"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(error: Exception, why: str) -> None:
    def read_beside(_: str) -> str:
        raise error

    compiler = Compiler(REGISTRY, read_beside)
    compiler.compile({"result": SOURCE}, None)
    (diagnostic,) = compiler.diagnostics
    assert (diagnostic.code, diagnostic.steps, diagnostic.message) == (
        "F019",
        ("result",),
        f'the matcher "jsonSchema" cannot read schemas/s.json: {why}',
    )


# Schemas that are tried first

REFERRING = {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "count"),
    [
        (REFERRING, 1),
        ({"items": {"$dynamicRef": "#a"}, "$defs": {"a": {"$dynamicAnchor": "a"}}}, 1),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "string"}, 0),
        ({"pattern": "a$"}, 0),
    ],
)
def test_only_what_refers_to_something_is_tried(schema: object, count: int) -> None:
    tried: list[str] = []

    def trial(read: Callable[[], object], text: str) -> str:
        read()
        tried.append(text)
        return ""

    matcher = builtin_registry(try_schema=trial).get("jsonSchema")
    assert matcher is not None
    matcher.parse("s.json", lambda _: json.dumps(schema))
    matcher.parse(schema, None)
    assert [json.loads(text) for text in tried] == [schema] * 2 * count


@pytest.mark.parametrize(
    ("given", "lead"), [("s.json", "reads s.json, "), (REFERRING, "holds a schema ")]
)
def test_a_schema_that_cannot_be_tried_is_not_compiled_here(given: object, lead: str) -> None:
    matcher = builtin_registry(try_schema=lambda *_: "takes for ever").get("jsonSchema")
    assert matcher is not None
    with pytest.raises(BadSchemaError) as caught:
        matcher.parse(given, lambda _: json.dumps(REFERRING))
    assert str(caught.value) == f"{lead}which takes for ever"
