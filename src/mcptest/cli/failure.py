"""Report the error that ended a command: in words on standard error, or as a JSON report."""

from __future__ import annotations

from mcptest import __version__
from mcptest.cli.output import StandardOutput, write_stderr, write_stderr_wrapped
from mcptest.core.errors import (
    FormatError,
    InterruptedRunError,
    McptestError,
    NothingSelectedError,
    OwnFaultError,
    RefusedError,
    UsageError,
)
from mcptest.core.results import ExitCode
from mcptest.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import ReportedShard

__all__ = [
    "failure_kind",
    "render_error",
    "report_failure",
    "report_internal_error",
    "status_of_kind",
]

_KINDS = (
    (FormatError, "bad_file", ExitCode.BAD_INPUT),
    (UsageError, "usage", ExitCode.BAD_INPUT),
    (RefusedError, "refused", ExitCode.REFUSED),
    (NothingSelectedError, "nothing_selected", ExitCode.NOTHING_SELECTED),
    (InterruptedRunError, "interrupted", ExitCode.INTERRUPTED),
    (OwnFaultError, "internal", ExitCode.OUR_FAULT),
)


def report_failure(error: McptestError, as_json: bool, started_at: str) -> int:
    """Print an error; return the exit code for it."""
    kind, status = failure_kind(error)
    diagnostics = error.diagnostics if isinstance(error, FormatError) else ()
    write_stderr_wrapped("".join(map(render_error, (error, *error.unwritten))))
    if as_json:
        _write_json(kind, str(error), diagnostics, started_at, error.shard)
    return ExitCode.BAD_INPUT if error.unwritten else status


def failure_kind(error: McptestError) -> tuple[str, ExitCode]:
    """Return the kind of an error, as the JSON report names it, and its exit code."""
    return next((kind, status) for family, kind, status in _KINDS if isinstance(error, family))


def status_of_kind(kind: str) -> ExitCode | None:
    """Return the exit code for a kind in a saved report, or None for faults of servers."""
    return {known: status for _, known, status in _KINDS}.get(kind)


def report_internal_error(as_json: bool, started_at: str) -> int:
    """Print the current exception, an internal error; return the exit code for it."""
    import traceback  # noqa: PLC0415  # rare

    # An exception may quote data of a server or a file.
    write_stderr(visible(traceback.format_exc(), keep_newlines=True))
    whose = f"a fault of mcptest {__version__}, not of your server or your tests"
    write_stderr(
        f"\nThis is {whose}.\nPlease report it, with the lines above and the command you ran.\n"
    )
    if as_json:
        _write_json("internal", f"{whose}; standard error has the details", (), started_at)
    return ExitCode.OUR_FAULT


def _write_json(
    kind: str,
    message: str,
    diagnostics: Sequence[Diagnostic],
    started_at: str,
    shard: ReportedShard | None = None,
) -> None:
    from mcptest.reporters.json import render_failure  # noqa: PLC0415  # only with --json

    report = render_failure(kind, message, diagnostics, __version__, started_at, shard)
    StandardOutput().write_utf8(report)


def render_error(error: McptestError) -> str:
    """Render an error as lines for standard error."""
    from mcptest.core.diagnostics import render_diagnostic  # noqa: PLC0415  # rare

    if isinstance(error, FormatError):
        blocks = [render_diagnostic(diagnostic) for diagnostic in error.diagnostics]
        return "\n\n".join(blocks) + f"\n\n{error}; nothing was started\n"
    lines = [f"error: {error}"]
    if isinstance(error, (UsageError, RefusedError)) and error.help:
        lines.append(f"  help: {error.help}")
    return "\n".join(lines) + "\n"
