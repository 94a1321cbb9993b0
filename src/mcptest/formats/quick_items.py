"""Read the items of a sequence that look like the one before them, for the quick YAML reader.

A long suite is the same lines again and again, with other values. Once an item has been
read line by line, the next ones need not be: when each of their lines begins as the one
in its place did, the item is a copy of the first with the new values put in. Many are
read at once, place by place: what is asked of all lines in one place is asked together.

An item that differs in more than its values is left, without a word, to be read line by
line. So is anything doubtful: `mcptest.formats.quick_yaml` alone gives up on a text.
"""

from __future__ import annotations

from itertools import repeat

from mcptest.formats.quick_flow import read_flow
from mcptest.formats.quick_lines import BLOCK, EMPTY, FLOW, SKIP, Cutter, is_comment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcptest.formats.quick_lines import Cut

    Starts = dict[int, list[int]]

__all__ = ["may_repeat", "read_alike"]

# Only lists near the root are long, and a mould pays for itself after a few items.
_OUTER_LEVELS = 2
_IN_SIGHT = 4
# So many items are read at once: all of their lines are looked at before one is known to differ.
_AT_ONCE = 128
_BLOCK_HEADERS = ("|", ">", "|-", ">-", "|+", ">+")


def may_repeat(first_lines: list[int], line: int, level: int) -> bool:
    """Whether an item that starts at `line` comes after two of the same length."""
    if level > _OUTER_LEVELS or len(first_lines) < 2:
        return False
    return line - first_lines[-1] == first_lines[-1] - first_lines[-2]


def read_alike(items: list[Any], lines: list[str], at: int, starts: Starts, room: int) -> int:
    """Add to `items` what is like the last of them, from the item that starts at line `at` on.

    Back comes the index of the first line that was not read; an item starts there, too.
    `room` is how deep the values of an item may nest.
    """
    first_lines = starts[id(items)]
    before = lines[first_lines[-1] - 1 : at]
    size = len(before)
    dash = lines[at][: lines[at].index("-") + 2]
    wanted = _IN_SIGHT
    if _items_ended(lines, at, size, wanted, dash) < wanted or type(items[-1]) is not dict:
        return at
    try:
        _check_alike(before, lines[at : at + size])
        mould = _Mould(items[-1], before, first_lines[-1], starts, room)
    except ValueError:
        return at
    while True:
        found = mould.fill(lines, at, _items_ended(lines, at, size, wanted, dash), starts)
        items += found
        end = at + size * len(found)
        first_lines += range(at + 1, end + 1, size)
        # Lines that have been read make room for the items to come.
        lines[at:end] = [""] * (end - at)
        at = end
        if len(found) < wanted:
            return at
        wanted = min(2 * wanted, _AT_ONCE)


def _items_ended(lines: list[str], at: int, size: int, wanted: int, dash: str) -> int:
    """How many of the items wanted, `size` lines each, there are from line `at` on.

    Only where another item starts is it certain that the one before has ended.
    """
    count = 0
    for line in lines[at + size : at + wanted * size + 1 : size]:
        if not line.startswith(dash):
            break
        count += 1
    return count


def _check_alike(lines: list[str], others: list[str]) -> None:
    """A cheap look before a mould is made; ValueError when it would not be used."""
    for line, other in zip(lines, others, strict=True):
        if line == other:
            is_alike = not line.endswith(_BLOCK_HEADERS)
        else:
            is_alike = _before_value(line) == _before_value(other)
            is_alike = is_alike or (is_comment(line) and is_comment(other))
        if not is_alike:
            raise ValueError


def _before_value(line: str) -> str:
    for mark in (": ", "- "):
        if mark in line:
            return line.partition(mark)[0]
    return line


