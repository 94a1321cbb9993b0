"""The coprocess protocol, version 2: requests in, one answer each, in their order. Pure.

The envelope is a closed shape: `jsonrpc`, `id`, `method`, `params` and nothing else. Two channels
use it: one drives a server (docs/coprocess.md), the other the tests of a file
(docs/suite-channel.md). Golden frames of both are under protocol/; the JSON Schemas of the frames
are built here from the declared methods.
"""

from __future__ import annotations

from mcptest.core.diagnostics import closest
from mcptest.core.plan import DEFAULT_MAX_LINE_BYTES
from mcptest.core.project import schema_url
from mcptest.core.strict_json import MAX_DEPTH, is_deeper_than
from mcptest.core.text import excerpt, shorten
from mcptest.core.typed_json import STRING, Key, TypedJsonError, check_object
from mcptest.core.value_class import ABSENT, Record
from mcptest.matching.json_values import type_name
from mcptest.protocol.framing import Frame, Overlong, encode_line
from mcptest.protocol.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcptest.core.typed_json import Key
    from mcptest.protocol.framing import Noise

    Methods = Mapping[str, dict[str, Key]]
    Schema = dict[str, Any]

__all__ = [
    "CACHE_MODES",
    "CASSETTE_MODES",
    "CONNECTION_METHODS",
    "COPROCESS_PROTOCOL_VERSION",
    "OPTIONAL_METHODS",
    "SUITE_CHANNEL_VERSION",
    "SUITE_METHODS",
    "UPSTREAM_ERROR",
    "UPSTREAM_GONE",
    "RefusedError",
    "Request",
    "check_params",
    "connection_schema",
    "describe_version_mismatch",
    "encode_error",
    "encode_result",
    "quote",
    "read_request",
    "suite_channel_schema",
]


# The SDKs and the page have it as a literal of their own; a test compares them.
COPROCESS_PROTOCOL_VERSION = 2
# The version of what `suite.list` returns.
SUITE_CHANNEL_VERSION = 1

_ENVELOPE = ("jsonrpc", "id", "method", "params")

# How much longer than a line of the server an answer may be; SDKs allow as much.
_ENVELOPE_BYTES = 64 * 1024
_MAX_MESSAGE_CHARS = 2000


class Request(Record):
    """A valid request; `params` are those of its method."""

    id: object
    method: str
    params: dict[str, Any]


def read_request(item: Frame | Noise | Overlong, methods: Methods) -> Request:
    """The request on a line, of one of these methods with their params.

    A `RefusedError` has its id, if that can be read.
    """
    if not isinstance(item, Frame):
        if isinstance(item, Overlong):
            why = f"it has more than {item.limit:,} bytes"
        else:
            why = item.reason
        raise RefusedError(PARSE_ERROR, f"the line cannot be read: {why}")
    value = item.value
    if not isinstance(value, dict):
        advice = "; send a batch as its requests, one on a line" if isinstance(value, list) else ""
        message = f"a request is one object on a line, not {type_name(value)}{advice}"
        raise RefusedError(INVALID_REQUEST, message)
    try:
        method = _read_method(value, methods)
        params = check_params(method, value.get("params", {}), methods[method])
    except RefusedError as error:
        id = value.get("id")
        error.id = id if _is_id(id) else None
        raise
    return Request(id=value["id"], method=method, params=params)


def _is_id(id: object) -> bool:
    return isinstance(id, (int, float, str)) and not isinstance(id, bool)


def _read_method(value: dict[str, Any], methods: Methods) -> str:
    """The method of a request, once its envelope is checked."""
    surplus = [key for key in value if key not in _ENVELOPE]
    if surplus:
        members = ", ".join(_ENVELOPE)
        message = f"a request has no member {quote(surplus[0])}: it has {members}, and no others"
        raise RefusedError(INVALID_REQUEST, message)
    if value.get("jsonrpc") != "2.0":
        raise RefusedError(INVALID_REQUEST, 'a request says "jsonrpc": "2.0"')
    if "id" not in value:
        message = 'a request has an "id": there are no notifications on this channel'
        raise RefusedError(INVALID_REQUEST, message)
    if not _is_id(value["id"]):
        kind = type_name(value["id"])
        message = f'a request has an "id" that is a number or a string, not {kind}'
        raise RefusedError(INVALID_REQUEST, message)
    method = value.get("method", ABSENT)
    if not isinstance(method, str):
        message = f'a request has a "method" that is a string, not {type_name(method)}'
        raise RefusedError(INVALID_REQUEST, message)
    if method not in methods:
        meant = closest(method, methods)
        question = f"; did you mean {meant}?" if meant else ""
        raise RefusedError(METHOD_NOT_FOUND, f"there is no method {quote(method)}{question}")
    return method


