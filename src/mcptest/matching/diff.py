"""Why a value is not what was expected, as lines to show.

Mismatches and the answer they were found in go in, `DiffLine`s come out: plain, escaped, without
colour or indentation. Long texts are cut to the part around the first difference, texts of several
lines are compared line by line; both are bounded, so a server cannot make a report slow or endless.
"""

from __future__ import annotations

from itertools import islice

from mcptest.core.text import (
    describe_place,
    excerpt,
    is_pattern,
    parse_path,
    plural,
    quote,
    render_trail,
    shorten,
    show_json,
    visible,
)
from mcptest.core.value_class import ABSENT, Record
from mcptest.matching.compare import AllOf, Each, Group, Partial
from mcptest.matching.json_values import (
    common_prefix,
    describe_near_match,
    is_long,
    to_text,
    type_name,
)
from mcptest.matching.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Literal

    from mcptest.core.results import Mismatch
    from mcptest.core.text import Step, Trail

    Sign = Literal[" ", "-", "+", "^", "…"]
    Meets = Callable[[object, object], bool]

__all__ = [
    "DiffLine",
    "Elsewhere",
    "TextPair",
    "array_hint",
    "context_diff",
    "cut_sides",
    "describe_first",
    "find_idle_checks",
    "find_place",
    "line_diff",
    "pair_texts",
    "render_mismatch",
    "scalar_hint",
    "show_sides",
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
_MAX_MESSAGE_CHARS = 400
_MAX_CONTEXT_LINES = 60
_MAX_FOLDED_NAMES = 6
_MAX_CONTEXT_VALUE_CHARS = 100
# More branches than this cannot be seen in _MAX_CONTEXT_LINES lines anyway.
_MAX_CONTEXT_MISMATCHES = 100


def render_mismatch(mismatch: Mismatch, *, columns: int = COLUMNS) -> list[DiffLine]:
    """Where, why, what was expected, what was received, and a hint.

    A caret is drawn only when the value fits in `columns`: under a line that
    wraps it would point at the wrong place, so words say where instead.
    """
    where = visible(mismatch.path) or "(the whole answer)"
    why = f": {excerpt(mismatch.message, _MAX_MESSAGE_CHARS)}" if mismatch.message else ""
    lines = [DiffLine(sign=" ", text=where + why), *_sides(mismatch, columns)]
    if mismatch.hint:
        lines.append(_label_line(" ", "hint", excerpt(mismatch.hint, _MAX_MESSAGE_CHARS)))
    return lines


def show_sides(mismatch: Mismatch, limit: int) -> tuple[str, str]:
    """Both sides as JSON; long strings are cut around the place where they differ."""
    expected, actual = mismatch.expected, mismatch.actual
    place = find_place(mismatch)
    if (
        place
        and isinstance(expected, str)
        and isinstance(actual, str)
        and max(len(expected), len(actual)) > limit
    ):
        pair = pair_texts(expected, actual, place, is_described=mismatch.is_described)
        return pair.expected, pair.actual
    return _show_expected(mismatch, limit), show_json(actual, limit)


def _show_expected(mismatch: Mismatch, limit: int) -> str:
    return show_json(mismatch.expected, limit, is_described=mismatch.is_described)


def cut_sides(mismatch: Mismatch, limit: int) -> tuple[object, object]:
    """Both sides; of two long strings, the part around the place where they differ."""
    expected, actual = mismatch.expected, mismatch.actual
    place = find_place(mismatch)
    if place is None or not isinstance(expected, str) or not isinstance(actual, str):
        return expected, actual
    return _cut_text(expected, place[0], limit), _cut_text(actual, place[1], limit)


def _cut_text(text: str, at: int, limit: int) -> str:
    """A string cut to about this length around one of its characters.

    If that is in the first half, a cut at the end is enough.
    """
    if len(text) <= limit or at < limit // 2:
        return text
    start = max(0, at - limit // 3)
    end = start + limit
    return ("… " if start else "") + text[start:end] + (" …" if end < len(text) else "")


def find_place(mismatch: Mismatch) -> tuple[int, int] | None:
    """The index in each of two strings where they begin to differ; None if there is none."""
    expected, actual = mismatch.expected, mismatch.actual
    if not isinstance(expected, str) or not isinstance(actual, str):
        return None
    if mismatch.at:
        # A saved report may have cut the strings.
        is_inside = mismatch.at[0] <= len(expected) and mismatch.at[1] <= len(actual)
        return mismatch.at if is_inside else None
    if mismatch.is_described or is_pattern(expected) or expected == actual:
        return None
    at = common_prefix(expected, actual)
    return at, at


def describe_first(mismatch: Mismatch) -> str:
    """A mismatch in one line; of two long strings, the parts around the place of the difference."""
    where = f"{mismatch.path}: " if mismatch.path else ""
    expected, actual = mismatch.expected, mismatch.actual
    place = find_place(mismatch)
    if not isinstance(expected, str) or not isinstance(actual, str) or not place or not place[1]:
        return where + mismatch.message
    differs = f"{where}differs at {describe_place(actual, place[1])}"
    if not is_long(expected, actual):
        return where + mismatch.message if mismatch.at else differs
    pair = pair_texts(expected, actual, place, is_terse=True, is_described=mismatch.is_described)
    return f"{differs}: expected {pair.expected}, actual {pair.actual}"


def _sides(mismatch: Mismatch, columns: int) -> list[DiffLine]:
    expected, actual = mismatch.expected, mismatch.actual
    place = find_place(mismatch)
    is_text = isinstance(expected, str) and isinstance(actual, str)
    if not is_text or ((mismatch.is_described or is_pattern(expected)) and not place):
        return [
            _label_line("-", "expected", _show_expected(mismatch, 200)),
            _label_line("+", "actual", "(missing)" if actual is ABSENT else show_json(actual)),
        ]
    assert isinstance(expected, str)
    assert isinstance(actual, str)
    if mismatch.at:
        return _two_texts(expected, actual, columns, place, is_described=mismatch.is_described)
    has_lines = "\n" in expected and "\n" in actual
    if has_lines and expected != actual and max(len(expected), len(actual)) > columns:
        return [
            _label_line("-", "expected", f"{_line_count(expected)} (-)"),
            _label_line("+", "actual", f"{_line_count(actual)} (+)"),
            *(line.but(text=f"    {line.text}") for line in line_diff(expected, actual)),
        ]
    return _two_texts(expected, actual, columns)


def _two_texts(
    expected: str,
    actual: str,
    columns: int,
    place: tuple[int, int] | None = None,
    *,
    is_described: bool = False,
) -> list[DiffLine]:
    pair = pair_texts(expected, actual, place, is_described=is_described)
    lines = [_label_line("-", "expected", pair.expected), _label_line("+", "actual", pair.actual)]
    if not place:
        # Strings that share neither end differ everywhere: no place is worth marking.
        shares_end = expected[:1] == actual[:1] or expected[-1:] == actual[-1:]
        if not shares_end or expected == actual or not expected or not actual:
            return lines
    if len(pair.actual) <= columns:
        return [*lines, _label_line("^", "", " " * pair.column + "^")]
    before = actual[max(0, pair.at - 20) : pair.at]
    after = f", after {quote(before)}" if before else ""
    return [*lines, _label_line("^", "differs", f"at {describe_place(actual, pair.at)}{after}")]


def _line_count(text: str) -> str:
    return f"{plural(text.removesuffix(chr(10)).count(chr(10)) + 1, 'line')} of text"


def _label_line(sign: Sign, label: str, text: str) -> DiffLine:
    return DiffLine(sign=sign, text=f"  {label:<8}  {text}")


def context_diff(actual: object, mismatches: Sequence[Mismatch]) -> list[DiffLine]:
    """The answer as indented JSON, opened only where it leads to a mismatch.

    Nothing when no mismatch lies inside the answer: its own lines say it all.
    """
    root = _Branch()
    for mismatch in mismatches[:_MAX_CONTEXT_MISMATCHES]:
        steps = parse_path(mismatch.path)
        if steps is not None and _is_inside(actual, steps, mismatch):
            root.at(steps).mismatches.append(mismatch)
    if not root.branches:
        return []
    lines = list(islice(_show_branch("", actual, root, 0), _MAX_CONTEXT_LINES + 1))
    if len(lines) > _MAX_CONTEXT_LINES:
        lines[_MAX_CONTEXT_LINES:] = [_line("…", 0, "… the rest of the answer is not shown")]
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


def _show_branch(lead: str, value: object, branch: _Branch, depth: int) -> Iterator[DiffLine]:
    """`value`, opened where it leads to a mismatch."""
    pairs = [_pair(mismatch) for mismatch in branch.mismatches]
    for text in dict.fromkeys(expected for expected, _ in pairs if expected):
        yield _line("-", depth, lead + text)
    if not branch.branches:
        for text in dict.fromkeys(actual for _, actual in pairs if actual):
            yield _line("+", depth, lead + text)
        return
    is_object = isinstance(value, dict)
    noun = "key" if is_object else "item"
    yield _line(" ", depth, lead + ("{" if is_object else "["))
    members: Iterable[tuple[Step, object]] = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    folded: list[Step] = []
    for step, member in members:
        inner = branch.branches.get(step)
        if inner is None:
            folded.append(step)
            continue
        if folded:
            yield _fold(folded, noun, depth + 1)
            folded = []
        yield from _show_branch(_key(step), member, inner, depth + 1)
    if folded:
        yield _fold(folded, noun, depth + 1)
    for step, missing in branch.branches.items():
        if not _has(value, step):
            yield from _show_branch(_key(step), ABSENT, missing, depth + 1)
    yield _line(" ", depth, "}" if is_object else "]")


def _pair(mismatch: Mismatch) -> tuple[str, str]:
    """Both sides as shown in a tree, "" for a side that has nothing there."""
    expected, actual = mismatch.expected, mismatch.actual
    place = find_place(mismatch)
    if place and isinstance(expected, str) and isinstance(actual, str):
        pair = pair_texts(
            expected, actual, place, is_terse=True, is_described=mismatch.is_described
        )
        return pair.expected, pair.actual
    return (
        "" if expected is ABSENT else _show_expected(mismatch, _MAX_CONTEXT_VALUE_CHARS),
        "" if actual is ABSENT else show_json(actual, _MAX_CONTEXT_VALUE_CHARS),
    )


def _key(step: Step) -> str:
    return f"{quote(shorten(step, _MAX_CONTEXT_VALUE_CHARS))}: " if isinstance(step, str) else ""


def _fold(steps: list[Step], noun: str, depth: int) -> DiffLine:
    """What is not shown because it is equal, or not asked for; keys by name."""
    text = f"… {plural(len(steps), f'more {noun}')}"
    if noun == "key":
        names = ", ".join(str(step) for step in steps[:_MAX_FOLDED_NAMES])
        text += f": {excerpt(names, _MAX_CONTEXT_VALUE_CHARS)}"
        text += ", …" if len(steps) > _MAX_FOLDED_NAMES else ""
    return _line("…", depth, text)


def _line(sign: Sign, depth: int, text: str) -> DiffLine:
    gutter = sign if sign in "-+" else " "
    return DiffLine(sign=sign, text=f"{gutter} {'  ' * depth}{text}")


# A string longer than this is cut to a window around the difference.
_MAX_WHOLE_TEXT_CHARS = 300
_WINDOW_CHARS = 120
# In a tree there is little room, and the counts are shown above it.
_TERSE_CHARS = 48

# Beyond this many lines only a window around the first difference is compared.
_MAX_COMPARED_LINES = 400
_WINDOW_LINES = 120
_MAX_SHOWN_LINES = 40
_MAX_BLOCK_LINES = 12
_CONTEXT_LINES = 2
_MAX_LINE_CHARS = 160


class TextPair(Record):
    """Both strings as shown; the index in `actual`, and the column, of the first difference."""

    expected: str
    actual: str
    at: int
    column: int


def pair_texts(
    expected: str,
    actual: str,
    place: tuple[int, int] | None = None,
    *,
    is_terse: bool = False,
    is_described: bool = False,
) -> TextPair:
    """Both strings quoted, and cut around the place where they differ if one of them is long.

    `place` is the index in each of them, for a pattern or a description, which are not quoted.
    """
    if place is None:
        at = common_prefix(expected, actual)
        place = at, at
    window = _TERSE_CHARS if is_terse else _WINDOW_CHARS
    is_short = max(len(expected), len(actual)) <= (
        _TERSE_CHARS if is_terse else _MAX_WHOLE_TEXT_CHARS
    )
    is_bare = is_described or is_pattern(expected)
    shown: list[str] = []
    for text, at in ((expected, place[0]), (actual, place[1])):
        start = 0 if is_short else max(0, at - window // 3)
        end = _MAX_WHOLE_TEXT_CHARS if is_short else start + window
        write = visible if is_bare and not shown else quote
        lead = _count_left_out(start, "character", is_terse)
        lead += " " if lead else ""
        tail = _count_left_out(len(text) - end, "more character", is_terse)
        shown.append(lead + write(text[start:end]) + (f" {tail}" if tail else ""))
        # That of the last one counts.
        column = len(lead) + len(write(text[start:at])) - 1
    return TextPair(expected=shown[0], actual=shown[1], at=place[1], column=column)


def _count_left_out(count: int, noun: str, is_terse: bool) -> str:
    if count <= 0:
        return ""
    return "…" if is_terse else f"(… {plural(count, noun)})"


def line_diff(expected: str, actual: str) -> list[DiffLine]:
    """The lines that differ, some lines around them, and counts of the rest."""
    left, right = _lines(expected), _lines(actual)
    if expected.endswith("\n") != actual.endswith("\n"):
        (right if expected.endswith("\n") else left).append("(no newline at the end)")
    found = list(_diff_lines(left, right))
    if len(found) > _MAX_SHOWN_LINES:
        rest = len(found) - _MAX_SHOWN_LINES
        found[_MAX_SHOWN_LINES:] = [_aside(f"… {plural(rest, 'more line')}")]
    return found


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _diff_lines(left: list[str], right: list[str]) -> Iterator[DiffLine]:
    import difflib  # noqa: PLC0415  costs 9 ms, and only a failing test needs it

    # What is equal at the start is not compared again.
    pairs = enumerate(zip(left, right, strict=False))
    shorter = min(len(left), len(right))
    start = next((number for number, (one, other) in pairs if one != other), shorter)
    start = max(0, start - _CONTEXT_LINES)
    total = max(len(left), len(right))
    if total > _MAX_COMPARED_LINES:
        left, right = left[start : start + _WINDOW_LINES], right[start : start + _WINDOW_LINES]
    else:
        left, right = left[start:], right[start:]
    if start:
        yield _aside(f"… {plural(start, 'equal line')}")
    done = 0
    for group in difflib.SequenceMatcher(None, left, right).get_grouped_opcodes(_CONTEXT_LINES):
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
    if total > _MAX_COMPARED_LINES and total > start + _WINDOW_LINES:
        rest = total - start - _WINDOW_LINES
        yield _aside(f"… {plural(rest, 'more line')} not compared")


def _block(sign: Sign, lines: list[str], others: list[str]) -> Iterator[DiffLine]:
    for number, line in enumerate(lines[:_MAX_BLOCK_LINES]):
        # A long line is cut so that the place where it differs stays in sight.
        at = common_prefix(line, others[number] if number < len(others) else line)
        start = max(0, at - _MAX_LINE_CHARS // 2) if at > _MAX_LINE_CHARS * 3 // 4 else 0
        end = start + _MAX_LINE_CHARS
        lead, tail = "… " if start else "", " …" if end < len(line) else ""
        yield DiffLine(sign=sign, text=f"{sign} {lead}{visible(line[start:end])}{tail}")
    if len(lines) > _MAX_BLOCK_LINES:
        yield _aside(f"… {plural(len(lines) - _MAX_BLOCK_LINES, 'more line')} ({sign})")


def _aside(text: str) -> DiffLine:
    return DiffLine(sign="…", text=f"  {text}")


# Hints: where the expected value is instead, and why an array differs; and notes on passing tests,
# about checks that held only because there was nothing to check

_MAX_PLACES = 2000
# Of one array or object, so that what follows a long list is searched as well.
_MAX_MEMBERS = 100
_MAX_TEXT_CHARS = 10_000
_MAX_ELEMENTS = 50

# Patterns distinctive enough to look for their value elsewhere.
_DISTINCTIVE = frozenset(
    ["contains", "containsIgnoreCase", "startsWith", "endsWith", "equals", "equalsIgnoreCase"]
)


def scalar_hint(expected: object, actual: object) -> str:
    """How two values that are not equal are nearly so."""
    if isinstance(expected, str) and isinstance(actual, str):
        return describe_near_match(expected, actual, str.__eq__)
    if isinstance(expected, (dict, list)) or isinstance(actual, (dict, list)):
        return ""
    if to_text(expected) == to_text(actual):
        return f"the same, but {type_name(actual)} instead of {type_name(expected)}"
    return ""


class Elsewhere:
    """The places of one answer, searched when something is not where it should be."""

    def __init__(self, root: object, trail: Trail, meets: Meets) -> None:
        self._meets = meets
        self._places = list(islice(_places(root, trail), _MAX_PLACES))

    def hint(self, mismatch: Mismatch, wanted: object) -> str:
        """Where the expected value is instead, "" when it is nowhere."""
        if mismatch.actual is ABSENT:
            steps = parse_path(mismatch.path)
            key = steps[-1] if steps else 0
            namesakes = [place for place in self._places if place[0] and place[0][1] == key]
            if isinstance(key, str):
                found = self._found(mismatch, wanted, namesakes)
                if found:
                    return f"it is at {found}"
                if namesakes and not _is_distinctive(wanted):
                    return f'there is a "{key}" at {_list_places(namesakes)}'
        if not _is_distinctive(wanted):
            return ""
        places = self._places
        if isinstance(wanted, Pattern):
            # A string is meant, and not an array that has it somewhere.
            places = [place for place in places if isinstance(place[1], str)]
        found = self._found(mismatch, wanted, places)
        return f"the expected value is at {found}" if found else ""

    def _found(self, mismatch: Mismatch, wanted: object, places: list[tuple[Trail, object]]) -> str:
        """The first place that has it, and how many others do; long strings are not compared."""
        own = mismatch.path
        met = [
            (trail, value)
            for trail, value in places
            if (not isinstance(value, str) or len(value) <= _MAX_TEXT_CHARS)
            and self._meets(wanted, value)
            and render_trail(trail) != own
        ]
        return _list_places(met) if met else ""


def _list_places(places: list[tuple[Trail, object]]) -> str:
    first = render_trail(places[0][0]) or "the top of the answer"
    others = len(places) - 1
    if not others:
        return first
    return f"{first} and {others} other place{'s' if others > 1 else ''}"


def _places(root: object, trail: Trail) -> Iterator[tuple[Trail, object]]:
    level: list[tuple[Trail, object]] = [(trail, root)]
    while level:
        yield from level
        level = list(islice(_inside(level), _MAX_PLACES))


def _inside(level: list[tuple[Trail, object]]) -> Iterator[tuple[Trail, object]]:
    for trail, value in level:
        if isinstance(value, dict):
            for key, member in islice(value.items(), _MAX_MEMBERS):
                yield (trail, key), member
        elif isinstance(value, list):
            for index, element in enumerate(value[:_MAX_MEMBERS]):
                yield (trail, index), element


def _is_distinctive(wanted: object) -> bool:
    """True if a value is distinctive enough to be found elsewhere."""
    if isinstance(wanted, Pattern):
        return not wanted.negated and wanted.matcher.name in _DISTINCTIVE
    if isinstance(wanted, bool) or wanted is None:
        return False
    if isinstance(wanted, (int, float)):
        return abs(wanted) >= 10
    if isinstance(wanted, dict):
        # Objects such as {"type": "string"} are everywhere.
        return len(wanted) > 1
    return isinstance(wanted, (str, list)) and len(wanted) > (2 if isinstance(wanted, str) else 0)


def array_hint(expected: list[object], actual: list[object], trail: Trail, meets: Meets) -> str:
    """Why two arrays that differ are nearly the same, "" when they are not."""
    if max(len(expected), len(actual)) > _MAX_ELEMENTS:
        return ""
    place = render_trail(trail) or "the array"
    if len(expected) == len(actual):
        is_shuffled = _is_shuffled(expected, actual, meets)
        return f"{place} has the same elements in another order" if is_shuffled else ""
    if not expected or not actual:
        return ""
    if len(actual) > len(expected):
        extra = _left_over(actual, expected, lambda got, wanted: meets(wanted, got))
        return _describe_indexes(extra, "would match without") if extra else ""
    missing = _left_over(expected, actual, meets)
    return _describe_indexes(missing, "has all but the expected") if missing else ""


def _describe_indexes(indexes: list[int], words: str) -> str:
    return f"it {words} {', '.join(f'[{index}]' for index in indexes)}"


def _is_shuffled(expected: list[object], actual: list[object], meets: Meets) -> bool:
    waiting = list(actual)
    for wanted in expected:
        for index, got in enumerate(waiting):
            if meets(wanted, got):
                del waiting[index]
                break
        else:
            return False
    return len(expected) > 1


def _left_over(longer: list[object], shorter: list[object], meets: Meets) -> list[int]:
    """Which elements of the longer array must go for the rest to be the shorter one."""
    left: list[int] = []
    at = 0
    for index, element in enumerate(longer):
        if at < len(shorter) and meets(element, shorter[at]):
            at += 1
        else:
            left.append(index)
    # A surplus at the end is plain to see and needs no hint.
    is_at_end = left == list(range(len(shorter), len(longer)))
    return left if at == len(shorter) and not is_at_end else []


def find_idle_checks(expected: object, actual: object, trail: Trail = None) -> Iterator[str]:
    """Where an expectation was met only because there was nothing to look at.

    An empty array has no element that could be wrong, and where there is no field, no relation
    between fields can hold that `match:not:` forbids.
    """
    if isinstance(expected, Group):
        yield from _idle_in_group(expected, actual, trail)
    elif isinstance(expected, Pattern):
        if why := expected.idle_reason(actual):
            place = render_trail(trail) or "the answer"
            yield f"{expected.source} checked nothing at {place}: {why}"
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key, wanted in expected.items():
            if key in actual:
                yield from find_idle_checks(wanted, actual[key], (trail, key))
    elif isinstance(expected, list) and isinstance(actual, list):
        for index, (wanted, got) in enumerate(zip(expected, actual, strict=False)):
            yield from find_idle_checks(wanted, got, (trail, index))


def _idle_in_group(group: Group, actual: object, trail: Trail) -> Iterator[str]:
    for check in group.checks:
        if isinstance(check, Each) and actual == []:
            place = render_trail(trail) or "the answer"
            yield f"{place} is an empty array, so match:arrayElements checked nothing there"
        elif isinstance(check, Each):
            for index, element in enumerate(actual if isinstance(actual, list) else ()):
                yield from find_idle_checks(check.value, element, (trail, index))
        elif isinstance(check, (Partial, Pattern)):
            inner = check.value if isinstance(check, Partial) else check
            yield from find_idle_checks(inner, actual, trail)
        elif isinstance(check, AllOf):
            for wanted in check.values:
                yield from find_idle_checks(wanted, actual, trail)
    yield from find_idle_checks(group.siblings, actual, trail)
