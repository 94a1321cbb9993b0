"""Add to an answer what the protocol requires and a contract may leave out.

A case writes down what it is about, and more may be there; but what a client is sent must be
a whole message, or it could not read it.
"""

from __future__ import annotations

from mcptest.core.jsonrpc import INTERNAL_ERROR
from mcptest.mock.implied import empty_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Members = dict[str, Any]

__all__ = ["completed"]


def completed(message: Members, method: str, params: object) -> Members:
    """The answer to a request with this method and params; what is written stays as it is."""
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        return message | {"error": _with(error, _ERROR)}
    if not isinstance(result, dict):
        return message
    whole = _with(result, empty_result(method))
    member, item = _ITEMS.get(method, ("", None))
    if item and isinstance(whole.get(member), list):
        whole[member] = [_item(each, item(params)) for each in whole[member]]
    return message | {"result": whole}


def _with(members: Members, required: Members) -> Members:
    """The members, and those of the required ones that are not among them."""
    return members | {key: value for key, value in required.items() if key not in members}


def _item(item: object, required: Members) -> object:
    if not isinstance(item, dict):
        return item
    if item.get("type", "text") != "text" or "blob" in item:
        # Another kind of content, or one that needs no text.
        required = {key: value for key, value in required.items() if key != "text"}
    return _with(item, required)


_ERROR: Members = {"code": INTERNAL_ERROR, "message": "error"}
_TEXT: Members = {"type": "text", "text": ""}


def _contents(params: object) -> Members:
    uri = params.get("uri") if isinstance(params, dict) else None
    return {"uri": uri if isinstance(uri, str) else "", "text": ""}


# What each item of a list in a result has in any case.
_ITEMS: dict[str, tuple[str, Callable[[object], Members]]] = {
    "tools/list": ("tools", lambda _: {"inputSchema": {"type": "object"}}),
    "tools/call": ("content", lambda _: _TEXT),
    "resources/read": ("contents", _contents),
    "prompts/get": ("messages", lambda _: {"role": "user", "content": _TEXT}),
}
