"""Which of the things a server offers a run has exercised. Pure.

What is offered comes from the server's own lists; what was exercised from the requests that
tests sent and that were answered. An input property counts once some call gave it.
"""

from __future__ import annotations

from mcptest.core.offer_kinds import KINDS
from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from mcptest.core.offer_kinds import OfferKind

    # What a request exercises: the kind of offer, its name, and the inputs that are given.
    Use = tuple[OfferKind, str, tuple[str, ...]]

__all__ = [
    "CoveredOffer",
    "CoveredProperty",
    "ServerCoverage",
    "measure",
    "merge_coverage",
    "offers_in",
    "percent_of",
]


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
    """Everything one server offers, in its own order.

    `home` is the file of the suite that has it, where it belongs to one: another suite may have
    another server of that name, and then `server` says which is which.
    """

    server: str
    offers: tuple[CoveredOffer, ...] = ()
    home: str = ""

    @property
    def name(self) -> str:
        """What its suite calls it."""
        return self.server.removesuffix(f" ({self.home})") if self.home else self.server

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


def offers_in(kind: OfferKind, entries: object) -> Iterator[CoveredOffer]:
    """The offers in a list of the server, not exercised yet; what has no name is left out."""
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        name = entry.get(_NAMES[kind])
        if isinstance(name, str):
            properties = tuple(
                CoveredProperty(name=property, calls=0) for property in _properties(kind, entry)
            )
            yield CoveredOffer(kind=kind, name=name, calls=0, properties=properties)


_NAMES = {kind.unit: kind.key for kind in KINDS.values()}


def _properties(kind: OfferKind, entry: dict[str, Any]) -> Iterator[str]:
    schema = entry.get("inputSchema")
    if kind == "tool" and isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        yield from schema["properties"]
    if kind == "prompt" and isinstance(entry.get("arguments"), list):
        for argument in entry["arguments"]:
            if isinstance(argument, dict) and isinstance(argument.get("name"), str):
                yield argument["name"]


def measure(
    server: str, offers: Iterable[CoveredOffer], uses: Mapping[Use, int], home: str = ""
) -> ServerCoverage:
    """The offers of a server with how often each, and each of its inputs, was used."""
    used = tuple(_measured(each, uses) for each in offers)
    return ServerCoverage(server=server, offers=used, home=home)


def merge_coverage(parts: Iterable[Iterable[ServerCoverage]]) -> tuple[ServerCoverage, ...]:
    """One coverage from several: calls of one server are added up.

    Two of one name are one server when they are of one suite, or offer the same. Others are
    told apart by the files of their suites.
    """
    merged: list[ServerCoverage] = []
    for server in (server for part in parts for server in part):
        same = [number for number, known in enumerate(merged) if _is_one(known, server)]
        if same:
            merged[same[0]] = _joined(merged[same[0]], server)
        else:
            merged.append(server.but(server=server.name))
    names = [server.server for server in merged]
    return tuple(
        server.but(server=f"{server.server} ({server.home})")
        if server.home and names.count(server.server) > 1
        else server
        for server in merged
    )


def _is_one(one: ServerCoverage, other: ServerCoverage) -> bool:
    if one.name != other.name:
        return False
    return one.home == other.home or _offered(one) == _offered(other)


def _offered(server: ServerCoverage) -> set[tuple[str, str, frozenset[str]]]:
    return {
        (offer.kind, offer.name, frozenset(part.name for part in offer.properties))
        for offer in server.offers
    }


def _joined(one: ServerCoverage, other: ServerCoverage) -> ServerCoverage:
    offers = {(offer.kind, offer.name): offer for offer in one.offers}
    for offer in other.offers:
        key = (offer.kind, offer.name)
        offers[key] = _added(offers[key], offer) if key in offers else offer
    return one.but(offers=tuple(offers.values()))


def _added(one: CoveredOffer, other: CoveredOffer) -> CoveredOffer:
    calls = {part.name: part.calls for part in one.properties}
    for part in other.properties:
        calls[part.name] = calls.get(part.name, 0) + part.calls
    properties = tuple(CoveredProperty(name=name, calls=count) for name, count in calls.items())
    return one.but(calls=one.calls + other.calls, properties=properties)


def _measured(offer: CoveredOffer, uses: Mapping[Use, int]) -> CoveredOffer:
    hits = [(use, count) for use, count in uses.items() if _is_use_of(use, offer)]
    properties = tuple(
        part.but(calls=sum(count for use, count in hits if part.name in use[2]))
        for part in offer.properties
    )
    return offer.but(calls=sum(count for _, count in hits), properties=properties)


def _is_use_of(use: Use, offer: CoveredOffer) -> bool:
    kind, name, _ = use
    if kind == "resource" and offer.kind == "resourceTemplate":
        # Few servers have templates.
        from mcptest.core.uri_templates import is_made_from  # noqa: PLC0415

        return is_made_from(name, offer.name)
    return kind == offer.kind and name == offer.name