def describe_version_mismatch(params: dict[str, Any]) -> str:
    """Which side to upgrade if the SDK speaks another version; "" if it speaks ours."""
    ours, theirs = COPROCESS_PROTOCOL_VERSION, params["protocol_version"]
    if theirs == ours:
        return ""
    name = excerpt(params.get("sdk", ""), 40)
    sdk = f"{name} SDK" if name else "SDK"
    advice = (
        "Upgrade the mcptest binary (or pin the SDK to the matching release)."
        if theirs > ours
        else f"Upgrade the {sdk} (or pin the mcptest binary to the matching release)."
    )
    return (
        f"coprocess protocol version mismatch: this mcptest binary speaks v{ours}, the {sdk} "
        f"sent v{shorten(str(theirs), 40)}. {advice}"
    )


def encode_result(id: object, result: object, limit: int = DEFAULT_MAX_LINE_BYTES) -> bytes:
    """The line that answers a request with a result.

    `RefusedError` if an SDK would refuse the line. `limit` is that for a line of the server.
    """
    message = {"jsonrpc": "2.0", "id": id, "result": result}
    line = encode_line(message)
    why = _why_unreadable(line, message, limit)
    if why:
        advice = f"the server cannot be used like this: its answer {why}"
        raise RefusedError(UPSTREAM_ERROR, advice, id=id)
    return line


def encode_error(error: RefusedError, limit: int = DEFAULT_MAX_LINE_BYTES) -> bytes:
    """The line that answers a request with an error; data that does not fit is left out."""
    line, why = _error_line(error, error.message, error.data, limit)
    if not why:
        return line
    words = f"{shorten(error.message, _MAX_MESSAGE_CHARS)} (its data is left out: it {why})"
    # Keep the code and message of the server's own error, if its data alone is too large.
    said = error.data if isinstance(error.data, dict) and "data" in error.data else None
    rest = ABSENT if said is None else {key: said[key] for key in said if key != "data"}
    for data in (rest, ABSENT):
        line, why = _error_line(error, words, data, limit)
        if not why:
            break
    return line


def _error_line(error: RefusedError, message: str, data: object, limit: int) -> tuple[bytes, str]:
    """The line for an error, and why an SDK would refuse it."""
    body = {"code": error.code, "message": message} | ({} if data is ABSENT else {"data": data})
    whole = {"jsonrpc": "2.0", "id": error.id, "error": body}
    line = encode_line(whole)
    return line, _why_unreadable(line, whole, limit)


def _why_unreadable(line: bytes, message: object, limit: int) -> str:
    """Why an SDK would refuse a line of ours; "" if it would not."""
    if len(line) - 1 > limit + _ENVELOPE_BYTES:
        # Numbers may be longer than the server wrote them: 1e9 is 1000000000.0.
        return f"has {len(line):,} bytes when it is passed on, more than {limit:,}"
    # Counting brackets is quicker than walking the value, and enough for most lines.
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and is_deeper_than(message, MAX_DEPTH):
        return f"is nested deeper than {MAX_DEPTH} levels when it is passed on"
    return ""


# Methods and their params

CACHE_MODES = ("off", "read_write", "read_only", "refresh")
CASSETTE_MODES = ("off", "record", "replay")


_OBJECT = Key(type=dict)
_OPTIONAL_STRING = Key(type=str, required=False)
_OPTIONAL_OBJECT = Key(type=dict, required=False)

_HANDSHAKE = {
    "protocol_version": Key(type=int),
    "sdk": _OPTIONAL_STRING,
    "sdk_version": _OPTIONAL_STRING,
}

CONNECTION_METHODS: Methods = {
    "coprocess/handshake": _HANDSHAKE,
    "mcp.initialize": {},
    "mcp.call": {"tool": STRING, "arguments": _OPTIONAL_OBJECT},
    "mcp.listTools": {},
    "mcp.listResources": {},
    "mcp.readResource": {"uri": STRING},
    "mcp.callPrompt": {
        "name": _OPTIONAL_STRING,
        "prompt": _OPTIONAL_STRING,
        "arguments": _OPTIONAL_OBJECT,
    },
    "mcp.reporter.setUpload": {"enabled": Key(type=bool), "target": _OPTIONAL_STRING},
    "mcp.reporter.flush": {},
    "mcp.cache.set_mode": {"mode": Key(type=str, choices=CACHE_MODES)},
    "mcp.cassette.set_mode": {
        "mode": Key(type=str, choices=CASSETTE_MODES),
        "path": _OPTIONAL_STRING,
    },
    "mcp.shutdown": {},
}

