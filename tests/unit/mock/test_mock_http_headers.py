"""Headers of the stateless era, which repeat what is in the body."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from http_stage import STATELESS, asking, envelope, head

from mcptest.mock.http import check_headers

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "deep": {"type": "object", "properties": {"on": {"type": "boolean", "x-mcp-header": "On"}}},
        "items": {"type": "array", "items": {"type": "string", "x-mcp-header": "Unreachable"}},
        "bad": {"type": "string", "x-mcp-header": "not a token"},
    },
}


def fault(method: str, params: dict[str, Any], schema: object = None, **headers: str | None) -> str:
    """What is wrong, "" when nothing is."""
    known: dict[str, str | None] = {"mcp_protocol_version": STATELESS, "mcp_method": method}
    message = asking(method, **params, _meta=envelope())
    found = check_headers(head(**(known | headers)), message, lambda _: schema)
    assert found is None or found.code == -32020
    return found.sentence if found else ""


def encoded(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def test_a_request_whose_headers_say_what_it_says_is_fine() -> None:
    assert fault("tools/list", {}) == ""


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28 ", ""])
def test_another_version_than_that_of_the_body_is_a_fault(version: str) -> None:
    assert "MCP-Protocol-Version" in fault("tools/list", {}, mcp_protocol_version=version)


def test_a_version_that_is_missing_is_a_fault() -> None:
    assert fault("tools/list", {}, mcp_protocol_version=None) == (
        "the header MCP-Protocol-Version is missing"
    )


@pytest.mark.parametrize("method", [None, "tools/call", "TOOLS/LIST"])
def test_a_method_that_is_missing_or_another_is_a_fault(method: str | None) -> None:
    assert "Mcp-Method" in fault("tools/list", {}, mcp_method=method)


@pytest.mark.parametrize(
    ("method", "member"),
    [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri")],
)
def test_the_used_name_must_be_in_a_header(method: str, member: str) -> None:
    assert fault(method, {member: "a b"}, mcp_name="a b") == ""
    assert fault(method, {member: "a b"}, mcp_name=encoded("a b")) == ""
    assert fault(method, {member: "ü"}, mcp_name=encoded("ü")) == ""
    for wrong in (None, "A B", encoded("other"), "=?base64?YSBi=?=", "=?base64?!!!?=", "é"):
        assert "Mcp-Name" in fault(method, {member: "a b"}, mcp_name=wrong)


def test_a_name_that_is_not_ascii_must_be_encoded() -> None:
    assert "not ASCII" in fault("tools/call", {"name": "ü"}, mcp_name="ü")


def test_other_methods_need_no_name_and_a_body_without_one_is_not_the_headers_fault() -> None:
    assert fault("tools/list", {"name": "x"}) == ""
    assert fault("tools/call", {}) == ""


def test_a_repeated_header_is_a_fault() -> None:
    request = head(mcp_protocol_version=STATELESS, mcp_method="tools/list")
    twice = request.but(headers=(*request.headers, ("mcp-method", "tools/list")))
    found = check_headers(twice, asking("tools/list", _meta=envelope()), lambda _: None)
    assert found is not None
    assert "came twice" in found.sentence


def call(arguments: dict[str, Any], **headers: str | None) -> str:
    params = {"name": "t", "arguments": arguments}
    return fault("tools/call", params, SCHEMA, mcp_name="t", **headers)


def test_arguments_that_a_header_repeats_must_be_the_same_in_it() -> None:
    given = {"region": "eu", "count": 42, "deep": {"on": True}}
    headers = {"mcp_param_region": "eu", "mcp_param_count": "42", "mcp_param_on": "true"}
    assert call(given, **headers) == ""
    assert call({"region": "Zürich"}, mcp_param_region=encoded("Zürich")) == ""
    for name in headers:
        assert "is not what the argument" in call(given, **(headers | {name: "other"}))
        assert "is missing" in call(
            given, **{each: headers[each] for each in headers if each != name}
        )


@pytest.mark.parametrize("written", ["42", "42.0", "42.00"])
def test_a_whole_number_may_be_written_with_a_point(written: str) -> None:
    assert call({"count": 42}, mcp_param_count=written) == ""
    assert call({"count": 42.0}, mcp_param_count=written) == ""
    assert call({"count": 43}, mcp_param_count=written) != ""


def test_an_argument_that_is_null_or_absent_has_no_header() -> None:
    assert call({}) == ""
    assert call({"region": None}) == ""
    assert "did not" in call({"region": None}, mcp_param_region="eu")


@pytest.mark.parametrize("value", ["ü", "=?base64?a?=", "=?base64?YQ?="])
def test_a_header_that_cannot_be_read_is_a_fault(value: str) -> None:
    assert "not ASCII, or not base64" in call({"region": "a"}, mcp_param_region=value)


def test_the_value_of_such_a_header_is_never_shown() -> None:
    assert "hunter2" not in call({"region": "eu"}, mcp_param_region="hunter2")


def test_annotations_without_meaning_are_ignored() -> None:
    assert call({"items": ["x"], "bad": "y"}) == ""
    schemas: list[Any] = [None, True, [], {"properties": []}, {"properties": {"a": 5}}]
    for schema in schemas:
        assert fault("tools/call", {"name": "t"}, schema, mcp_name="t") == ""


def test_an_argument_that_two_headers_repeat_is_a_fault() -> None:
    request = head(mcp_protocol_version=STATELESS, mcp_method="tools/call", mcp_name="t")
    twice = (*request.headers, ("mcp-param-region", "eu"), ("mcp-param-region", "eu"))
    message = asking("tools/call", name="t", arguments={"region": "eu"}, _meta=envelope())
    found = check_headers(request.but(headers=twice), message, lambda _: SCHEMA)
    assert found is not None
    assert found.sentence == "the header Mcp-Param-Region came twice"
