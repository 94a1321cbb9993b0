"""What the file of a suite's snapshots is to hold after a run, and what is said of it. Pure."""

from __future__ import annotations

from itertools import pairwise

from mcptest.core.record import ABSENT, Record
from mcptest.core.snapshots import WRITTEN
from mcptest.matching.compare import is_met

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mcptest.core.snapshots import SnapshotTaken

    Entries = Mapping[str, object]

__all__ = ["Settled", "clashing", "settled"]


class Settled(Record):
    """What becomes of the snapshots of one file, by their names.

    `entries` are those that the file is to hold, None where it stays as it is. `clashing` has
    the names of the tests that do not agree.
    """

    entries: dict[str, object] | None = None
    written: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()
    clashing: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  # nothing of a record changes


def settled(
    taken: Sequence[SnapshotTaken],
    stored: Entries,
    known: Entries,
    declared: Collection[str],
    *,
    removes: bool,
) -> Settled:
    """What all that was `taken` makes of what is `stored` now.

    `known` is what was stored when the run began: what somebody else has added since then is
    neither stale nor replaced by something that is new to us as well.
    """
    # What an earlier try saw is neither accepted nor stale.
    seen = {each.key for each in taken}
    last = {each.key: each for each in taken if not each.is_past}
    clash = clashing(taken)
    wanted = {
        key: each.value for key, each in last.items() if each.status in WRITTEN and key not in clash
    }
    added = {key for key in wanted if key in stored and key not in known}
    changed = {key: value for key, value in wanted.items() if key not in added}
    stale = tuple(sorted((stored.keys() & known.keys()) - set(declared) - seen))
    removed = stale if removes else ()
    kept = {key: value for key, value in stored.items() if key not in removed}
    beaten = {key for key in added if not _is_one(stored[key], wanted[key])}
    return Settled(
        entries=kept | changed if changed or removed else None,
        written=tuple(sorted(changed.keys() - stored.keys())),
        updated=tuple(sorted(changed.keys() & stored.keys())),
        removed=removed,
        stale=() if removed else stale,
        unstable=tuple(sorted((_varying(taken) | beaten) - clash.keys())),
        clashing=clash,
    )


def _varying(taken: Sequence[SnapshotTaken]) -> set[str]:
    """Which snapshots would have been written with two different values."""
    written: dict[str, list[object]] = {}
    for each in taken:
        if each.status in WRITTEN:
            written.setdefault(each.key, []).append(each.value)
    kept = {each.key for each in taken if not each.is_past}
    return {key for key, values in written.items() if key in kept and not _are_one(values)}


def clashing(taken: Sequence[SnapshotTaken]) -> dict[str, tuple[str, ...]]:
    """Snapshots that are wanted with different values, and the names of the tests that do.

    Whichever of them were accepted, the other one would fail from then on. A test may want
    two itself, at two places; at one place, the last look counts.
    """
    looks: dict[str, dict[object, SnapshotTaken]] = {}
    for each in taken:
        if each.status != "different" and not each.is_past:
            looks.setdefault(each.key, {})[each.turn, each.place] = each
    # What is as it is stored brings no value of its own.
    return {
        key: tuple(dict.fromkeys(look.test for look in by_place.values()))
        for key, by_place in looks.items()
        if not _are_one([look.value for look in by_place.values()])
    }


def _are_one(values: Sequence[object]) -> bool:
    return all(_is_one(one, other) for one, other in pairwise(values))


def _is_one(one: object, other: object) -> bool:
    if one is ABSENT or other is ABSENT:
        return one is other
    return is_met(one, other)
