"""Hear what tests saw of snapshots, in whichever process they ran, and settle it at the end."""

from __future__ import annotations

from mcptest.core.events import CaseFinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.events import Event, RunFinished
    from mcptest.core.snapshots import SnapshotReport, SnapshotTaken
    from mcptest.runner.snapshots import Snapshots

__all__ = ["SnapshotWatch"]


class SnapshotWatch:
    """Collects the snapshots of a run. `is_whole` says that no test was left out."""

    def __init__(self, snapshots: Snapshots, *, is_whole: bool) -> None:
        self._snapshots = snapshots
        self._is_whole = is_whole
        self._taken: list[SnapshotTaken] = []

    def hear(self, event: Event) -> None:
        if isinstance(event, CaseFinished):
            self._taken += event.result.snapshots

    def settle(self, finished: RunFinished) -> SnapshotReport:
        """Write what is to be written, now that all is known."""
        return self._snapshots.finish(self._taken, self._is_whole and not finished.bailed)
