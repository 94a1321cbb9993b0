"""The coprocess protocol, version 2: requests in, one answer each, in their order. Pure.

The envelope is a closed shape: `jsonrpc`, `id`, `method`, `params` and nothing else.
docs/coprocess.md is the whole contract; golden frames are under protocol/coprocess/v2.
"""

from __future__ import annotations

from mcptest.core.framing import Frame, Overlong, encode_line
from mcptest.core.outcome import ABSENT
from mcptest.core.record import Record
from mcptest.core.suggest import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.core.framing import Noise

__all__ = [
    "COPROCESS_PROTOCOL_VERSION",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "METHODS",
    "UPSTREAM_ERROR",
    "UPSTREAM_GONE",
    "RefusedError",
    "Request",
    "answer",
    "mismatch",
    "read_request",
    "refusal",
]

COPROCESS_PROTOCOL_VERSION = 2

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UPSTREAM_ERROR = -32000
UPSTREAM_GONE = -32001

_ENVELOPE = ("jsonrpc", "id", "method", "params")

# The params of every method: their types, and which may be left out (those with a "?").
METHODS: dict[str, dict[str, str]] = {
    "coprocess/handshake": {"protocol_version": "int", "sdk": "text?", "sdk_version": "text?"},
    "mcp.initialize": {},
    "mcp.call": {"tool": "text", "arguments": "object?"},
    "mcp.listTools": {},
    "mcp.listResources": {},
    "mcp.readResource": {"uri": "text"},
    "mcp.callPrompt": {"name": "text?", "prompt": "text?", "arguments": "object?"},
    "mcp.reporter.setUpload": {"enabled": "bool", "target": "text?"},
    "mcp.reporter.flush": {},
    "mcp.cache.set_mode": {"mode": "text"},
    "mcp.cassette.set_mode": {"mode": "text", "path": "text?"},
    "mcp.shutdown": {},
}

_TYPES: dict[str, tuple[type, str]] = {
    "int": (int, "an integer"),
    "text": (str, "a string"),
    "object": (dict, "an object"),
    "bool": (bool, "true or false"),
}


class RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: int, message: str, data: object = ABSENT, id: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.id = id


class Request(Record):
    """A request that is what it should be; `params` are those of its method."""

    id: object
    method: str
    params: dict[str, Any]


def read_request(item: Frame | Noise | Overlong) -> Request:
    """The request on a line; `RefusedError` with its id, as far as it can be read."""
    if not isinstance(item, Frame):
        why = "it is too long" if isinstance(item, Overlong) else item.reason
        raise RefusedError(PARSE_ERROR, f"the line cannot be read: {why}")
    value = item.value
    if not isinstance(value, dict):
        raise RefusedError(INVALID_REQUEST, "a request is one object on a line")
    id = value.get("id", ABSENT)
    known = id if _is_id(id) else None
    try:
        return Request(id=id, method=_method(value), params=_params(value))
    except RefusedError as error:
        error.id = known
        raise


def _is_id(id: object) -> bool:
    return isinstance(id, (int, float, str)) and not isinstance(id, bool)


def _method(value: dict[str, Any]) -> str:
    surplus = [key for key in value if key not in _ENVELOPE]
    if surplus:
        raise RefusedError(INVALID_REQUEST, f'a request has no member "{surplus[0]}"')
    if value.get("jsonrpc") != "2.0":
        raise RefusedError(INVALID_REQUEST, 'a request says "jsonrpc": "2.0"')
    if not _is_id(value.get("id", ABSENT)):
        message = 'a request has an "id" that is a number or a string'
        raise RefusedError(INVALID_REQUEST, message)
    method = value.get("method")
    if not isinstance(method, str):
        raise RefusedError(INVALID_REQUEST, 'a request has a "method" that is a string')
    if method not in METHODS:
        meant = closest(method, METHODS)
        question = f"; did you mean {meant}?" if meant else ""
        raise RefusedError(METHOD_NOT_FOUND, f'there is no method "{method}"{question}')
    return method


def _params(value: dict[str, Any]) -> dict[str, Any]:
    method, params = value["method"], value.get("params", {})
    if not isinstance(params, dict):
        raise RefusedError(INVALID_PARAMS, f"the params of {method} are an object")
    wanted = METHODS[method]
    for name in params:
        if name not in wanted:
            raise RefusedError(INVALID_PARAMS, f'{method} has no param "{name}"')
    for name, kind in wanted.items():
        _refuse_wrong(method, name, kind, params)
    return params


def _refuse_wrong(method: str, name: str, kind: str, params: dict[str, Any]) -> None:
    if name not in params:
        if not kind.endswith("?"):
            raise RefusedError(INVALID_PARAMS, f'{method} needs the param "{name}"')
        return
    wanted, words = _TYPES[kind.removesuffix("?")]
    value = params[name]
    is_right = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
    if not is_right:
        raise RefusedError(INVALID_PARAMS, f'the param "{name}" of {method} must be {words}')


def mismatch(params: dict[str, Any]) -> str:
    """Which side to upgrade, when an SDK speaks another version; "" when it speaks ours."""
    ours, theirs = COPROCESS_PROTOCOL_VERSION, params["protocol_version"]
    if theirs == ours:
        return ""
    sdk = f"{params['sdk']} SDK" if params.get("sdk") else "SDK"
    advice = (
        "Upgrade the mcptest binary (or pin the SDK to the matching release)."
        if theirs > ours
        else f"Upgrade the {sdk} (or pin the mcptest binary to the matching release)."
    )
    return (
        f"coprocess protocol version mismatch: this mcptest binary speaks v{ours}, the {sdk} "
        f"sent v{theirs}. {advice}"
    )


def answer(id: object, result: object) -> bytes:
    return encode_line({"jsonrpc": "2.0", "id": id, "result": result})


def refusal(error: RefusedError) -> bytes:
    body: dict[str, object] = {"code": error.code, "message": error.message}
    if error.data is not ABSENT:
        body["data"] = error.data
    return encode_line({"jsonrpc": "2.0", "id": error.id, "error": body})
