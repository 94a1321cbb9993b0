"""The schema of `*.test.mcp.yml`."""

from __future__ import annotations

from mcptest.core.coverage import KINDS
from mcptest.formats.conductor import _FILE_KEYS, _MAX_RETRIES, _TEST_KEYS, FORMS
from mcptest.formats.conductor_expect import (
    _ANSWER_KEYS,
    _PERFORMANCE_KEYS,
    EXPECT_KEYS,
    SLIPPED_KEYS,
    STDERR_EMPTY,
)
from mcptest.formats.schemas.parts import (
    ARGUMENTS,
    EXPECTED,
    FLAG,
    NAME_PATTERN,
    NON_EMPTY,
    TEXT,
    closed,
    document,
    duration,
    expected_definitions,
    field_path,
    only,
    pattern_of,
    ref,
    said,
    skip,
    tags,
    told,
    whole_number,
    words,
)
from mcptest.formats.schemas.servers import config_server
from mcptest.matching.patterns import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.schemas.parts import Schema
    from mcptest.matching.registry import Registry

__all__ = ["conductor_schema"]

_TEST = "test"

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
    """What may stand in a test file of Conductor."""
    server = said("How to start the server; otherwise a config says it.", config_server({}))
    tests: Schema = {"type": "array", "minItems": 1, "items": ref(_TEST)}
    members = {
        "description": said("What reports call this file.", TEXT),
        "tests": said("The tests, in the order in which they run.", tests),
        "server": server,
    }
    body = closed(_FILE_KEYS, members, ("description", "tests"))
    # Accepted from those who come from elsewhere, with a warning.
    unread = said("Not read: give the config on the command line.", {"deprecated": True})
    body["properties"]["config"] = unread
    definitions = {_TEST: _test(registry), **expected_definitions(registry)}
    description = "Tests of one server, each a request and what to expect: *.test.mcp.yml."
    body["examples"] = [_EXAMPLE]
    return document("conductor", "mcptest test file", description, body, definitions)


def _test(registry: Registry) -> Schema:
    parts = _expect_parts(registry)
    members = {
        "it": said("What this test shows.", TEXT, "reads a file"),
        **_forms(),
        "arguments": said("What the tool or the prompt is given.", ARGUMENTS, {"path": "a.txt"}),
        "expect": said(
            "What must come of it.",
            {**closed(EXPECT_KEYS, parts), "minProperties": 1},
        ),
        "timeout": duration("Longest wait for the answer."),
        "skip": skip(),
        "only": only(),
        "tags": tags(),
        "capture": _capture(),
        "retries": said(
            "How often it is tried again when it does not pass.", whole_number(0, _MAX_RETRIES)
        ),
        "wire_id": said(
            "true: the id goes out as written, even if the session has used it before.", FLAG
        ),
    }
    found = closed(_TEST_KEYS, members, ("it",))
    for key in SLIPPED_KEYS:
        found["properties"][key] = {**parts[key], "deprecated": True}
    return {**found, **_together()}


def _forms() -> dict[str, Schema]:
    lists = said("Ask for a whole list.", words(KINDS))
    return {
        "request": said(
            "A raw JSON-RPC request; without an id it is a notification.",
            {"type": "object"},
            {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        ),
        "tool": said("Call this tool.", NON_EMPTY, "read_file"),
        "resource": said("Read the resource of this URI.", NON_EMPTY, "file:///a.txt"),
        "prompt": said("Get this prompt.", NON_EMPTY, "greet"),
        "list": lists,
    }


def _together() -> Schema:
    """What the keys of a test ask of each other."""
    no_arguments: Schema = {"properties": {"arguments": False}}
    texts: Schema = {"properties": {"arguments": {"additionalProperties": TEXT}}}
    forms: dict[str, Schema] = {
        "request": no_arguments,
        "resource": no_arguments,
        "prompt": texts,
        "list": no_arguments,
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
    """Only an id that is written can be kept."""
    keeps: Schema = {"required": ["wire_id"], "properties": {"wire_id": {"const": True}}}
    own: Schema = {"required": ["request"], "properties": {"request": {"required": ["id"]}}}
    return {"if": keeps, "then": own}


def _without_answer() -> Schema:
    """A notification has no answer, so nothing can be expected or kept of it."""
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
    """The answer to a short form has these keys at its top, unless a directive stands there."""
    is_plain: Schema = {"propertyNames": {"pattern": f"^(?!{PREFIX})"}}
    answer: Schema = {"propertyNames": {"enum": sorted(_ANSWER_KEYS)}}
    response: Schema = {"if": is_plain, "then": answer}
    return {
        "if": {"not": {"required": ["request"]}},
        "then": {"properties": {"expect": {"properties": {"response": response}}}},
    }


def _expect_parts(registry: Registry) -> dict[str, Schema]:
    pattern = pattern_of(registry, is_prefix_needed=True)
    about = f"What was written to stderr meanwhile: {STDERR_EMPTY}, a text or a pattern."
    return {
        "response": _response(),
        "stderr": {**said(about, TEXT), **pattern, "examples": [STDERR_EMPTY, "match:ready"]},
        "exitCode": said("The exit code of the server, when it ends.", whole_number(-64, 255), 0),
        "performance": said(
            "How long the answer may take.", {**_performance(), "minProperties": 1}
        ),
        "notifications": said(
            "Notifications that must come: their methods, or whole messages.",
            {
                "type": "array",
                "minItems": 1,
                "items": {"type": ["string", "object"], "allOf": [ref(EXPECTED)]},
            },
            ["notifications/progress"],
        ),
    }


def _response() -> Schema:
    """An answer as an object, or a pattern for all of it."""
    # They belong beside the response, not in it.
    apart = dict.fromkeys(EXPECT_KEYS, False)
    wrong = told('every answer says jsonrpc: "2.0", in quotes')
    version = {"type": "string", "pattern": rf"^(?:2\.0$|{PREFIX})", **wrong}
    return said(
        "The whole answer: what is written must be there, and nothing else.",
        {
            "type": ["object", "string"],
            "minProperties": 1,
            "pattern": f"^{PREFIX}",
            **told("the answer as an object, or a pattern that begins with match:"),
            "properties": {"jsonrpc": version, **apart},
            "allOf": [ref(EXPECTED)],
        },
        {"result": {"match:partial": {"isError": False}}},
    )


def _performance() -> Schema:
    members = {
        "maxResponseTime": duration("The answer takes no longer.", "500ms"),
        "minResponseTime": duration("The answer takes at least as long.", "100ms"),
    }
    return closed(_PERFORMANCE_KEYS, members)


def _capture() -> Schema:
    return said(
        "What to keep of the answer, by name; ${name} stands for it in the tests that follow.",
        {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": NAME_PATTERN},
            "additionalProperties": field_path(),
        },
        {"id": "result.structuredContent.id"},
    )
