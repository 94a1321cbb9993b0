"""Add to the answers of a contract what the stateless era requires of every result.

What a contract says stays: only what it leaves out is added.
"""

from __future__ import annotations

from mcptest.mock.bodies import LISTS
from mcptest.mock.eras import LOG_LEVEL, SERVER_INFO, meta_of
from mcptest.mock.implied import discover_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.mock.respond import Player
    from mcptest.mock.state import Message, Sent

__all__ = ["is_log_wanted", "stamped"]

# Results that say how long they may be kept.
_CACHEABLE = frozenset([*LISTS, "server/discover", "resources/read"])

_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def stamped(player: Player, sent: Sent, id: object) -> Sent:
    """An answer as the stateless era has it, to the request with this id."""
    message = sent.message
    if not isinstance(message, dict):
        return sent
    result = message.get("result")
    if isinstance(result, dict):
        message = message | {"result": _stamped(player, result, sent.method)}
    return sent.but(message=message | {"id": id})


def _stamped(player: Player, result: Message, method: str) -> Message:
    name, version, capabilities = player.about
    if method == "server/discover":
        result = discover_result(name, version, capabilities) | result
    result = {"resultType": "complete"} | result
    if method in _CACHEABLE and result["resultType"] == "complete":
        result = {"ttlMs": 0, "cacheScope": "private"} | result
    meta = result.get("_meta", {})
    if isinstance(meta, dict):
        info = {"name": name, "version": version}
        result = result | {"_meta": {SERVER_INFO: info} | meta}
    return result


def is_log_wanted(request: Message, log: Message) -> bool:
    """Whether a request asked for log messages like this one; without a level, for none."""
    wanted = meta_of(request).get(LOG_LEVEL)
    params = log.get("params")
    level = params.get("level") if isinstance(params, dict) else None
    if wanted not in _LEVELS:
        return False
    return level not in _LEVELS or _LEVELS.index(level) >= _LEVELS.index(wanted)
