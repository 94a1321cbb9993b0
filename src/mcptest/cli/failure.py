"""Report a command that could not do its work: in words, or as the JSON report."""

from __future__ import annotations

import sys

from mcptest import __version__
from mcptest.core.errors import (
    FormatError,
    InterruptedRunError,
    McptestError,
    NothingSelectedError,
    UsageError,
)
from mcptest.core.exit_codes import ExitCode

__all__ = ["report_failure"]

_KINDS = (
    (FormatError, "bad_file", ExitCode.BAD_INPUT),
    (UsageError, "usage", ExitCode.BAD_INPUT),
    (NothingSelectedError, "nothing_selected", ExitCode.NOTHING_SELECTED),
    (InterruptedRunError, "interrupted", ExitCode.INTERRUPTED),
)


def report_failure(error: McptestError, as_json: bool, started_at: str) -> int:
    """Say what is wrong; the exit status that means it."""
    kind, status = next(
        (kind, status) for family, kind, status in _KINDS if isinstance(error, family)
    )
    diagnostics = error.diagnostics if isinstance(error, FormatError) else ()
    if as_json:
        # Loaded only for a report that is going to be written.
        from mcptest.reporters.json_report import render_failure  # noqa: PLC0415

        sys.stdout.write(render_failure(kind, str(error), diagnostics, __version__, started_at))
    sys.stderr.write(_in_words(error))
    return status


def _in_words(error: McptestError) -> str:
    from mcptest.core.diagnostics import render_diagnostic  # noqa: PLC0415  # as above

    if isinstance(error, FormatError):
        blocks = [render_diagnostic(diagnostic) for diagnostic in error.diagnostics]
        return "\n\n".join(blocks) + f"\n\n{error}; nothing was started\n"
    lines = [f"error: {error}"]
    if isinstance(error, UsageError) and error.help:
        lines.append(f"  help: {error.help}")
    return "\n".join(lines) + "\n"
