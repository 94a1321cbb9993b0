"""The published revisions of MCP, and how a client and a server agree on one.

A new revision is one row of `REVISIONS`, plus what really changed in it: rules and message shapes
name the first and the last revision that has them (`since`, `until`). Versions are dates, and
compare as strings.

The second part judges the server's answer to `initialize` or `server/discover`: a fault if the
two cannot work together, and gaps in the answer, with which the tests still run.
"""

from __future__ import annotations

from mcptest.core.results import Fault
from mcptest.core.strict_json import dump_json
from mcptest.core.text import excerpt, shorten, visible
from mcptest.core.value_class import ABSENT, Record
from mcptest.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = [
    "DEFAULT_OFFER",
    "FIRST_STATELESS",
    "HANDSHAKE_REVISIONS",
    "HEADER_MISMATCH",
    "META_CAPABILITIES",
    "META_CLIENT_INFO",
    "META_LOG_LEVEL",
    "META_SERVER_INFO",
    "META_SUBSCRIPTION",
    "META_TASK",
    "MISSING_CAPABILITY",
    "NEWEST_STATELESS",
    "RESOURCE_NOT_FOUND",
    "REVISIONS",
    "STATELESS_REVISIONS",
    "TASKS_EXTENSION",
    "UNSUPPORTED_VERSION",
    "URL_ELICITATION_REQUIRED",
    "VERSION_KEY",
    "Revision",
    "choose_stateless",
    "discovery_fault",
    "handshake_fault",
    "handshake_gaps",
    "is_server_failure",
    "pinned_fault",
    "refuses_era",
]


class Revision(Record):
    """One published revision, and what a client must do differently in it."""

    version: str
    # No handshake: every request names the revision and the capabilities of the client.
    is_stateless: bool = False
    has_batches: bool = False
    server_may_ask: bool = True
    # Tasks as a part of the protocol itself, not as an extension.
    has_tasks: bool = False
    # Over HTTP: a header with the revision after the handshake, and a stream that is opened with
    # GET for what the server sends on its own.
    has_version_header: bool = True
    has_get_stream: bool = True
    # Over HTTP: a stream may begin with an event that has an id and no data, to resume it by.
    has_primed_streams: bool = False

    @property
    def has_handshake(self) -> bool:
        return not self.is_stateless


REVISIONS = {
    revision.version: revision
    for revision in (
        Revision(version="2024-11-05", has_version_header=False),
        Revision(version="2025-03-26", has_batches=True, has_version_header=False),
        Revision(version="2025-06-18"),
        Revision(version="2025-11-25", has_tasks=True, has_primed_streams=True),
        Revision(
            version="2026-07-28", is_stateless=True, server_may_ask=False, has_get_stream=False
        ),
    )
}

# The two eras, each from its oldest revision to its newest.
HANDSHAKE_REVISIONS = tuple(
    revision.version for revision in REVISIONS.values() if not revision.is_stateless
)
STATELESS_REVISIONS = tuple(
    revision.version for revision in REVISIONS.values() if revision.is_stateless
)

# What a client offers in each era. A server that is older names the revision it has instead.
DEFAULT_OFFER = HANDSHAKE_REVISIONS[-1]
NEWEST_STATELESS = STATELESS_REVISIONS[-1]

# Since when there is what the stateless era brought.
FIRST_STATELESS = STATELESS_REVISIONS[0]

# Where a request of a stateless revision names the revision it uses.
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
# Other keys of `_meta`, and the name of the extension for tasks.
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
META_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
META_TASK = "io.modelcontextprotocol/related-task"
TASKS_EXTENSION = "io.modelcontextprotocol/tasks"

# Error codes that the stateless revision withdrew.
RESOURCE_NOT_FOUND = -32002
URL_ELICITATION_REQUIRED = -32042

# Error codes of the stateless revision.
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022


# Opening a session

# How a server of the stateless era refuses `initialize`: by the revisions it supports, or as an
# unknown method, which every other server has.
_STATELESS_REFUSALS = (UNSUPPORTED_VERSION, METHOD_NOT_FOUND)

# How a server refuses to be opened in an era that it does not support: it does not know the
# request, or a part of it.
_ERA_REFUSALS = (
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    INVALID_PARAMS,
)

# The server failed, or could not read the request.
_SERVER_FAILURES = (INTERNAL_ERROR, PARSE_ERROR)


def handshake_fault(answer: dict[str, Any]) -> Fault | None:
    """The fault if no session can be opened with this answer to `initialize`."""
    if "error" in answer:
        return _refusal(answer["error"])
    if not isinstance(answer["result"], dict):
        shown = shorten(dump_json(answer["result"]), 80)
        return Fault(
            kind="protocol_violation",
            message=f"the result of initialize must be an object and is {visible(shown)}",
        )
    version = answer["result"].get("protocolVersion", ABSENT)
    if version is ABSENT or version in HANDSHAKE_REVISIONS:
        return None
    return Fault(
        kind="unsupported_version",
        message=f"the server answered initialize with protocol version "
        f"{excerpt(dump_json(version), 80)}; the versions with a handshake, all of "
        f"which mcptest speaks, are {', '.join(HANDSHAKE_REVISIONS)}",
        hint='"protocolVersion" in the config sets which one is offered',
    )


