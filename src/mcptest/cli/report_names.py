"""The reporters there are: their names, where their code is, and one line about each."""

from __future__ import annotations

from mcptest.core.errors import UsageError
from mcptest.core.suggest import closest
from mcptest.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint
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
    if name not in REPORTERS:
        from mcptest.cli.installed_reporters import load_installed  # noqa: PLC0415  # see below

        return load_installed(name)
    module, reporter = REPORTERS[name]
    return getattr(__import__(f"mcptest.reporters.{module}", fromlist=[reporter]), reporter)


def split_target(word: str, option: str) -> tuple[str, str]:
    """`NAME[=FILE]` in two; a `UsageError` when there is no such reporter."""
    name, equals, file = word.partition("=")
    if name not in REPORTERS and name not in (others := _installed()):
        known = (*REPORTERS, *others)
        meant = closest(name, known)
        question = f"; did you mean {visible(meant)}?" if meant else ""
        there = visible(", ".join(known))
        raise UsageError(f"there is no reporter {visible(name)!r}{question}", f"there are: {there}")
    if equals and not file:
        raise UsageError(f"{option} {name}= needs a file after the equals sign")
    if name == "terminal" and file:
        raise UsageError("the terminal report goes to standard output, not to a file")
    return name, file


def _installed() -> Mapping[str, EntryPoint]:
    # Looking for them takes longer than a small run, so it is done for unknown names only.
    from mcptest.cli.installed_reporters import find_installed  # noqa: PLC0415

    return find_installed()
