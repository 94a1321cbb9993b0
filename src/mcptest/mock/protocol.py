"""What a mock knows about MCP itself: what of a message is compared, and standard results."""

from __future__ import annotations

from mcptest import __version__
from mcptest.protocol.revisions import DEFAULT_OFFER, HANDSHAKE_REVISIONS, STATELESS_REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Message = Mapping[str, Any]
    Result = dict[str, object]

__all__ = [
    "ALWAYS_FINE",
    "BEFORE_HANDSHAKE",
    "CLIENT_CAPABILITIES",
    "INITIALIZED",
    "IN_PART",
    "LISTS",
    "LOG_LEVEL",
    "NEEDED_CAPABILITIES",
    "PROGRESS",
    "PROTOCOL_VERSION",
    "REMOVED",
    "SERVER_INFO",
    "SUBSCRIPTION_ID",
    "body_of",
    "discover_result",
    "empty_result",
    "initialize_result",
    "meta_of",
    "params_of",
]

_PREFIX = "io.modelcontextprotocol/"
PROTOCOL_VERSION = f"{_PREFIX}protocolVersion"
CLIENT_CAPABILITIES = f"{_PREFIX}clientCapabilities"
LOG_LEVEL = f"{_PREFIX}logLevel"
SERVER_INFO = f"{_PREFIX}serverInfo"
SUBSCRIPTION_ID = f"{_PREFIX}subscriptionId"

INITIALIZED = "notifications/initialized"
PROGRESS = "notifications/progress"

# Requests of a client before its session is ready: nothing is sent before their answers.
BEFORE_HANDSHAKE = ("initialize", "ping", "server/discover")

# Requests that the stateless revision no longer has.
REMOVED = frozenset(
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
)

# Notifications that a client may send at any time.
ALWAYS_FINE = frozenset(
    [INITIALIZED, "notifications/cancelled", PROGRESS, "notifications/roots/list_changed"]
)

# The capability a client must declare to be sent a request.
NEEDED_CAPABILITIES = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}

# The methods that list something, and the member of the result with the list.
LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}

# Of these messages a contract writes only a part: who the client is, and why it cancels, is up
# to the client. Every other request must be exactly what is written.
IN_PART = frozenset(["initialize", "notifications/cancelled"])

_WITH_ARGUMENTS = frozenset(["tools/call", "prompts/get"])


def params_of(message: Message) -> Mapping[str, object]:
    """The params of a message, {} if they are not an object."""
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def meta_of(message: Message) -> Mapping[str, object]:
    """The `_meta` in the params of a message, {} if it has none."""
    meta = params_of(message).get("_meta")
    return meta if isinstance(meta, dict) else {}


def body_of(message: Message) -> dict[str, object]:
    """The part of a message that is compared: its params, or its result or error.

    Ids and `_meta` differ from client to client, and a client may omit what is empty.
    """
    if "method" not in message:
        return {
            member: _without(message[member], "_meta")
            for member in ("result", "error")
            if member in message
        }
    params = message.get("params")
    if params is None or params == []:
        params = {}
    if not isinstance(params, dict):
        return {"params": params}
    omitted = ["_meta"]
    # The method in a contract may be a tag, which has no hash.
    method = message["method"] if isinstance(message["method"], str) else ""
    if method in LISTS and params.get("cursor") is None:
        omitted.append("cursor")
    if method == "notifications/cancelled":
        omitted.append("requestId")
    body = {key: value for key, value in params.items() if key not in omitted}
    if method in _WITH_ARGUMENTS and body.get("arguments") is None:
        body["arguments"] = {}
    return {"params": body}


def _without(value: object, name: str) -> object:
    if not isinstance(value, dict):
        return value
    return {key: inner for key, inner in value.items() if key != name}


def initialize_result(name: str, version: str, capabilities: Result, params: object) -> Result:
    """The result of `initialize`: the client's revision if it is a known one."""
    offered = params.get("protocolVersion") if isinstance(params, dict) else None
    return {
        "protocolVersion": offered if offered in HANDSHAKE_REVISIONS else DEFAULT_OFFER,
        "capabilities": capabilities,
        "serverInfo": {"name": name, "version": version or __version__},
    }


def discover_result(name: str, version: str, capabilities: Result) -> Result:
    """The result of `server/discover`."""
    return {
        "resultType": "complete",
        "supportedVersions": list(STATELESS_REVISIONS),
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {SERVER_INFO: {"name": name, "version": version or __version__}},
    }


_EMPTY: dict[str, Result] = {
    **{method: {member: []} for method, member in LISTS.items()},
    "tools/call": {"content": []},
    "resources/read": {"contents": []},
    "prompts/get": {"messages": []},
    "completion/complete": {"completion": {"values": []}},
}


def empty_result(method: str) -> Result:
    """The smallest valid result of a request."""
    return dict(_EMPTY.get(method, {}))