class _Mould:
    """What an item looks like and where its values go; ValueError is doubt of any kind."""

    def __init__(self, item: Any, lines: list[str], line: int, starts: Starts, room: int) -> None:
        self._lines = lines
        self._cutter = Cutter()
        self._cuts = [self._cut(line) for line in lines]
        self._openings = [self._opening(*both) for both in zip(lines, self._cuts, strict=True)]
        # The collections of the item, from the outermost on, and which holds which.
        self._nodes: list[Any] = []
        self._links: list[tuple[int, Any, int]] = []
        # The entry that each line gives its value to: the number of its collection, its key.
        self._places: dict[int, tuple[int, Any]] = {}
        # How deep the collections in brackets may nest, by their lines.
        self._flows: dict[int, int] = {}
        self._learn(item, 0, room)
        self._lists = [
            (number, [start - line for start in starts[id(node)]])
            for number, node in enumerate(self._nodes)
            if type(node) is list
        ]

    def _cut(self, line: str) -> Cut:
        cut = self._cutter.known.get(line) or self._cutter.cut(line)
        if cut[1] == BLOCK:
            raise ValueError
        return cut

    def _opening(self, line: str, cut: Cut) -> str:
        """All up to the text of a line that ends with one in double quotes; else nothing."""
        head, kind, value = cut
        # The last quote may as well be one in a comment: only trying shows.
        try:
            is_text = self._cut(line[:-1] + '."') == (head, kind, f"{value}.")
        except ValueError:
            return ""
        return line[: line.rfind('"', 0, -1) + 1] if is_text else ""

    def _learn(self, node: Any, at: int, room: int) -> int:
        """Go through the lines of a collection, from its first on, to the one after it."""
        number = len(self._nodes)
        self._nodes.append(node)
        for key, value in node.items() if type(node) is dict else enumerate(node):
            while self._cuts[at][1] == SKIP:
                at += 1
            (_, _, own_key), kind, text = self._cuts[at]
            # `- key: value` is an item and the first entry in it.
            is_item = type(node) is list and own_key is not None
            if is_item or (kind == EMPTY and value is not None):
                self._links.append((number, key, len(self._nodes)))
                at = self._learn(value, at if is_item else at + 1, room - 1)
                continue
            self._places[at] = number, key
            if kind == FLOW:
                read_flow(str(text), [], 0, {}, room)
                self._flows[at] = room
            at += 1
        return at

    def fill(self, lines: list[str], at: int, count: int, starts: Starts) -> list[Any]:
        """The items from line `at` on, `count` of them or those before the first doubtful one."""
        size = len(self._lines)
        texts: dict[str, str] = {}
        entries: list[tuple[int, Any, list[Any]]] = []
        for place, line in enumerate(self._lines):
            others = lines[at + place : at + count * size : size]
            if place in self._flows:
                values = self._collections(others, place, at, starts)
            elif others.count(line) == count:
                continue
            else:
                values = self._values(others, place, texts)
            count = len(values)
            if place in self._places:
                entries.append((*self._places[place], values))
        nodes = [[*map(type(node).copy, repeat(node, count))] for node in self._nodes]
        entries += [(number, key, nodes[child]) for number, key, child in self._links]
        for number, key, values in entries:
            # Those of a doubtful item, and of all after it, are left over.
            for node, value in zip(nodes[number], values, strict=False):
                node[key] = value
        for number, offsets in self._lists:
            columns = (range(at + 1 + offset, len(lines) + 1, size) for offset in offsets)
            first_lines = map(list, zip(*columns, strict=False))
            starts.update(zip(map(id, nodes[number]), first_lines, strict=False))
        return nodes[0]

    def _values(self, lines: list[str], place: int, texts: dict[str, str]) -> list[Any]:
        """The values of lines that stand in one place, up to the first doubtful one."""
        values: list[Any] = _quoted(lines, self._openings[place])
        if values:
            # Many come again, as an id does in the answer: one of each is enough.
            return [*map(texts.setdefault, values, values)]
        try:
            for line in lines:
                values.append(self._value(line, place))
        except ValueError:
            pass
        return values

    def _collections(self, lines: list[str], place: int, at: int, starts: Starts) -> list[Any]:
        """As `_values`, where each value is a collection in brackets."""
        size, room = len(self._lines), self._flows[place]
        values = []
        try:
            for index, line in enumerate(lines):
                text = str(self._value(line, place))
                after = at + index * size + place + 1
                values.append(read_flow(text, [], after, starts, room)[0])
        except ValueError:
            pass
        return values

    def _value(self, line: str, at: int) -> object:
        """The value of a line that may differ in nothing else from the one in its place."""
        head, kind, value = self._cut(line)
        if (head, kind) != self._cuts[at][:2]:
            raise ValueError
        return value


def _quoted(lines: list[str], opening: str) -> list[str]:
    """The texts of lines that are `opening`, a text and a quote; none if one is anything else."""
    whole = "\n".join(lines)
    if not (opening and whole.startswith(opening) and whole[-1] == '"') or "\\" in whole:
        return []
    texts = whole[len(opening) : -1].split(f'"\n{opening}')
    # One more quote ends a text before its line does.
    is_sure = whole.count('"') == len(lines) * (opening.count('"') + 1)
    return texts if is_sure and len(texts) == len(lines) else []
