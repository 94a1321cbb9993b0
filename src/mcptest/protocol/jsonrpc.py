"""JSON-RPC 2.0 messages: make them, classify them, and find what is illegal in them.

Ids are compared by JSON type and value: in Python ``1 == True == 1.0``, and a response with the
id ``"1"`` does not answer a request with the id ``1``.
"""

from __future__ import annotations

from mcptest.core.strict_json import dump_json, parse_json
from mcptest.core.text import excerpt, shorten
from mcptest.core.value_class import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal, TypeGuard

    MessageKind = Literal["request", "notification", "response", "malformed"]
    IdKey = tuple[str, object]
    Message = dict[str, object]

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "can_replace_id",
    "describe_id",
    "error_response",
    "find_violations",
    "id_key",
    "is_illegal",
    "is_log_entry",
    "is_message",
    "is_message_or_batch",
    "is_plain_answer",
    "is_plain_result",
    "message_kind",
    "meta_of",
    "notification",
    "params_of",
    "replace_id",
    "request",
    "result_response",
    "tool_failure",
]


# Error codes
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

_ID_TYPES = frozenset([str, int])
_REPLACEABLE_TYPES = frozenset([str, int, float])
_MEMBERS = frozenset(["jsonrpc", "id", "method", "params", "result", "error"])


def request(id: object, method: str, params: object = ABSENT) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "method": method} | _params(params)


def notification(method: str, params: object = ABSENT) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": method} | _params(params)


