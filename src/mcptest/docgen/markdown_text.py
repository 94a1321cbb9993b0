"""Text from outside as Markdown that says just this text, wherever it is shown.

Whatever could be markup is escaped. Words that some renderers make links or mentions of become
code, where nobody looks for them: addresses, and everything with an `@`.
"""

from __future__ import annotations

import re

from mcptest.core.visible import visible
from mcptest.docgen.contents import Code
from mcptest.docgen.wording import flowed
from mcptest.reporters.markdown import code_cell, code_span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["cell", "fenced", "inline", "paragraphs", "table", "words_cell", "words_inline"]

_ENTITIES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"))
# Anywhere in a line, in some flavour or other: code, emphasis, links, headings, tables,
# strikethrough, mathematics, expressions of MDX.
_MARKS = r"([\\`*_\[\]{}#|~$^])"
# These only matter where a line begins: lists, underlined headings, directives.
_FIRST_MARKS = r"^([-+=:%])"
_NUMBER = r"^(\d+)([.)])"
_LINK = r"(?i)://|@|^[\W_]*www\."


def inline(text: str) -> str:
    """Text on a line of its own: of a paragraph, of a list, or a heading."""
    return _escaped(text, code_span)


def cell(text: str) -> str:
    """Text in a cell of a table; its lines follow each other."""
    return _escaped(" ".join(text.split()), code_cell)


def words_inline(words: Iterable[str]) -> str:
    """Words of ours and of others, with code in between."""
    return _joined(words, code_span)


def words_cell(words: Iterable[str]) -> str:
    """The same in a cell of a table."""
    return _joined(words, code_cell)


def _joined(words: Iterable[str], code: Callable[[str], str]) -> str:
    shown = ""
    for word in words:
        if isinstance(word, Code):
            shown += code(word)
            continue
        # The room around words is lost in escaping, and it parts them from their neighbours.
        lead, tail = word[:1].isspace(), word[-1:].isspace()
        plain = _escaped(word, code, starts_line=not shown)
        shown += f"{' ' if lead else ''}{plain}{' ' if tail and plain else ''}"
    return shown


def _escaped(text: str, code: Callable[[str], str], *, starts_line: bool = True) -> str:
    words = [word for word in visible(text).split(" ") if word]
    return " ".join(
        code(word)
        if re.search(_LINK, word)
        else _escaped_word(word, is_first=starts_line and number == 0)
        for number, word in enumerate(words)
    )


def _escaped_word(word: str, *, is_first: bool) -> str:
    for char, entity in _ENTITIES:
        word = word.replace(char, entity)
    word = re.sub(_MARKS, r"\\\1", word)
    if is_first:
        word = re.sub(_FIRST_MARKS, r"\\\1", word)
        word = re.sub(_NUMBER, r"\1\\\2", word)
    return word


def paragraphs(text: str) -> list[str]:
    """Text of several lines, with its paragraphs and breaks; indented lines stay indented."""
    return [
        "\\\n".join("&nbsp;" * indent + inline(line) for indent, line in paragraph)
        for paragraph in flowed(text)
    ]


def fenced(lines: Sequence[str], language: str) -> str:
    """Lines in a fence that is longer than any run of backticks in them."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
