"""The schema of `*.test.mcp.yml`."""

from __future__ import annotations

from mcptest.formats.conductor import (
    ANSWER_KEYS,
    EXPECT_KEYS,
    FILE_KEYS,
    FORMS,
    PERFORMANCE_KEYS,
    SLIPPED_KEYS,
    TEST_KEYS,
)
from mcptest.formats.keys import STRING
from mcptest.formats.schemas.matchers import EXPECTED, expected_definitions, pattern_of
from mcptest.formats.schemas.types import (
    NAME_PATTERN,
    Types,
    config_server,
    describe,
    document,
    field_path,
    list_of,
    pattern_message,
    ref,
)
from mcptest.matching.patterns import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.keys import Schema
    from mcptest.matching.registry import Registry

__all__ = ["conductor_schema"]

_EXAMPLE = {
    "description": "The tools of the server",
    "tests": [
        {
            "it": "reads a file",
            "tool": "read_file",
            "arguments": {"path": "hello.txt"},
            "expect": {
                "response": {
                    "result": {
                        "match:partial": {"content": [{"type": "text", "text": "match:Hello"}]}
                    }
                }
            },
        }
    ],
}


def conductor_schema(registry: Registry) -> Schema:
    """The schema of a Conductor file, with the patterns of this registry."""
    types = Types(has_references=True)
    types.named |= {
        "tests": list_of(ref("test")),
        "server": config_server(),
        "response": _response(),
        "stderr": {**STRING, **pattern_of(registry, is_prefix_needed=True)},
        "performance": {**types.mapping(PERFORMANCE_KEYS), "minProperties": 1},
        "notifications": list_of({"type": ["string", "object"], "allOf": [ref(EXPECTED)]}),
        "capture": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": NAME_PATTERN},
            "additionalProperties": field_path(),
        },
    }
    types.named["expect"] = {**types.mapping(EXPECT_KEYS), "minProperties": 1}
    test = {**types.mapping(TEST_KEYS), **_together()}
    for key in SLIPPED_KEYS:
        test["properties"][key] = {**types.schema(EXPECT_KEYS[key]), "deprecated": True}
    body = types.mapping(FILE_KEYS)
    # Accepted from those who come from another tool, with a warning.
    unread = describe("Not read: give the config on the command line.", {"deprecated": True})
    body["properties"]["config"] = unread
    body["examples"] = [_EXAMPLE]
    definitions = {"test": test, **expected_definitions(registry)}
    description = "Tests of one server, each a request and what to expect: *.test.mcp.yml."
    return document("conductor", "mcptest test file", description, body, definitions)


def _response() -> Schema:
    """An answer as an object, or a pattern for all of it."""
    # They belong beside the response, not in it.
    apart = dict.fromkeys(EXPECT_KEYS, False)
    wrong = pattern_message('every answer says jsonrpc: "2.0", in quotes')
    version = {"type": "string", "pattern": rf"^(?:2\.0$|{PREFIX})", **wrong}
    return {
        "type": ["object", "string"],
        "minProperties": 1,
        "pattern": f"^{PREFIX}",
        **pattern_message("the answer as an object, or a pattern that begins with match:"),
        "properties": {"jsonrpc": version, **apart},
        "allOf": [ref(EXPECTED)],
    }


def _together() -> Schema:
    """Which keys of a test need or exclude each other."""
    no_arguments: Schema = {"properties": {"arguments": False}}
    no_name: Schema = {"properties": {"arguments": False, "unlisted": {"const": False}}}
    texts: Schema = {"properties": {"arguments": {"additionalProperties": STRING}}}
    forms: dict[str, Schema] = {
        "request": no_arguments,
        "resource": no_name,
        "prompt": texts,
        "list": no_name,
    }
    slipped = {
        key: {"properties": {"expect": {"properties": {key: False}}}} for key in SLIPPED_KEYS
    }
    return {
        "oneOf": [{"required": [form]} for form in FORMS],
        "anyOf": [{"required": [key]} for key in ("expect", *SLIPPED_KEYS)],
        "dependentSchemas": {**forms, **slipped},
        "allOf": [_without_answer(), _in_envelope(), _with_own_id()],
    }


def _with_own_id() -> Schema:
    """Only an id that is written can be sent unchanged."""
    keeps: Schema = {"required": ["wire_id"], "properties": {"wire_id": {"const": True}}}
    own: Schema = {"required": ["request"], "properties": {"request": {"required": ["id"]}}}
    return {"if": keeps, "then": own}


def _without_answer() -> Schema:
    """A notification has no answer, so nothing can be expected or saved."""
    notification: Schema = {
        "required": ["request"],
        "properties": {
            "request": {"type": "object", "minProperties": 1, "not": {"required": ["id"]}}
        },
    }
    nothing: Schema = {
        "expect": {"properties": {"response": {"not": {"type": "object"}}, "performance": False}},
        "performance": False,
        "capture": False,
    }
    return {"if": notification, "then": {"properties": nothing}}


def _in_envelope() -> Schema:
    """The answer to a short form has these keys at its top, unless there is a directive."""
    is_plain: Schema = {"propertyNames": {"pattern": f"^(?!{PREFIX})"}}
    answer: Schema = {"propertyNames": {"enum": sorted(ANSWER_KEYS)}}
    response: Schema = {"if": is_plain, "then": answer}
    return {
        "if": {"not": {"required": ["request"]}},
        "then": {"properties": {"expect": {"properties": {"response": response}}}},
    }
