"""Hear what tests saw of snapshots, in whichever process they ran, and settle it at the end."""

from __future__ import annotations

from mcptest.core.events import CaseFinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.events import Event, RunFinished
    from mcptest.core.snapshots import SnapshotTaken
    from mcptest.runner.snapshots import Snapshots

__all__ = ["SnapshotWatch"]


class SnapshotWatch:
    """Collects the snapshots of a run. `is_whole` says that no test was left out."""

    def __init__(self, snapshots: Snapshots, *, is_whole: bool) -> None:
        self._snapshots = snapshots
        self._is_whole = is_whole
        self._turn = 0
        self._taken: list[SnapshotTaken] = []
        self._held: list[SnapshotTaken] = []

    def hear(self, event: Event) -> None:
        if not isinstance(event, CaseFinished):
            return
        self._turn += 1
        result = event.result
        seen = [each.but(test=result.name, turn=self._turn) for each in result.snapshots]
        # What comes with something that is wrong is not right by itself.
        (self._taken if result.status == "passed" else self._held).extend(seen)

    def settled(self, finished: RunFinished) -> RunFinished:
        """Write what is to be written, now that all is known; the end of the run says it."""
        is_complete = self._is_whole and not finished.bailed
        report, problems = self._snapshots.finish(self._taken, is_complete, self._held)
        return finished.but(snapshots=report, findings=(*finished.findings, *problems))
