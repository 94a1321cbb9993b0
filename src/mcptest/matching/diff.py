"""Why a value is not what was expected, as lines to show.

Mismatches and the answer they were found in go in, `DiffLine`s come out: plain, escaped, without
colour or indentation. Long texts are cut to the part around the first difference, texts of several
lines are compared line by line; both are bounded, so a server cannot make a report slow or endless.
"""

from __future__ import annotations

from itertools import islice

from mcptest.core.record import ABSENT, Record
from mcptest.core.text import is_pattern, parse_path, plural, quote, shorten, show_json, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Sign = Literal[" ", "-", "+", "^", "…"]
    from collections.abc import Iterator, Sequence

    from mcptest.core.results import Mismatch
    from mcptest.core.text import Step
__all__ = [
    "DiffLine",
    "TextPair",
    "common_prefix",
    "context_diff",
    "is_worth_a_line_diff",
    "line_diff",
    "pair_texts",
    "render_mismatch",
]


class DiffLine(Record):
    """A line to show. `sign` says what it is, so that a reporter can colour it.

    "-" is what was expected, "+" what arrived, "^" points at a difference, "…" is an aside
    (something left out, a place), " " is everything else.
    """

    sign: Sign
    text: str


# What is left of 80 columns beside the indentation of a report and the labels below.
COLUMNS = 58
MAX_MESSAGE_CHARS = 400
MAX_CONTEXT_LINES = 60
MAX_FOLDED_NAMES = 6
MAX_CONTEXT_VALUE_CHARS = 100
# More branches than this cannot be seen in MAX_CONTEXT_LINES lines anyway.
MAX_CONTEXT_MISMATCHES = 100


def render_mismatch(mismatch: Mismatch, *, columns: int = COLUMNS) -> list[DiffLine]:
    """Where, why, what was expected, what came, and a hint.

    A caret is drawn only when the value fits in `columns`: under a line that
    wraps it would point at the wrong place, so words say where instead.
    """
    where = visible(mismatch.path) or "(the whole answer)"
    why = f": {visible(shorten(mismatch.message, MAX_MESSAGE_CHARS))}" if mismatch.message else ""
    lines = [DiffLine(sign=" ", text=where + why), *_sides(mismatch, columns)]
    if mismatch.hint:
        lines.append(_labelled(" ", "hint", visible(shorten(mismatch.hint, MAX_MESSAGE_CHARS))))
    return lines


def _sides(mismatch: Mismatch, columns: int) -> list[DiffLine]:
    expected, actual = mismatch.expected, mismatch.actual
    if not isinstance(expected, str) or not isinstance(actual, str) or is_pattern(expected):
        return [
            _labelled("-", "expected", show_json(expected)),
            _labelled("+", "actual", "(missing)" if actual is ABSENT else show_json(actual)),
        ]
    if expected != actual and is_worth_a_line_diff(expected, actual, columns):
        return [
            _labelled("-", "expected", f"{_line_count(expected)} (-)"),
            _labelled("+", "actual", f"{_line_count(actual)} (+)"),
            *(line.but(text=f"    {line.text}") for line in line_diff(expected, actual)),
        ]
    return _two_texts(expected, actual, columns)


def _two_texts(expected: str, actual: str, columns: int) -> list[DiffLine]:
    pair = pair_texts(expected, actual)
    lines = [_labelled("-", "expected", pair.expected), _labelled("+", "actual", pair.actual)]
    if not _is_alike(expected, actual):
        return lines
    if len(pair.actual) <= columns:
        return [*lines, _labelled("^", "", " " * pair.column + "^")]
    before = expected[max(0, pair.at - 20) : pair.at]
    after = f", after {quote(before)}" if before else ""
    return [*lines, _labelled("^", "differs", f"at character {pair.at + 1:,}{after}")]


def _is_alike(expected: str, actual: str) -> bool:
    """True if it helps to mark the place: strings that share neither end differ everywhere."""
    if expected == actual or not expected or not actual:
        return False
    return expected[0] == actual[0] or expected[-1] == actual[-1]


def _line_count(text: str) -> str:
    return f"{plural(text.removesuffix(chr(10)).count(chr(10)) + 1, 'line')} of text"


def _labelled(sign: Sign, label: str, text: str) -> DiffLine:
    return DiffLine(sign=sign, text=f"  {label:<8}  {text}")


