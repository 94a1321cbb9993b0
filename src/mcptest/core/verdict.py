"""What the end of a run means for the exit status."""

from __future__ import annotations

from mcptest.core.exit_codes import ExitCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.events import RunFinished

__all__ = ["exit_code_of"]


def exit_code_of(finished: RunFinished) -> ExitCode:
    if finished.interrupted:
        return ExitCode.INTERRUPTED
    if finished.fault:
        return ExitCode.NO_SERVER
    has_failed = finished.summary.failed or finished.summary.errors
    if finished.matrix and finished.matrix.broken and not has_failed:
        # Its tests passed where they ran, but there is a way in which they could not.
        return ExitCode.NO_SERVER
    if has_failed or finished.broken_rules:
        return ExitCode.FAILED
    if finished.not_run and not finished.may_leave_out:
        return ExitCode.FAILED
    if finished.missed_gates:
        return ExitCode.GATE_MISSED
    if not finished.summary.passed:
        # Nothing was selected, or all of it was skipped: an empty run is no success.
        return ExitCode.NOTHING_SELECTED
    return ExitCode.PASSED
