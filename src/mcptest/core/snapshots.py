"""What a run has to say about snapshots: each one it saw, and what became of the files."""

from __future__ import annotations

from mcptest.core.outcome import ABSENT
from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    SnapshotMode = Literal["check", "write_new", "update"]
    SnapshotStatus = Literal["same", "new", "updated", "different"]

    Keys = dict[str, tuple[str, ...]]

__all__ = ["SnapshotReport", "SnapshotTaken"]


class SnapshotTaken(Record):
    """One look at one snapshot. `value` is there only when it is to be written."""

    file: str
    key: str
    status: SnapshotStatus
    value: object = ABSENT


class SnapshotReport(Record):
    """The names of snapshots by the file of their suite; a file without any is left out.

    `stale` ones belong to no test any more. Of an `unstable` one a single run saw two values:
    two tests share its name, or it varies from try to try.
    """

    written: Keys = {}  # noqa: RUF012  # nothing of a record changes
    updated: Keys = {}  # noqa: RUF012  # as above
    removed: Keys = {}  # noqa: RUF012  # as above
    stale: Keys = {}  # noqa: RUF012  # as above
    unstable: Keys = {}  # noqa: RUF012  # as above
