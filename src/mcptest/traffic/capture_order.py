"""In which order the messages of a capture were said.

A capture has its messages by exchanges. Numbers, where it has them, say what came when.
"""

from __future__ import annotations

from itertools import groupby

from mcptest.core.jsonrpc import id_key, message_kind
from mcptest.traffic.recording import Spoken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.jsonrpc import IdKey

    # What was said, and its number in the session, where the capture has numbers.
    Placed = tuple[int | None, Spoken]

__all__ = ["in_order", "order_of", "woven"]


def order_of(exchange: dict[str, Any], member: str, index: int | None = None) -> int | None:
    """The number that an exchange gives to one of its messages; None when it gives none."""
    orders = exchange.get("order")
    found = orders.get(member) if isinstance(orders, dict) else None
    if index is not None:
        found = found[index] if isinstance(found, list) and index < len(found) else None
    return found if type(found) is int else None


def woven(said: list[Placed], replies: list[Placed]) -> Iterator[Placed]:
    """What the server said, each question with its answer behind it.

    Without numbers nothing else is known, and a server may ask again only when it was answered.
    """
    waiting: dict[IdKey, list[Placed]] = {}
    for reply in replies:
        waiting.setdefault(id_key(reply[1].message.get("id")), []).append(reply)
    for placed in said:
        yield placed
        message = placed[1].message
        if message_kind(message) == "request":
            answers = waiting.get(id_key(message["id"]))
            if answers:
                yield answers.pop(0)
    for left in waiting.values():
        yield from left


def in_order(placed: list[Placed]) -> list[Spoken]:
    """As they were said; what has no number comes behind what stands before it in the file."""
    last = 0
    numbered: list[tuple[int, bool, Spoken]] = []
    for order, spoken in placed:
        last = last if order is None else order
        numbered.append((last, order is not None, spoken))
    numbered.sort(key=lambda each: each[0])
    spoken_at = groupby(numbered, key=lambda each: (each[0], each[1], each[2].direction))
    return [
        spoken
        for (_, is_sure, _), same in spoken_at
        for spoken in _as_said([spoken for _, _, spoken in same], is_one=is_sure)
    ]


def _as_said(spoken: list[Spoken], *, is_one: bool) -> list[Spoken]:
    """Calls of the client under one number were one batch, which has been taken apart."""
    is_batch = is_one and len(spoken) > 1 and spoken[0].direction == "in"
    if not is_batch or not all(_is_call(each.message) for each in spoken):
        return spoken
    return [Spoken(direction="in", message=[each.message for each in spoken])]


def _is_call(message: Any) -> bool:
    return isinstance(message, dict) and "method" in message
