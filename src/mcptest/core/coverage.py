"""Coverage: what a server offers, how much of it the tests used, and the gates of suites.

An offer is a tool, resource, resource template or prompt. A gate is a minimum of coverage or a
maximum of response time that a suite demands of all of its tests together.
"""

from __future__ import annotations

import math
import re

from mcptest.core.results import Finding
from mcptest.core.text import excerpt, list_names, visible
from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal

    OfferKind = Literal["tool", "resource", "resourceTemplate", "prompt"]
    # What a request exercises: the kind of offer, its name, and the inputs that are given.
    Use = tuple[OfferKind, str, tuple[str, ...]]

__all__ = [
    "COVERAGE_GATES",
    "GATES_NOT_ASKED",
    "KINDS",
    "PERFORMANCE_GATES",
    "CoveredOffer",
    "CoveredProperty",
    "Kind",
    "MeasuredGates",
    "ServerCoverage",
    "coverage_percent",
    "matches_template",
    "measure_coverage",
    "merge_coverage",
    "merge_gates",
    "missed_gates",
    "offers_in",
    "quantile",
    "report_unchecked_gates",
]


class Kind(Record):
    """One kind of offer: `name` is its member in the result of `method`, `key` its identifier."""

    name: str
    unit: OfferKind
    noun: str
    method: str
    capability: str
    key: str = "name"


KINDS = {
    kind.name: kind
    for kind in (
        Kind(name="tools", unit="tool", noun="tool", method="tools/list", capability="tools"),
        Kind(
            name="resources",
            unit="resource",
            noun="resource",
            method="resources/list",
            capability="resources",
            key="uri",
        ),
        Kind(
            name="resourceTemplates",
            unit="resourceTemplate",
            noun="resource template",
            method="resources/templates/list",
            capability="resources",
            key="uriTemplate",
        ),
        Kind(
            name="prompts",
            unit="prompt",
            noun="prompt",
            method="prompts/list",
            capability="prompts",
        ),
    )
}


class CoveredProperty(Record):
    """One input property of a tool, or argument of a prompt, and how many calls used it."""

    name: str
    calls: int


class CoveredOffer(Record):
    """One tool, resource, resource template or prompt, and how often it was called."""

    kind: OfferKind
    name: str
    calls: int
    properties: tuple[CoveredProperty, ...] = ()


class ServerCoverage(Record):
    """Everything that one server offers, in its own order.

    `home` is the file of its suite, if any. If servers of several suites have the same name,
    `server` includes `home`.
    """

    server: str
    offers: tuple[CoveredOffer, ...] = ()
    home: str = ""

    @property
    def name(self) -> str:
        """The name in its suite."""
        return self.server.removesuffix(f" ({self.home})") if self.home else self.server

    @property
    def points(self) -> tuple[int, int]:
        """How many offers and properties were used, and how many there are."""
        calls = [offer.calls for offer in self.offers]
        calls += [part.calls for offer in self.offers for part in offer.properties]
        return sum(1 for count in calls if count), len(calls)


def coverage_percent(coverage: Iterable[ServerCoverage]) -> float | None:
    """The used part of all offers and properties; None if nothing is offered."""
    points = [server.points for server in coverage]
    whole = sum(total for _, total in points)
    return 100 * sum(hit for hit, _ in points) / whole if whole else None


def offers_in(kind: OfferKind, entries: object) -> Iterator[CoveredOffer]:
    """The offers in a list of the server, not used yet; entries without a name are left out."""
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


def measure_coverage(
    server: str, offers: Iterable[CoveredOffer], uses: Mapping[Use, int], home: str = ""
) -> ServerCoverage:
    """The offers of a server, with the number of calls of each and of its properties."""
    counted = []
    for offer in offers:
        hits = [(use, count) for use, count in uses.items() if _is_use_of(use, offer)]
        properties = tuple(
            part.but(calls=sum(count for use, count in hits if part.name in use[2]))
            for part in offer.properties
        )
        calls = sum(count for _, count in hits)
        counted.append(offer.but(calls=calls, properties=properties))
    return ServerCoverage(server=server, offers=tuple(counted), home=home)


