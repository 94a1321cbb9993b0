"""The reporters there are: their names, where their code is, and one line about each."""

from __future__ import annotations

from mcptest.core.errors import UsageError
from mcptest.core.suggest import closest
from mcptest.core.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["REPORTERS", "VERSIONED", "load_reporter", "split_target"]

# Module and class of each; only those that are wanted are imported.
REPORTERS = {
    "terminal": ("terminal", "TerminalReporter"),
    "minimal": ("minimal", "MinimalReporter"),
    "json": ("json_report", "JsonReporter"),
    "ndjson": ("ndjson", "NdjsonReporter"),
    "junit": ("junit", "JunitReporter"),
    "tap": ("tap", "TapReporter"),
    "github": ("github", "GithubReporter"),
    "markdown": ("markdown", "MarkdownReporter"),
    "sarif": ("sarif", "SarifReporter"),
    "agent": ("agent", "AgentReporter"),
    "html": ("html_report", "HtmlReporter"),
}

# Those that are made with the version of mcptest, and with nothing else.
VERSIONED = ("html", "sarif")


def load_reporter(name: str) -> Any:
    """The class of this name. What it is made with differs, so its type is not known here."""
    module, reporter = REPORTERS[name]
    return getattr(__import__(f"mcptest.reporters.{module}", fromlist=[reporter]), reporter)


def split_target(word: str, option: str) -> tuple[str, str]:
    """`NAME[=FILE]` in two; a `UsageError` when there is no such reporter."""
    name, equals, file = word.partition("=")
    if name not in REPORTERS:
        meant = closest(name, REPORTERS)
        question = f"; did you mean {meant}?" if meant else ""
        there = ", ".join(REPORTERS)
        raise UsageError(f"there is no reporter {visible(name)!r}{question}", f"there are: {there}")
    if equals and not file:
        raise UsageError(f"{option} {name}= needs a file after the equals sign")
    if name == "terminal" and file:
        raise UsageError("the terminal report goes to standard output, not to a file")
    return name, file