# Added since version 2 was published. An SDK that sends one must expect that a binary of version 2
# does not know it (-32601).
OPTIONAL_METHODS: Methods = {
    "mcp.listPrompts": {},
    "mcp.listResourceTemplates": {},
    "mcp.callWithProgress": {"tool": STRING, "arguments": _OPTIONAL_OBJECT},
    "mcp.complete": {"ref": _OBJECT, "argument": _OBJECT, "context": _OPTIONAL_OBJECT},
    "mcp.ping": {},
    "mcp.subscribeResource": {"uri": STRING},
    "mcp.unsubscribeResource": {"uri": STRING},
    "mcp.notifications": {
        "after": Key(type=int, required=False),
        "method": _OPTIONAL_STRING,
        "wait_ms": Key(type=int, required=False),
    },
    "mcp.stderr": {},
}

SUITE_METHODS: Methods = {
    "coprocess/handshake": _HANDSHAKE,
    "suite.list": {},
    "suite.run": {"id": STRING},
    "mcp.shutdown": {},
}


def check_params(method: str, params: object, known: dict[str, Key]) -> dict[str, Any]:
    """The params of a method; a `RefusedError` names the one that is wrong."""
    try:
        checked = check_object(params, known)
    except TypedJsonError as error:
        raise _refusal(_describe_mistake(method, known, error)) from None
    _check_together(method, checked)
    return checked


def _describe_mistake(method: str, known: dict[str, Key], error: TypedJsonError) -> str:
    if error.problem == "unknown":
        meant = closest(error.name, known)
        takes = ", ".join(f'"{name}"' for name in known) or "none"
        advice = f'did you mean "{meant}"?' if meant else f"it takes {takes}"
        return f"{method} has no param {quote(error.name)}; {advice}"
    if error.problem == "missing":
        return f'{method} needs the param "{error.name}", {error.expected}'
    param = f'the param "{error.path}" of {method}'
    if error.problem == "choice":
        return f"{param} is one of {error.expected}, not {quote(str(error.actual))}"
    seen = type_name(error.actual)
    if error.expected == "an integer" and isinstance(error.actual, float):
        seen = "a number written with a fraction"
    what = param if error.path else f"the params of {method}"
    return f"{what} must be {error.expected}, not {seen}"


def _check_together(method: str, params: dict[str, Any]) -> None:
    """Check params that depend on each other."""
    if method == "mcp.callPrompt" and len({"name", "prompt"} & set(params)) != 1:
        raise _refusal('mcp.callPrompt needs the param "name" (or "prompt"), and one of them')
    if method == "mcp.reporter.setUpload" and params["enabled"] and not params.get("target"):
        raise _refusal('mcp.reporter.setUpload needs the param "target" to be enabled')
    for name in ("after", "wait_ms"):
        if params.get(name, 0) < 0:
            raise _refusal(f'the param "{name}" of {method} is 0 or more')
    mode = params.get("mode", "off")
    if method == "mcp.cassette.set_mode" and mode != "off" and not params.get("path"):
        raise _refusal(f'mcp.cassette.set_mode needs the param "path" to {mode}')


def _refusal(message: str) -> RefusedError:
    return RefusedError(INVALID_PARAMS, message)


# Errors: the codes of JSON-RPC, and two of our own

UPSTREAM_ERROR = -32000
UPSTREAM_GONE = -32001

_MAX_QUOTED_CHARS = 100


class RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: int, message: str, data: object = ABSENT, id: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.id = id


def quote(text: str) -> str:
    """A string of the other side, shortened and made visible for a message."""
    return f'"{excerpt(text, _MAX_QUOTED_CHARS)}"'


# JSON Schemas of the frames

_TYPES: dict[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    dict: "object",
    list: "array",
}

_STRING: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_ANY_OBJECT: Schema = {"type": "object"}


def _object(optional: tuple[str, ...] = (), **members: Schema) -> Schema:
    """An object with these members and no others."""
    required = [name for name in members if name not in optional]
    body: Schema = {"type": "object", "properties": members, "additionalProperties": False}
    return body | ({"required": required} if required else {})


def _list_of(item: Schema) -> Schema:
    return {"type": "array", "items": item}


_SHARED_RESULTS = {
    "coprocess/handshake": _object(protocol_version={"type": "integer"}, binary_version=_STRING),
    "mcp.shutdown": _object(),
}

