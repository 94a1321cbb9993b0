"""Which of the things a server offers a run has exercised. Pure.

What is offered comes from the server's own lists; what was exercised from the requests that
tests sent and that were answered. An input property counts once some call gave it.
"""

from __future__ import annotations

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    OfferKind = Literal["tool", "resource", "resourceTemplate", "prompt"]

__all__ = ["CoveredOffer", "CoveredProperty", "ServerCoverage", "percent_of"]


class CoveredProperty(Record):
    """One input property of a tool, or argument of a prompt, and how many calls gave it."""

    name: str
    calls: int


class CoveredOffer(Record):
    """One tool, resource, resource template or prompt, and how often it was called."""

    kind: OfferKind
    name: str
    calls: int
    properties: tuple[CoveredProperty, ...] = ()


class ServerCoverage(Record):
    """Everything one server offers, in its own order."""

    server: str
    offers: tuple[CoveredOffer, ...] = ()

    @property
    def points(self) -> tuple[int, int]:
        """How many offers and properties were exercised, and how many there are."""
        calls = [offer.calls for offer in self.offers]
        calls += [part.calls for offer in self.offers for part in offer.properties]
        return sum(1 for count in calls if count), len(calls)


def percent_of(coverage: Iterable[ServerCoverage]) -> float | None:
    """The exercised part of all offers and properties; None when nothing is offered."""
    points = [server.points for server in coverage]
    whole = sum(total for _, total in points)
    return 100 * sum(hit for hit, _ in points) / whole if whole else None
