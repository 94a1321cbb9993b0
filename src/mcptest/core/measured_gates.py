"""What suites ask of all of their tests together, what was measured, and what was missed. Pure.

A suite may be spread over several runs, the shards of a build: what each has measured is put
together, and the gates are asked when all of it is there.
"""

from __future__ import annotations

import math

from mcptest.core.coverage import ServerCoverage, merge_coverage
from mcptest.core.outcome import Finding
from mcptest.core.record import Record
from mcptest.core.text import list_names, shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "COVERAGE_GATES",
    "GATES_NOT_ASKED",
    "PERFORMANCE_GATES",
    "MeasuredGates",
    "merge_measured",
    "missed_gates",
    "not_asked",
    "quantile",
]

# So many names are listed; nobody reads more.
_MAX_LISTED = 5
_MAX_NAME = 200

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
    """What the suite in the file `home` asks for, and what runs have measured of it.

    `files` are all files with tests of the suite, `ran` those of them that were run. `servers`
    are those whose offers are known; the `silent` ones could not tell them, and the `idle` ones
    were never started, because every test of theirs is skipped.
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
        """The files without which nothing can be said about the whole."""
        return tuple(file for file in self.files if file not in self.ran)


def merge_measured(parts: Iterable[MeasuredGates]) -> tuple[MeasuredGates, ...]:
    """One for each suite, of all that several runs have measured of it."""
    merged: dict[str, MeasuredGates] = {}
    for part in parts:
        known = merged.get(part.home)
        merged[part.home] = _together(known, part) if known else part
    return tuple(merged.values())


def _together(one: MeasuredGates, other: MeasuredGates) -> MeasuredGates:
    servers = merge_coverage([one.servers, other.servers])
    # What was called of a server that could not tell its offers is not known: it stays silent.
    silent = _union(one.silent, other.silent)
    settled = {*silent, *(server.name for server in servers)}
    idle = [name for name in _union(one.idle, other.idle) if name not in settled]
    return one.but(
        files=_union(one.files, other.files),
        ran=_union(one.ran, other.ran),
        servers=servers,
        silent=silent,
        idle=tuple(idle),
        took_ms=(*one.took_ms, *other.took_ms),
    )


def _union(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def missed_gates(measured: Sequence[MeasuredGates], *, is_named: bool = False) -> Iterator[str]:
    """A sentence for each gate that was not reached.

    Which suite is meant is said where there are several, here or elsewhere (`is_named`).
    """
    for each in measured:
        owner = f"{_named(each.home)}: " if is_named or len(measured) > 1 else ""
        for key, wanted in each.coverage.items():
            for sentence in _missed_coverage(key, wanted, each):
                yield owner + sentence
        for key, most_ms in each.performance.items():
            for sentence in _missed_time(key, most_ms, each.took_ms):
                yield owner + sentence


def not_asked(homes: Iterable[str], why: str) -> Finding:
    """That nobody has asked the gates of these suites."""
    names = list_names([_named(home) for home in homes], _MAX_LISTED)
    message = f"the gates of {names} were not asked: {why}"
    return Finding(kind=GATES_NOT_ASKED, server="", message=message)


def _named(name: str) -> str:
    return visible(shorten(name, _MAX_NAME))


def _missed_coverage(key: str, wanted: float, measured: MeasuredGates) -> Iterator[str]:
    noun = "all offers" if key == "total" else key
    offers = [offer for server in measured.servers for offer in server.offers]
    if key != "total":
        offers = [offer for offer in offers if offer.kind in _UNITS[key]]
    unknown = f"coverage of {noun} is not known"
    if measured.silent:
        names = list_names([_named(name) for name in sorted(measured.silent)], _MAX_LISTED)
        yield f"{unknown}: {names} could not say what there is"
    elif measured.idle:
        names = list_names([_named(name) for name in sorted(measured.idle)], _MAX_LISTED)
        yield f"{unknown}: {names} could not be asked, for all of its tests are skipped"
    elif not offers:
        yield f"{unknown}: no server says that it offers any"
    elif (percent := 100 * sum(1 for offer in offers if offer.calls) / len(offers)) < wanted:
        # Cut, not rounded: what is not reached must not look as if it were.
        seen = f"{int(percent * 10) / 10:.1f} %"
        unused = list_names(
            [visible(offer.name) for offer in offers if not offer.calls], _MAX_LISTED
        )
        yield f"coverage of {noun} is {seen}, and the suite asks for {wanted:g} %; unused: {unused}"


def _missed_time(key: str, most_ms: float, took_ms: Sequence[float]) -> Iterator[str]:
    if not took_ms:
        yield f"{key} is not known: no call was timed"
        return
    seen = _measure(key, took_ms)
    if seen > most_ms:
        over = f"{seen:.3f} ms over {len(took_ms)} call{'s' if len(took_ms) != 1 else ''}"
        yield f"{key} is {over}, and the suite asks for {most_ms:g} ms"


def _measure(key: str, took_ms: Sequence[float]) -> float:
    if key == "max_ms":
        return max(took_ms)
    if key == "mean_ms":
        return math.fsum(took_ms) / len(took_ms)
    return quantile(took_ms, _QUANTILES[key])


def quantile(values: Sequence[float], percent: int) -> float:
    """The smallest value that at least so much of all values do not exceed."""
    ordered = sorted(values)
    rank = max(1, math.ceil(percent * len(ordered) / 100))
    return ordered[rank - 1]