# What a server answers is passed on unchanged, and not described here.
_CONNECTION_RESULTS: dict[str, Schema] = {
    **_SHARED_RESULTS,
    "mcp.initialize": _ANY_OBJECT,
    "mcp.call": _ANY_OBJECT,
    "mcp.listTools": _object(tools={"type": "array"}),
    "mcp.listResources": _object(resources={"type": "array"}),
    "mcp.readResource": _ANY_OBJECT,
    "mcp.callPrompt": _ANY_OBJECT,
    "mcp.reporter.setUpload": _object(enabled={"type": "boolean"}),
    "mcp.reporter.flush": _object(flushed=_COUNT),
    "mcp.cache.set_mode": _object(mode=_STRING),
    "mcp.cassette.set_mode": _object(mode=_STRING),
    "mcp.listPrompts": _object(prompts={"type": "array"}),
    "mcp.listResourceTemplates": _object(resourceTemplates={"type": "array"}),
    "mcp.callWithProgress": _object(result=_ANY_OBJECT, progress=_list_of(_ANY_OBJECT)),
    "mcp.complete": _ANY_OBJECT,
    "mcp.ping": _ANY_OBJECT,
    "mcp.subscribeResource": _ANY_OBJECT,
    "mcp.unsubscribeResource": _ANY_OBJECT,
    "mcp.notifications": _object(
        received=_COUNT,
        notifications=_list_of(
            _object(number={"type": "integer", "minimum": 1}, method=_STRING, params={})
        ),
    ),
    "mcp.stderr": _object(stderr=_STRING),
}

_SUITE_RESULTS: dict[str, Schema] = {
    **_SHARED_RESULTS,
    "suite.list": _object(
        version={"const": SUITE_CHANNEL_VERSION},
        file=_STRING,
        tests=_list_of(
            _object(
                id=_STRING,
                server=_STRING,
                name=_STRING,
                file=_STRING,
                line=_COUNT,
                tags=_list_of(_STRING),
                skip=_STRING,
                limit_ms=_COUNT,
            )
        ),
        lanes=_list_of(_object(lane=_STRING, line=_COUNT)),
        left=_list_of(_object(name=_STRING, reason=_STRING)),
        warnings=_list_of(_STRING),
    ),
    "suite.run": _object(
        status={"enum": ["passed", "failed", "error", "skipped"]},
        text=_STRING,
        file=_STRING,
        line=_COUNT,
        duration_ms={"type": "number", "minimum": 0},
        notes=_list_of(_STRING),
    ),
}


def connection_schema() -> Schema:
    """The frames of `mcptest exec --connection-server`."""
    description = "A line of the channel over which an SDK calls a server: docs/coprocess.md."
    methods = {**CONNECTION_METHODS, **OPTIONAL_METHODS}
    return _document("coprocess", description, methods, _CONNECTION_RESULTS)


def suite_channel_schema() -> Schema:
    """The frames of `mcptest exec --suite-server FILE`."""
    description = "A line of the channel over which an SDK runs a file: docs/suite-channel.md."
    return _document("suite-channel", description, SUITE_METHODS, _SUITE_RESULTS)


def _document(name: str, description: str, methods: Methods, results: dict[str, Schema]) -> Schema:
    """A request or a response; `$defs/results` has the result of each method."""
    id = {"type": ["number", "string"]}
    error = _object(("data",), code={"type": "integer"}, message=_STRING, data={})
    version = {"const": "2.0"}
    answer_id = {"type": ["number", "string", "null"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_url(name),
        "title": f"mcptest {name} frames",
        "description": description,
        "anyOf": [{"$ref": "#/$defs/request"}, {"$ref": "#/$defs/response"}],
        "$defs": {
            "request": {
                "anyOf": [
                    _object(
                        () if any(key.required for key in params.values()) else ("params",),
                        jsonrpc=version,
                        id=id,
                        method={"const": method},
                        params=_params_schema(params),
                    )
                    for method, params in methods.items()
                ]
            },
            "response": {
                "anyOf": [
                    _object(jsonrpc=version, id=id, result={}),
                    _object(jsonrpc=version, id=answer_id, error=error),
                ]
            },
            "results": {method: results[method] for method in methods},
        },
    }


def _params_schema(params: dict[str, Key]) -> Schema:
    optional = tuple(name for name, key in params.items() if not key.required)
    members = {
        name: {"type": _TYPES[key.type], **({"enum": [*key.choices]} if key.choices else {})}
        for name, key in params.items()
    }
    return _object(optional, **members)
