"""`client:`: what the client can do, and its scripted answers to the server."""

from __future__ import annotations

from mcptest.formats.client_stubs import _ACTIONS, KEYS
from mcptest.formats.schemas.shape import closed, said
from mcptest.formats.schemas.values import TEXT, filled_text, filled_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.schemas.shape import Schema

__all__ = ["client"]

_ROOT: Schema = {"type": "string", "pattern": "^file://"}


def client(*, is_filled: bool) -> Schema:
    """The client; `is_filled` says that `${name}` may stand in it, as in a suite."""
    text = filled_text if is_filled else _as_it_is
    value = filled_value if is_filled else _as_it_is
    members = {
        "capabilities": said(
            "Capabilities to declare beside those that follow from the answers.",
            value({"type": "object"}),
        ),
        "roots": said(
            "The roots that the client tells of.",
            value({"type": "array", "items": _root(is_filled=is_filled)}),
            ["file:///project"],
        ),
        "sampling": said(
            "What a model answers: a text or a whole result, or a list of them, in turn.",
            _script(_sample(value)),
            "The capital of France is Paris.",
        ),
        "elicitation": said(
            "What the user answers, or a list of answers, in turn.",
            _script(_elicitation(text, value)),
            "decline",
            {"action": "accept", "content": {"name": "Ada"}},
        ),
    }
    description = "What the client can do, and its answers when the server asks."
    return said(description, value(closed(KEYS, members)))


def _as_it_is(schema: Schema) -> Schema:
    return schema


def _root(*, is_filled: bool) -> Schema:
    uri = filled_text(_ROOT) if is_filled else _ROOT
    return {
        "type": ["string", "object"],
        "pattern": uri["pattern"],
        "properties": {"uri": uri, "name": TEXT},
        "required": ["uri"],
    }
