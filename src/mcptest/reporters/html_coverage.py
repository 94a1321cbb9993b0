"""What the tests exercised of what the servers offer, as tables.

Coverage goes in, markup comes out. What was never called or never given is said in
words, because that is what somebody opens this section for.
"""

from __future__ import annotations

from mcptest.reporters.coverage_text import percent_text
from mcptest.reporters.html_charts import bar
from mcptest.reporters.html_markup import Markup, cut, element, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.coverage import CoveredOffer, CoveredProperty, ServerCoverage

__all__ = ["render_coverage"]

MAX_NAME_CHARS = 300
MAX_OFFERS = 1_000
MAX_PROPERTIES = 100

_KINDS = {
    "tool": "tool",
    "resource": "resource",
    "resourceTemplate": "resource template",
    "prompt": "prompt",
}


def render_coverage(coverage: Sequence[ServerCoverage]) -> Markup:
    """A table for each server; nothing when no server could say what it offers."""
    if not coverage:
        return Markup("")
    servers = [_server_part(server) for server in coverage]
    return element("section", element("h2", "Coverage"), *servers, id="coverage")


def _server_part(server: ServerCoverage) -> Markup:
    title = element("h3", cut(server.server, MAX_NAME_CHARS), class_="name")
    hit, whole = server.points
    if not whole:
        return joined([title, element("p", "This server offers nothing.")])
    counts = f"{hit:,} of {whole:,} offers and input properties exercised"
    share = f"{percent_text([server])}: {counts}"
    rows = [_offer_row(offer) for offer in server.offers[:MAX_OFFERS]]
    hidden = len(server.offers) - MAX_OFFERS
    if hidden > 0:
        rows.append(element("tr", element("td", f"… and {hidden:,} more", colspan=4)))
    words = ("kind", "name", "calls", "input properties")
    heads = element("tr", *(element("th", word, scope="col") for word in words))
    table = element("table", element("thead", heads), element("tbody", *rows))
    return joined(
        [title, element("p", share), bar(hit / whole, "share"), _in_scroll(table)],
    )


def _in_scroll(table: Markup) -> Markup:
    return element("div", table, class_="scroll")


def _offer_row(offer: CoveredOffer) -> Markup:
    never = element("span", "never called", class_="never")
    return element(
        "tr",
        element("td", _KINDS[offer.kind]),
        element("th", cut(offer.name, MAX_NAME_CHARS), scope="row"),
        element("td", f"{offer.calls:,}" if offer.calls else never),
        element("td", _properties(offer.properties)),
    )


def _properties(properties: Sequence[CoveredProperty]) -> Markup:
    shown = properties[:MAX_PROPERTIES]
    given = [each for each in shown if each.calls]
    missing = [each for each in shown if not each.calls]
    parts = []
    if given:
        names = joined((_counted_property(each) for each in given), ", ")
        parts.append(element("div", "given: ", names))
    if missing:
        names = joined((cut(each.name, MAX_NAME_CHARS) for each in missing), ", ")
        never = element("span", "never given: ", class_="never")
        parts.append(element("div", never, names))
    hidden = len(properties) - MAX_PROPERTIES
    if hidden > 0:
        parts.append(element("div", f"… and {hidden:,} more", class_="aside"))
    return joined(parts)


def _counted_property(each: CoveredProperty) -> Markup:
    return joined([cut(each.name, MAX_NAME_CHARS), f" ({each.calls:,})"])
