"""Judge the server's answer to `initialize`.

A session can be worked with when both sides know the revision; whatever else is
missing from the answer is a finding, and the tests still run.
"""

from __future__ import annotations

from mcptest.core.outcome import ABSENT, Fault
from mcptest.core.revisions import DEFAULT_OFFER, HANDSHAKE_REVISIONS
from mcptest.core.strict_json import dump_json
from mcptest.core.visible import shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["handshake_fault", "handshake_gaps"]

# A server of the stateless era may refuse `initialize` with this code.
_UNSUPPORTED_VERSION = -32022


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
    hint = ""
    if error["code"] == _UNSUPPORTED_VERSION:
        hint = (
            "this is how a server answers that speaks only the stateless revision 2026-07-28, "
            "which this version of mcptest cannot drive yet"
        )
    message = f"the server refused initialize: {visible(said)}"
    return Fault(kind="handshake_refused", message=message, hint=hint)


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
