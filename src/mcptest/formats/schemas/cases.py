"""The schema of one document of a case file.

To a schema, what stands behind a tag is a text: what tags mean is left to the loader.
"""

from __future__ import annotations

from mcptest.formats.cases import EXTENSIONS
from mcptest.formats.schemas.patterns import EXPECTED, expected_definitions
from mcptest.formats.schemas.servers import config_server
from mcptest.formats.schemas.shape import closed, document, ref, said, words
from mcptest.formats.schemas.values import (
    FLAG,
    NON_EMPTY,
    TEXT,
    TEXTS,
    duration,
    only,
    skip,
    tags,
    told,
)
from mcptest.matching.patterns import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.schemas.shape import Schema
    from mcptest.matching.registry import Registry

__all__ = ["cases_schema"]

_MESSAGE, _SENT = "message", "sent"

# A key that begins like this holds a message.
_TURN = "^(?:in|out)"

_EXAMPLE = {
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
        "examples": [_EXAMPLE],
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
        _EXAMPLE["in"],
    )


def _awaited_message() -> Schema:
    return said(
        "What the server sends, awaited in this order.",
        {
            "properties": {"jsonrpc": {"type": "string"}},
            "not": {"required": ["result", "error"]},
            "allOf": [ref(_MESSAGE)],
        },
        _EXAMPLE["out"],
    )
