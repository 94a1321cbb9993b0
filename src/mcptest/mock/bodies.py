"""What of a message is compared: its params, or its result or error, and not who is asking.

Ids differ from client to client, `_meta` belongs to whoever sends it, and a client may leave
out what is empty.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Message = Mapping[str, Any]

__all__ = ["IN_PART", "LISTS", "body_of"]

# The methods that list what there is, and the member of the answer in which it stands.
LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}

# Who a client is, and why it gives up, is its own affair: what is written of these must be
# there, and more may be. Every other request is exactly what is written.
IN_PART = frozenset(["initialize", "notifications/cancelled"])

_WITH_ARGUMENTS = frozenset(["tools/call", "prompts/get"])


def body_of(message: Message) -> dict[str, object]:
    """The part of a message that a contract is about."""
    if "method" in message:
        return {"params": _params(message)}
    return {
        member: _without_meta(message[member])
        for member in ("result", "error")
        if member in message
    }


def _params(message: Message) -> object:
    params = message.get("params")
    if params is None or params == []:
        params = {}
    if not isinstance(params, dict):
        return params
    left_out = {"_meta"}
    # A message whose method is not a string is never looked up by it, but a case may have one.
    method = message["method"] if isinstance(message["method"], str) else ""
    if method in LISTS and params.get("cursor") is None:
        left_out.add("cursor")
    if method == "notifications/cancelled":
        # An id, and so the client's own.
        left_out.add("requestId")
    body = {key: value for key, value in params.items() if key not in left_out}
    if method in _WITH_ARGUMENTS and body.get("arguments") is None:
        body["arguments"] = {}
    return body


def _without_meta(value: object) -> object:
    if not isinstance(value, dict) or "_meta" not in value:
        return value
    return {key: inner for key, inner in value.items() if key != "_meta"}
