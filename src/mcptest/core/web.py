"""What an HTTP server hears and does, as values: nothing here opens a socket.

Each request that is heard gets a number, its *exchange*; what is done about it is told as acts,
each for one exchange. So whoever decides what to say knows no connections, and whoever has
the connections does not know what is said.
"""

from __future__ import annotations

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Act", "Answer", "Begin", "Cut", "End", "Piece", "WebRequest"]


class WebRequest(Record):
    """A request; names of headers are in lower case, in the order they came."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The value of a header, all of them with commas when it came several times."""
        found = self.values(name)
        return ", ".join(found) if found else None

    def values(self, name: str) -> tuple[str, ...]:
        """Every value that a header came with."""
        return tuple(value for each, value in self.headers if each == name)


class Act(Record):
    """Something to be done about an exchange."""

    exchange: int


class Answer(Act):
    """The whole of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


class Begin(Act):
    """The head of an answer that comes in pieces."""

    headers: Mapping[str, str]


class Piece(Act):
    """More of an answer that has begun."""

    data: bytes


class End(Act):
    """All of an answer has been said."""


class Cut(Act):
    """The connection breaks off, whatever has been said."""
