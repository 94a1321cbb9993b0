"""The plugin protocol, version 1: one JSON object per line in each direction. Pure.

    host to plugin   {"method": "near", "params": …, "id": 1}
    plugin to host   {"id": 1, "result": …}
                     {"id": 1, "error": {"code": -32601, "message": "…", "data": …}}

docs/plugins.md is the whole contract; golden frames are under protocol/plugin/v1.
"""

from __future__ import annotations

from mcptest.core.framing import encode_line
from mcptest.core.record import ABSENT, Record
from mcptest.plugins.errors import InvalidResponse

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_RESPONSE",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "PROTOCOL_VERSION",
    "PluginError",
    "PluginResponse",
    "encode_request",
    "read_response",
]

PROTOCOL_VERSION = 1

# What the reserved codes of an error answer mean; any other integer is the plugin's own.
PARSE_ERROR = -32700
INVALID_RESPONSE = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class PluginError(Record):
    """A plugin's own refusal; `data` is None when it sent none."""

    code: int
    message: str
    data: object = None


class PluginResponse(Record):
    """What a plugin answered: a result, or else an error."""

    id: int | str
    result: object = None
    error: PluginError | None = None


def encode_request(id: int | str, method: str, params: object = ABSENT) -> bytes:
    """A request as the line that is sent."""
    given = {} if params is ABSENT else {"params": params}
    return encode_line({"method": method, **given, "id": id})


def read_response(value: object, line: str) -> PluginResponse:
    """The response that a line holds; `InvalidResponse` when it is none.

    Members that version 1 does not know are left alone: it may gain some.
    """
    if not isinstance(value, dict):
        raise InvalidResponse("it is no object", line)
    id = _whole(value.get("id", ABSENT))
    if isinstance(id, bool) or not isinstance(id, (int, str)):
        raise InvalidResponse('its "id" must be the one of the request', line)
    if ("result" in value) == ("error" in value):
        said = "both" if "result" in value else "neither"
        raise InvalidResponse(f'it has {said} of "result" and "error"', line)
    if "result" in value:
        return PluginResponse(id=id, result=value["result"])
    return PluginResponse(id=id, error=_read_error(value["error"], line))


def _read_error(value: object, line: str) -> PluginError:
    if not isinstance(value, dict):
        raise InvalidResponse('its "error" is no object', line)
    code, message = _whole(value.get("code")), value.get("message")
    if not isinstance(code, int) or isinstance(code, bool):
        raise InvalidResponse('its error has no integer "code"', line)
    if not isinstance(message, str):
        raise InvalidResponse('its error has no "message" that is text', line)
    return PluginError(code=code, message=message, data=value.get("data"))


def _whole(value: object) -> object:
    # To JSON 1.0 is the number 1, and some languages write it so.
    return int(value) if isinstance(value, float) and value.is_integer() else value
