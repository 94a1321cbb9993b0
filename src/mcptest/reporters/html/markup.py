"""HTML in which text stays text.

Names and texts go in, markup comes out. Whatever is not `Markup` is escaped when it is put
into an element, so that forgetting it shows as stray entities and never as a tag. Nothing
here knows what a report is made of.
"""

from __future__ import annotations

from mcptest.core.visible import shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Attribute = str | int | bool

__all__ = ["Markup", "cut", "element", "escaped", "joined"]

# The last two are commands to a CI system when the page is printed to its log; as
# entities they look the same on the page.
_ENTITIES = (
    ("&", "&amp;"),
    ("<", "&lt;"),
    (">", "&gt;"),
    ('"', "&quot;"),
    ("'", "&#39;"),
    ("##", "&#35;&#35;"),
    ("::", "&#58;&#58;"),
)
_WITHOUT_END = frozenset(["input"])


class Markup(str):
    """HTML that is finished. Any other text is escaped before it becomes part of a page."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """Text for an element or a quoted attribute; what cannot be seen is written as an escape."""
    text = visible(text)
    for char, entity in _ENTITIES:
        text = text.replace(char, entity)
    return Markup(text)


def cut(text: str, limit: int) -> Markup:
    """Text from outside, no longer than the page has room for."""
    return escaped(shorten(text, limit))


def element(tag: str, *children: str, **attributes: Attribute) -> Markup:
    """`<tag attributes>children</tag>`. An attribute that is False is left out.

    A name that Python keeps for itself ends in `_`, and `aria_label` is `aria-label`.
    """
    written = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _WITHOUT_END:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}>{joined(children)}</{tag}>")


def joined(parts: Iterable[str], between: str = "") -> Markup:
    """Parts one after the other; those that are plain text are escaped."""
    return Markup(
        between.join(part if isinstance(part, Markup) else escaped(part) for part in parts)
    )


def _attribute(name: str, value: Attribute) -> str:
    if value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escaped(str(value))}"'
