"""A run that never began, told in the format of each report."""

from __future__ import annotations

from mcptest import __version__
from mcptest.cli.failure import failure_kind
from mcptest.cli.report_names import VERSIONED, load_reporter
from mcptest.core.errors import FormatError, RefusedError, UsageError
from mcptest.core.outcome import Fault
from mcptest.reporters.collected import failed_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.errors import McptestError
    from mcptest.core.events import Event

__all__ = ["failure_text"]


def failure_text(name: str, error: McptestError, started_at: str) -> str:
    """What the report of this name says when files, command line or selection are at fault."""
    kind, _ = failure_kind(error)
    diagnostics = error.diagnostics if isinstance(error, FormatError) else ()
    # Each is needed by one report only, as in `load_reporter`.
    if name == "json":
        from mcptest.reporters import json_report  # noqa: PLC0415

        return json_report.render_failure(
            kind, str(error), diagnostics, __version__, started_at, error.shard
        )
    if name == "html":
        from mcptest.reporters import html_report  # noqa: PLC0415

        return html_report.render_failure(kind, str(error), diagnostics, __version__, started_at)
    hint = error.help if isinstance(error, (UsageError, RefusedError)) else ""
    return _told(name, Fault(kind=kind, message=str(error), hint=hint), diagnostics, started_at)


def _told(name: str, fault: Fault, diagnostics: Sequence[Diagnostic], started_at: str) -> str:
    """The two events such a run consists of, through the reporter itself."""
    events = failed_run(fault, diagnostics, started_at)
    try:
        return _rendered(name, events)
    except UsageError as error:
        # A reporter of another package failed as well, so this is said on its behalf.
        return f"{fault.message}\n{error}\n"


def _rendered(name: str, events: Sequence[Event]) -> str:
    lines: list[str] = []
    reporter = load_reporter(name)
    if name == "ndjson":
        listener = reporter(lines.append, __version__)
    else:
        listener = reporter(__version__) if name in VERSIONED else reporter()
    for event in events:
        listener(event)
    return "".join(lines) if name == "ndjson" else str(listener.render())