def _refusal(error: dict[str, Any]) -> Fault:
    said = f"code {error['code']}, {dump_json(error['message'])}"
    if "data" in error:
        said += f", data {shorten(dump_json(error['data']), 200)}"
    if error["code"] in _STATELESS_REFUSALS:
        return Fault(
            kind="unsupported_version",
            message="the server speaks only the stateless era of the protocol, "
            f"{' or '.join(STATELESS_REVISIONS)}: it refused initialize: {visible(said)}",
            hint=f"leave out --spec-version, or give --spec-version {NEWEST_STATELESS}",
            code=error["code"],
        )
    return Fault(
        kind="handshake_refused",
        message=f"the server refused initialize: {visible(said)}",
        hint=f"one of the stateless era may do so: try --spec-version {NEWEST_STATELESS}",
        code=error["code"],
    )


def refuses_era(refusal: Fault) -> bool:
    """True if a server refused `initialize` because it does not support this era."""
    is_refused = refusal.kind == "handshake_refused" and refusal.code in _ERA_REFUSALS
    return is_refused or refusal.kind == "unsupported_version"


def is_server_failure(refusal: Fault) -> bool:
    """True if a request was refused because the server failed."""
    return refusal.kind == "handshake_refused" and refusal.code in _SERVER_FAILURES


def pinned_fault(pinned: str, result: dict[str, Any]) -> Fault | None:
    """The fault if the server did not agree on the pinned revision."""
    version = result.get("protocolVersion")
    if not pinned or version == pinned:
        return None
    shown = excerpt(dump_json(version), 80)
    return Fault(
        kind="unsupported_version",
        message=f"the server does not speak {pinned}: offered that, it answered with {shown}",
        hint="leave out --spec-version to take the revision that the server prefers",
    )


def choose_stateless(answer: dict[str, Any], offered: str) -> str:
    """The revision to use after this answer to `server/discover`; "" if there is none.

    That is the offered one if the server supports it, else the newest that both support.
    """
    if "error" in answer:
        is_about_version = answer["error"]["code"] == UNSUPPORTED_VERSION
        said, member = answer["error"].get("data") if is_about_version else None, "supported"
    else:
        said, member = answer["result"], "supportedVersions"
    supported = said.get(member) if isinstance(said, dict) else None
    if not isinstance(supported, list):
        return ""
    preferred = (offered, *reversed(STATELESS_REVISIONS))
    return next((version for version in preferred if version in supported), "")


def discovery_fault(answer: dict[str, Any], version: str) -> Fault | None:
    """The fault if this answer to `server/discover` rules out a session in this revision."""
    if "error" in answer:
        code = answer["error"]["code"]
        said = f"code {code}, {dump_json(answer['error']['message'])}"
        if code in _SERVER_FAILURES:
            message = f"the server failed at server/discover: {visible(said)}"
            return Fault(kind="handshake_refused", message=message, code=code)
        return Fault(
            kind="unsupported_version",
            message=f"the server does not speak the stateless era of the protocol, {version}: "
            f"it refused server/discover: {visible(said)}",
            hint="it may speak a revision with a handshake: leave out --spec-version",
            code=code,
        )
    result = answer["result"]
    versions = result.get("supportedVersions") if isinstance(result, dict) else None
    if not isinstance(versions, list):
        shown = excerpt(dump_json(result), 80)
        message = f"the result of server/discover must have supportedVersions and is {shown}"
        return Fault(kind="protocol_violation", message=message)
    if version in versions:
        return None
    return Fault(
        kind="unsupported_version",
        message=f"the server does not speak {version}; it says that it supports "
        f"{excerpt(dump_json(versions), 200)}",
    )


def handshake_gaps(result: dict[str, Any]) -> Iterator[str]:
    """Sentences about required members of the result of `initialize` that are missing or wrong."""
    if "protocolVersion" not in result:
        yield f"result.protocolVersion is missing; {DEFAULT_OFFER} is assumed"
    if not isinstance(result.get("capabilities"), dict):
        yield "result.capabilities must be an object" + _missing(result, "capabilities")
    info = result.get("serverInfo")
    if not isinstance(info, dict):
        yield "result.serverInfo must be an object" + _missing(result, "serverInfo")
        return
    for member in ("name", "version"):
        if not isinstance(info.get(member), str):
            yield f"result.serverInfo.{member} must be a string" + _missing(info, member)


def _missing(holder: dict[str, Any], member: str) -> str:
    return "" if member in holder else " and is missing"
