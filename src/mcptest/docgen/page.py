"""A guide as one HTML page that loads nothing and runs nothing.

Style and frame are files beside this module (`assets/`), part of the package like its code;
they are all that is ever read here. The policy in the head allows exactly this style, by its
hash, no script and no request at all.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from string import Template

from mcptest.docgen.anchors import page_anchors
from mcptest.docgen.page_offers import render_offer
from mcptest.docgen.page_scenes import render_scene
from mcptest.docgen.page_text import code, prose, words
from mcptest.docgen.wording import CONTENTS, DIALOGUES, overview, sections
from mcptest.reporters.html_markup import Markup, element, escaped, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.docgen.anchors import Key
    from mcptest.docgen.contents import Chapter, Guide, Scene

__all__ = ["render_page"]


def render_page(guide: Guide) -> str:
    """The whole document."""
    style = _asset("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    return Template(_asset("page.html")).substitute(
        title=escaped(guide.title),
        style=style,
        style_hash=f"sha256-{digest}",
        body=_Page(guide).body(),
    )


def _asset(name: str) -> str:
    return files("mcptest.docgen").joinpath("assets", name).read_text(encoding="utf-8")


class _Page:
    """Renders one guide; the ids of its headings are known before the first is written."""

    def __init__(self, guide: Guide) -> None:
        self._guide = guide
        self._anchors = page_anchors(guide)

    def body(self) -> Markup:
        blocks = [*self._sections(), *self._dialogues()]
        main = element("main", joined(blocks, "\n"), id="main")
        return joined(
            [
                element("a", "Skip to the content", href="#main", class_="skip"),
                element("header", joined(self._header(), "\n")),
                element("div", joined([self._contents(), main], "\n"), class_="layout"),
            ],
            "\n",
        )

    # The beginning

    def _header(self) -> Iterator[Markup]:
        guide = self._guide
        yield element("h1", guide.title)
        yield element("p", overview(guide), class_="lead")
        if guide.description:
            yield element("div", prose(guide.description), class_="prose")
        facts = [(label, words(said)) for label, *said in guide.facts]
        if guide.capabilities:
            chips = [element("li", words(each)) for each in guide.capabilities]
            facts.append(("Capabilities", element("ul", *chips, class_="chips")))
        if facts:
            pairs = [joined([element("dt", name), element("dd", said)]) for name, said in facts]
            yield element("dl", joined(pairs, "\n"), class_="facts")
        if guide.instructions:
            told = element("p", "What the server says about how to use it", class_="aside")
            said = element("div", prose(guide.instructions), class_="prose")
            yield element("blockquote", told, said)

    def _contents(self) -> Markup:
        groups = []
        for section in sections(self._guide):
            inner = [self._item(code(each.name), ("offer", at)) for at, each in section.offers]
            groups.append(self._group(section.heading, ("section", section.kind), inner))
        if self._guide.scenes:
            inner = []
            for number, chapter in enumerate(self._guide.chapters):
                inner += self._chapter_items(number, chapter)
            groups.append(self._group(DIALOGUES, ("section", DIALOGUES), inner))
        return element("nav", element("ul", joined(groups, "\n")), aria_label=CONTENTS)

    def _chapter_items(self, number: int, chapter: Chapter) -> list[Markup]:
        inner = [self._item(each.name, ("scene", each.number)) for each in chapter.scenes]
        if not self._guide.has_chapters:
            return inner
        link = self._link(chapter.name, ("chapter", number))
        return [element("li", link, element("ul", *inner))]

    def _group(self, heading: str, key: Key, inner: list[Markup]) -> Markup:
        link = element("a", heading, href=f"#{self._anchors[key]}", class_="group")
        return element("li", link, element("ul", *inner))

    def _item(self, shown: str, key: Key) -> Markup:
        return element("li", self._link(shown, key))

    def _link(self, shown: str, key: Key) -> Markup:
        return element("a", shown, href=f"#{self._anchors[key]}")

    # What is offered

    def _sections(self) -> Iterator[Markup]:
        for section in sections(self._guide):
            anchor = self._anchors["section", section.kind]
            parts = [element("h2", section.heading)]
            for at, offer in section.offers:
                links = [self._scene_link(number) for number in offer.scenes]
                parts.append(render_offer(offer, self._anchors["offer", at], joined(links, ", ")))
            yield element("section", joined(parts, "\n"), id=anchor)
        for each in self._guide.left_out:
            yield element("p", words(each), class_="aside")

    def _scene_link(self, number: int) -> Markup:
        return self._link(self._guide.scenes[number].name, ("scene", number))

    # How it is used

    def _dialogues(self) -> Iterator[Markup]:
        if not self._guide.scenes:
            return
        parts = [element("h2", DIALOGUES)]
        if self._guide.legend:
            told = "Messages hold these signs where a value is not always the same:"
            signs = element("ul", *(element("li", words(each)) for each in self._guide.legend))
            parts.append(element("div", told, signs, class_="legend aside"))
        for number, chapter in enumerate(self._guide.chapters):
            if self._guide.has_chapters:
                anchor = self._anchors["chapter", number]
                parts.append(element("h3", chapter.name, id=anchor, class_="file"))
            parts += [self._scene(scene) for scene in chapter.scenes]
        yield element("section", joined(parts, "\n"), id=self._anchors["section", DIALOGUES])

    def _scene(self, scene: Scene) -> Markup:
        offers = self._guide.offers
        links = [self._link(code(offers[at].name), ("offer", at)) for at in scene.offers]
        level = "h4" if self._guide.has_chapters else "h3"
        return render_scene(scene, level, self._anchors["scene", scene.number], joined(links, ", "))
