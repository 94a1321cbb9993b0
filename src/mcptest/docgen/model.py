"""The documentation of a server as values: features, cases, messages, headings and their anchors.

All strings are as they come from files and servers; the renderers escape them.
"""

from __future__ import annotations

import json
import re
from itertools import chain

from mcptest.core.coverage import KINDS
from mcptest.core.text import excerpt, plural, shorten, visible
from mcptest.core.value_class import Record
from mcptest.matching.compare import Group
from mcptest.matching.patterns import PREFIX, Pattern
from mcptest.protocol.dialogue import Ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

    from mcptest.core.coverage import Kind

    Message = dict[str, Any]
    PieceKind = Literal["", "key", "text", "tag", "cut"]
    Piece = tuple[PieceKind, str]
    # A line of JSON: the depth of indentation, and pieces, each with its kind, which is its colour.
    Line = tuple[int, tuple[Piece, ...]]
    # A sentence, or a part of one: plain text, with `Code` in between.
    Inline = tuple[str, ...]
    # Lines, each with its indentation in spaces.
    Paragraph = list[tuple[int, str]]
    # The kind of a heading, and which of its kind: the name of a section, or a number.
    HeadingKey = tuple[str, str | int]

__all__ = [
    "CASES",
    "CONTENTS",
    "INDENT",
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
    "is_tag",
    "json_lines",
    "line_text",
    "markdown_anchors",
    "one_line",
    "split_paragraphs",
    "split_tag",
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
    """What is known about a server. `source` names who described it, as part of a sentence.

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


# A message as lines of readable JSON, with tags as a case file writes them. What is short stays on
# one line; long strings and long messages are cut, and say by how much.

INDENT = "  "

WIDTH = 80
MAX_LINES = 2_000
_MAX_TEXT_CHARS = 1_000
# Deeper than anything that is read from a file or a server.
_MAX_DEPTH = 250


def json_lines(value: object) -> tuple[Line, ...]:
    """A compiled or plain value over as many lines as it takes to read it well."""
    lines = _lines(value, 0)
    rest = len(lines) - MAX_LINES
    if rest <= 0:
        return tuple(lines)
    more: Line = (0, (("cut", f"… {plural(rest, 'more line')}"),))
    return (*lines[:MAX_LINES], more)


def line_text(line: Line) -> str:
    """One line as text, indented."""
    depth, pieces = line
    return INDENT * depth + "".join(text for _, text in pieces)


def one_line(value: object, limit: int) -> str:
    """The value on one line of about `limit` characters."""
    flat = " ".join(line_text((0, pieces)) for _, pieces in _lines(value, 0)[:limit])
    return shorten(flat, limit)


def is_tag(value: object) -> bool:
    """True if this is a tag of case files, which is not JSON."""
    return isinstance(value, Ref) or (isinstance(value, Pattern) and value.source[:2] == "!!")


def split_tag(value: object) -> tuple[str, str]:
    """The name of a tag and its text, "" if it has none."""
    source = f"!!ref {value.name}" if isinstance(value, Ref) else getattr(value, "source", "!!")
    name, _, text = source[2:].partition(" ")
    return name, text


def _lines(value: object, depth: int, lead: int = 0) -> list[Line]:
    """The value from this depth on; a container that fits on a line is on one line.

    `lead` is the number of characters before it on its first line.
    """
    if isinstance(value, Group):
        value = value.source
    if not isinstance(value, (dict, list)) or not value or depth > _MAX_DEPTH:
        return [(depth, tuple(_scalar(value, depth)))]
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    if isinstance(value, dict):
        inner = [_member(key, member, depth + 1) for key, member in value.items()]
    else:
        inner = [_lines(item, depth + 1) for item in value]
    if all(len(each) == 1 for each in inner):
        room = " " if opening == "{" else ""
        pieces: list[Piece] = [("", f"{opening}{room}")]
        for number, [(_, own)] in enumerate(inner):
            pieces += [("", ", ")] if number else []
            pieces += own
        flat = (*pieces, ("", f"{room}{closing}"))
        if len(INDENT) * depth + lead + sum(len(text) for _, text in flat) <= WIDTH:
            return [(depth, flat)]
    for each in inner[:-1]:
        at, last = each[-1]
        each[-1] = (at, (*last, ("", ",")))
    return [(depth, (("", opening),)), *chain(*inner), (depth, (("", closing),))]


def _member(key: str, value: object, depth: int) -> list[Line]:
    kind: PieceKind = "tag" if key.startswith(PREFIX) else "key"
    name = _quote(key)
    lines = _lines(value, depth, len(name) + 2)
    at, first = lines[0]
    lines[0] = (at, ((kind, name), ("", ": "), *first))
    return lines


def _scalar(value: object, depth: int) -> Iterator[Piece]:
    if depth > _MAX_DEPTH:
        yield "cut", "…"
    elif is_tag(value):
        name, text = split_tag(value)
        yield "tag", f"!!{visible(name)}"
        # A name needs no quotes; a regular expression may contain anything.
        if text:
            # Between single quotes a backslash is a plain character.
            is_single = "\\" in text and "'" not in text and visible(text) == text
            shown = f"'{shorten(text, _MAX_TEXT_CHARS)}'" if is_single else _quote(text)
            yield "", " "
            yield "tag", text if text.isidentifier() else shown
    elif isinstance(value, Pattern):
        yield "tag", _quote(value.source)
    elif isinstance(value, str):
        yield "text", _quote(value)
    else:
        # A file may hold what JSON has no type for, a date for example.
        yield "", visible(json.dumps(value, default=str))


def _quote(text: str) -> str:
    """A JSON string in which every character is visible, cut if it is very long."""
    rest = len(text) - _MAX_TEXT_CHARS
    tail = f" … {plural(rest, 'more character')}" if rest > 0 else ""
    quoted = json.dumps(text[:_MAX_TEXT_CHARS] + tail, ensure_ascii=False)
    if visible(quoted) == quoted:
        return quoted
    # JSON's own escapes, so that it stays JSON.
    return "".join(
        char if visible(char) == char else json.dumps(char).strip('"') for char in quoted
    )
