"""`client:`: what the client can do, and its scripted answers to the server."""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.formats.client_stubs import _ACTIONS, _ERROR, KEYS
from mcptest.formats.schemas.shape import closed, said
from mcptest.formats.schemas.values import filled_text, filled_value, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcptest.formats.schemas.shape import Schema

__all__ = ["client"]


class _Filling(Record):
    """What becomes of a schema where `${name}` may stand: for a text, and for any other value."""

    text: Callable[[Schema], Schema]
    value: Callable[[Schema], Schema]


def _as_it_is(schema: Schema) -> Schema:
    return schema


_FILLED = _Filling(text=filled_text, value=filled_value)
_WRITTEN = _Filling(text=_as_it_is, value=_as_it_is)


def client(*, is_filled: bool) -> Schema:
    """The client; `is_filled` says that `${name}` may stand in it, as in a suite."""
    fill = _FILLED if is_filled else _WRITTEN
    members = {
        "capabilities": said(
            "Capabilities to declare, beside those that follow from the answers.",
            fill.value({"type": "object"}),
        ),
        "roots": said(
            "The roots that the client tells of.",
            fill.value({"type": "array", "items": _root(fill)}),
            ["file:///project"],
        ),
        "sampling": said(
            "What a model answers: a text or a whole result, or a list of them, in turn.",
            _script(_sample(fill)),
            "The capital of France is Paris.",
        ),
        "elicitation": said(
            "What the user answers, or a list of answers, in turn.",
            _script(_elicitation(fill)),
            "decline",
            {"action": "accept", "content": {"name": "Ada"}},
        ),
    }
    description = "What the client can do, and its answers when the server asks."
    return said(description, fill.value(closed(KEYS, members)))


def _root(fill: _Filling) -> Schema:
    wrong = told("a root is a URI that begins with file://")
    uri = fill.text({"type": "string", "pattern": "^file://", **wrong})
    return {**uri, "type": ["string", "object"], "properties": {"uri": uri}, "required": ["uri"]}


def _script(answer: Schema) -> Schema:
    """One answer, given every time, or a list of them."""
    return {**answer, "type": [*answer["type"], "array"], "minItems": 1, "items": answer}


def _sample(fill: _Filling) -> Schema:
    result: Schema = {"required": ["role", "content", "model"]}
    return {"type": ["string", "object"], **_unless_error(fill, result)}


def _elicitation(fill: _Filling) -> Schema:
    wrong = told(f"one of {', '.join(_ACTIONS)}")
    action = fill.text({"type": "string", "pattern": f"^(?:{'|'.join(_ACTIONS)})$", **wrong})
    result: Schema = {
        "properties": {
            "action": said("What the user does about it.", action),
            "content": said("What the user fills in.", {}),
            "_meta": said("What the protocol leaves to others.", {}),
        },
        "required": ["action"],
        "additionalProperties": False,
    }
    return {**action, "type": ["string", "object"], **_unless_error(fill, result)}


def _unless_error(fill: _Filling, result: Schema) -> Schema:
    """An answer is a result, or an error and nothing else."""
    code = fill.value({"type": "integer"})
    error = fill.value({"type": "object", "properties": {"code": code}, "required": ["code"]})
    return {
        "if": {"type": "object", "required": [_ERROR]},
        "then": {"properties": {_ERROR: error}, "maxProperties": 1},
        "else": result,
    }
