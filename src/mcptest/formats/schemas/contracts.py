"""The schema of one document of a case file.

To a schema, what stands behind a tag is a text: what tags mean is left to the loader.
"""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.formats.cases import EXTENSIONS
from mcptest.formats.schemas.parts import (
    EXPECTED,
    FLAG,
    NON_EMPTY,
    TEXT,
    TEXTS,
    closed,
    document,
    duration,
    expected_definitions,
    only,
    ref,
    said,
    skip,
    tags,
    told,
    whole_number,
    words,
)
from mcptest.formats.schemas.servers import config_server
from mcptest.formats.snapshots import _KEYS, _VERSION
from mcptest.matching.patterns import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.formats.schemas.parts import Schema
    from mcptest.matching.registry import Registry

__all__ = ["ManifestTables", "cases_schema", "manifest_schema", "snapshot_schema"]


_MESSAGE, _SENT = "message", "sent"

# A key that begins like this holds a message.
_TURN = "^(?:in|out)"

_CASES_EXAMPLE = {
    "case": "List tools",
    "in": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    "out": {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}},
}


def cases_schema(registry: Registry) -> Schema:
    """What may stand in one document of a case file."""
    known = closed(("case", *EXTENSIONS), _members())
    body: Schema = {
        **known,
        "patternProperties": {
            "^in": _sent_message(),
            "^out": _awaited_message(),
            # Whatever others keep there.
            "^_": {},
        },
        "anyOf": [
            # Some key is a turn, or the document only says how to start the server.
            {"not": {"propertyNames": {"not": {"pattern": _TURN}}}},
            {"required": ["_server"], "propertyNames": {"pattern": "^_"}},
        ],
        "if": {"required": ["_patterns"], "properties": {"_patterns": {"const": True}}},
        "then": {"patternProperties": {"^in": ref(_SENT), "^out": ref(EXPECTED)}},
        "examples": [_CASES_EXAMPLE],
    }
    sent: Schema = {
        "pattern": f"^(?!{PREFIX})",
        **told("a pattern cannot be sent: it says what must come, not what to send"),
        "items": ref(_SENT),
        "additionalProperties": ref(_SENT),
    }
    definitions = {_MESSAGE: _message(), _SENT: sent, **expected_definitions(registry)}
    description = "One case: messages of the client under in…, of the server under out…, in order."
    return document("cases", "mcptest case", description, body, definitions)


def _members() -> dict[str, Schema]:
    return {
        "case": said("What this case shows.", TEXT, "List tools"),
        "_server": said(
            "How to start the server; only in the first document.",
            config_server({}, ("command",)),
            {"command": "python3", "args": ["server.py"]},
        ),
        "_match": said("exact: nothing may come that is not written.", words(("exact", "partial"))),
        "_strict": said("true: a message that nobody expects fails the case.", FLAG),
        "_patterns": said("true: texts in out… that begin with match: are patterns.", FLAG),
        "_before": _hook("A command to run before the case."),
        "_after": _hook("A command to run after the case."),
        "_tags": tags(),
        "_skip": skip(),
        "_only": only(),
        "_timeout": duration("Longest wait for each message of the server."),
        "_description": said("What documentation says about the case.", TEXT),
        "_wire_id": said(
            "true: ids go out as written, even if the session has used them before.", FLAG
        ),
    }


def _hook(description: str) -> Schema:
    members = {
        "command": said("The program; no shell is involved.", NON_EMPTY),
        "arguments": said("Its arguments.", TEXTS),
    }
    return said(description, closed(tuple(members), members, ("command",)))


def _message() -> Schema:
    needed = [{"required": [key]} for key in ("method", "result", "error")]
    return {"type": "object", "anyOf": needed}


