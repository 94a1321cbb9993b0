"""The documentation as one Markdown file, which reads well as text and looks the same everywhere.

Text from outside is escaped wherever it could be markup. Words that some renderers turn into
links or mentions become code: URLs, and everything with an `@`.
"""

from __future__ import annotations

import re

from mcptest.core.text import defuse, visible
from mcptest.docgen.model import (
    CASES,
    CONTENTS,
    Code,
    line_text,
    markdown_anchors,
    split_paragraphs,
)
from mcptest.reporters.markdown import code_cell, code_span, fenced, render_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcptest.docgen.model import (
        CaseDoc,
        FeatureDoc,
        HeadingKey,
        MessageDoc,
        Row,
        ServerDoc,
        Table,
    )

__all__ = ["render_markdown"]


def render_markdown(doc: ServerDoc) -> str:
    """The whole file."""
    return _Renderer(doc).render()


class _Renderer:
    """Renders one document; the anchors of all headings are known before the first is written."""

    def __init__(self, doc: ServerDoc) -> None:
        self._doc = doc
        self._anchors = markdown_anchors(doc)

    def render(self) -> str:
        blocks = [*self._overview(), *self._contents()]
        for _, heading, features in self._doc.sections():
            blocks.append(f"## {heading}")
            for _, feature in features:
                blocks += self._feature(feature)
        blocks += [render_inline(words) for words in self._doc.left_out]
        if self._doc.cases:
            blocks += self._cases()
        return defuse("\n\n".join(blocks) + "\n")

    def _overview(self) -> Iterator[str]:
        doc = self._doc
        yield f"# {escape_line(doc.title)}"
        yield from escape_paragraphs(doc.description)
        yield doc.overview
        if doc.facts:
            yield "\n".join(f"- {label}: {render_inline(value)}" for label, *value in doc.facts)
        if doc.capabilities:
            yield "Capabilities:"
            yield _bullets(doc.capabilities)
        if doc.instructions:
            yield "What the server says about how to use it:"
            quoted = "\n\n".join(escape_paragraphs(doc.instructions))
            yield "\n".join(f"> {line}".rstrip() for line in quoted.split("\n"))

    def _contents(self) -> Iterator[str]:
        lines = []
        for name, heading, features in self._doc.sections():
            lines.append(self._item(0, heading, ("section", name)))
            for at, feature in features:
                lines.append(self._item(1, code_span(feature.name), ("feature", at)))
        if self._doc.cases:
            lines.append(self._item(0, CASES, ("section", CASES)))
        for number, file in enumerate(self._doc.files):
            if self._doc.shows_files:
                lines.append(self._item(1, escape_line(file.name), ("file", number)))
            depth = 2 if self._doc.shows_files else 1
            for case in file.cases:
                lines.append(self._item(depth, escape_line(case.name), ("case", case.number)))
        if lines:
            yield f"## {CONTENTS}"
            yield "\n".join(lines)

    def _item(self, depth: int, text: str, key: HeadingKey) -> str:
        return f"{'  ' * depth}- {self._link(text, key)}"

    def _link(self, text: str, key: HeadingKey) -> str:
        """A link to a heading; a heading of symbols only cannot be linked to."""
        anchor = self._anchors[key]
        return f"[{text}](#{anchor})" if anchor else text

    def _feature(self, feature: FeatureDoc) -> Iterator[str]:
        yield f"### {code_span(feature.name)}"
        lead = [f"**{escape_line(feature.title)}**"] if feature.title else []
        lead += [f"*{', '.join(feature.hints)}*"] if feature.hints else []
        if lead:
            yield " · ".join(lead)
        if feature.note:
            yield f"*{feature.note}*"
        yield from escape_paragraphs(feature.description)
        if feature.facts:
            yield _bullets(feature.facts)
        for table in feature.tables:
            yield from _table_blocks(table)
        if feature.cases:
            cases = self._doc.cases
            links = [self._link(escape_line(cases[at].name), ("case", at)) for at in feature.cases]
            yield f"Used in: {', '.join(links)}"

    def _cases(self) -> Iterator[str]:
        yield f"## {CASES}"
        if self._doc.legend:
            yield "Messages hold these signs where a value is not always the same:"
            yield _bullets(self._doc.legend)
        for file in self._doc.files:
            if self._doc.shows_files:
                yield f"### {escape_line(file.name)}"
            for case in file.cases:
                yield from self._case(case)

    def _case(self, case: CaseDoc) -> Iterator[str]:
        yield f"{'####' if self._doc.shows_files else '###'} {escape_line(case.name)}"
        if case.skip is not None:
            reason = f": {escape_line(case.skip)}" if case.skip else ""
            yield f"**Skipped**{reason}"
        yield from escape_paragraphs(case.comment)
        yield from escape_paragraphs(case.description)
        facts = []
        if case.tags:
            facts.append(f"- Tags: {', '.join(map(code_span, case.tags))}")
        if case.features:
            names = [(at, code_span(self._doc.features[at].name)) for at in case.features]
            links = [self._link(name, ("feature", at)) for at, name in names]
            facts.append(f"- Uses: {', '.join(links)}")
        if case.is_strict:
            facts.append("- Strict: no other message may come in between.")
        if facts:
            yield "\n".join(facts)
        for message in case.messages:
            yield from _message_blocks(message)