def merge_coverage(parts: Iterable[Iterable[ServerCoverage]]) -> tuple[ServerCoverage, ...]:
    """One coverage from several: the calls of each server are added up.

    Two of the same name are one server if they belong to the same suite or offer the same.
    """
    merged: list[ServerCoverage] = []
    for server in (server for part in parts for server in part):
        for number, known in enumerate(merged):
            if known.name == server.name and (
                known.home == server.home or _describe_offers(known) == _describe_offers(server)
            ):
                merged[number] = _add_coverage(known, server)
                break
        else:
            merged.append(server.but(server=server.name))
    names = [server.server for server in merged]
    return tuple(
        server.but(server=f"{server.server} ({server.home})")
        if server.home and names.count(server.server) > 1
        else server
        for server in merged
    )


def _describe_offers(server: ServerCoverage) -> set[tuple[str, str, frozenset[str]]]:
    return {
        (offer.kind, offer.name, frozenset(part.name for part in offer.properties))
        for offer in server.offers
    }


def _add_coverage(one: ServerCoverage, other: ServerCoverage) -> ServerCoverage:
    offers = {(offer.kind, offer.name): offer for offer in one.offers}
    for offer in other.offers:
        known = offers.get((offer.kind, offer.name))
        if known is None:
            offers[offer.kind, offer.name] = offer
            continue
        calls = {part.name: part.calls for part in known.properties}
        for part in offer.properties:
            calls[part.name] = calls.get(part.name, 0) + part.calls
        properties = tuple(CoveredProperty(name=name, calls=count) for name, count in calls.items())
        offers[offer.kind, offer.name] = known.but(
            calls=known.calls + offer.calls, properties=properties
        )
    return one.but(offers=tuple(offers.values()))


def _is_use_of(use: Use, offer: CoveredOffer) -> bool:
    kind, name, _ = use
    if kind == "resource" and offer.kind == "resourceTemplate":
        return matches_template(name, offer.name)
    return kind == offer.kind and name == offer.name


# URI templates. Template and URI are not trusted, so they are compared in linear time, without a
# regular expression made of them.

# A variable that begins or ends like this may match several segments of a path.
_WIDE = frozenset("+#/?&*")


def matches_template(uri: str, template: str) -> bool:
    """True if a URI could have been made from a template: a plain variable is one path segment."""
    literals = re.split(r"\{[^{}]*\}", template)
    variables = re.findall(r"\{([^{}]*)\}", template)
    if not variables:
        return uri == template
    if not uri.startswith(literals[0]):
        return False
    at = len(literals[0])
    for number, (variable, literal) in enumerate(zip(variables, literals[1:], strict=True), 1):
        is_last = number == len(variables)
        found = len(uri) - len(literal) if is_last else uri.find(literal, at)
        if found < at or not uri.startswith(literal, found):
            return False
        is_wide = variable[:1] in _WIDE or variable.endswith("*")
        if "/" in uri[at:found] and not is_wide:
            return False
        at = found + len(literal)
    return at == len(uri)


# Gates. A suite may be run in several parts, the shards of a build: the gates are checked when
# the measurements of all parts are merged.

_MAX_LISTED = 5
_MAX_NAME_CHARS = 200

GATES_NOT_ASKED = "gates_not_asked"

_UNITS = {
    "tools": ("tool",),
    "resources": ("resource", "resourceTemplate"),
    "prompts": ("prompt",),
}
COVERAGE_GATES = (*_UNITS, "total")
_QUANTILES = {"p50_ms": 50, "p90_ms": 90, "p95_ms": 95, "p99_ms": 99}
PERFORMANCE_GATES = (*_QUANTILES, "mean_ms", "max_ms")


