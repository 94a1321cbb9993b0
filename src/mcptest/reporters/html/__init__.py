"""HTML elements from strings. A string that is not `Markup` is always escaped.

A forgotten conversion therefore shows as stray entities on the page and never as a tag.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from string import Template

from mcptest.core.text import plural, shorten, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Attribute = str | int | bool

__all__ = ["Markup", "and_more", "cut", "element", "escaped", "joined", "render_page", "table"]

# The last two would be commands to a CI system if the page were printed to its log.
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
    """Finished HTML. Any other string is escaped before it becomes part of a page."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """Text for an element or a quoted attribute; invisible characters are shown as escapes."""
    text = visible(text)
    for char, entity in _ENTITIES:
        text = text.replace(char, entity)
    return Markup(text)


def cut(text: str, limit: int) -> Markup:
    """Text from outside, escaped and at most `limit` characters long."""
    return escaped(shorten(text, limit))


def element(tag: str, *children: str, **attributes: Attribute) -> Markup:
    """`<tag attributes>children</tag>`. An attribute that is False is left out.

    A keyword of Python is written with a final `_`: `class_`. `aria_label` is `aria-label`.
    """
    written = ""
    for name, value in attributes.items():
        if value is not False:
            written += f" {name.rstrip('_').replace('_', '-')}"
            written += "" if value is True else f'="{escaped(str(value))}"'
    if tag in _WITHOUT_END:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}>{joined(children)}</{tag}>")


def joined(parts: Iterable[str], between: str = "") -> Markup:
    """Parts one after the other; plain strings are escaped."""
    return Markup(
        between.join(part if isinstance(part, Markup) else escaped(part) for part in parts)
    )


def table(
    heads: Sequence[str], rows: Iterable[Markup], *, left_out: str = "", **attributes: Attribute
) -> Markup:
    """A table with column headers; an empty header is a column without one.

    The last row says what is left out.
    """
    cells = (element("th", head, scope="col") if head else element("td") for head in heads)
    head = element("thead", element("tr", *cells))
    last = [element("tr", element("td", left_out, colspan=len(heads)))] if left_out else []
    return element("table", head, element("tbody", *rows, *last), **attributes)


def and_more(items: Sequence[object], limit: int, noun: str = "") -> str:
    """How many of the items are beyond the limit; "" if none are."""
    hidden = len(items) - limit
    if hidden <= 0:
        return ""
    return f"… and {plural(hidden, f'more {noun}')}" if noun else f"… and {hidden:,} more"


def render_page(package: str, **parts: str) -> str:
    """`assets/page.html` of a package with these parts, and its style and script if it has one.

    The policy in the head allows exactly these two, by their hashes.
    """
    assets = files(package).joinpath("assets")
    for part, file in (("style", "page.css"), ("script", "page.js")):
        if assets.joinpath(file).is_file():
            parts[part] = assets.joinpath(file).read_text(encoding="utf-8")
            digest = hashlib.sha256(parts[part].encode("utf-8")).digest()
            parts[f"{part}_hash"] = f"sha256-{base64.b64encode(digest).decode('ascii')}"
    return Template(assets.joinpath("page.html").read_text(encoding="utf-8")).substitute(parts)
