"""One sentence about a result, for reports that have one line for it; and where it stands."""

from __future__ import annotations

from mcptest.core.text import shorten, visible
from mcptest.reporters.failure_text import fault_headline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import RunStarted, SuiteStarted
    from mcptest.core.outcome import CaseResult

__all__ = [
    "diagnostic_line",
    "headline",
    "lasting_server",
    "name_of",
    "place_of",
    "server_of",
    "title_of",
]

MAX_NAME_CHARS = 200
_SUITE = "suite"
MAX_PATH_CHARS = 200
MAX_MESSAGE_CHARS = 400


def headline(result: CaseResult) -> str:
    """Why a case did not pass: its fault, else the first thing that differs."""
    if result.fault is not None:
        return fault_headline(result.fault)
    if result.mismatches:
        first, others = result.mismatches[0], len(result.mismatches) - 1
        where = visible(shorten(first.path, MAX_PATH_CHARS)) or "(the whole answer)"
        text = f"{where}: {visible(shorten(first.message, MAX_MESSAGE_CHARS)) or 'differs'}"
        return f"{text} (and {others:,} more)" if others else text
    return visible(shorten(result.reason, MAX_MESSAGE_CHARS)) or "no reason is known"


def name_of(result: CaseResult) -> str:
    return visible(shorten(result.name, MAX_NAME_CHARS)) or "(a test without a name)"


def title_of(started: RunStarted, suite: SuiteStarted, result: CaseResult) -> str:
    """The name of a case, and its server where the name alone may stand for several."""
    server = server_of(started, suite)
    return f"{name_of(result)} (on {server})" if server else name_of(result)


def server_of(started: RunStarted, suite: SuiteStarted) -> str:
    """The server of these cases; "" when their file is for one, or the whole run is."""
    return lasting_server(suite) if suite.server != started.server else ""


def lasting_server(suite: SuiteStarted) -> str:
    """The server of these cases; "" when their file is for one, which is spoken to in one way.

    This is for what names a case from run to run, whichever of them are chosen.
    """
    is_told = suite.format == _SUITE or _names_a_way(suite.server)
    return visible(shorten(suite.server, MAX_NAME_CHARS)) if is_told else ""


def _names_a_way(server: str) -> bool:
    if not server.endswith("]"):
        return False
    # Few runs have several ways.
    from mcptest.core.matrix import names_a_way  # noqa: PLC0415

    return names_a_way(server)


def place_of(suite: SuiteStarted, result: CaseResult) -> str:
    """`file:line`, the form that editors and terminals make clickable."""
    place = visible(suite.file)
    return f"{place}:{result.line}" if result.line else place


def diagnostic_line(diagnostic: Diagnostic) -> str:
    """A mistake in a file as one line, the place first."""
    place = visible(diagnostic.file)
    if diagnostic.line:
        place += f":{diagnostic.line}:{diagnostic.column}"
    message = visible(shorten(diagnostic.message, MAX_MESSAGE_CHARS))
    help = f"; {visible(shorten(diagnostic.help, MAX_MESSAGE_CHARS))}" if diagnostic.help else ""
    return f"{place}: {diagnostic.severity}[{diagnostic.code}]: {message}{help}"
