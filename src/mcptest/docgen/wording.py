"""The sentences that stand in a guide whatever it looks like, and text from outside in lines."""

from __future__ import annotations

import re

from mcptest.core.offer_kinds import KINDS
from mcptest.core.record import Record
from mcptest.core.visible import visible
from mcptest.matching.shown import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.docgen.contents import Guide, Offer

    # Each line with how far it is indented, in spaces.
    Paragraph = list[tuple[int, str]]

__all__ = ["CONTENTS", "DIALOGUES", "HEADINGS", "Section", "flowed", "overview", "sections"]

HEADINGS = {
    "tools": "Tools",
    "resources": "Resources",
    "resourceTemplates": "Resource templates",
    "prompts": "Prompts",
}
CONTENTS = "Contents"
DIALOGUES = "Dialogues"

# A line that is at least this long was probably broken only because it was full.
_FULL_LINE = 60
_MAX_INDENT = 12
_BULLET = r"(?:[-*+•]|\d+[.)]|[A-Za-z_][\w ]*:)(?:\s|$)"


class Section(Record):
    """All offers of one kind, with their places in the guide."""

    kind: str
    heading: str
    offers: tuple[tuple[int, Offer], ...]


def sections(guide: Guide) -> Iterator[Section]:
    """The kinds of which something is offered."""
    for name, heading in HEADINGS.items():
        offers = [(at, each) for at, each in enumerate(guide.offers) if each.kind.name == name]
        if offers:
            yield Section(kind=name, heading=heading, offers=tuple(offers))


def overview(guide: Guide) -> str:
    """How much there is of everything, in a sentence or two."""
    found = {section.kind: len(section.offers) for section in sections(guide)}
    counts = [counted(found[name], kind.noun) for name, kind in KINDS.items() if name in found]
    offered = f"The server offers {_listed(counts)}." if counts else "It names no offers."
    shown = len(guide.scenes)
    if not shown:
        return offered
    verb = "shows" if shown == 1 else "show"
    return f"{offered} {counted(shown, 'dialogue')} {verb} how it is used."


def _listed(words: list[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def flowed(text: str) -> list[Paragraph]:
    """Text from outside as paragraphs of lines.

    Lines that were broken only because they were full are one again. What cannot be seen is
    written as an escape.
    """
    paragraphs: list[Paragraph] = [[]]
    before = ""
    for raw in text.replace("\r\n", "\n").expandtabs(4).strip().split("\n"):
        line = raw.rstrip(" ")
        here = paragraphs[-1]
        indent, words = min(_indent(line), _MAX_INDENT), visible(line.lstrip(" "))
        if not words:
            paragraphs += [[]] if here else []
        elif here and _goes_on(before, line):
            here[-1] = (here[-1][0], f"{here[-1][1]} {words}")
        else:
            here.append((indent, words))
        before = line
    return [paragraph for paragraph in paragraphs if paragraph]


def _goes_on(before: str, line: str) -> bool:
    """Whether a line continues the one before it."""
    is_full = len(before) >= _FULL_LINE and _indent(before) == _indent(line)
    return is_full and re.match(_BULLET, line.lstrip(" ")) is None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
