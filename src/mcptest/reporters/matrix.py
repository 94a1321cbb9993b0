"""The transport matrix in the terminal report: the ways to a server, and how results differ.

For 80 columns: what does not fit is cut here, and is complete further up or in the JSON report.
"""

from __future__ import annotations

from mcptest.core.text import excerpt, plural, shorten, show_json, visible
from mcptest.core.value_class import ABSENT
from mcptest.reporters.style import status_counts, width_of, wrap_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcptest.core.events import (
        Matrix,
        OfferDifference,
        ResultDifference,
        SeenResult,
        Way,
        WayRun,
    )
    from mcptest.reporters.style import Paint

__all__ = ["matrix_lines"]

_COLUMNS = 80
# As wide as a revision, and a gap.
_CELL = 12
_INDENT = "  "
_DEEP = " " * 6
# So many rows are shown; the JSON report has all of them.
_MAX_ROWS = 50
_MAX_REFUSAL = 400


def matrix_lines(matrix: Matrix, paint: Paint) -> list[str]:
    """The ways, what the server offers in only some of them, and the table of tests."""
    lines = [paint.bold("transport matrix")]
    for run in matrix.ways:
        lines += _way_lines(run, paint)
    for sentence in matrix.unread:
        lines.append(paint.yellow(_fit_line(f"{_INDENT}{visible(sentence)}")))
    if matrix.offers:
        lines += ["", *_offer_lines(matrix, paint)]
    return [*lines, "", *_result_lines(matrix, paint)]


def _way_lines(run: WayRun, paint: Paint) -> list[str]:
    head = f"{_INDENT}{visible(run.way.label):<19}"
    if run.refusal or run.error:
        words = wrap_line(_DEEP + excerpt(run.refusal or run.error, _MAX_REFUSAL), _COLUMNS)
        verdict = paint.red("cannot be opened") if run.error else paint.yellow("not spoken")
        return [f"{head}{verdict}", *map(paint.dim, map(_fit_line, words))]
    if run.summary is None:
        return [f"{head}{paint.yellow('not run')}"]
    return [head + (status_counts(run.summary, paint) or "no tests ran")]


# What the server says of itself


def _offer_lines(matrix: Matrix, paint: Paint) -> Iterator[str]:
    count = len(matrix.offers) + matrix.more_offers
    noun = "thing that" if count == 1 else "things that"
    yield paint.yellow(f"{count:,} {noun} the server describes differently in some ways:")
    for each in matrix.offers[:_MAX_ROWS]:
        what = f"{visible(each.what)}, {visible(each.member)}" if each.member else ""
        yield _fit_line(f"{_INDENT}{what or visible(each.what)}")
        yield from _value_lines(each) if each.member else _presence_lines(each)
    more = count - len(matrix.offers[:_MAX_ROWS])
    if more:
        yield f"{_INDENT}… and {more:,} more"


def _presence_lines(difference: OfferDifference) -> Iterator[str]:
    there = [seen.way for seen in difference.seen if seen.value is not ABSENT]
    missing = [seen.way for seen in difference.seen if seen.value is ABSENT]
    for word, ways in (("over", there), ("not over", missing)):
        for way in ways:
            yield f"{_DEEP}{word:<9}{visible(way.label)}"


def _value_lines(difference: OfferDifference) -> Iterator[str]:
    for each in difference.seen:
        value = "(nothing)" if each.value is ABSENT else show_json(each.value, _COLUMNS)
        yield _fit_line(f"{_DEEP}{visible(each.way.label):<19}{value}")


# The tests


def _result_lines(matrix: Matrix, paint: Paint) -> list[str]:
    if matrix.differences:
        return list(_table_lines(matrix, paint))
    ways, compared = len(matrix.taken), matrix.compared
    if ways < 2:
        return ["there is one way only, so there is nothing to compare"] if ways else []
    if compared == matrix.total:
        tests = f"all {plural(compared, 'test')} have" if compared != 1 else "the 1 test has"
        return [paint.green(f"{tests} the same result over {ways} ways")]
    left = f"{compared:,} of {plural(matrix.total, 'test')} ran in more than one way"
    return [f"{left}, with the same result"]


def _table_lines(matrix: Matrix, paint: Paint) -> Iterator[str]:
    rows, ways = matrix.differences, matrix.taken
    compared = plural(matrix.compared, "test")
    verb = "has" if len(rows) == 1 else "have"
    yield paint.red(f"{len(rows):,} of {compared} {verb} different results in different ways:")
    room = _COLUMNS - _CELL * len(ways)
    for words in ([way.transport for way in ways], [way.revision for way in ways]):
        cells = "".join(visible(word).ljust(_CELL) for word in words).rstrip()
        yield paint.bold(" " * room + cells)
    suite = ""
    for row in rows[:_MAX_ROWS]:
        if row.suite != suite:
            suite = row.suite
            yield _fit_line(f"{_INDENT}{visible(suite)}")
        yield from _row_lines(row, ways, room, paint)
    if len(rows) > _MAX_ROWS:
        yield f"{_INDENT}… and {len(rows) - _MAX_ROWS:,} more"


def _row_lines(
    row: ResultDifference, ways: Sequence[Way], room: int, paint: Paint
) -> Iterator[str]:
    name = _fit_line(f"{_INDENT * 2}{visible(row.test)}")
    by_way = {seen.way: seen for seen in row.seen}
    cells = "".join(_cell(by_way.get(way), paint) for way in ways).rstrip()
    # A name that is too long has a line of its own.
    if width_of(name) >= room:
        yield name
        name = ""
    yield name + " " * (room - width_of(name)) + cells
    for seen in row.seen:
        if seen.reason:
            text = f"{_DEEP}{visible(seen.way.label)}: {visible(seen.reason)}"
            yield paint.dim(_fit_line(text))


def _cell(seen: SeenResult | None, paint: Paint) -> str:
    status = seen.status if seen else None
    colours = {"passed": paint.green, "skipped": paint.yellow}
    colour = colours.get(status or "", paint.red)
    return (colour(status) if status else "-") + " " * (_CELL - len(status or "-"))


def _fit_line(line: str) -> str:
    """The line, cut to the width of the terminal."""
    if width_of(line) <= _COLUMNS:
        return line
    cut = line = shorten(line, _COLUMNS)
    # Wide characters take two columns.
    limit = _COLUMNS
    while width_of(cut) > _COLUMNS and limit > _COLUMNS // 2:
        limit -= 2
        cut = shorten(line, limit)
    return cut
