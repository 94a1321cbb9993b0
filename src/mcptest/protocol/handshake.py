"""Judge the server's answer to `initialize`, or to `server/discover`.

A session can be worked with when both sides know the revision; whatever else is
missing from the answer is a finding, and the tests still run.
"""

from __future__ import annotations

from mcptest.core.record import ABSENT
from mcptest.core.results import Fault
from mcptest.core.strict_json import dump_json
from mcptest.core.text import shorten, visible
from mcptest.protocol.revisions import DEFAULT_OFFER, HANDSHAKE_REVISIONS, STATELESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = [
    "discovery_fault",
    "handshake_fault",
    "handshake_gaps",
    "is_mishap",
    "is_unspoken",
    "pinned_fault",
]

# How a server of the stateless era refuses `initialize`: it names the revisions it speaks, or
# does not know the method, which every other server has.
_STATELESS_REFUSALS = (-32022, -32601)

# How a server may refuse to be opened in an era that it does not speak: it does not know the
# request, or a part of it. Whatever else comes is a mishap.
_UNSPOKEN = (-32020, -32021, -32022, -32600, -32601, -32602)

# What no server means by it, whatever it was asked: that it failed, and that it could not read.
_MISHAPS = (-32603, -32700)


def handshake_fault(answer: dict[str, Any]) -> Fault | None:
    """Why no session can be opened on this answer, or None when it can."""
    if "error" in answer:
        return _refused(answer["error"])
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
        f"{visible(shorten(dump_json(version), 80))}; the versions with a handshake, all of "
        f"which mcptest speaks, are {', '.join(HANDSHAKE_REVISIONS)}",
        hint='"protocolVersion" in the config sets which one is offered',
    )


def _refused(error: dict[str, Any]) -> Fault:
    said = f"code {error['code']}, {dump_json(error['message'])}"
    if "data" in error:
        said += f", data {shorten(dump_json(error['data']), 200)}"
    if error["code"] in _STATELESS_REFUSALS:
        return Fault(
            kind="unsupported_version",
            message=f"the server speaks only the stateless era of the protocol, {STATELESS}: it "
            f"refused initialize: {visible(said)}",
            hint=f"leave out --spec-version, or give --spec-version {STATELESS}",
            code=error["code"],
        )
    return Fault(
        kind="handshake_refused",
        message=f"the server refused initialize: {visible(said)}",
        hint=f"one of the stateless era may do so: try --spec-version {STATELESS}",
        code=error["code"],
    )


def is_unspoken(refusal: Fault) -> bool:
    """Whether a refused `initialize` says that this era is not spoken, and not that it broke."""
    is_refused = refusal.kind == "handshake_refused" and refusal.code in _UNSPOKEN
    return is_refused or refusal.kind == "unsupported_version"


def is_mishap(refusal: Fault) -> bool:
    """Whether a request was refused because the server failed at it."""
    return refusal.kind == "handshake_refused" and refusal.code in _MISHAPS


def pinned_fault(pinned: str, result: dict[str, Any]) -> Fault | None:
    """Why the only revision that will do was not agreed on, or None when it was."""
    version = result.get("protocolVersion")
    if not pinned or version == pinned:
        return None
    shown = visible(shorten(dump_json(version), 80))
    return Fault(
        kind="unsupported_version",
        message=f"the server does not speak {pinned}: offered that, it answered with {shown}",
        hint="leave out --spec-version to take the revision that the server prefers",
    )


def discovery_fault(answer: dict[str, Any]) -> Fault | None:
    """Why no session of the stateless era can be had with this answer, or None when it can."""
    if "error" in answer:
        code = answer["error"]["code"]
        said = f"code {code}, {dump_json(answer['error']['message'])}"
        if code in _MISHAPS:
            message = f"the server failed at server/discover: {visible(said)}"
            return Fault(kind="handshake_refused", message=message, code=code)
        return Fault(
            kind="unsupported_version",
            message=f"the server does not speak the stateless era of the protocol, {STATELESS}: "
            f"it refused server/discover: {visible(said)}",
            hint="it may speak a revision with a handshake: leave out --spec-version",
            code=code,
        )
    result = answer["result"]
    versions = result.get("supportedVersions") if isinstance(result, dict) else None
    if not isinstance(versions, list):
        shown = visible(shorten(dump_json(result), 80))
        message = f"the result of server/discover must have supportedVersions and is {shown}"
        return Fault(kind="protocol_violation", message=message)
    if STATELESS in versions:
        return None
    return Fault(
        kind="unsupported_version",
        message=f"the server does not speak {STATELESS}; it says that it supports "
        f"{visible(shorten(dump_json(versions), 200))}",
    )


def handshake_gaps(result: dict[str, Any]) -> Iterator[str]:
    """What the specification wants in the result of `initialize` and is not there."""
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
            yield f"result.serverInfo.{member} must be text" + _missing(info, member)


def _missing(holder: dict[str, Any], member: str) -> str:
    return " and is missing" if member not in holder else ""
