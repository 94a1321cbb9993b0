"""The schema of one document of a case file.

To a schema, a tagged value is a string: tags are checked by the loader.
"""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.formats.cases import CASE, EXTENSIONS
from mcptest.formats.keys import ANYTHING, FLAG, NON_EMPTY, STRING, Keys, one_of, whole_number
from mcptest.formats.schemas.matchers import EXPECTED, expected_definitions
from mcptest.formats.schemas.types import (
    Types,
    config_server,
    describe,
    document,
    object_with,
    pattern_message,
    ref,
)
from mcptest.formats.snapshots import KEYS, VERSION
from mcptest.matching.patterns import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.formats.keys import Schema
    from mcptest.matching.registry import Registry

__all__ = ["ManifestTables", "cases_schema", "manifest_schema", "snapshot_schema"]


_MESSAGE, _SENT = "message", "sent"
_MEMBERS = ("method", "result", "error")

# A key that begins like this holds a message.
_TURN = "^(?:in|out)"

_CASES_EXAMPLE = {
    "case": "List tools",
    "in": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    "out": {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}},
}


def cases_schema(registry: Registry) -> Schema:
    """The schema of one document of a case file."""
    types = Types()
    types.named["server"] = config_server(required=("command",))
    body: Schema = {
        **types.mapping(Keys({"case": CASE, **EXTENSIONS})),
        "patternProperties": {
            "^in": _sent_message(),
            "^out": _awaited_message(),
            # Whatever others keep there.
            "^_": {},
        },
        "anyOf": [
            # Some key is a turn, or the document only says how to start the server.
            {"not": {"propertyNames": {"not": {"pattern": _TURN}}}},
            *(
                {"required": [key], "propertyNames": {"pattern": "^_"}}
                for key in ("_server", "_protocol_version")
            ),
        ],
        "if": {"required": ["_patterns"], "properties": {"_patterns": {"const": True}}},
        "then": {"patternProperties": {"^in": ref(_SENT), "^out": ref(EXPECTED)}},
        "examples": [_CASES_EXAMPLE],
    }
    sent: Schema = {
        "pattern": f"^(?!{PREFIX})",
        **pattern_message("a pattern cannot be sent: it says what must come, not what to send"),
        "items": ref(_SENT),
        "additionalProperties": ref(_SENT),
    }
    message = {"type": "object", "anyOf": [{"required": [key]} for key in _MEMBERS]}
    definitions = {_MESSAGE: message, _SENT: sent, **expected_definitions(registry)}
    description = "One case: messages of the client under in…, of the server under out…, in order."
    return document("cases", "mcptest case", description, body, definitions)


def _sent_message() -> Schema:
    """What the client sends: one message, or a batch of them."""
    return describe(
        "What the client sends: a request, a notification or an answer, or a list of them.",
        {
            "type": ["object", "array"],
            "minItems": 1,
            "items": ref(_MESSAGE),
            "anyOf": [{"type": "array"}, ref(_MESSAGE)],
        },
        _CASES_EXAMPLE["in"],
    )


def _awaited_message() -> Schema:
    return describe(
        "What the server sends, awaited in this order.",
        {
            "properties": {"jsonrpc": {"type": "string"}},
            "not": {"required": ["result", "error"]},
            "allOf": [ref(_MESSAGE)],
        },
        _CASES_EXAMPLE["out"],
    )


# The schema of a manifest: what a mock offers, with canned answers.
#
# The loader of manifests is in a package above this one, so its tables are arguments.


class ManifestTables(Record):
    """The keys that the loader of manifests knows.

    `answers`, `contents` and `messages` are the keys of which a tool, a resource and a prompt
    have exactly one; beside `answers` a tool may have a list of them.
    """

    file: tuple[str, ...]
    tool: tuple[str, ...]
    answers: tuple[str, ...]
    resource: tuple[str, ...]
    contents: tuple[str, ...]
    prompt: tuple[str, ...]
    messages: tuple[str, ...]
    argument: tuple[str, ...]
    roles: tuple[str, ...]


_MOST_CODE = 1 << 31
_BASE64: Schema = {
    "pattern": "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    **pattern_message("this is not base64"),
}

_MANIFEST_EXAMPLE = {
    "tools": [
        {
            "name": "greet",
            "inputSchema": {
                "type": "object",
                "properties": {"who": {"type": "string"}},
                "required": ["who"],
            },
            "answer": "Hello ${args.who}",
        }
    ]
}


def manifest_schema(registry: Registry, tables: ManifestTables) -> Schema:
    """The schema of a manifest."""
    members = {
        "name": describe("What the server calls itself.", STRING),
        "version": describe("The version of the server.", STRING),
        "instructions": describe("The instructions for clients.", STRING),
        "tools": describe("Its tools.", _list(_tool(tables))),
        "resources": describe("Its resources.", _list(_resource(tables))),
        "prompts": describe("Its prompts.", _list(_prompt(tables))),
    }
    body = {**_closed(tables.file, members), "examples": [_MANIFEST_EXAMPLE]}
    description = "What a mock server offers, with canned answers."
    definitions = expected_definitions(registry)
    return document("manifest", "mcptest manifest", description, body, definitions)


