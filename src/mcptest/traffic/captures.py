"""Captures: a session object, or an array of them, with the client's exchanges in order.

Captures belong to others: members that are not known are left alone. What is known must be
what it should be.
"""

from __future__ import annotations

from mcptest.core.jsonrpc import message_kind
from mcptest.core.text import plural
from mcptest.matching.values import type_name
from mcptest.traffic.capture_order import in_order, order_of, woven
from mcptest.traffic.naming import method_of
from mcptest.traffic.recording import Session, Spoken, mistake, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.errors import FormatError
    from mcptest.traffic.capture_order import Placed
    from mcptest.traffic.recording import Direction

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
        self._notes: list[str] = []
        self._strange = 0

    def session(self, value: Any, where: str) -> Session:
        """The session at this place of the file."""
        self._where = where
        if not isinstance(value, dict) or "exchanges" not in value:
            raise self._wrong("", "is no session: it has no exchanges")
        exchanges = value["exchanges"]
        if not isinstance(exchanges, list):
            raise self._wrong("exchanges", f"must be an array and is {type_name(exchanges)}")
        placed: list[Placed] = []
        prologue = value.get("prologue")
        if prologue is not None:
            if not isinstance(prologue, dict):
                raise self._wrong("prologue", f"must be an object and is {type_name(prologue)}")
            placed += self._around(prologue, "prologue")
        for index, exchange in enumerate(exchanges):
            placed += self._exchange(exchange, f"exchanges[{index}]")
        spoken = [*in_order(placed), *self._beside(value.get(_SERVER_MESSAGES))]
        label = value.get("server_label")
        return Session(messages=tuple(spoken), label=label if isinstance(label, str) else "")

    @property
    def notes(self) -> list[str]:
        """Sentences about what has no place in a contract."""
        if not self._strange:
            return self._notes
        lines = "line is" if self._strange == 1 else "lines are"
        were = "was" if self._strange == 1 else "were"
        told = f"{self._strange:,} {lines} no message, and {were} left out"
        return [*self._notes, f"{self._file}: {told}"]

    def _beside(self, messages: Any) -> list[Spoken]:
        """What the server sent on its own in a session, as far as it says to what it belongs."""
        listed = [each for _, each in self._listed("out", messages, _SERVER_MESSAGES)]
        placed = [each for each in listed if method_of(each.message) == "notifications/progress"]
        if len(placed) < len(listed):
            count = plural(len(listed) - len(placed), "message")
            self._notes.append(
                f"{self._file}: {count} of the server stand beside the exchanges, and nothing "
                "says when they came: they are left out"
            )
        return placed

    def _exchange(self, exchange: Any, where: str) -> Iterator[Placed]:
        if not isinstance(exchange, dict) or exchange.get("request") in (None, []):
            raise self._wrong(where, "has no request")
        at = order_of(exchange, "request")
        parts = self._parts("in", exchange["request"], f"{where}.request")
        if isinstance(exchange["request"], list) and parts:
            parts = [Spoken(direction="in", message=[part.message for part in parts])]
        yield from ((at, part) for part in parts)
        yield from self._around(exchange, where)
        if exchange.get("response") is not None:
            at = order_of(exchange, "response")
            for part in self._parts("out", exchange["response"], f"{where}.response"):
                yield at, part

    def _parts(self, direction: Direction, message: Any, where: str) -> list[Spoken]:
        """A message, or the messages of a batch; anything else is a mistake."""
        is_batch = isinstance(message, list)
        found = []
        for index, part in enumerate(message if is_batch else [message]):
            if not isinstance(part, dict):
                place = f"{where}[{index}]" if is_batch else where
                raise self._wrong(place, f"is no JSON-RPC message: it is {type_name(part)}")
            found += self._spoken(direction, part)
        return found

    def _around(self, exchange: dict[str, Any], where: str) -> Iterator[Placed]:
        """What the server said on its own beside an exchange, and what the client answered."""
        self._count_strange(exchange)
        sides: tuple[tuple[Direction, str], ...] = (("out", _SERVER_MESSAGES), ("in", _REPLIES))
        said, replies = (
            [
                (order_of(exchange, member, index), spoken)
                for index, spoken in self._listed(direction, exchange.get(member), where, member)
            ]
            for direction, member in sides
        )
        return woven(said, replies)

    def _count_strange(self, exchange: dict[str, Any]) -> None:
        """Lines that were no messages, and what whoever recorded says of the rest."""
        for member in ("noise", "client_noise"):
            lines = exchange.get(member)
            self._strange += len(lines) if isinstance(lines, list) else 0
        left_out = exchange.get("left_out")
        told = left_out if isinstance(left_out, list) else []
        self._notes += [f"{self._file}: {words}" for words in told if isinstance(words, str)]

    def _listed(
        self, direction: Direction, messages: Any, *where: str
    ) -> Iterator[tuple[int, Spoken]]:
        if messages is None:
            return
        if not isinstance(messages, list):
            raise self._wrong(".".join(where), f"must be an array and is {type_name(messages)}")
        for index, message in enumerate(messages):
            for part in parts_of(message) or [message]:
                for spoken in self._spoken(direction, part):
                    yield index, spoken

    def _spoken(self, direction: Direction, message: Any) -> list[Spoken]:
        """A message as it was said; none when it is JSON and no message."""
        if message_kind(message) == "malformed":
            self._strange += 1
            return []
        return [Spoken(direction=direction, message=message)]

    def _wrong(self, where: str, what: str) -> FormatError:
        path = f"{self._where}.{where}".strip(".") or "the file"
        help = 'an exchange is {"request": {…}, "response": {…}}; notifications have no response'
        return mistake("F008", self._file, f"{path} {what}", help)
