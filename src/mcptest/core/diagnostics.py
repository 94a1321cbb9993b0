"""A place in a file plus a sentence, and how to print them.

One renderer for all of them, so that terminal, JUnit and pytest say the same words.
"""

from __future__ import annotations

import re

from mcptest.core.record import Record
from mcptest.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Severity = Literal["error", "warning"]

__all__ = ["CODES", "UNQUOTED", "Complaint", "Diagnostic", "UnquotedText", "render_diagnostic"]

# Stable: a code is never given another meaning. docs/errors.md has a section for each.
CODES = {
    "F001": "file cannot be read",
    "F002": "not valid YAML or JSON",
    "F003": "key written twice",
    "F004": "YAML that is refused",
    "F005": "wrong kind of document",
    "F006": "unknown key",
    "F007": "missing key",
    "F008": "wrong type",
    "F009": "value out of range",
    "F010": "not supported by this version",
    "F011": "expectation that checks nothing",
    "F012": "unknown matcher",
    "F013": "wrong matcher parameter",
    "F014": "misplaced directive",
    "F015": "bad regular expression",
    "F016": "environment variable not set",
    "F017": "expectation that cannot hold",
    "F018": "pattern without match:",
    "F019": "bad JSON Schema",
    "F020": "value that no earlier test captures",
    "F021": "unknown plugin",
    "W001": "slip that is accepted",
    "W002": "tests left out on purpose",
    "W003": "secret that cannot be blanked",
}


UNQUOTED = (
    "it is outside the folders of this run, so nothing in it is quoted: start mcptest in a folder "
    "that holds it, or name the file itself on the command line"
)


class UnquotedText(str):
    """The text of a file that no message may quote: it is not one of the user's own."""

    __slots__ = ()


class Complaint(Record):
    """A mistake, by the place of the value in its document; not yet a place in the file.

    `on_key` points at the key instead of the value; `offset` and `width` into its text.
    """

    code: str
    message: str
    help: str = ""
    steps: tuple[str | int, ...] = ()
    on_key: bool = False
    offset: int = 0
    width: int = 0
    severity: Severity = "error"


class Diagnostic(Record):
    """One mistake: what, where, and what to do about it. Lines and columns count from 1."""

    code: str
    file: str
    message: str
    line: int = 0
    column: int = 0
    help: str = ""
    source: str = ""
    width: int = 1
    severity: Severity = "error"


def render_diagnostic(diagnostic: Diagnostic) -> str:
    """The diagnostic as a person reads it: sentence, place, source line with a caret, help."""
    lines = [f"{diagnostic.severity}[{diagnostic.code}]: {visible(diagnostic.message)}"]
    gutter = " " * len(str(diagnostic.line))
    place = visible(diagnostic.file)
    if diagnostic.line:
        place += f":{diagnostic.line}:{diagnostic.column}"
    lines.append(f"{gutter}--> {place}")
    if diagnostic.line and diagnostic.source:
        lines += _excerpt(diagnostic, gutter)
    if diagnostic.help:
        lines.append(f"{gutter} = help: {visible(diagnostic.help)}")
    return "\n".join(lines)


# Longer source lines are cut around the caret: nobody reads a caret 300 columns out, and on a
# terminal of 80 columns a line that wraps has its caret nowhere near.
_EXCERPT_COLUMNS = 72


# `user:password@` in a URL. What is shown instead is as long, for the sake of the caret.
_PASSWORD = r"(://[^\s/:@]*:)([^\s/@]+)(?=@)"


def _without_passwords(line: str) -> str:
    return re.sub(_PASSWORD, lambda found: found[1] + "*" * len(found[2]), line)


def _excerpt(diagnostic: Diagnostic, gutter: str) -> list[str]:
    column = max(0, diagnostic.column - 1)
    start = max(0, column - _EXCERPT_COLUMNS // 2) if column > _EXCERPT_COLUMNS * 3 // 4 else 0
    shown = _without_passwords(diagnostic.source)[start : start + _EXCERPT_COLUMNS]
    lead = "…" if start else ""
    tail = "…" if start + _EXCERPT_COLUMNS < len(diagnostic.source) else ""
    # Measured as they are shown: an escape is longer than its character.
    before = visible(shown[: column - start])
    pointed_at = visible(shown[column - start : column - start + diagnostic.width])
    return [
        f"{gutter} |",
        f"{diagnostic.line} | {lead}{visible(shown)}{tail}",
        f"{gutter} | {' ' * len(lead + before)}{'^' * max(1, len(pointed_at))}",
    ]
