"""An answer that was seen becomes an expectation that it meets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptest.explore.discover import answer_shape, exactly
from mcptest.matching.compare import compare
from mcptest.matching.compiler import Compiler
from mcptest.matching.registry import builtin_registry


def mismatches(expected: object, actual: object) -> list[str]:
    compiler = Compiler(builtin_registry())
    compiled = compiler.compile(expected, None)
    assert compiler.diagnostics == []
    return [f"{each.path} {each.message}" for each in compare(compiled, actual)]


def test_text_is_expected_by_type_and_what_it_is_by_value() -> None:
    content = [{"type": "text", "text": "secret"}]
    assert answer_shape({"result": {"content": content, "isError": False}}) == {
        "result": {"content": [{"type": "text", "text": "match:type:string"}], "isError": False}
    }


def test_many_of_a_kind_are_expected_however_many_there_are() -> None:
    item = {"type": "text", "text": "a"}
    shape = answer_shape({"result": {"content": [item, item]}})
    assert mismatches(shape, {"result": {"content": [item, item, item]}}) == []
    image = {"type": "image", "data": ""}
    assert mismatches(shape, {"result": {"content": [item, image]}})


def test_a_failure_does_not_match_the_recorded_success() -> None:
    item = {"type": "text", "text": "a"}
    shape = answer_shape({"result": {"content": [item]}})
    assert mismatches(shape, {"result": {"content": [item]}}) == []
    assert mismatches(shape, {"result": {"content": [item], "isError": True}})


def test_structured_content_is_expected_by_the_types_of_its_members() -> None:
    shape = answer_shape({"result": {"structuredContent": {"n": 1, "o": {"s": ""}, "x": None}}})
    assert shape["result"] == {
        "structuredContent": {
            "match:partial": {"n": "match:type:number", "o": {"s": "match:type:string"}}
        }
    }


def test_an_error_is_expected_by_its_code() -> None:
    error = {"code": -32602, "message": "no", "data": {}}
    assert answer_shape({"error": error}) == {
        "error": {"code": -32602, "message": "match:type:string", "data": "match:type:object"}
    }


@pytest.mark.parametrize("text", ["match:x", "MATCH:x", "a ${b}", "a" * 1000])
def test_a_text_that_would_mean_something_else_is_expected_by_type(text: str) -> None:
    assert exactly(text) == "match:type:string"


def test_a_plain_text_is_expected_as_it_is() -> None:
    assert exactly("a match: b") == "a match: b"


KEYS = st.sampled_from(["content", "contents", "messages", "type", "text", "uri", "resource"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            KEYS | st.sampled_from(["structuredContent", "isError", "match:partial", "value", ""]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_every_value_matches_its_own_shape(result: Any) -> None:
    assert mismatches(answer_shape({"result": result}), {"result": result}) == []


def test_a_member_named_like_a_directive_is_left_out() -> None:
    shape = answer_shape({"result": {"anyElement": 1, "all": 2, "n": 3}})
    number = "match:type:number"
    assert shape == {"result": {"match:partial": {"all": number, "n": number}}}
