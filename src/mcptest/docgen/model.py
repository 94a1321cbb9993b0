"""The documentation of a server as values: features, cases, headings and their anchors.

All strings are as they come from files and servers; the renderers escape them.
"""

from __future__ import annotations

import re

from mcptest.core.coverage import KINDS
from mcptest.core.record import Record
from mcptest.core.text import excerpt, plural, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.coverage import Kind
    from mcptest.docgen.json_lines import Line

    Message = dict[str, Any]
    # A sentence, or a part of one: plain text, with `Code` in between.
    Inline = tuple[str, ...]
    # Lines, each with its indentation in spaces.
    Paragraph = list[tuple[int, str]]
    # The kind of a heading, and which of its kind: the name of a section, or a number.
    HeadingKey = tuple[str, str | int]

__all__ = [
    "CASES",
    "CONTENTS",
    "CaseDoc",
    "Code",
    "FeatureDoc",
    "FileDoc",
    "MessageDoc",
    "Row",
    "ServerDescription",
    "ServerDoc",
    "Table",
    "html_anchors",
    "markdown_anchors",
    "split_paragraphs",
]

CONTENTS = "Contents"
CASES = "Dialogues"
_SECTIONS = {
    "tools": "Tools",
    "resources": "Resources",
    "resourceTemplates": "Resource templates",
    "prompts": "Prompts",
}


class Code(str):
    """Text that is shown as it is written in a message or a file."""

    __slots__ = ()


class ServerDescription(Record):
    """What is known of a server. `source` names who described it, as part of a sentence.

    `features` has a tuple of list entries for each name of a kind.
    """

    source: str
    info: Message
    capabilities: Message
    protocol_version: str = ""
    instructions: str = ""
    features: dict[str, tuple[Message, ...]]


class Row(Record):
    """One argument, or one member of a result. `required` is "yes", "no" or "" for unknown."""

    name: str
    type: str = ""
    required: str = ""
    rules: tuple[Inline, ...] = ()
    description: str = ""


class Table(Record):
    """The arguments or the result of a feature; `notes` are about the table as a whole."""

    title: str
    rows: tuple[Row, ...] = ()
    notes: tuple[Inline, ...] = ()


class FeatureDoc(Record):
    """One tool, resource, resource template or prompt.

    `hints` are its annotations in words. `note` says why a feature is not described. `cases` are
    the numbers of the cases that use it.
    """

    kind: Kind
    name: str
    title: str = ""
    description: str = ""
    hints: tuple[str, ...] = ()
    facts: tuple[Inline, ...] = ()
    tables: tuple[Table, ...] = ()
    note: str = ""
    cases: tuple[int, ...] = ()


class MessageDoc(Record):
    """One message of a case, with its JSON as `lines`."""

    is_ours: bool
    summary: Inline
    comment: str = ""
    notes: tuple[Inline, ...] = ()
    lines: tuple[Line, ...] = ()

    @property
    def direction(self) -> str:
        return "client → server" if self.is_ours else "server → client"


class CaseDoc(Record):
    """One case; `features` are the positions of those it uses in `ServerDoc.features`."""

    number: int
    name: str
    messages: tuple[MessageDoc, ...]
    comment: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    skip: str | None = None
    is_strict: bool = False
    features: tuple[int, ...] = ()


class FileDoc(Record):
    """The cases of one file."""

    name: str
    cases: tuple[CaseDoc, ...]


