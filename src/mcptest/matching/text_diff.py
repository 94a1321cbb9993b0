"""Two texts that should be equal: where they part, and what to show of them.

Two strings go in, lines to show come out. Long texts are cut to the part around
the first difference, texts of several lines are compared line by line; both are
bounded, so that a server cannot make a report slow or endless.
"""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.core.visible import visible
from mcptest.matching.shown import DiffLine, counted, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest.matching.shown import Sign

__all__ = ["TextPair", "common_prefix", "is_worth_a_line_diff", "line_diff", "pair_texts"]

# A text longer than this is cut to a window around the difference.
MAX_TEXT_CHARS = 300
WINDOW_CHARS = 160
# In a tree there is little room, and the counts stand above it.
TERSE_CHARS = 48

# Beyond this many lines only a window around the first difference is compared.
MAX_COMPARED_LINES = 400
WINDOW_LINES = 120
MAX_SHOWN_LINES = 40
MAX_BLOCK_LINES = 12
CONTEXT_LINES = 2
MAX_LINE_CHARS = 160


class TextPair(Record):
    """Both texts as shown, and the column (from 0) in both where they part."""

    expected: str
    actual: str
    at: int
    column: int


def common_prefix(left: str, right: str) -> int:
    """How many characters two texts share from the start."""
    low, high = 0, min(len(left), len(right))
    # Halving compares slices in C: a loop over 16 MB of text would take a second.
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def pair_texts(expected: str, actual: str, *, is_terse: bool = False) -> TextPair:
    """Both texts quoted, and cut to the same window when one of them is long."""
    at = common_prefix(expected, actual)
    window = TERSE_CHARS if is_terse else WINDOW_CHARS
    if max(len(expected), len(actual)) <= (TERSE_CHARS if is_terse else MAX_TEXT_CHARS):
        start, end = 0, MAX_TEXT_CHARS
    else:
        start = max(0, at - window // 3)
        end = start + window
    lead = _left_out(start, "character", is_terse)
    return TextPair(
        expected=(lead and f"{lead} ") + _excerpt(expected, start, end, is_terse),
        actual=(lead and f"{lead} ") + _excerpt(actual, start, end, is_terse),
        at=at,
        column=(len(lead) + 1 if lead else 0) + len(quoted(expected[start:at])) - 1,
    )


def _excerpt(text: str, start: int, end: int, is_terse: bool) -> str:
    tail = _left_out(len(text) - end, "more character", is_terse)
    return f"{quoted(text[start:end])} {tail}" if tail else quoted(text[start:end])


def _left_out(count: int, noun: str, is_terse: bool) -> str:
    if count <= 0:
        return ""
    return "…" if is_terse else f"(… {counted(count, noun)})"


def is_worth_a_line_diff(expected: str, actual: str, columns: int) -> bool:
    return "\n" in expected and "\n" in actual and max(len(expected), len(actual)) > columns


def line_diff(expected: str, actual: str) -> list[DiffLine]:
    """The lines that differ, a little of what stands around them, and counts of the rest."""
    left, right = _lines(expected), _lines(actual)
    if expected.endswith("\n") != actual.endswith("\n"):
        (right if expected.endswith("\n") else left).append("(no newline at the end)")
    found = list(_diff_lines(left, right))
    if len(found) > MAX_SHOWN_LINES:
        rest = len(found) - MAX_SHOWN_LINES
        found[MAX_SHOWN_LINES:] = [_aside(f"… {counted(rest, 'more line')}")]
    return found


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _diff_lines(left: list[str], right: list[str]) -> Iterator[DiffLine]:
    start = _first_difference(left, right)
    start = max(0, start - CONTEXT_LINES)
    total = max(len(left), len(right))
    if total > MAX_COMPARED_LINES:
        left, right = left[start : start + WINDOW_LINES], right[start : start + WINDOW_LINES]
    else:
        left, right = left[start:], right[start:]
    if start:
        yield _aside(f"… {counted(start, 'equal line')}")
    yield from _grouped(left, right)
    if total > MAX_COMPARED_LINES and total > start + WINDOW_LINES:
        rest = total - start - WINDOW_LINES
        yield _aside(f"… {counted(rest, 'more line')} not compared")


def _grouped(left: list[str], right: list[str]) -> Iterator[DiffLine]:
    import difflib  # noqa: PLC0415  costs 9 ms, and only a failing test needs it

    done = 0
    for group in difflib.SequenceMatcher(None, left, right).get_grouped_opcodes(CONTEXT_LINES):
        if group[0][1] > done:
            yield _aside(f"… {counted(group[0][1] - done, 'equal line')}")
        for tag, left_start, left_end, right_start, right_end in group:
            if tag == "equal":
                yield from _block(" ", left[left_start:left_end], [])
                continue
            yield from _block("-", left[left_start:left_end], right[right_start:right_end])
            yield from _block("+", right[right_start:right_end], left[left_start:left_end])
        done = group[-1][2]
    if len(left) > done:
        yield _aside(f"… {counted(len(left) - done, 'equal line')}")


def _block(sign: Sign, lines: list[str], others: list[str]) -> Iterator[DiffLine]:
    for number, line in enumerate(lines[:MAX_BLOCK_LINES]):
        other = others[number] if number < len(others) else line
        yield DiffLine(sign=sign, text=f"{sign} {_cut_line(line, common_prefix(line, other))}")
    if len(lines) > MAX_BLOCK_LINES:
        yield _aside(f"… {counted(len(lines) - MAX_BLOCK_LINES, 'more line')} ({sign})")


def _cut_line(line: str, at: int) -> str:
    """`line` cut so that the character at `at` stays in sight."""
    start = max(0, at - MAX_LINE_CHARS // 2) if at > MAX_LINE_CHARS * 3 // 4 else 0
    end = start + MAX_LINE_CHARS
    return ("… " if start else "") + visible(line[start:end]) + (" …" if end < len(line) else "")


def _first_difference(left: list[str], right: list[str]) -> int:
    for number, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return number
    return min(len(left), len(right))


def _aside(text: str) -> DiffLine:
    return DiffLine(sign="…", text=f"  {text}")
