"""Who said a message that a log does not say it of.

Some methods belong to servers, a response goes the way back of its request, and progress and
cancellations speak of a request. Everything else is the client's.
"""

from __future__ import annotations

from mcptest.core.jsonrpc import id_key, message_kind
from mcptest.traffic.recording import Spoken, opposite, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from mcptest.core.jsonrpc import IdKey
    from mcptest.traffic.recording import Direction, Message

    # A message, and its direction where the log has one.
    Entry = tuple[Direction | None, Any]

__all__ = ["are_turned_round", "directed", "token_of"]

_SERVER_METHODS = frozenset(
    [
        "sampling/createMessage",
        "elicitation/create",
        "roots/list",
        "notifications/message",
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/updated",
        "notifications/elicitation/complete",
        "notifications/tasks/status",
    ]
)
# Requests that no server sends.
_CLIENT_FAMILIES = ("tools", "resources", "prompts", "completion", "logging", "initialize")


def directed(entries: Iterable[Entry]) -> list[Spoken]:
    """The messages of a log with their directions; batches of the server are taken apart."""
    guess = _Guess()
    spoken: list[Spoken] = []
    for told, message in entries:
        direction = told or guess.direction(parts_of(message)[0])
        for part in parts_of(message):
            guess.hear(direction, part)
        is_batch = isinstance(message, list) and direction == "in" and _is_asking(message)
        for each in [message] if is_batch else parts_of(message):
            spoken.append(Spoken(direction=direction, message=each))
    return spoken


def are_turned_round(entries: Iterable[Entry]) -> bool:
    """Whether a log names directions as the server sees them, so that clients' requests are out."""
    told = [direction for direction, message in entries if direction and _is_clients(message)]
    return told.count("out") > told.count("in")


def _is_clients(message: Any) -> bool:
    first = parts_of(message)[0]
    family = str(first.get("method")).partition("/")[0]
    return message_kind(first) == "request" and family in _CLIENT_FAMILIES


def _is_asking(batch: list[Message]) -> bool:
    return all("method" in part for part in batch)


def token_of(message: Message) -> object:
    """The progress token that a request gives away; None when there is none."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get("progressToken") if isinstance(meta, dict) else None


class _Guess:
    """What has been said so far, as far as later messages speak of it."""

    def __init__(self) -> None:
        self._waiting: dict[IdKey, list[Direction]] = {}
        self._asked: dict[IdKey, Direction] = {}
        self._tokens: dict[IdKey, Direction] = {}

    def hear(self, direction: Direction, message: Message) -> None:
        kind = message_kind(message)
        if kind == "request":
            self._waiting.setdefault(id_key(message["id"]), []).append(direction)
            self._asked[id_key(message["id"])] = direction
            if (token := token_of(message)) is not None:
                self._tokens[id_key(token)] = direction
        elif kind == "response":
            waiting = self._waiting.get(id_key(message.get("id")), [])
            for at in reversed(range(len(waiting))):
                if waiting[at] == opposite(direction):
                    del waiting[at]
                    break

    def direction(self, message: Message) -> Direction:
        if message_kind(message) == "response":
            waiting = self._waiting.get(id_key(message.get("id")))
            # Both sides may wait under one id: then the inner request is answered first.
            return opposite(waiting[-1]) if waiting else "out"
        method = message["method"]
        spoken_of = message.get("params")
        spoken_of = spoken_of if isinstance(spoken_of, dict) else {}
        if method == "notifications/progress":
            return opposite(self._tokens.get(id_key(spoken_of.get("progressToken")), "in"))
        if method == "notifications/cancelled":
            return self._asked.get(id_key(spoken_of.get("requestId")), "in")
        return "out" if method in _SERVER_METHODS else "in"
