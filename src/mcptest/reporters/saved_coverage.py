"""Read coverage, and gates that one run alone cannot answer, back from a JSON report."""

from __future__ import annotations

from mcptest.core.coverage import CoveredOffer, CoveredProperty, ServerCoverage
from mcptest.core.measured_gates import COVERAGE_GATES, PERFORMANCE_GATES, MeasuredGates
from mcptest.core.text import shorten, visible
from mcptest.reporters.members import OFFER_LISTS
from mcptest.reporters.saved_part import SavedPartError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.reporters.saved_part import SavedPart

__all__ = ["read_coverage", "read_gates"]

_SHOWN_CHARS = 80


def read_coverage(report: SavedPart) -> tuple[ServerCoverage, ...]:
    """The coverage of each server; none where nobody asked."""
    if not report.has("coverage"):
        return ()
    servers = report.part("coverage").parts("servers", is_needed=True)
    return tuple(map(_server, servers))


def _server(part: SavedPart) -> ServerCoverage:
    return ServerCoverage(
        server=part.text("server"), offers=tuple(_offers(part)), home=part.text("suite", "")
    )


def _offers(server: SavedPart) -> Iterator[CoveredOffer]:
    for kind, name in OFFER_LISTS.items():
        for offer in server.parts(name):
            properties = tuple(
                CoveredProperty(name=part.text("name"), calls=part.count("calls"))
                for part in offer.parts("properties")
            )
            yield CoveredOffer(
                kind=kind,
                name=offer.text("name"),
                calls=offer.count("calls"),
                properties=properties,
            )


def read_gates(part: SavedPart) -> MeasuredGates:
    """What a suite asks for, and what the run has measured of it."""
    return MeasuredGates(
        home=part.text("suite"),
        coverage=_wanted(part, "coverage", COVERAGE_GATES),
        performance=_wanted(part, "performance", PERFORMANCE_GATES),
        files=part.texts("files"),
        ran=part.texts("ran"),
        servers=tuple(map(_server, part.parts("servers"))),
        silent=part.texts("silent"),
        idle=part.texts("idle"),
        took_ms=part.numbers("took_ms"),
    )


def _wanted(part: SavedPart, name: str, known: Sequence[str]) -> dict[str, float]:
    """What is asked for; a gate that nobody here can ask must not get lost."""
    inner = part.part(name)
    for key in inner.members:
        if key not in known:
            seen = visible(shorten(key, _SHOWN_CHARS))
            message = f'"{seen}" is no gate of {name}; there are: {", ".join(known)}'
            raise SavedPartError("F009", message)
    return {key: inner.number(key) for key in inner.members}
