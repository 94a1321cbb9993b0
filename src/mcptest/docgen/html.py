"""The documentation as one HTML page that loads nothing and runs nothing.

Style and frame are files beside this module (`assets/`); nothing else is read here. The policy in
the head allows exactly this style, by its hash, no script and no request.
"""

from __future__ import annotations

from mcptest.core.text import plural, shorten
from mcptest.docgen.model import (
    CASES,
    CONTENTS,
    INDENT,
    Code,
    html_anchors,
    split_paragraphs,
)
from mcptest.reporters.html import Markup, element, escaped, joined, render_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcptest.docgen.model import (
        CaseDoc,
        FeatureDoc,
        HeadingKey,
        Line,
        MessageDoc,
        Row,
        ServerDoc,
        Table,
    )

__all__ = ["render_html"]

_MAX_CODE_CHARS = 400
# A longer message begins closed.
_MAX_OPEN_LINES = 40
# The deepest level of indentation that the style knows.
_MAX_LEVEL = 5


def render_html(doc: ServerDoc) -> str:
    """The whole page."""
    return render_page("mcptest.docgen", title=escaped(doc.title), body=_Renderer(doc).body())


class _Renderer:
    """Renders one document; the ids of all headings are known before the first is written."""

    def __init__(self, doc: ServerDoc) -> None:
        self._doc = doc
        self._anchors = html_anchors(doc)

    def body(self) -> Markup:
        blocks = []
        for name, heading, features in self._doc.sections():
            parts = [element("h2", heading)]
            parts += [self._feature(feature, ("feature", at)) for at, feature in features]
            section = element("section", joined(parts, "\n"), id=self._anchors["section", name])
            blocks.append(section)
        blocks += [element("p", _inline(each), class_="aside") for each in self._doc.left_out]
        blocks += self._cases()
        main = element("main", joined(blocks, "\n"), id="main")
        return joined(
            [
                element("a", "Skip to the content", href="#main", class_="skip"),
                element("header", joined(self._header(), "\n")),
                element("div", joined([self._contents(), main], "\n"), class_="layout"),
            ],
            "\n",
        )

    def _header(self) -> Iterator[Markup]:
        doc = self._doc
        yield element("h1", doc.title)
        yield element("p", doc.overview, class_="lead")
        if doc.description:
            yield element("div", _paragraphs(doc.description), class_="prose")
        facts = [(label, _inline(value)) for label, *value in doc.facts]
        if doc.capabilities:
            facts.append(("Capabilities", _list(map(_inline, doc.capabilities), "chips")))
        if facts:
            pairs = [joined([element("dt", name), element("dd", value)]) for name, value in facts]
            yield element("dl", joined(pairs, "\n"), class_="facts")
        if doc.instructions:
            lead = element("p", "What the server says about how to use it", class_="aside")
            text = element("div", _paragraphs(doc.instructions), class_="prose")
            yield element("blockquote", lead, text)

    def _contents(self) -> Markup:
        groups = []
        for name, heading, features in self._doc.sections():
            links = [self._link(_code(each.name), ("feature", at)) for at, each in features]
            groups.append(self._group(heading, ("section", name), links))
        if self._doc.cases:
            links = []
            for number, file in enumerate(self._doc.files):
                own = [self._link(each.name, ("case", each.number)) for each in file.cases]
                if self._doc.shows_files:
                    own = [joined([self._link(file.name, ("file", number)), _list(own)])]
                links += own
            groups.append(self._group(CASES, ("section", CASES), links))
        return element("nav", element("ul", joined(groups, "\n")), aria_label=CONTENTS)

    def _group(self, heading: str, key: HeadingKey, links: list[Markup]) -> Markup:
        link = element("a", heading, href=f"#{self._anchors[key]}", class_="group")
        return element("li", link, _list(links))

    def _link(self, text: str, key: HeadingKey) -> Markup:
        return element("a", text, href=f"#{self._anchors[key]}")

    def _feature(self, feature: FeatureDoc, key: HeadingKey) -> Markup:
        parts = [element("h3", self._link(_code(feature.name), key))]
        if feature.title:
            parts.append(element("p", feature.title, class_="title"))
        if feature.hints:
            parts.append(_list(feature.hints, "chips"))
        if feature.note:
            parts.append(element("p", feature.note, class_="warning"))
        if feature.description:
            parts.append(element("div", _paragraphs(feature.description), class_="prose"))
        parts += [element("p", _inline(fact), class_="aside") for fact in feature.facts]
        for table in feature.tables:
            parts += _table(table)
        if feature.cases:
            cases = self._doc.cases
            links = [self._link(cases[number].name, ("case", number)) for number in feature.cases]
            parts.append(element("p", "Used in: ", joined(links, ", "), class_="links"))
        return element("article", joined(parts, "\n"), class_="feature", id=self._anchors[key])

    def _cases(self) -> Iterator[Markup]:
        if not self._doc.cases:
            return
        parts = [element("h2", CASES)]
        if self._doc.legend:
            lead = "Messages hold these signs where a value is not always the same:"
            legend = _list(map(_inline, self._doc.legend))
            parts.append(element("div", lead, legend, class_="legend aside"))
        for number, file in enumerate(self._doc.files):
            if self._doc.shows_files:
                anchor = self._anchors["file", number]
                parts.append(element("h3", file.name, id=anchor, class_="file"))
            parts += [self._case(case) for case in file.cases]
        yield element("section", joined(parts, "\n"), id=self._anchors["section", CASES])

    def _case(self, case: CaseDoc) -> Markup:
        level = "h4" if self._doc.shows_files else "h3"
        parts = [element(level, self._link(case.name, ("case", case.number)))]
        if case.skip is not None:
            reason = f": {case.skip}" if case.skip else ""
            parts.append(element("p", f"Skipped{reason}", class_="warning"))
        if case.tags:
            parts.append(_list(case.tags, "chips"))
        if case.comment or case.description:
            text = joined([_paragraphs(case.comment), _paragraphs(case.description)])
            parts.append(element("div", text, class_="prose"))
        if case.is_strict:
            strict = "Strict: no other message may come in between."
            parts.append(element("p", strict, class_="aside"))
        if case.features:
            names = [(at, _code(self._doc.features[at].name)) for at in case.features]
            links = [self._link(name, ("feature", at)) for at, name in names]
            parts.append(element("p", "Uses: ", joined(links, ", "), class_="links"))
        parts.append(element("ol", joined(map(_message, case.messages), "\n"), class_="messages"))
        anchor = self._anchors["case", case.number]
        return element("article", joined(parts, "\n"), class_="case", id=anchor)