def result_response(id: object, result: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def error_response(id: object, code: int, message: str) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


def _params(params: object) -> dict[str, object]:
    return {} if params is ABSENT else {"params": params}


def id_key(id: object) -> IdKey:
    """A key that is equal for ids of the same JSON type and value."""
    kind = type(id)
    if kind is dict or kind is list:
        return ("json", dump_json(id))
    return (kind.__name__, id)


def can_replace_id(id: object) -> bool:
    """True if another id of the same JSON type can be used: not for null, booleans and the like."""
    return type(id) in _REPLACEABLE_TYPES


def replace_id(line: bytes, id: object, new: object) -> bytes:
    """The encoded request `line`, whose id is `id`, with the id `new` instead."""
    head = b'{"jsonrpc":"2.0","id":'
    old = head + _encoded(id)
    if line.startswith(old) and line[len(old) : len(old) + 1] in (b",", b"}"):
        return head + _encoded(new) + line[len(old) :]
    message = parse_json(line.decode("utf-8"))
    assert isinstance(message, dict), "only a request has an id"
    return _encoded({**message, "id": new}) + b"\n"


def _encoded(value: object) -> bytes:
    # Lone surrogates are written as JSON escapes.
    return dump_json(value).encode("utf-8", "backslashreplace")


def describe_id(id: object) -> str:
    return "no id" if id is ABSENT else f"id {dump_json(id)}"


def message_kind(message: object) -> MessageKind:
    """What a JSON value is meant to be; `find_violations` says what is wrong with it."""
    if not isinstance(message, dict):
        return "malformed"
    if "method" in message:
        return "request" if "id" in message else "notification"
    if "result" in message or "error" in message or "id" in message:
        return "response"
    return "malformed"


def is_log_entry(value: object) -> bool:
    """True if an object is not a message but, for example, an entry of a log.

    It has no version and members that no message has. It may have an id, a method or an error of
    its own. Some programs omit the version, but then the other members are those of a message.
    """
    return isinstance(value, dict) and "jsonrpc" not in value and not value.keys() <= _MEMBERS


def is_message(value: object) -> TypeGuard[dict[str, Any]]:
    """True if a JSON value is meant as a message and not, for example, as an entry of a log."""
    if not isinstance(value, dict) or message_kind(value) == "malformed" or is_log_entry(value):
        return False
    if not isinstance(value.get("method", ""), str):
        return False
    is_response = "id" in value and ("result" in value or "error" in value)
    return "jsonrpc" in value or is_response or "method" in value


def is_message_or_batch(value: object) -> bool:
    return bool(value) and all(map(is_message, value if isinstance(value, list) else [value]))


def params_of(message: object) -> dict[str, Any]:
    """The params of a message, {} if they are not an object."""
    params = message.get("params") if isinstance(message, dict) else None
    return params if isinstance(params, dict) else {}


def meta_of(message: object) -> dict[str, Any]:
    """The `_meta` in the params of a message, {} if there is none."""
    meta = params_of(message).get("_meta")
    return meta if isinstance(meta, dict) else {}


def is_plain_result(message: object) -> TypeGuard[dict[str, object]]:
    """True if this is a legal response with a result, as nearly all messages are."""
    return (
        type(message) is dict
        and "result" in message
        and message.get("jsonrpc") == "2.0"
        and type(message.get("id")) in _ID_TYPES
        and "error" not in message
        and "method" not in message
    )


def is_illegal(message: object) -> bool:
    """True if a message is not a legal request or notification."""
    return not isinstance(message, dict) or "method" not in message or any(find_violations(message))


def find_violations(message: dict[str, object]) -> Iterator[tuple[str, str]]:
    """What violates JSON-RPC 2.0 in a message, as pairs of a path and a sentence."""
    if message.get("jsonrpc") != "2.0":
        seen = dump_json(message["jsonrpc"]) if "jsonrpc" in message else "missing"
        yield "jsonrpc", f'"jsonrpc" must be "2.0" and is {seen}'
    has_illegal_id = "id" in message and type(message["id"]) not in _ID_TYPES
    if "method" in message:
        if not isinstance(message["method"], str):
            yield "method", f'"method" must be a string and is {_show(message["method"])}'
        if has_illegal_id:
            yield "id", f'"id" must be a string or an integer and is {_show(message["id"])}'
        if not isinstance(message.get("params", {}), (dict, list)):
            yield "params", '"params" must be an object or an array'
        return
    if "result" in message and "error" in message:
        yield "", 'a response must not carry both "result" and "error"'
    elif "result" not in message and "error" not in message:
        yield "", 'a response must carry "result" or "error"'
    # The id of an error is null if the server could not read that of the request.
    if has_illegal_id and message["id"] is not None:
        yield "id", f'"id" must be a string or an integer and is {_show(message["id"])}'
    if "result" in message and message.get("id") is None:
        yield "id", "a result must carry the id of its request"
    if "error" not in message:
        return
    error = message["error"]
    if not isinstance(error, dict):
        yield "error", '"error" must be an object'
        return
    code = error.get("code", ABSENT)
    if type(code) is not int:
        seen = "missing" if code is ABSENT else _show(code)
        yield "error.code", f'"error.code" must be an integer and is {seen}'
    if not isinstance(error.get("message"), str):
        yield "error.message", '"error.message" must be a string'


def _show(value: object) -> str:
    return shorten(dump_json(value), 60)


def tool_failure(result: dict[str, object], when_true: str = "the tool reports an error") -> str:
    """Why the result of a tool is not a success, "" if it is: if `isError` is false or missing."""
    value = result.get("isError", False)
    if isinstance(value, bool):
        return when_true if value else ""
    return f"isError must be true or false and is {excerpt(dump_json(value), 100)}"


def is_plain_answer(message: object) -> TypeGuard[Message]:
    """True if a result is only blocks of text, with or without `isError`, as most are."""
    # Counting members is faster than comparing sets of them.
    if type(message) is not dict or len(message) != 3 or message.get("jsonrpc") != "2.0":
        return False
    result = message.get("result")
    if type(result) is not dict or "id" not in message:
        return False
    content = result.get("content")
    has_only_content = len(result) == 1 or (
        len(result) == 2 and type(result.get("isError")) is bool
    )
    if type(content) is not list or not content or not has_only_content:
        return False
    for block in content:
        if type(block) is not dict or len(block) != 2:
            return False
        if block.get("type") != "text" or type(block.get("text")) is not str:
            return False
    return True
