"""The reporters: one entry each, read by the loader, `--help`, the documentation and messages.

To add one, write its module and add its entry here. A reporter is a class whose objects are called
with each event; `render()` then returns the report. `wants_log` names the tests whose messages it
shows: none (""), "failures" or "all".
"""

from __future__ import annotations

from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["REPORTERS", "ReporterEntry"]


class ReporterEntry(Record):
    """How one reporter is found, made and described."""

    # Module and class, imported when the reporter is used.
    source: str
    purpose: str
    # What it is made with: "tool_version", "all_logs", "folder", "options" (those that name the
    # server).
    made_with: tuple[str, ...] = ()
    # For people: written to standard output in the encoding of the terminal, not in UTF-8.
    is_for_people: bool = False

    def load(self) -> Any:
        """The class. What it is made with differs, so its type is not known here."""
        module, _, name = self.source.rpartition(".")
        return getattr(__import__(f"mcptest.reporters.{module}", fromlist=[name]), name)


REPORTERS = {
    "terminal": ReporterEntry(
        source="terminal.TerminalReporter",
        purpose="a person who watches; the default",
        is_for_people=True,
    ),
    "minimal": ReporterEntry(
        source="agent.MinimalReporter",
        purpose="a person in a hurry: one line, plus one per failure and note",
        is_for_people=True,
    ),
    "json": ReporterEntry(
        source="json.JsonReporter",
        purpose="other programs; `mcptest report` renders it again",
        made_with=("tool_version", "all_logs"),
    ),
    "ndjson": ReporterEntry(
        source="json.NdjsonReporter",
        purpose="programs that follow a run",
        made_with=("tool_version", "all_logs"),
    ),
    "junit": ReporterEntry(source="junit.JunitReporter", purpose="build servers"),
    "tap": ReporterEntry(source="tap.TapReporter", purpose="TAP harnesses"),
    "github": ReporterEntry(
        source="github.GithubReporter",
        purpose="the log of a GitHub Actions job",
        made_with=("folder",),
    ),
    "markdown": ReporterEntry(
        source="markdown.MarkdownReporter",
        purpose="a job summary or a comment",
    ),
    "sarif": ReporterEntry(
        source="sarif.SarifReporter",
        purpose="code scanning",
        made_with=("tool_version",),
    ),
    "agent": ReporterEntry(
        source="agent.AgentReporter",
        purpose="coding agents",
        made_with=("options",),
        is_for_people=True,
    ),
    "html": ReporterEntry(
        source="html.page.HtmlReporter",
        purpose="a browser",
        made_with=("tool_version",),
    ),
}
