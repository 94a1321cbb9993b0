"""What the headings of a guide are called in links: the same as long as their names are.

Markdown has no way to name a heading, so there its anchor is what GitHub and most others make
of its text. On a page of ours each has the kind of its thing in front.
"""

from __future__ import annotations

import re

from mcptest.core.visible import shorten, visible
from mcptest.docgen.wording import CONTENTS, DIALOGUES, sections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.docgen.contents import Guide

    # The kind of a heading, and which of its kind: a name of a section, or a place.
    Key = tuple[str, str | int]

__all__ = ["markdown_anchors", "page_anchors"]

# As much of a name as a heading shows.
MAX_NAME_CHARS = 400
MAX_ID_CHARS = 100

_LEADS = {"chapter": "file-", "scene": "case-"}


def markdown_anchors(guide: Guide) -> dict[Key, str]:
    """The anchor of each heading; "" for a name of nothing but signs."""
    taken = _Taken()
    taken.name(_slug(guide.title))
    # It comes before all others, and may be what one of them is called.
    taken.name(_slug(CONTENTS))
    return {key: taken.name(_slug(text)) for key, text in _headings(guide)}


def page_anchors(guide: Guide) -> dict[Key, str]:
    """The id of each heading of the HTML page."""
    taken = _Taken()
    found = {}
    for key, text in _headings(guide):
        kind, at = key
        lead = _LEADS.get(kind, "")
        if kind == "offer" and isinstance(at, int):
            lead = f"{guide.offers[at].kind.unit}-"
        found[key] = taken.name(f"{lead}{_slug(text)[:MAX_ID_CHARS]}")
    return found


def _headings(guide: Guide) -> Iterator[tuple[Key, str]]:
    """Every heading below the first in the order of the page, with its text."""
    for section in sections(guide):
        yield ("section", section.kind), section.heading
        for at, offer in section.offers:
            yield ("offer", at), offer.name
    if guide.scenes:
        yield ("section", DIALOGUES), DIALOGUES
    for number, chapter in enumerate(guide.chapters):
        if guide.has_chapters:
            yield ("chapter", number), chapter.name
        for scene in chapter.scenes:
            yield ("scene", scene.number), scene.name


def _slug(text: str) -> str:
    """Small letters, digits and `_` as they are, `-` for each space, and nothing else."""
    shown = " ".join(filter(None, visible(shorten(text, MAX_NAME_CHARS)).split(" ")))
    return re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")


class _Taken:
    """The names that are given away; who comes second gets a number."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def name(self, wanted: str) -> str:
        if not wanted:
            return ""
        name = wanted
        while name in self._counts:
            self._counts[wanted] += 1
            name = f"{wanted}-{self._counts[wanted]}"
        self._counts[name] = 0
        return name
