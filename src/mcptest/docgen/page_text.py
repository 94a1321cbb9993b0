"""Text from outside as HTML: lines stay lines, code is code, and everything is escaped."""

from __future__ import annotations

from mcptest.core.visible import shorten
from mcptest.docgen.contents import Code
from mcptest.docgen.json_lines import INDENT
from mcptest.docgen.wording import flowed
from mcptest.matching.shown import counted
from mcptest.reporters.html_markup import Markup, element, escaped, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcptest.docgen.json_lines import Line

__all__ = ["code", "prose", "render_json", "words"]

MAX_CODE_CHARS = 400
# A longer message begins closed.
MAX_OPEN_LINES = 40

# The deepest level that the style knows.
MAX_LEVEL = 5

_COLOURED = ("text", "tag", "cut")


def code(text: str) -> Markup:
    """A name, or a value, as it is written."""
    return element("code", shorten(text, MAX_CODE_CHARS))


def words(parts: Iterable[str]) -> Markup:
    """Words of ours and of others, with code in between."""
    return joined(code(part) if isinstance(part, Code) else part for part in parts)


def prose(text: str) -> Markup:
    """The paragraphs of a text, one after the other; lines that are indented stay so."""
    return joined(
        element("p", joined((_indented(*line) for line in paragraph), "\n"))
        for paragraph in flowed(text)
    )


def _indented(indent: int, line: str) -> Markup:
    return Markup(" " * indent + escaped(line))


def render_json(lines: Sequence[Line]) -> Markup:
    """A message; a long one can be opened."""
    block = element("pre", joined(map(_json_line, lines)))
    if len(lines) <= MAX_OPEN_LINES:
        return block
    return element("details", element("summary", counted(len(lines), "line")), block)


def _json_line(line: Line) -> Markup:
    depth, pieces = line
    inner = [
        element("span", text, class_=kind) if kind in _COLOURED else escaped(text)
        for kind, text in pieces
    ]
    # The line ends inside of its block, so that what is copied has lines as well.
    level = f"d{min(depth, MAX_LEVEL)}" if depth else False
    return element("span", Markup(INDENT * depth), *inner, Markup("\n"), class_=level)
