"""Tell the exchanges of a capture to a scorer, in the order in which everything was said.

Exchanges come one at a time, as dicts of a capture file. Those with an `order` are put into the
order of their numbers; others are told as they stand: request, what the server said on its own,
our answers to that, noise, response.
"""

from __future__ import annotations

import heapq

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.invariants.scoring import Scorer

    Exchange = dict[str, Any]
    # When it was said, a number that keeps the order, the member, the value, and its place.
    Event = tuple[int, int, str, Any, int, float | None, dict[str, Any]]

__all__ = ["Teller"]

_LISTS = ("server_messages", "replies", "noise")

# Nothing lasts longer; a larger number is no time.
_LATEST_MS = 1e15

# So much is held back for a message with a lower number; later ones were numbered wrongly.
_MAX_HELD = 20_000


class Teller:
    """Tells one session. What has a number waits until all lower ones have been told."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._held: list[Event] = []
        self._count = 0
        self._next = 1
        self._exchanges = 0

    def prologue(self, exchange: Exchange) -> None:
        """What was said before the client said anything."""
        self._take(exchange, -1)

    def exchange(self, exchange: Exchange) -> None:
        self._take(exchange, self._exchanges)
        self._exchanges += 1

    def finish(self) -> None:
        """Nothing more comes: tell what was held back."""
        while self._held:
            self._tell(heapq.heappop(self._held))

    def _take(self, exchange: Exchange, place: int) -> None:
        for event in self._events(exchange, place):
            if event[0]:
                heapq.heappush(self._held, event)
            else:
                self._tell(event)
        while self._held and (self._held[0][0] <= self._next or len(self._held) > _MAX_HELD):
            self._tell(heapq.heappop(self._held))

    def _events(self, exchange: Exchange, place: int) -> Iterator[Event]:
        for member, index in _members(exchange):
            self._count += 1
            value = exchange[member] if index is None else exchange[member][index]
            order = _beside(exchange, "order", member, index)
            ms = _beside(exchange, "ms", member, index)
            http = _beside(exchange, "http", member, index)
            yield (
                order if type(order) is int else 0,
                self._count,
                member,
                value,
                place,
                float(ms) if isinstance(ms, (int, float)) and abs(ms) < _LATEST_MS else None,
                http if isinstance(http, dict) else {},
            )

    def _tell(self, event: Event) -> None:
        order, _, member, value, place, ms, http = event
        self._next = max(self._next, order + 1)
        if member in ("request", "replies"):
            self._scorer.client(value, place, ms, http)
        elif member == "noise":
            self._scorer.noise(str(value), place, ms)
        else:
            self._scorer.server(value, place, ms, http)


def _members(exchange: Exchange) -> Iterator[tuple[str, int | None]]:
    if "request" in exchange:
        yield "request", None
    for member in _LISTS:
        listed = exchange.get(member)
        for index in range(len(listed) if isinstance(listed, list) else 0):
            yield member, index
    if exchange.get("response") is not None:
        yield "response", None


def _beside(exchange: Exchange, table: str, member: str, index: int | None) -> object:
    """What a capture notes in a table of its own about one message; None when it does not."""
    found = exchange.get(table)
    noted = found.get(member) if isinstance(found, dict) else None
    if index is None:
        return noted
    return noted[index] if isinstance(noted, list) and index < len(noted) else None