def _closed(
    keys: Sequence[str], members: dict[str, Schema], required: Sequence[str] = ()
) -> Schema:
    """A mapping with the keys that the loader of manifests knows."""
    assert set(keys) == members.keys(), "every key of a manifest has its schema"
    return object_with(members, required)


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _one_of(keys: Sequence[str]) -> Schema:
    return {"oneOf": [{"required": [key]} for key in keys]}


def _listed(name: Schema) -> dict[str, Schema]:
    """What a list may say of everything that is offered."""
    return {
        "name": describe("Its name.", name),
        "title": describe("Its name for people.", STRING),
        "description": describe("What it is for.", STRING),
        "icons": describe("Its icons, as the protocol has them.", ANYTHING),
        "_meta": describe("What the protocol leaves to others.", ANYTHING),
    }


def _tool(tables: ManifestTables) -> Schema:
    answers = _answers()
    when = describe(
        "What the arguments must be like; it may have patterns.",
        {"type": "object", "allOf": [ref(EXPECTED)]},
        {"who": "Bob"},
    )
    choice = _closed(("when", *tables.answers), {"when": when, **answers})
    several = {**_list({**choice, **_one_of(tables.answers)}), "minItems": 1}
    schema: Schema = {
        "type": "object",
        "properties": {"type": {"const": "object"}},
        "required": ["type"],
    }
    members = {
        **_listed(NON_EMPTY),
        "inputSchema": describe("The JSON Schema of its arguments.", schema),
        "outputSchema": describe("The JSON Schema of its structured results.", {"type": "object"}),
        "annotations": describe("Hints about it, as the protocol has them.", ANYTHING),
        **answers,
        "answers": describe("Several answers: the first whose when fits is given.", several),
    }
    keys = (*tables.answers, "answers")
    return {**_closed((*tables.tool, *keys), members, ("name",)), **_one_of(keys)}


def _answers() -> dict[str, Schema]:
    code = whole_number(-_MOST_CODE, _MOST_CODE)
    error = {
        "code": describe("Its number.", code, -32602),
        "message": describe("What went wrong.", STRING),
        "data": describe("More about it.", ANYTHING),
    }
    result: Schema = {"type": "object", "properties": {"content": {"type": "array"}}}
    return {
        "answer": describe(
            "The text of the answer; ${args.NAME} stands for an argument.", STRING, "Hello"
        ),
        "result": describe("The whole result.", result, {"structuredContent": {"ok": True}}),
        "error": describe("A JSON-RPC error.", object_with(error, ("code", "message"))),
    }


def _resource(tables: ManifestTables) -> Schema:
    members = {
        "uri": describe("What it is read by.", NON_EMPTY, "file:///readme.md"),
        **_listed(STRING),
        "mimeType": describe("The type of what it holds.", STRING, "text/plain"),
        "size": describe("How large it is, in bytes.", ANYTHING),
        "annotations": describe("Hints about it, as the protocol has them.", ANYTHING),
        "text": describe("The text that it holds.", STRING),
        "blob": describe("What it holds, as base64.", {"type": "string", **_BASE64}),
        "json": describe("A value that it holds as JSON.", ANYTHING),
    }
    found = _closed((*tables.resource, *tables.contents), members, ("uri",))
    return {**found, **_one_of(tables.contents)}


def _prompt(tables: ManifestTables) -> Schema:
    argument = {
        "name": describe("Its name.", STRING),
        "title": describe("Its name for people.", ANYTHING),
        "description": describe("What it is for.", ANYTHING),
        "required": describe("Whether it must be given.", FLAG),
    }
    message = {
        "role": describe("Whose message it is.", one_of(tables.roles)),
        "content": describe(
            "A text, or content as the protocol has it.", {"type": ["string", "object"]}
        ),
    }
    messages = _list(object_with(message, tuple(message)))
    members = {
        **_listed(NON_EMPTY),
        "arguments": describe(
            "What it takes.", _list(_closed(tables.argument, argument, ("name",)))
        ),
        "messages": describe("Its messages; ${args.NAME} stands for an argument.", messages),
        "text": describe("The text of its only message.", STRING, "Greet ${args.who}"),
    }
    found = _closed((*tables.prompt, *tables.messages), members, ("name",))
    return {**found, **_one_of(tables.messages)}


# The file that holds the snapshots of a suite.

_SNAPSHOT_EXAMPLE = {
    "version": VERSION,
    "snapshots": {"finds the order": {"content": [{"type": "text", "text": "A-17"}]}},
}


def snapshot_schema() -> Schema:
    """The schema of a file of snapshots."""
    body = {**Types().mapping(KEYS), "examples": [_SNAPSHOT_EXAMPLE]}
    description = "What the server answered when it was last accepted. mcptest writes this file."
    return document("snapshot", "mcptest snapshots", description, body, {})
