"""What a run has to say about snapshots: each one it saw, and what became of the files."""

from __future__ import annotations

from mcptest.core.record import ABSENT, Record
from mcptest.core.text import shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from mcptest.core.outcome import CaseResult

    SnapshotMode = Literal["check", "write_new", "update"]
    SnapshotStatus = Literal["same", "new", "updated", "different"]

    Keys = dict[str, tuple[str, ...]]

__all__ = [
    "WRITTEN",
    "SnapshotReport",
    "SnapshotTaken",
    "merge_snapshots",
    "with_snapshots",
]

# What is to be written, if the test passes.
WRITTEN = ("new", "updated")

_MAX_NAMES = 300


class SnapshotTaken(Record):
    """One look at one snapshot. `value` is there only when it is to be written.

    `test` is the name of the test that looked, `turn` its place among all that ran: two tests
    may have one name. `place` is where in the file it says so. With `is_past`, the test was
    tried again after it: what it saw is not what passed.
    """

    file: str
    key: str
    status: SnapshotStatus
    value: object = ABSENT
    test: str = ""
    turn: int = 0
    place: tuple[str | int, ...] = ()
    is_past: bool = False


class SnapshotReport(Record):
    """The names of snapshots by the file of their suite; a file without any is left out.

    `stale` ones belong to no test any more. Of an `unstable` one several values were seen: it
    varies from try to try, or another run has written it meanwhile. A `held` one is not
    accepted, for its test did not pass; a `clashing` one neither, for several tests bring
    different values; an `unwritten` one could not be written.
    """

    written: Keys = {}  # noqa: RUF012  # nothing of a record changes
    updated: Keys = {}  # noqa: RUF012  # as above
    removed: Keys = {}  # noqa: RUF012  # as above
    stale: Keys = {}  # noqa: RUF012  # as above
    unstable: Keys = {}  # noqa: RUF012  # as above
    held: Keys = {}  # noqa: RUF012  # as above
    clashing: Keys = {}  # noqa: RUF012  # as above
    unwritten: Keys = {}  # noqa: RUF012  # as above


def with_snapshots(result: CaseResult, taken: tuple[SnapshotTaken, ...]) -> CaseResult:
    """The result with what its test saw; one that did not pass says what is held back."""
    result = result.but(snapshots=taken)
    held = dict.fromkeys(each.key for each in taken if each.status in WRITTEN)
    if result.status == "passed" or not held:
        return result
    names = visible(shorten(", ".join(held), _MAX_NAMES))
    note = f"held back, for only what passes is accepted: the snapshot {names}"
    return result.but(notes=(*result.notes, note))


def merge_snapshots(reports: Iterable[SnapshotReport | None]) -> SnapshotReport | None:
    """One report of several, each about other files; None when nobody has one."""
    found = [report for report in reports if report is not None]
    if not found:
        return None
    merged: dict[str, Keys] = {name: {} for name, _ in found[0].fields()}
    for report in found:
        for name, keys in report.fields():
            merged[name] |= keys
    return SnapshotReport(**merged)
