"""What nearly every session is made of, and nothing is wrong with.

A handshake that says no more than it must, calls of tools without anything extra, answers of
plain text. No rule but those that count and remember has anything to say of them, so the others
need not even be loaded until something else is said.
"""

from __future__ import annotations

from mcptest.core.revisions import REVISIONS
from mcptest.invariants.likeness import likeness_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.said import Said

__all__ = ["is_ordinary"]

_FRAME = frozenset(["jsonrpc", "id", "result"])
_CALL = frozenset(["jsonrpc", "id", "method", "params"])
_HELLO = frozenset(["protocolVersion", "capabilities", "serverInfo"])
_INFO = frozenset(["name", "version"])
_CAPABILITIES = frozenset(["tools", "resources", "prompts"])
_PARAMS = frozenset(["name", "arguments"])


def is_ordinary(said: Said, facts: Facts) -> bool:
    """Whether this is one of the things that are said all the time, in their plainest form."""
    if said.is_client:
        return _is_ordinary_call(said)
    if said.kind != "result" or said.http or type(said.message) is not dict:
        return False
    if said.method == "tools/call":
        return likeness_of(said, facts) is not None
    message = said.message
    if message.keys() != _FRAME or message["jsonrpc"] != "2.0" or said.request is None:
        return False
    if said.method == "ping":
        return bool(message["result"] == {})
    return said.method == "initialize" and _is_plain_hello(message["result"])


def _is_ordinary_call(said: Said) -> bool:
    if said.method in ("initialize", "notifications/initialized", "ping"):
        return said.kind in ("request", "notification")
    message = said.message
    if said.method != "tools/call" or message.keys() != _CALL:
        return False
    params = message["params"]
    return type(params) is dict and params.keys() <= _PARAMS


def _is_plain_hello(result: object) -> bool:
    if type(result) is not dict or result.keys() != _HELLO:
        return False
    capabilities, info = result["capabilities"], result["serverInfo"]
    if type(result["protocolVersion"]) is not str or result["protocolVersion"] not in REVISIONS:
        return False
    if type(info) is not dict or info.keys() != _INFO:
        return False
    if not all(type(each) is str for each in info.values()) or type(capabilities) is not dict:
        return False
    return capabilities.keys() <= _CAPABILITIES and all(
        each == {} for each in capabilities.values()
    )
