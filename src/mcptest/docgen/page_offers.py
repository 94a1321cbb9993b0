"""What a server offers, as HTML: one block for each offer, with its tables."""

from __future__ import annotations

from mcptest.docgen.page_text import code, prose, words
from mcptest.reporters.html_markup import Markup, element, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcptest.docgen.contents import Offer, Row, Table

__all__ = ["render_offer"]


def render_offer(offer: Offer, anchor: str, used_in: Markup) -> Markup:
    """One offer; `used_in` are links to the dialogues that use it."""
    parts = [element("h3", element("a", code(offer.name), href=f"#{anchor}"))]
    if offer.title:
        parts.append(element("p", offer.title, class_="title"))
    if offer.marks:
        marks = joined(element("li", mark) for mark in offer.marks)
        parts.append(element("ul", marks, class_="chips"))
    if offer.note:
        parts.append(element("p", offer.note, class_="warning"))
    if offer.description:
        parts.append(element("div", prose(offer.description), class_="prose"))
    parts += [element("p", words(fact), class_="aside") for fact in offer.facts]
    for table in offer.tables:
        parts += _table(table)
    if used_in:
        parts.append(element("p", "Used in: ", used_in, class_="links"))
    return element("article", joined(parts, "\n"), class_="offer", id=anchor)


def _table(table: Table) -> Iterator[Markup]:
    yield element("h4", table.title)
    if table.rows:
        # A column in which nothing is said is left out.
        columns = [each for each in _COLUMNS if any(each[1](row) for row in table.rows)]
        head = joined(element("th", name, scope="col") for name, _ in columns)
        body = joined((_row(row, [show for _, show in columns]) for row in table.rows), "\n")
        yield element("table", element("thead", element("tr", head)), element("tbody", body))
    for note in table.notes:
        yield element("p", words(note), class_="aside")


def _row(row: Row, columns: list[Callable[[Row], Markup]]) -> Markup:
    first, *others = columns
    cells = [element("th", first(row), scope="row"), *(element("td", show(row)) for show in others)]
    return element("tr", *cells)


def _name(row: Row) -> Markup:
    needed = [element("span", "required", class_="needed")] if row.required == "yes" else []
    return joined([code(row.name), *needed], " ")


def _rules(row: Row) -> Markup:
    if not row.rules:
        return Markup("")
    return element("ul", *(element("li", words(rule)) for rule in row.rules), class_="rules")


_COLUMNS: tuple[tuple[str, Callable[[Row], Markup]], ...] = (
    ("name", _name),
    ("type", lambda row: joined([row.type])),
    ("rules", _rules),
    ("description", lambda row: prose(row.description)),
)