def _table(table: Table) -> Iterator[Markup]:
    yield element("h4", table.title)
    if table.rows:
        # Empty columns are left out.
        columns = [each for each in _COLUMNS if any(each[1](row) for row in table.rows)]
        head = joined(element("th", name, scope="col") for name, _ in columns)
        rows = []
        for row in table.rows:
            first, *others = [show(row) for _, show in columns]
            cells = [element("th", first, scope="row"), *(element("td", cell) for cell in others)]
            rows.append(element("tr", *cells))
        body = element("tbody", joined(rows, "\n"))
        yield element("table", element("thead", element("tr", head)), body)
    for note in table.notes:
        yield element("p", _inline(note), class_="aside")


def _name_cell(row: Row) -> Markup:
    mark = [element("span", "required", class_="needed")] if row.required == "yes" else []
    return joined([_code(row.name), *mark], " ")


_COLUMNS: tuple[tuple[str, Callable[[Row], Markup]], ...] = (
    ("name", _name_cell),
    ("type", lambda row: escaped(row.type)),
    ("rules", lambda row: _list(map(_inline, row.rules), "rules") if row.rules else Markup("")),
    ("description", lambda row: _paragraphs(row.description)),
)


def _message(message: MessageDoc) -> Markup:
    direction = element("span", message.direction, class_="direction")
    head = joined([direction, _inline(message.summary)], " ")
    parts = [element("p", head, class_="head")]
    if message.comment:
        parts.append(element("div", _paragraphs(message.comment), class_="prose comment"))
    parts.append(_json(message.lines))
    if message.notes:
        parts.append(_list(map(_inline, message.notes), "notes"))
    return element("li", joined(parts), class_="ours" if message.is_ours else "theirs")


def _json(lines: Sequence[Line]) -> Markup:
    shown = []
    for depth, pieces in lines:
        inner = [
            element("span", text, class_=kind) if kind in ("text", "tag", "cut") else escaped(text)
            for kind, text in pieces
        ]
        # The line ends inside of its block, so that copied text has lines as well.
        level = f"d{min(depth, _MAX_LEVEL)}" if depth else False
        indent = Markup(INDENT * depth)
        shown.append(element("span", indent, *inner, Markup("\n"), class_=level))
    block = element("pre", joined(shown))
    if len(lines) <= _MAX_OPEN_LINES:
        return block
    return element("details", element("summary", plural(len(lines), "line")), block)


def _list(items: Iterable[str], style: str = "") -> Markup:
    return element("ul", *(element("li", each) for each in items), class_=style or False)


def _code(text: str) -> Markup:
    return element("code", shorten(text, _MAX_CODE_CHARS))


def _inline(words: Iterable[str]) -> Markup:
    """A sentence with code in it."""
    return joined(_code(word) if isinstance(word, Code) else word for word in words)


def _paragraphs(text: str) -> Markup:
    return joined(
        element("p", joined((Markup(" " * indent + escaped(line)) for indent, line in lines), "\n"))
        for lines in split_paragraphs(text)
    )
