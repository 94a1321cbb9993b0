"""How long the tests took, as two small charts: the slowest ones, and how all are spread.

Durations go in, markup comes out. The bars are for the eye only; every number also
stands beside its bar, so nothing is lost to those who cannot see them.
"""

from __future__ import annotations

from heapq import nlargest

from mcptest.core.record import Record
from mcptest.reporters.html_markup import Markup, cut, element
from mcptest.reporters.wording import render_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Timing", "bar", "render_durations"]

SLOWEST = 10
MAX_NAME_CHARS = 120

# Upper ends of the columns, in seconds, each about three times the one before.
_ENDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, float("inf"))
_LABELS = (
    "under 1 ms",
    "1 to 3 ms",
    "3 to 10 ms",
    "10 to 30 ms",
    "30 to 100 ms",
    "100 to 300 ms",
    "0.3 to 1 s",
    "1 to 3 s",
    "3 to 10 s",
    "10 s and more",
)


class Timing(Record):
    """How long the test with this number on the page took."""

    number: int
    name: str
    duration_s: float


def render_durations(timings: Sequence[Timing]) -> Markup:
    """Both charts; nothing when no test ran."""
    if not timings:
        return Markup("")
    charts = element("div", _slowest(timings), _histogram(timings), class_="charts")
    return element("section", element("h2", "Durations"), charts, id="durations")


def bar(share: float, class_: str = "") -> Markup:
    """A bar that fills this part (0 to 1) of the room it is given."""
    # A sliver stays visible: it is little, not nothing.
    width = f"{max(0.5, 100 * share):.1f}" if share else "0"
    rectangle = element("rect", width=width, height=8)
    box = {"viewBox": "0 0 100 8", "preserveAspectRatio": "none"}
    return element("svg", rectangle, aria_hidden="true", class_=class_ or False, **box)


def _slowest(timings: Sequence[Timing]) -> Markup:
    slowest = nlargest(SLOWEST, timings, key=lambda timing: timing.duration_s)
    longest = slowest[0].duration_s
    rows = [
        _bar_row(
            element("a", cut(timing.name, MAX_NAME_CHARS), href=f"#t{timing.number}"),
            timing.duration_s / longest if longest else 0.0,
            render_duration(timing.duration_s),
        )
        for timing in slowest
    ]
    return _chart("Slowest tests", ("test", "took"), rows)


def _histogram(timings: Sequence[Timing]) -> Markup:
    counts = [0] * len(_ENDS)
    for timing in timings:
        counts[next(at for at, end in enumerate(_ENDS) if timing.duration_s < end)] += 1
    filled = [at for at, count in enumerate(counts) if count]
    rows = [
        _bar_row(_LABELS[at], counts[at] / max(counts), f"{counts[at]:,}")
        for at in range(filled[0], filled[-1] + 1)
    ]
    return _chart("All tests by duration", ("took", "tests"), rows)


def _chart(title: str, heads: tuple[str, str], rows: list[Markup]) -> Markup:
    first, last = (element("th", word, scope="col") for word in heads)
    # The column of bars has no name: it says nothing the next one does not.
    columns = element("tr", first, element("td"), last)
    table = element("table", element("thead", columns), element("tbody", *rows))
    return element("div", element("h3", title), table)


def _bar_row(label: str, share: float, value: str) -> Markup:
    return element(
        "tr",
        element("th", label, scope="row"),
        element("td", bar(share), class_="chart"),
        element("td", value, class_="number"),
    )
