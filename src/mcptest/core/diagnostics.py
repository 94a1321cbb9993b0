"""Diagnostics: mistakes in files, how they are rendered, and suggestions for unknown words.

One renderer serves all, so that terminal, JUnit and pytest print the same.
"""

from __future__ import annotations

import re
from itertools import islice

from mcptest.core.text import visible
from mcptest.core.value_class import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    Severity = Literal["error", "warning"]

__all__ = [
    "CODES",
    "MAX_CHARS",
    "MAX_KNOWN",
    "UNQUOTED",
    "Diagnostic",
    "PathDiagnostic",
    "UnquotedText",
    "closest",
    "edit_distance",
    "find_abbreviation",
    "render_diagnostic",
    "suggest",
]


# A code never changes its meaning. docs/errors.md has a section for each.
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
    "W004": "unknown key in the config of another program",
}


UNQUOTED = (
    "it is outside the folders of this run, so nothing in it is quoted: start mcptest in a folder "
    "that holds it, or name the file itself on the command line"
)


class UnquotedText(str):
    """The text of a file outside the folders of the run, which no message may quote."""

    __slots__ = ()


class PathDiagnostic(Record):
    """A mistake by the path of the value in its document, before its place in the file is known.

    `on_key` points at the key instead of the value; `offset` and `width` are within its text.
    `elsewhere` is the diagnostic of a mistake in another file that this one names.
    """

    code: str
    message: str
    help: str = ""
    steps: tuple[str | int, ...] = ()
    on_key: bool = False
    offset: int = 0
    width: int = 0
    severity: Severity = "error"
    elsewhere: Diagnostic | None = None


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
    """The diagnostic for a person: message, place, source line with a caret, help."""
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


# Longer source lines are cut around the caret, so that they do not wrap on a terminal.
_EXCERPT_COLUMNS = 72


# `user:password@` in a URL. The replacement is as long, so that the caret stays in place.
_PASSWORD = r"(://[^\s/:@]*:)([^\s/@]+)(?=@)"


def _excerpt(diagnostic: Diagnostic, gutter: str) -> list[str]:
    column = max(0, diagnostic.column - 1)
    start = max(0, column - _EXCERPT_COLUMNS // 2) if column > _EXCERPT_COLUMNS * 3 // 4 else 0
    line = re.sub(_PASSWORD, lambda found: found[1] + "*" * len(found[2]), diagnostic.source)
    shown = line[start : start + _EXCERPT_COLUMNS]
    lead = "…" if start else ""
    tail = "…" if start + _EXCERPT_COLUMNS < len(diagnostic.source) else ""
    # Measured with escapes, which are longer than their characters.
    before = visible(shown[: column - start])
    pointed_at = visible(shown[column - start : column - start + diagnostic.width])
    return [
        f"{gutter} |",
        f"{diagnostic.line} | {lead}{visible(shown)}{tail}",
        f"{gutter} | {' ' * len(lead + before)}{'^' * max(1, len(pointed_at))}",
    ]


# Suggestions. Names may come from a server, so their number and length are limited.

MAX_KNOWN = 1_000
MAX_CHARS = 64


def edit_distance(left: str, right: str, limit: int | None = None) -> int:
    """How many letters must be added, dropped, changed or swapped with a neighbour.

    A distance above `limit` is returned as `limit + 1`, much sooner.
    """
    limit = max(len(left), len(right)) if limit is None else limit
    far = limit + 1
    if abs(len(left) - len(right)) > limit:
        return far
    before: list[int] = []
    row = [min(j, far) for j in range(len(right) + 1)]
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [far] * (len(right) + 1)
        row[0] = min(i, far)
        # Cells farther from the diagonal than the limit are beyond it.
        for j in range(max(1, i - limit), min(len(right), i + limit) + 1):
            b = right[j - 1]
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b), far)
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                best = min(best, older[j - 2] + 1)
            row[j] = best
        # The next row depends on this one, and for a swap on the one before it.
        if min(row) > limit and min(before) >= limit:
            return far
    return row[-1]


def closest(word: str, known: Iterable[str], within: int = 2) -> str:
    """The known word nearest to `word`, or "" if none is near enough.

    Case is ignored; short words must be nearer than long ones.
    """
    if len(word) > MAX_CHARS:
        return ""
    folded = word.casefold()
    limit = min(within, max(1, len(word) // 3))
    near = (name for name in islice(known, MAX_KNOWN) if len(name) <= MAX_CHARS)
    scored = [(edit_distance(folded, name.casefold(), limit), name) for name in near]
    distance, best = min(scored, default=(limit + 1, ""))
    return best if distance <= limit else ""


def suggest(word: str, known: Iterable[str], form: str = "{}") -> str:
    """The end of a message that asks for the known word nearest to `word`, "" if none is near.

    `form` is how the word is written in its place.
    """
    meant = closest(word, known)
    return f"; did you mean {form.format(meant)}?" if meant else ""


# Shorter beginnings are ambiguous.
_BEGINNING = 3


def find_abbreviation(word: str, known: Iterable[str]) -> str:
    """The one known word that `word` is short for, or that is short for it; "" for several.

    `args` is short for `arguments`, and `max_duration` for `max_duration_ms`.
    """
    if not _BEGINNING <= len(word) <= MAX_CHARS:
        return ""
    folded = word.casefold()
    found = [name for name in islice(known, MAX_KNOWN) if _is_short_for(folded, name.casefold())]
    return found[0] if len(found) == 1 else ""


def _is_short_for(one: str, other: str) -> bool:
    """True if both begin alike, and one has only letters of the other, in their order."""
    if one[:_BEGINNING] != other[:_BEGINNING] or max(len(one), len(other)) > MAX_CHARS:
        return False
    short, long = sorted((one, other), key=len)
    rest = iter(long)
    return all(letter in rest for letter in short)
