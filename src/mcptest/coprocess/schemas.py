"""The JSON Schemas of the frames of both channels, built from their declared methods. Pure."""

from __future__ import annotations

from mcptest.coprocess.protocol import (
    CONNECTION_METHODS,
    OPTIONAL_METHODS,
    SUITE_CHANNEL_VERSION,
    SUITE_METHODS,
)
from mcptest.core.project import schema_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.coprocess.protocol import Methods
    from mcptest.core.strict_json import Key

    Schema = dict[str, Any]

__all__ = ["connection_schema", "suite_channel_schema"]

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


def _closed(optional: tuple[str, ...] = (), **members: Schema) -> Schema:
    """An object with these members and no others."""
    required = [name for name in members if name not in optional]
    body: Schema = {"type": "object", "properties": members, "additionalProperties": False}
    return body | ({"required": required} if required else {})


def _list_of(item: Schema) -> Schema:
    return {"type": "array", "items": item}


_SHARED_RESULTS = {
    "coprocess/handshake": _closed(protocol_version={"type": "integer"}, binary_version=_STRING),
    "mcp.shutdown": _closed(),
}

# What a server answers is passed on unchanged, and not described here.
_CONNECTION_RESULTS: dict[str, Schema] = {
    **_SHARED_RESULTS,
    "mcp.initialize": _ANY_OBJECT,
    "mcp.call": _ANY_OBJECT,
    "mcp.listTools": _closed(tools={"type": "array"}),
    "mcp.listResources": _closed(resources={"type": "array"}),
    "mcp.readResource": _ANY_OBJECT,
    "mcp.callPrompt": _ANY_OBJECT,
    "mcp.reporter.setUpload": _closed(enabled={"type": "boolean"}),
    "mcp.reporter.flush": _closed(flushed=_COUNT),
    "mcp.cache.set_mode": _closed(mode=_STRING),
    "mcp.cassette.set_mode": _closed(mode=_STRING),
    "mcp.listPrompts": _closed(prompts={"type": "array"}),
    "mcp.listResourceTemplates": _closed(resourceTemplates={"type": "array"}),
    "mcp.callWithProgress": _closed(result=_ANY_OBJECT, progress=_list_of(_ANY_OBJECT)),
    "mcp.complete": _ANY_OBJECT,
    "mcp.ping": _ANY_OBJECT,
    "mcp.subscribeResource": _ANY_OBJECT,
    "mcp.unsubscribeResource": _ANY_OBJECT,
    "mcp.notifications": _closed(
        received=_COUNT,
        notifications=_list_of(
            _closed(number={"type": "integer", "minimum": 1}, method=_STRING, params={})
        ),
    ),
    "mcp.stderr": _closed(stderr=_STRING),
}

_SUITE_RESULTS: dict[str, Schema] = {
    **_SHARED_RESULTS,
    "suite.list": _closed(
        version={"const": SUITE_CHANNEL_VERSION},
        file=_STRING,
        tests=_list_of(
            _closed(
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
        lanes=_list_of(_closed(lane=_STRING, line=_COUNT)),
        left=_list_of(_closed(name=_STRING, reason=_STRING)),
        warnings=_list_of(_STRING),
    ),
    "suite.run": _closed(
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
    error = _closed(("data",), code={"type": "integer"}, message=_STRING, data={})
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
                    _closed(
                        () if any(key.required for key in params.values()) else ("params",),
                        jsonrpc=version,
                        id=id,
                        method={"const": method},
                        params=_params(params),
                    )
                    for method, params in methods.items()
                ]
            },
            "response": {
                "anyOf": [
                    _closed(jsonrpc=version, id=id, result={}),
                    _closed(jsonrpc=version, id=answer_id, error=error),
                ]
            },
            "results": {method: results[method] for method in methods},
        },
    }


def _params(params: dict[str, Key]) -> Schema:
    optional = tuple(name for name, key in params.items() if not key.required)
    members = {
        name: {"type": _TYPES[key.type], **({"enum": [*key.choices]} if key.choices else {})}
        for name, key in params.items()
    }
    return _closed(optional, **members)
