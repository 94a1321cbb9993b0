"""Dialogues as HTML: who says what, message by message."""

from __future__ import annotations

from mcptest.docgen.page_text import prose, render_json, words
from mcptest.reporters.html_markup import element, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.docgen.contents import Said, Scene
    from mcptest.reporters.html_markup import Markup

__all__ = ["render_scene"]


def render_scene(scene: Scene, level: str, anchor: str, uses: Markup) -> Markup:
    """One case under a heading of this level; `uses` are links to the offers it uses."""
    parts = [element(level, element("a", scene.name, href=f"#{anchor}")), *_about(scene)]
    if uses:
        parts.append(element("p", "Uses: ", uses, class_="links"))
    parts.append(element("ol", joined(map(_said, scene.said), "\n"), class_="messages"))
    return element("article", joined(parts, "\n"), class_="scene", id=anchor)


def _about(scene: Scene) -> Iterator[Markup]:
    if scene.skip is not None:
        reason = f": {scene.skip}" if scene.skip else ""
        yield element("p", f"Skipped{reason}", class_="warning")
    if scene.tags:
        yield element("ul", *(element("li", tag) for tag in scene.tags), class_="chips")
    if scene.comment or scene.description:
        yield element("div", prose(scene.comment), prose(scene.description), class_="prose")
    if scene.is_strict:
        yield element("p", "Strict: no other message may come in between.", class_="aside")


def _said(said: Said) -> Markup:
    direction = element("span", said.direction, class_="direction")
    parts = [element("p", joined([direction, words(said.summary)], " "), class_="head")]
    if said.comment:
        parts.append(element("div", prose(said.comment), class_="prose comment"))
    parts.append(render_json(said.lines))
    if said.notes:
        parts.append(
            element("ul", *(element("li", words(each)) for each in said.notes), class_="notes")
        )
    return element("li", joined(parts), class_="ours" if said.is_ours else "theirs")
