"""The headers that messages travel with, in each revision."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from case_tables import each_case

from mcptest.protocol.http_messages import (
    encoded_value,
    header_annotation_fault,
    media_type,
    message_headers,
    own_version,
    param_headers,
)
from mcptest.protocol.revisions import NEWEST_STATELESS, REVISIONS, VERSION_KEY


def request(method: str, version: object = NEWEST_STATELESS, **params: object) -> dict[str, Any]:
    meta = {VERSION_KEY: version}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("message", [CALL, {"jsonrpc": "2.0", "id": 1, "result": {}}, None])
def test_after_a_handshake_the_revision_is_named_and_no_more(version: str, message: object) -> None:
    assert message_headers(message, version) == {"MCP-Protocol-Version": version}


@pytest.mark.parametrize("version", ["", "2024-11-05", "2025-03-26", "1999-01-01"])
def test_older_revisions_name_nothing(version: str) -> None:
    assert message_headers(CALL, version) == {}


@pytest.mark.parametrize(
    ("message", "more"),
    [
        (request("tools/list"), {}),
        (request("tools/call", name="echo"), {"Mcp-Name": "echo"}),
        (request("prompts/get", name="p"), {"Mcp-Name": "p"}),
        (request("resources/read", uri="a://b"), {"Mcp-Name": "a://b"}),
        (request("resources/read", name="not this"), {}),
        (request("tools/call", name=7), {}),
    ],
)
def test_a_stateless_request_repeats_what_it_is_about(
    message: dict[str, Any], more: dict[str, str]
) -> None:
    wanted = {"MCP-Protocol-Version": NEWEST_STATELESS, "Mcp-Method": message["method"]} | more
    assert message_headers(message, "") == wanted


def test_a_stateless_notification_names_the_revision_of_its_session() -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    assert message_headers(message, NEWEST_STATELESS) == {
        "MCP-Protocol-Version": NEWEST_STATELESS,
        "Mcp-Method": "notifications/cancelled",
    }


def test_the_revision_in_a_message_has_precedence_over_the_negotiated_one() -> None:
    headers = message_headers(request("tools/list", "1999-01-01"), "2025-11-25")
    assert headers["MCP-Protocol-Version"] == "1999-01-01"


@pytest.mark.parametrize("message", [{"method": 7, "params": {"_meta": {VERSION_KEY: "x"}}}])
def test_a_method_that_is_not_a_string_is_not_repeated_in_a_header(message: dict[str, Any]) -> None:
    assert message_headers(message, "") == {"MCP-Protocol-Version": "x"}


@pytest.mark.parametrize(
    "message",
    [None, [], {}, {"params": []}, {"params": {"_meta": []}}, {"params": {"_meta": {}}}],
)
def test_most_messages_name_no_revision(message: object) -> None:
    assert own_version(message) == ""
    assert own_version(request("x", 7)) == ""


def test_the_table_says_which_revisions_have_the_header() -> None:
    named = {version for version in REVISIONS if message_headers(CALL, version)}
    assert named == {"2025-06-18", "2025-11-25", NEWEST_STATELESS}


# Values


@pytest.mark.parametrize("text", ["a", "tools/call", "a b", "a\tb", "~!", "=?base64?", "x=?y?="])
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert encoded_value(text) == text


@pytest.mark.parametrize(
    "text", ["", " a", "a ", "ü", "a\nb", "a\r\nX-Evil: 1", "\0", "\x7f", "=?base64?YQ==?="]
)
def test_a_value_that_a_header_cannot_hold_is_sent_as_base64(text: str) -> None:
    found = encoded_value(text)
    inner = found.removeprefix("=?base64?").removesuffix("?=")
    assert found == f"=?base64?{inner}?="
    assert base64.b64decode(inner).decode() == text


def test_half_a_character_breaks_nothing() -> None:
    assert encoded_value("\ud800").isascii()


# Arguments

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "plain": {"type": "string"},
        "bad": {"type": "string", "x-mcp-header": "no token"},
        "inner": {"type": "object", "properties": {"x": {"x-mcp-header": "X"}}},
    },
}


def test_arguments_are_mirrored_as_the_schema_asks() -> None:
    arguments = {
        "region": "eu west",
        "count": 42,
        "dry": True,
        "plain": "p",
        "bad": "b",
        "inner": {"x": "ü"},
    }
    assert param_headers(SCHEMA, arguments) == {
        "Mcp-Param-Region": "eu west",
        "Mcp-Param-Count": "42",
        "Mcp-Param-Dry": "true",
        "Mcp-Param-X": "=?base64?w7w=?=",
    }


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (SCHEMA, {}),
        (SCHEMA, {"region": None, "count": 1.5, "dry": [], "inner": "no object"}),
        (SCHEMA, None),
        (SCHEMA, []),
        (None, {"region": "x"}),
        ({"properties": []}, {"region": "x"}),
        ({"properties": {"region": "no schema"}}, {"region": "x"}),
        ({"properties": {"region": {"x-mcp-header": 7}}}, {"region": "x"}),
    ],
)
def test_nothing_else_is_mirrored(schema: object, arguments: object) -> None:
    assert param_headers(schema, arguments) == {}


@pytest.mark.parametrize(
    ("content_type", "found"),
    [
        ("application/json", "application/json"),
        ("Application/JSON; charset=utf-8", "application/json"),
        (" text/event-stream ;x", "text/event-stream"),
        ("", ""),
    ],
)
def test_a_media_type_has_no_parameters(content_type: str, found: str) -> None:
    assert media_type(content_type) == found


def schema(**properties: object) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


REGION = {"type": "string", "x-mcp-header": "Region"}


@each_case(
    ("tool", "fault"),
    [
        (schema(a=REGION), ""),
        (schema(a={"x-mcp-header": "A"}), ""),
        (schema(a={"type": ["integer", "null"], "x-mcp-header": "A"}), ""),
        (schema(a=schema(b=REGION)), ""),
        (schema(a={"const": REGION}, b={"enum": [REGION]}, c={"default": REGION}), ""),
        (schema(**{"x-mcp-header": {"type": "string"}}), ""),
        ({**schema(a=REGION), "$defs": {"x-mcp-header": {"type": "null"}}}, ""),
        (5, ""),
        ({"properties": 5}, ""),
        (schema(a={"type": "string", "x-mcp-header": ""}), '"", which is not the name of a header'),
        (schema(a={"type": "string", "x-mcp-header": 5}), "5, which is not the name of a header"),
        (schema(a={"type": "string", "x-mcp-header": "A B"}), "which is not the name of a header"),
        (schema(a={"type": "string", "x-mcp-header": "Ré"}), "which is not the name of a header"),
        (schema(a={"type": "number", "x-mcp-header": "A"}), 'on the type "number"'),
        (schema(a={"type": "null", "x-mcp-header": "A"}), 'on the type "null"'),
        (schema(a={"type": None, "x-mcp-header": "A"}), "on the type null"),
        (schema(a={"type": ["string", "array"], "x-mcp-header": "A"}), 'type ["string","array"]'),
        (schema(a=REGION, b={**REGION, "x-mcp-header": "region"}), "as that of properties.a is"),
        (schema(a={"type": "array", "items": REGION}), "properties.a.items is not reached"),
        ({"allOf": [schema(a=REGION)]}, "allOf.0.properties.a is not reached"),
        ({**schema(), "x-mcp-header": "A"}, "x-mcp-header of the schema is not reached"),
    ],
)
def test_annotations_that_forbid_to_call_a_tool(tool: object, fault: str) -> None:
    found = header_annotation_fault(tool)
    assert fault in found
    assert bool(fault) == bool(found)