class MeasuredGates(Record):
    """The gates of the suite in the file `home`, and what was measured for them.

    `files` are all files with tests of the suite, `ran` those that were run. `servers` are those
    whose offers are known. The offers of `silent` servers could not be listed, and `idle` servers
    were not started, because all of their tests are skipped.
    """

    home: str
    coverage: dict[str, float] = {}  # noqa: RUF012  # nothing of a record changes
    performance: dict[str, float] = {}  # noqa: RUF012  # as above
    files: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    servers: tuple[ServerCoverage, ...] = ()
    silent: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    took_ms: tuple[float, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The files that were not run, so that the gates cannot be checked."""
        return tuple(file for file in self.files if file not in self.ran)


def merge_gates(parts: Iterable[MeasuredGates]) -> tuple[MeasuredGates, ...]:
    """Merge the measurements of several runs, one entry per suite."""
    merged: dict[str, MeasuredGates] = {}
    for part in parts:
        known = merged.get(part.home)
        if known is None:
            merged[part.home] = part
            continue
        servers = merge_coverage([known.servers, part.servers])
        # A server that is silent in one run stays so: its coverage is not known.
        silent = _union(known.silent, part.silent)
        settled = {*silent, *(server.name for server in servers)}
        idle = [name for name in _union(known.idle, part.idle) if name not in settled]
        merged[part.home] = known.but(
            files=_union(known.files, part.files),
            ran=_union(known.ran, part.ran),
            servers=servers,
            silent=silent,
            idle=tuple(idle),
            took_ms=(*known.took_ms, *part.took_ms),
        )
    return tuple(merged.values())


def _union(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def missed_gates(measured: Sequence[MeasuredGates], *, is_named: bool = False) -> Iterator[str]:
    """A sentence for each gate that was missed.

    It names the suite if there are several, or if `is_named`.
    """
    for each in measured:
        owner = f"{excerpt(each.home, _MAX_NAME_CHARS)}: " if is_named or len(measured) > 1 else ""
        for key, wanted in each.coverage.items():
            for sentence in _missed_coverage(key, wanted, each):
                yield owner + sentence
        for key, most_ms in each.performance.items():
            for sentence in _missed_time(key, most_ms, each.took_ms):
                yield owner + sentence


def report_unchecked_gates(homes: Iterable[str], why: str) -> Finding:
    """The finding that the gates of these suites were not checked."""
    message = f"the gates of {_list_excerpts(homes)} were not asked: {why}"
    return Finding(kind=GATES_NOT_ASKED, server="", message=message)


def _list_excerpts(names: Iterable[str]) -> str:
    return list_names([excerpt(name, _MAX_NAME_CHARS) for name in names], _MAX_LISTED)


def _missed_coverage(key: str, wanted: float, measured: MeasuredGates) -> Iterator[str]:
    noun = "all offers" if key == "total" else key
    offers = [offer for server in measured.servers for offer in server.offers]
    if key != "total":
        offers = [offer for offer in offers if offer.kind in _UNITS[key]]
    unknown = f"coverage of {noun} is not known"
    if measured.silent:
        names = _list_excerpts(sorted(measured.silent))
        yield f"{unknown}: {names} could not say what there is"
    elif measured.idle:
        names = _list_excerpts(sorted(measured.idle))
        yield f"{unknown}: {names} could not be asked, for all of its tests are skipped"
    elif not offers:
        yield f"{unknown}: no server says that it offers any"
    elif (percent := 100 * sum(1 for offer in offers if offer.calls) / len(offers)) < wanted:
        # Cut, not rounded: 79.96 must not look like 80.
        seen = f"{int(percent * 10) / 10:.1f} %"
        unused = list_names(
            [visible(offer.name) for offer in offers if not offer.calls], _MAX_LISTED
        )
        yield f"coverage of {noun} is {seen}, and the suite asks for {wanted:g} %; unused: {unused}"


def _missed_time(key: str, most_ms: float, took_ms: Sequence[float]) -> Iterator[str]:
    if not took_ms:
        yield f"{key} is not known: no call was timed"
        return
    if key == "max_ms":
        seen = max(took_ms)
    elif key == "mean_ms":
        seen = math.fsum(took_ms) / len(took_ms)
    else:
        seen = quantile(took_ms, _QUANTILES[key])
    if seen > most_ms:
        over = f"{seen:.3f} ms over {len(took_ms)} call{'s' if len(took_ms) != 1 else ''}"
        yield f"{key} is {over}, and the suite asks for {most_ms:g} ms"


def quantile(values: Sequence[float], percent: int) -> float:
    """The smallest value that at least `percent` of all values do not exceed."""
    ordered = sorted(values)
    rank = max(1, math.ceil(percent * len(ordered) / 100))
    return ordered[rank - 1]
