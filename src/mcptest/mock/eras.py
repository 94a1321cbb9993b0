"""The two eras of the protocol, told apart by what a request carries.

Until 2025-11-25 a client makes a handshake first. Since 2026-07-28 there is none: each request
says in its `_meta` which revision it speaks, and what the client can do.
"""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.core.revisions import REVISIONS
from mcptest.mock.refusal import INVALID_PARAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcptest.mock.state import Message

__all__ = [
    "CLIENT_CAPABILITIES",
    "HEADER_MISMATCH",
    "LOG_LEVEL",
    "MISSING_CAPABILITY",
    "PROTOCOL_VERSION",
    "REMOVED",
    "SERVER_INFO",
    "STATELESS",
    "SUBSCRIPTION_ID",
    "UNSUPPORTED_VERSION",
    "Fault",
    "envelope_fault",
    "has_envelope",
    "meta_of",
    "params_of",
    "unsupported",
    "version_fault",
]

(STATELESS,) = (each.version for each in REVISIONS.values() if not each.has_handshake)

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

_PREFIX = "io.modelcontextprotocol/"
PROTOCOL_VERSION = f"{_PREFIX}protocolVersion"
CLIENT_CAPABILITIES = f"{_PREFIX}clientCapabilities"
LOG_LEVEL = f"{_PREFIX}logLevel"
SERVER_INFO = f"{_PREFIX}serverInfo"
SUBSCRIPTION_ID = f"{_PREFIX}subscriptionId"

# What every request must carry.
_REQUIRED = (PROTOCOL_VERSION, CLIENT_CAPABILITIES)

# Requests that the stateless era has no more.
REMOVED = frozenset(
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
)


class Fault(Record):
    """Why a request is not even looked at: an error for its answer."""

    code: int
    sentence: str
    data: dict[str, object] | None = None


def params_of(message: Message) -> Mapping[str, object]:
    """The params of a message, {} when they are not an object."""
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def meta_of(message: Message) -> Mapping[str, object]:
    """The `_meta` of a message, {} when it has none."""
    meta = params_of(message).get("_meta")
    return meta if isinstance(meta, dict) else {}


def has_envelope(message: Message) -> bool:
    """Whether a message means to be of the stateless era."""
    return any(key in meta_of(message) for key in _REQUIRED)


def envelope_fault(message: Message) -> Fault | None:
    """What is missing in the `_meta` of a request, or has the wrong shape."""
    meta = meta_of(message)
    missing = [key for key in _REQUIRED if key not in meta]
    if missing:
        sentence = f"params._meta must have {' and '.join(missing)}, as in every request"
        return Fault(code=INVALID_PARAMS, sentence=f"{sentence} of revision {STATELESS}")
    if not isinstance(meta[PROTOCOL_VERSION], str):
        return Fault(code=INVALID_PARAMS, sentence=f"{PROTOCOL_VERSION} must be text")
    if not isinstance(meta[CLIENT_CAPABILITIES], dict):
        return Fault(code=INVALID_PARAMS, sentence=f"{CLIENT_CAPABILITIES} must be an object")
    return None


def version_fault(message: Message) -> Fault | None:
    """The fault of a request that speaks another revision; its envelope is there."""
    version = meta_of(message).get(PROTOCOL_VERSION)
    return None if version == STATELESS else unsupported(version)


def unsupported(version: object) -> Fault:
    """The fault that names the revisions a client may choose from."""
    requested = version if isinstance(version, str) else ""
    return Fault(
        code=UNSUPPORTED_VERSION,
        sentence=f"revision {requested!r} is not spoken here without a handshake, {STATELESS} is",
        data={"supported": [STATELESS], "requested": requested},
    )
