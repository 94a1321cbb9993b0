"""Captures: a session object, or an array of them, with the client's exchanges in order.

Captures belong to others: members that are not known are left alone. What is known must be
what it should be.
"""

from __future__ import annotations

from mcptest.matching.shown import counted
from mcptest.matching.values import a_type
from mcptest.traffic.naming import method_of
from mcptest.traffic.recording import Session, Spoken, is_message, mistake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.errors import FormatError
    from mcptest.traffic.recording import Direction

    # What was said, and its number in the session, where the capture has numbers.
    Placed = tuple[int | None, Spoken]

__all__ = ["is_capture", "read_sessions"]

# What a server sent on its own, beside its answer or beside all of them.
_SERVER_MESSAGES = "server_messages"

# What the client answered to that.
_REPLIES = "replies"


def is_capture(value: object) -> bool:
    """Whether a JSON value is a session or an array that holds one."""
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and "exchanges" in item for item in items)


def read_sessions(value: Any, file: str) -> tuple[list[Session], list[str]]:
    """The sessions of a capture, and sentences about what has no place in them."""
    reader = _Reader(file)
    if isinstance(value, list):
        return [reader.session(each, f"[{at}]") for at, each in enumerate(value)], reader.notes
    return [reader.session(value, "")], reader.notes


class _Reader:
    """Reads one session after the other."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._where = ""
        self.notes: list[str] = []

    def session(self, value: Any, where: str) -> Session:
        """The session at this place of the file."""
        self._where = where
        if not isinstance(value, dict) or "exchanges" not in value:
            raise self._wrong("", "is no session: it has no exchanges")
        exchanges = value["exchanges"]
        if not isinstance(exchanges, list):
            raise self._wrong("exchanges", f"must be an array and is {a_type(exchanges)}")
        placed: list[Placed] = []
        if isinstance(value.get("prologue"), dict):
            placed += self._around(value["prologue"], "prologue")
        for index, exchange in enumerate(exchanges):
            placed += self._exchange(exchange, f"exchanges[{index}]")
        spoken = [*_in_order(placed), *self._beside(value.get(_SERVER_MESSAGES))]
        label = value.get("server_label")
        return Session(messages=tuple(spoken), label=label if isinstance(label, str) else "")

    def _beside(self, messages: Any) -> list[Spoken]:
        """What the server sent on its own in a session, as far as it says to what it belongs."""
        listed = list(self._listed("out", messages, _SERVER_MESSAGES))
        placed = [each for each in listed if method_of(each.message) == "notifications/progress"]
        if len(placed) < len(listed):
            count = counted(len(listed) - len(placed), "message")
            self.notes.append(
                f"{self._file}: {count} of the server stand beside the exchanges, and nothing "
                "says when they came: they are left out"
            )
        return placed

    def _exchange(self, exchange: Any, where: str) -> Iterator[Placed]:
        if not isinstance(exchange, dict) or exchange.get("request") in (None, []):
            raise self._wrong(where, "has no request")
        request = exchange["request"]
        if isinstance(request, list):
            batch = self._listed("in", request, f"{where}.request")
            spoken = Spoken(direction="in", message=[part.message for part in batch])
        else:
            spoken = self._spoken("in", request, f"{where}.request")
        yield _order_of(exchange, "request"), spoken
        yield from self._around(exchange, where)
        response = exchange.get("response")
        if response is not None:
            parts = response if isinstance(response, list) else [response]
            for part in self._listed("out", parts, f"{where}.response"):
                yield _order_of(exchange, "response"), part

    def _around(self, exchange: dict[str, Any], where: str) -> Iterator[Placed]:
        """What the server said on its own beside an exchange, and what the client answered."""
        sides: tuple[tuple[Direction, str], ...] = (("out", _SERVER_MESSAGES), ("in", _REPLIES))
        for direction, member in sides:
            listed = self._listed(direction, exchange.get(member), f"{where}.{member}")
            for index, spoken in enumerate(listed):
                yield _order_of(exchange, member, index), spoken

    def _listed(self, direction: Direction, messages: Any, where: str) -> Iterator[Spoken]:
        if messages is None:
            return
        if not isinstance(messages, list):
            raise self._wrong(where, f"must be an array and is {a_type(messages)}")
        for index, message in enumerate(messages):
            yield self._spoken(direction, message, f"{where}[{index}]")

    def _spoken(self, direction: Direction, message: Any, where: str) -> Spoken:
        if not is_message(message):
            raise self._wrong(where, f"is no JSON-RPC message: it is {a_type(message)}")
        return Spoken(direction=direction, message=message)

    def _wrong(self, where: str, what: str) -> FormatError:
        path = f"{self._where}.{where}".strip(".") or "the file"
        help = 'an exchange is {"request": {…}, "response": {…}}; notifications have no response'
        return mistake("F008", self._file, f"{path} {what}", help)


def _order_of(exchange: dict[str, Any], member: str, index: int | None = None) -> int | None:
    """The number that an exchange gives to one of its messages; None when it gives none."""
    orders = exchange.get("order")
    found = orders.get(member) if isinstance(orders, dict) else None
    if index is not None:
        found = found[index] if isinstance(found, list) and index < len(found) else None
    return found if type(found) is int else None


def _in_order(placed: list[Placed]) -> list[Spoken]:
    """As they were said; without numbers, as they stand in the file."""
    numbered = [(order, spoken) for order, spoken in placed if order is not None]
    if len(numbered) == len(placed):
        numbered.sort(key=lambda each: each[0])
        return [spoken for _, spoken in numbered]
    return [spoken for _, spoken in placed]