def _bullets(items: Iterable[Iterable[str]]) -> str:
    return "\n".join(f"- {render_inline(each)}" for each in items)


def _table_blocks(each: Table) -> Iterator[str]:
    notes = " ".join(render_inline(words) for words in each.notes)
    yield f"{each.title}: {notes}" if notes and not each.rows else f"{each.title}:"
    if each.rows:
        # Empty columns are left out.
        columns = [column for column in _COLUMNS if any(column[1](row) for row in each.rows)]
        headings = [heading for heading, _ in columns]
        yield render_table(headings, [[show(row) for _, show in columns] for row in each.rows])
        if notes:
            yield notes


_COLUMNS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("name", lambda row: code_cell(row.name)),
    ("type", lambda row: escape_cell(row.type)),
    ("required", lambda row: row.required),
    ("rules", lambda row: "; ".join(render_inline(rule, code_cell) for rule in row.rules)),
    ("description", lambda row: escape_cell(row.description)),
)


def _message_blocks(message: MessageDoc) -> Iterator[str]:
    yield f"**{message.direction}** · {render_inline(message.summary)}"
    yield from escape_paragraphs(message.comment)
    pieces = [piece for _, pieces in message.lines for piece in pieces]
    # With tags it is not JSON.
    has_tags = any(kind == "tag" and text.startswith("!!") for kind, text in pieces)
    yield fenced(list(map(line_text, message.lines)), "yaml" if has_tags else "json")
    if message.notes:
        yield _bullets(message.notes)


# Markdown that shows exactly a text

_ENTITIES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"))
# Markup anywhere in a line, in some dialect or other: code, emphasis, links, headings, tables,
# strikethrough, mathematics, expressions of MDX.
_MARKS = r"([\\`*_\[\]{}#|~$^])"
# Markup at the beginning of a line: lists, underlined headings, directives.
_FIRST_MARKS = r"^([-+=:%])"
_NUMBER = r"^(\d+)([.)])"
_LINK = r"(?i)://|@|^[\W_]*www\."


def escape_line(text: str) -> str:
    """Text on a line of its own: of a paragraph, of a list, or a heading."""
    return _escape(text, code_span)


def escape_cell(text: str) -> str:
    """Text in a cell of a table, on one line."""
    return _escape(" ".join(text.split()), code_cell)


def escape_paragraphs(text: str) -> list[str]:
    """Text of several lines, with its paragraphs, breaks and indentation."""
    return [
        "\\\n".join("&nbsp;" * indent + escape_line(line) for indent, line in paragraph)
        for paragraph in split_paragraphs(text)
    ]


def render_inline(words: Iterable[str], code: Callable[[str], str] = code_span) -> str:
    """A sentence with code in it."""
    text = ""
    for word in words:
        if isinstance(word, Code):
            text += code(word)
            continue
        # Escaping drops the spaces around a word, which separate it from its neighbours.
        lead, tail = word[:1].isspace(), word[-1:].isspace()
        plain = _escape(word, code, starts_line=not text)
        text += f"{' ' if lead else ''}{plain}{' ' if tail and plain else ''}"
    return text


def _escape(text: str, code: Callable[[str], str], *, starts_line: bool = True) -> str:
    escaped = []
    for word in filter(None, visible(text).split(" ")):
        if re.search(_LINK, word):
            escaped.append(code(word))
            continue
        for char, entity in _ENTITIES:
            word = word.replace(char, entity)
        word = re.sub(_MARKS, r"\\\1", word)
        if starts_line and not escaped:
            word = re.sub(_FIRST_MARKS, r"\\\1", word)
            word = re.sub(_NUMBER, r"\1\\\2", word)
        escaped.append(word)
    return " ".join(escaped)
