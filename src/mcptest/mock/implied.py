"""What a contract says without saying it: the session, and answers that say nothing.

A client asks for these before it gets to what the contract is about, so they are answered
even when no case has them.
"""

from __future__ import annotations

from mcptest import __version__
from mcptest.core.revisions import DEFAULT_OFFER, HANDSHAKE_REVISIONS
from mcptest.mock.bodies import LISTS
from mcptest.mock.eras import SERVER_INFO, STATELESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.mock.script import Script

    Result = dict[str, object]

__all__ = [
    "ALWAYS_FINE",
    "BEFORE_HANDSHAKE",
    "INITIALIZED",
    "capabilities_of",
    "discover_result",
    "empty_result",
    "initialize_result",
]


INITIALIZED = "notifications/initialized"

# Asked before a session is ready, so that nothing else may be said before their answers.
BEFORE_HANDSHAKE = ("initialize", "ping", "server/discover")

# What a client may say at any time, whether a contract speaks of it or not.
ALWAYS_FINE = frozenset(
    [
        INITIALIZED,
        "notifications/cancelled",
        "notifications/progress",
        "notifications/roots/list_changed",
    ]
)

# The session


def initialize_result(name: str, version: str, capabilities: Result, params: object) -> Result:
    """The answer to `initialize`: the client's revision if it is one we know."""
    offered = params.get("protocolVersion") if isinstance(params, dict) else None
    return {
        "protocolVersion": offered if offered in HANDSHAKE_REVISIONS else DEFAULT_OFFER,
        "capabilities": capabilities,
        "serverInfo": {"name": name, "version": version or __version__},
    }


def discover_result(name: str, version: str, capabilities: Result) -> Result:
    """The answer to `server/discover`: the revision that needs no handshake."""
    return {
        "resultType": "complete",
        "supportedVersions": [STATELESS],
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {SERVER_INFO: {"name": name, "version": version or __version__}},
    }


def capabilities_of(script: Script) -> Result:
    """What the server must declare for the messages of the contract to be allowed."""
    methods = {cue.method for cue in script.cues} | {line.method for line in script.lines}
    families = {method.removeprefix("notifications/").partition("/")[0] for method in methods}
    found: dict[str, object] = {}
    for family in ("tools", "resources", "prompts"):
        if family in families:
            changed = f"notifications/{family}/list_changed" in methods
            found[family] = {"listChanged": True} if changed else {}
    if methods & {"resources/subscribe", "notifications/resources/updated"}:
        found["resources"] = {"subscribe": True, **_members(found.get("resources"))}
    if methods & {"logging/setLevel", "notifications/message"}:
        found["logging"] = {}
    if "completion/complete" in methods:
        found["completions"] = {}
    return found


def _members(value: object) -> Result:
    return value if isinstance(value, dict) else {}


# Answers


_EMPTY: dict[str, Result] = {
    **{method: {member: []} for method, member in LISTS.items()},
    "tools/call": {"content": []},
    "resources/read": {"contents": []},
    "prompts/get": {"messages": []},
    "completion/complete": {"completion": {"values": []}},
}


def empty_result(method: str) -> Result:
    """A result that says nothing, for a request whose answer the contract leaves open."""
    return dict(_EMPTY.get(method, {}))
