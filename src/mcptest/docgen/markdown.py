"""A guide as Markdown: one file that reads well as text, and is the same wherever it is shown."""

from __future__ import annotations

from mcptest.docgen.anchors import markdown_anchors
from mcptest.docgen.json_lines import line_text
from mcptest.docgen.markdown_text import (
    cell,
    fenced,
    inline,
    paragraphs,
    table,
    words_cell,
    words_inline,
)
from mcptest.docgen.wording import CONTENTS, DIALOGUES, overview, sections
from mcptest.reporters.markdown import code_cell, code_span
from mcptest.reporters.wording import defused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest.docgen.anchors import Key
    from mcptest.docgen.contents import Guide, Offer, Row, Said, Scene, Table

__all__ = ["render_markdown"]


def render_markdown(guide: Guide) -> str:
    """The whole file."""
    return _MarkdownGuide(guide).render()


class _MarkdownGuide:
    """Renders one guide; the names of its headings are known before the first is written."""

    def __init__(self, guide: Guide) -> None:
        self._guide = guide
        self._anchors = markdown_anchors(guide)

    def render(self) -> str:
        blocks = [*self._overview(), *self._contents()]
        for section in sections(self._guide):
            blocks.append(f"## {section.heading}")
            for _, offer in section.offers:
                blocks += self._offer(offer)
        blocks += [words_inline(words) for words in self._guide.left_out]
        if self._guide.scenes:
            blocks += self._dialogues()
        return defused("\n\n".join(blocks) + "\n")

    # The beginning

    def _overview(self) -> Iterator[str]:
        guide = self._guide
        yield f"# {inline(guide.title)}"
        yield from paragraphs(guide.description)
        yield overview(guide)
        if guide.facts:
            yield "\n".join(f"- {label}: {words_inline(said)}" for label, *said in guide.facts)
        if guide.capabilities:
            yield "Capabilities:"
            yield "\n".join(f"- {words_inline(words)}" for words in guide.capabilities)
        if guide.instructions:
            yield "What the server says about how to use it:"
            quoted = "\n\n".join(paragraphs(guide.instructions))
            yield "\n".join(f"> {line}".rstrip() for line in quoted.split("\n"))

    def _contents(self) -> Iterator[str]:
        lines = []
        for section in sections(self._guide):
            lines.append(self._item(0, section.heading, ("section", section.kind)))
            for at, offer in section.offers:
                lines.append(self._item(1, code_span(offer.name), ("offer", at)))
        if self._guide.scenes:
            lines.append(self._item(0, DIALOGUES, ("section", DIALOGUES)))
        for number, chapter in enumerate(self._guide.chapters):
            if self._guide.has_chapters:
                lines.append(self._item(1, inline(chapter.name), ("chapter", number)))
            for scene in chapter.scenes:
                depth = 2 if self._guide.has_chapters else 1
                lines.append(self._item(depth, inline(scene.name), ("scene", scene.number)))
        if lines:
            yield f"## {CONTENTS}"
            yield "\n".join(lines)

    def _item(self, depth: int, shown: str, key: Key) -> str:
        return f"{'  ' * depth}- {self._link(shown, key)}"

    def _link(self, shown: str, key: Key) -> str:
        """A link to a heading; one with a name of nothing but signs cannot be linked to."""
        anchor = self._anchors[key]
        return f"[{shown}](#{anchor})" if anchor else shown

    # What is offered

    def _offer(self, offer: Offer) -> Iterator[str]:
        yield f"### {code_span(offer.name)}"
        lead = [f"**{inline(offer.title)}**"] if offer.title else []
        lead += [f"*{', '.join(offer.marks)}*"] if offer.marks else []
        if lead:
            yield " · ".join(lead)
        if offer.note:
            yield f"*{offer.note}*"
        yield from paragraphs(offer.description)
        if offer.facts:
            yield "\n".join(f"- {words_inline(words)}" for words in offer.facts)
        for each in offer.tables:
            yield from _table_blocks(each)
        if offer.scenes:
            scenes = self._guide.scenes
            links = [self._link(inline(scenes[at].name), ("scene", at)) for at in offer.scenes]
            yield f"Used in: {', '.join(links)}"

    # How it is used

    def _dialogues(self) -> Iterator[str]:
        yield f"## {DIALOGUES}"
        if self._guide.legend:
            yield "Messages hold these signs where a value is not always the same:"
            yield "\n".join(f"- {words_inline(words)}" for words in self._guide.legend)
        for chapter in self._guide.chapters:
            if self._guide.has_chapters:
                yield f"### {inline(chapter.name)}"
            for scene in chapter.scenes:
                yield from self._scene(scene)

    def _scene(self, scene: Scene) -> Iterator[str]:
        yield f"{'####' if self._guide.has_chapters else '###'} {inline(scene.name)}"
        if scene.skip is not None:
            reason = f": {inline(scene.skip)}" if scene.skip else ""
            yield f"**Skipped**{reason}"
        yield from paragraphs(scene.comment)
        yield from paragraphs(scene.description)
        facts = []
        if scene.tags:
            facts.append(f"- Tags: {', '.join(map(code_span, scene.tags))}")
        if scene.offers:
            offers = self._guide.offers
            links = [self._link(code_span(offers[at].name), ("offer", at)) for at in scene.offers]
            facts.append(f"- Uses: {', '.join(links)}")
        if scene.is_strict:
            facts.append("- Strict: no other message may come in between.")
        if facts:
            yield "\n".join(facts)
        for said in scene.said:
            yield from _said_blocks(said)


def _table_blocks(each: Table) -> Iterator[str]:
    notes = " ".join(words_inline(words) for words in each.notes)
    yield f"{each.title}: {notes}" if notes and not each.rows else f"{each.title}:"
    if each.rows:
        # A column in which nothing is said is left out.
        columns = [column for column in _COLUMNS if any(column[1](row) for row in each.rows)]
        yield table(
            [heading for heading, _ in columns],
            [[show(row) for _, show in columns] for row in each.rows],
        )
        if notes:
            yield notes


_COLUMNS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("name", lambda row: code_cell(row.name)),
    ("type", lambda row: cell(row.type)),
    ("required", lambda row: row.required),
    ("rules", lambda row: "; ".join(map(words_cell, row.rules))),
    ("description", lambda row: cell(row.description)),
)


def _said_blocks(said: Said) -> Iterator[str]:
    yield f"**{said.direction}** · {words_inline(said.summary)}"
    yield from paragraphs(said.comment)
    lines = [line_text(line) for line in said.lines]
    yield fenced(lines, "yaml" if said.is_tagged else "json")
    if said.notes:
        yield "\n".join(f"- {words_inline(words)}" for words in said.notes)