def _sent_message() -> Schema:
    """What the client sends: one message, or a batch of them."""
    return said(
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
    return said(
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
# Manifests are read by a package that stands above this one, so its tables come as arguments.


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


_ANYTHING: Schema = {}
_MOST_CODE = 1 << 31
_BASE64: Schema = {
    "pattern": "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    **told("this is no base64"),
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
    """What may stand in a manifest."""
    members = {
        "name": said("What the server calls itself.", TEXT),
        "version": said("The version that it tells.", TEXT),
        "instructions": said("What it tells clients about itself.", TEXT),
        "tools": said("Its tools.", _list(_tool(tables))),
        "resources": said("Its resources.", _list(_resource(tables))),
        "prompts": said("Its prompts.", _list(_prompt(tables))),
    }
    body = {**closed(tables.file, members), "examples": [_MANIFEST_EXAMPLE]}
    description = "What a mock server offers, with canned answers."
    definitions = expected_definitions(registry)
    return document("manifest", "mcptest manifest", description, body, definitions)


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _one_of(keys: Sequence[str]) -> Schema:
    return {"oneOf": [{"required": [key]} for key in keys]}


def _listed(name: Schema) -> dict[str, Schema]:
    """What a list may say of everything that is offered."""
    return {
        "name": said("Its name.", name),
        "title": said("Its name for people.", TEXT),
        "description": said("What it is for.", TEXT),
        "icons": said("Its icons, as the protocol has them.", _ANYTHING),
        "_meta": said("What the protocol leaves to others.", _ANYTHING),
    }


def _tool(tables: ManifestTables) -> Schema:
    answers = _answers()
    when = said(
        "What the arguments must be like; patterns may stand in it.",
        {"type": "object", "allOf": [ref(EXPECTED)]},
        {"who": "Bob"},
    )
    choice = closed(("when", *tables.answers), {"when": when, **answers})
    several = {**_list({**choice, **_one_of(tables.answers)}), "minItems": 1}
    schema: Schema = {
        "type": "object",
        "properties": {"type": {"const": "object"}},
        "required": ["type"],
    }
    members = {
        **_listed(NON_EMPTY),
        "inputSchema": said("The JSON Schema of its arguments.", schema),
        "outputSchema": said("The JSON Schema of its structured results.", {"type": "object"}),
        "annotations": said("Hints about it, as the protocol has them.", _ANYTHING),
        **answers,
        "answers": said("Several answers: the first whose when fits is given.", several),
    }
    keys = (*tables.answers, "answers")
    return {**closed((*tables.tool, *keys), members, ("name",)), **_one_of(keys)}


def _answers() -> dict[str, Schema]:
    code = whole_number(-_MOST_CODE, _MOST_CODE)
    error = {
        "code": said("Its number.", code, -32602),
        "message": said("What went wrong.", TEXT),
        "data": said("More about it.", _ANYTHING),
    }
    result: Schema = {"type": "object", "properties": {"content": {"type": "array"}}}
    return {
        "answer": said(
            "The text of the answer; ${args.NAME} stands for an argument.", TEXT, "Hello"
        ),
        "result": said("The whole result.", result, {"structuredContent": {"ok": True}}),
        "error": said("A JSON-RPC error.", closed(tuple(error), error, ("code", "message"))),
    }


def _resource(tables: ManifestTables) -> Schema:
    members = {
        "uri": said("What it is read by.", NON_EMPTY, "file:///readme.md"),
        **_listed(TEXT),
        "mimeType": said("The type of what it holds.", TEXT, "text/plain"),
        "size": said("How large it is, in bytes.", _ANYTHING),
        "annotations": said("Hints about it, as the protocol has them.", _ANYTHING),
        "text": said("The text that it holds.", TEXT),
        "blob": said("What it holds, as base64.", {"type": "string", **_BASE64}),
        "json": said("A value that it holds as JSON.", _ANYTHING),
    }
    found = closed((*tables.resource, *tables.contents), members, ("uri",))
    return {**found, **_one_of(tables.contents)}


def _prompt(tables: ManifestTables) -> Schema:
    argument = {
        "name": said("Its name.", TEXT),
        "title": said("Its name for people.", _ANYTHING),
        "description": said("What it is for.", _ANYTHING),
        "required": said("Whether it must be given.", FLAG),
    }
    message = {
        "role": said("Whose message it is.", words(tables.roles)),
        "content": said(
            "A text, or content as the protocol has it.", {"type": ["string", "object"]}
        ),
    }
    messages = _list(closed(tuple(message), message, tuple(message)))
    members = {
        **_listed(NON_EMPTY),
        "arguments": said("What it takes.", _list(closed(tables.argument, argument, ("name",)))),
        "messages": said("Its messages; ${args.NAME} stands for an argument.", messages),
        "text": said("The text of its only message.", TEXT, "Greet ${args.who}"),
    }
    found = closed((*tables.prompt, *tables.messages), members, ("name",))
    return {**found, **_one_of(tables.messages)}


# The schema of the file that holds the snapshots of a suite.


_SNAPSHOT_EXAMPLE = {
    "version": _VERSION,
    "snapshots": {"finds the order": {"content": [{"type": "text", "text": "A-17"}]}},
}


def snapshot_schema() -> Schema:
    """What may stand in a file of snapshots."""
    members = {
        "version": said("The version of this format.", {"const": _VERSION}),
        "snapshots": said("What was accepted, by the name of the snapshot.", {"type": "object"}),
        "json": said(
            "The same for values that YAML cannot hold: each is a text of JSON.",
            {"type": "object", "additionalProperties": TEXT},
        ),
    }
    body = {**closed(_KEYS, members, ("version", "snapshots")), "examples": [_SNAPSHOT_EXAMPLE]}
    description = "What the server answered when it was last accepted. mcptest writes this file."
    return document("snapshot", "mcptest snapshots", description, body, {})