def context_diff(actual: object, mismatches: Sequence[Mismatch]) -> list[DiffLine]:
    """The answer as indented JSON, opened only where it leads to a mismatch.

    Nothing when no mismatch lies inside the answer: its own lines say it all.
    """
    root = _Branch()
    for mismatch in mismatches[:MAX_CONTEXT_MISMATCHES]:
        steps = parse_path(mismatch.path)
        if steps is not None and _is_inside(actual, steps, mismatch):
            root.at(steps).mismatches.append(mismatch)
    if not root.branches:
        return []
    lines = list(islice(_opened("", actual, root, 0), MAX_CONTEXT_LINES + 1))
    if len(lines) > MAX_CONTEXT_LINES:
        lines[MAX_CONTEXT_LINES:] = [_line("…", 0, "… the rest of the answer is not shown")]
    return lines


class _Branch:
    """The part of the answer below one place that leads to mismatches."""

    __slots__ = ("branches", "mismatches")

    def __init__(self) -> None:
        self.branches: dict[Step, _Branch] = {}
        self.mismatches: list[Mismatch] = []

    def at(self, steps: Sequence[Step]) -> _Branch:
        branch = self
        for step in steps:
            branch = branch.branches.setdefault(step, _Branch())
        return branch


def _is_inside(answer: object, steps: Sequence[Step], mismatch: Mismatch) -> bool:
    """True if the path leads into the answer, or to a member that should be there.

    `stderr` or `exitCode` are places of a test too, but not places of its answer.
    """
    for number, step in enumerate(steps, 1):
        if _has(answer, step):
            answer = answer[step]  # type: ignore[index]  # _has has looked
        else:
            fits = isinstance(answer, dict if isinstance(step, str) else list)
            return fits and number == len(steps) and mismatch.actual is ABSENT
    return True


def _has(container: object, step: Step) -> bool:
    if isinstance(step, str):
        return isinstance(container, dict) and step in container
    return isinstance(container, list) and step < len(container)


def _opened(lead: str, value: object, branch: _Branch, depth: int) -> Iterator[DiffLine]:
    """`value` and whatever below it leads to a mismatch."""
    if not branch.branches:
        yield from _leaf(lead, branch, depth)
        return
    for text in _expectations(branch):
        yield _line("-", depth, lead + text)
    is_object = isinstance(value, dict)
    yield _line(" ", depth, lead + ("{" if is_object else "["))
    yield from _members(value, branch, depth + 1, "key" if is_object else "item")
    for step, missing in branch.branches.items():
        if not _has(value, step):
            yield from _leaf(_key(step), missing, depth + 1)
    yield _line(" ", depth, "}" if is_object else "]")


def _members(value: object, branch: _Branch, depth: int, noun: str) -> Iterator[DiffLine]:
    folded: list[Step] = []
    for step, member in _steps(value):
        inner = branch.branches.get(step)
        if inner is None:
            folded.append(step)
            continue
        if folded:
            yield _fold(folded, noun, depth)
            folded = []
        yield from _opened(_key(step), member, inner, depth)
    if folded:
        yield _fold(folded, noun, depth)