class ServerDoc(Record):
    """Everything that is documented, in order; `legend` explains the tags that are used."""

    title: str
    description: str = ""
    facts: tuple[Inline, ...] = ()
    instructions: str = ""
    capabilities: tuple[Inline, ...] = ()
    features: tuple[FeatureDoc, ...] = ()
    files: tuple[FileDoc, ...] = ()
    legend: tuple[Inline, ...] = ()
    left_out: tuple[Inline, ...] = ()

    @property
    def cases(self) -> tuple[CaseDoc, ...]:
        """All cases; `CaseDoc.number` counts them from 0."""
        return tuple(case for file in self.files for case in file.cases)

    @property
    def shows_files(self) -> bool:
        """True if the cases come from several files, which then have headings."""
        return len(self.files) > 1

    def sections(self) -> Iterator[tuple[str, str, list[tuple[int, FeatureDoc]]]]:
        """Each kind that has features: its name, its heading, and these with their positions."""
        for name, heading in _SECTIONS.items():
            found = [(at, each) for at, each in enumerate(self.features) if each.kind.name == name]
            if found:
                yield name, heading, found

    @property
    def overview(self) -> str:
        """How many features and cases there are."""
        counts = [plural(len(found), KINDS[name].noun) for name, _, found in self.sections()]
        last = counts.pop() if counts else ""
        listed = f"{', '.join(counts)} and {last}" if counts else last
        offered = f"The server offers {listed}." if last else "It names no offers."
        if not self.cases:
            return offered
        verb = "shows" if len(self.cases) == 1 else "show"
        return f"{offered} {plural(len(self.cases), 'dialogue')} {verb} how it is used."


# Anchors: the same as long as names are the same


def markdown_anchors(doc: ServerDoc) -> dict[HeadingKey, str]:
    """What GitHub and most others make of each heading; "" for a name of symbols only."""
    names = _UniqueNames()
    # These two come first, and another heading may have the same name.
    names.add(_slug(doc.title))
    names.add(_slug(CONTENTS))
    return {key: names.add(_slug(text)) for key, text in _headings(doc)}


def html_anchors(doc: ServerDoc) -> dict[HeadingKey, str]:
    """The id of each heading on the HTML page: its kind and its name."""
    names = _UniqueNames()
    found = {}
    for key, text in _headings(doc):
        kind, at = key
        lead = "" if kind == "section" else f"{kind}-"
        if kind == "feature" and isinstance(at, int):
            lead = f"{doc.features[at].kind.unit}-"
        found[key] = names.add(f"{lead}{_slug(text)[:100]}")
    return found


def _headings(doc: ServerDoc) -> Iterator[tuple[HeadingKey, str]]:
    """Every heading below the title, in order, with its text."""
    for name, heading, features in doc.sections():
        yield ("section", name), heading
        for at, feature in features:
            yield ("feature", at), feature.name
    if doc.cases:
        yield ("section", CASES), CASES
    for number, file in enumerate(doc.files):
        if doc.shows_files:
            yield ("file", number), file.name
        for case in file.cases:
            yield ("case", case.number), case.name


def _slug(text: str) -> str:
    """Lower-case letters, digits, `_` and `-`; spaces become `-`, everything else is dropped."""
    shown = " ".join(filter(None, excerpt(text, 400).split(" ")))
    return re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")


class _UniqueNames:
    """Names that are taken; the second one of a name gets a number."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, wanted: str) -> str:
        if not wanted:
            return ""
        name = wanted
        while name in self._counts:
            self._counts[wanted] += 1
            name = f"{wanted}-{self._counts[wanted]}"
        self._counts[name] = 0
        return name


# Text of several lines

# A line that is at least this long was probably broken only because it was full.
_FULL_LINE_CHARS = 60
_MAX_INDENT = 12
_BULLET = r"(?:[-*+•]|\d+[.)]|[A-Za-z_][\w ]*:)(?:\s|$)"


def split_paragraphs(text: str) -> list[Paragraph]:
    """The paragraphs of a text from outside; invisible characters are written as escapes.

    Lines that were broken only because they were full are joined again.
    """
    paragraphs: list[Paragraph] = [[]]
    before, indent_before = "", 0
    for raw in text.replace("\r\n", "\n").expandtabs(4).strip().split("\n"):
        line = raw.rstrip(" ")
        bare = line.lstrip(" ")
        indent, words = len(line) - len(bare), visible(bare)
        here = paragraphs[-1]
        is_continued = len(before) >= _FULL_LINE_CHARS and indent == indent_before
        if not words:
            paragraphs += [[]] if here else []
        elif here and is_continued and re.match(_BULLET, bare) is None:
            here[-1] = (here[-1][0], f"{here[-1][1]} {words}")
        else:
            here.append((min(indent, _MAX_INDENT), words))
        before, indent_before = line, indent
    return [paragraph for paragraph in paragraphs if paragraph]
