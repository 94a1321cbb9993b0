"""Report a command that could not do its work: in words, or as the JSON report."""

from __future__ import annotations

from mcptest import __version__
from mcptest.cli.output import StandardOutput, complain, explain
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

__all__ = ["failure_kind", "in_words", "report_failure", "report_our_fault", "status_of_kind"]

_KINDS = (
    (FormatError, "bad_file", ExitCode.BAD_INPUT),
    (UsageError, "usage", ExitCode.BAD_INPUT),
    (RefusedError, "refused", ExitCode.REFUSED),
    (NothingSelectedError, "nothing_selected", ExitCode.NOTHING_SELECTED),
    (InterruptedRunError, "interrupted", ExitCode.INTERRUPTED),
    (OwnFaultError, "internal", ExitCode.OUR_FAULT),
)


def report_failure(error: McptestError, as_json: bool, started_at: str) -> int:
    """Say what is wrong; the exit status that means it."""
    kind, status = failure_kind(error)
    diagnostics = error.diagnostics if isinstance(error, FormatError) else ()
    explain("".join(map(in_words, (error, *error.unwritten))))
    if as_json:
        _write_json(kind, str(error), diagnostics, started_at, error.shard)
    return ExitCode.BAD_INPUT if error.unwritten else status


def failure_kind(error: McptestError) -> tuple[str, ExitCode]:
    """The stable word and the exit status for what a command could not do."""
    return next((kind, status) for family, kind, status in _KINDS if isinstance(error, family))


def status_of_kind(kind: str) -> ExitCode | None:
    """The exit status that goes with such a word in a saved report; None for kinds of servers."""
    statuses = {known: status for _, known, status in _KINDS}
    return statuses.get(kind)


def report_our_fault(as_json: bool, started_at: str) -> int:
    """Show the exception at hand, which is nobody's fault but ours."""
    import traceback  # noqa: PLC0415  # only ever needed here

    # An exception may quote what a server sent, or what is in a file.
    complain(visible(traceback.format_exc(), keep_newlines=True))
    whose = f"a fault of mcptest {__version__}, not of your server or your tests"
    complain(
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
    # Loaded only for a report that is going to be written.
    from mcptest.reporters.json import render_failure  # noqa: PLC0415

    report = render_failure(kind, message, diagnostics, __version__, started_at, shard)
    StandardOutput().write_utf8(report)


def in_words(error: McptestError) -> str:
    """The error as lines for standard error."""
    from mcptest.core.diagnostics import render_diagnostic  # noqa: PLC0415  # as above

    if isinstance(error, FormatError):
        blocks = [render_diagnostic(diagnostic) for diagnostic in error.diagnostics]
        return "\n\n".join(blocks) + f"\n\n{error}; nothing was started\n"
    lines = [f"error: {error}"]
    if isinstance(error, (UsageError, RefusedError)) and error.help:
        lines.append(f"  help: {error.help}")
    return "\n".join(lines) + "\n"