def _steps(value: object) -> Iterator[tuple[Step, object]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _leaf(lead: str, branch: _Branch, depth: int) -> Iterator[DiffLine]:
    for text in _expectations(branch):
        yield _line("-", depth, lead + text)
    arrived = (_pair(mismatch)[1] for mismatch in branch.mismatches)
    for text in dict.fromkeys(text for text in arrived if text):
        yield _line("+", depth, lead + text)


def _expectations(branch: _Branch) -> list[str]:
    wanted = (_pair(mismatch)[0] for mismatch in branch.mismatches)
    return list(dict.fromkeys(text for text in wanted if text))


def _pair(mismatch: Mismatch) -> tuple[str, str]:
    """Both sides as shown in a tree, "" for a side that has nothing there."""
    expected, actual = mismatch.expected, mismatch.actual
    if isinstance(expected, str) and isinstance(actual, str) and not is_pattern(expected):
        pair = pair_texts(expected, actual, is_terse=True)
        return pair.expected, pair.actual
    return (
        "" if expected is ABSENT else show_json(expected, MAX_CONTEXT_VALUE_CHARS),
        "" if actual is ABSENT else show_json(actual, MAX_CONTEXT_VALUE_CHARS),
    )


def _key(step: Step) -> str:
    return f"{quote(shorten(step, MAX_CONTEXT_VALUE_CHARS))}: " if isinstance(step, str) else ""


def _fold(steps: list[Step], noun: str, depth: int) -> DiffLine:
    """What is not shown because it is equal, or not asked for; keys by name."""
    text = f"… {plural(len(steps), f'more {noun}')}"
    if noun == "key":
        names = ", ".join(str(step) for step in steps[:MAX_FOLDED_NAMES])
        text += f": {visible(shorten(names, MAX_CONTEXT_VALUE_CHARS))}"
        text += ", …" if len(steps) > MAX_FOLDED_NAMES else ""
    return _line("…", depth, text)


def _line(sign: Sign, depth: int, text: str) -> DiffLine:
    gutter = sign if sign in "-+" else " "
    return DiffLine(sign=sign, text=f"{gutter} {'  ' * depth}{text}")


# A string longer than this is cut to a window around the difference.
MAX_TEXT_CHARS = 300
WINDOW_CHARS = 160
# In a tree there is little room, and the counts are shown above it.
TERSE_CHARS = 48

# Beyond this many lines only a window around the first difference is compared.
MAX_COMPARED_LINES = 400
WINDOW_LINES = 120
MAX_SHOWN_LINES = 40
MAX_BLOCK_LINES = 12
CONTEXT_LINES = 2
MAX_LINE_CHARS = 160


class TextPair(Record):
    """Both strings as shown, and the column (from 0) of the first difference."""

    expected: str
    actual: str
    at: int
    column: int


def common_prefix(left: str, right: str) -> int:
    """How many characters two strings share from the start."""
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
    """Both strings quoted, and cut to the same window if one of them is long."""
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
        column=(len(lead) + 1 if lead else 0) + len(quote(expected[start:at])) - 1,
    )


def _excerpt(text: str, start: int, end: int, is_terse: bool) -> str:
    tail = _left_out(len(text) - end, "more character", is_terse)
    return f"{quote(text[start:end])} {tail}" if tail else quote(text[start:end])


def _left_out(count: int, noun: str, is_terse: bool) -> str:
    if count <= 0:
        return ""
    return "…" if is_terse else f"(… {plural(count, noun)})"


def is_worth_a_line_diff(expected: str, actual: str, columns: int) -> bool:
    return "\n" in expected and "\n" in actual and max(len(expected), len(actual)) > columns


def line_diff(expected: str, actual: str) -> list[DiffLine]:
    """The lines that differ, some lines around them, and counts of the rest."""
    left, right = _lines(expected), _lines(actual)
    if expected.endswith("\n") != actual.endswith("\n"):
        (right if expected.endswith("\n") else left).append("(no newline at the end)")
    found = list(_diff_lines(left, right))
    if len(found) > MAX_SHOWN_LINES:
        rest = len(found) - MAX_SHOWN_LINES
        found[MAX_SHOWN_LINES:] = [_aside(f"… {plural(rest, 'more line')}")]
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
        yield _aside(f"… {plural(start, 'equal line')}")
    yield from _grouped(left, right)
    if total > MAX_COMPARED_LINES and total > start + WINDOW_LINES:
        rest = total - start - WINDOW_LINES
        yield _aside(f"… {plural(rest, 'more line')} not compared")


def _grouped(left: list[str], right: list[str]) -> Iterator[DiffLine]:
    import difflib  # noqa: PLC0415  costs 9 ms, and only a failing test needs it

    done = 0
    for group in difflib.SequenceMatcher(None, left, right).get_grouped_opcodes(CONTEXT_LINES):
        if group[0][1] > done:
            yield _aside(f"… {plural(group[0][1] - done, 'equal line')}")
        for tag, left_start, left_end, right_start, right_end in group:
            if tag == "equal":
                yield from _block(" ", left[left_start:left_end], [])
                continue
            yield from _block("-", left[left_start:left_end], right[right_start:right_end])
            yield from _block("+", right[right_start:right_end], left[left_start:left_end])
        done = group[-1][2]
    if len(left) > done:
        yield _aside(f"… {plural(len(left) - done, 'equal line')}")


def _block(sign: Sign, lines: list[str], others: list[str]) -> Iterator[DiffLine]:
    for number, line in enumerate(lines[:MAX_BLOCK_LINES]):
        other = others[number] if number < len(others) else line
        yield DiffLine(sign=sign, text=f"{sign} {_cut_line(line, common_prefix(line, other))}")
    if len(lines) > MAX_BLOCK_LINES:
        yield _aside(f"… {plural(len(lines) - MAX_BLOCK_LINES, 'more line')} ({sign})")


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
