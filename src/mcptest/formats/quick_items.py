"""Read the items of a sequence that look like the one before them, for the quick YAML reader.

A long suite is the same lines again and again, with other values. Once an item has been
read line by line, the next ones need not be: when each of their lines begins as the one
in its place did, the item is a copy of the first with the new values put in.

An item that differs in more than its values is left, without a word, to be read line by
line. So is anything doubtful: `mcptest.formats.quick_yaml` alone gives up on a text.
"""

from __future__ import annotations

from itertools import compress
from operator import ne

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
    ahead = lines[at + size : at + _IN_SIGHT * size + 1 : size]
    is_steady = len(ahead) == _IN_SIGHT and all(line.startswith(dash) for line in ahead)
    if not is_steady or type(items[-1]) is not dict:
        return at
    try:
        _check_alike(before, lines[at : at + size])
        mould = _Mould(items[-1], before, first_lines[-1], starts, room)
        # Only where another item starts is it certain that this one has ended.
        while at + size < len(lines) and lines[at + size].startswith(dash):
            items.append(mould.fill(lines[at : at + size], at + 1, starts))
            first_lines.append(at + 1)
            at += size
    except ValueError:
        pass
    return at


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
        self._places: list[tuple[int, Any]] = [(-1, None)] * len(lines)
        self._flows: list[tuple[int, int]] = []
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
                self._flows.append((at, room))
            at += 1
        return at

    def fill(self, lines: list[str], line: int, starts: Starts) -> Any:
        """The item in these lines, of which the first is line `line` of the text."""
        nodes = [node.copy() for node in self._nodes]
        for number, key, child in self._links:
            nodes[number][key] = nodes[child]
        for at in compress(range(len(lines)), map(ne, lines, self._lines)):
            text, opening = lines[at], self._openings[at]
            end = len(text) - 1
            is_text = opening and text.startswith(opening) and "\\" not in text
            if is_text and text.find('"', len(opening)) == end:
                value: object = text[len(opening) : end]
            else:
                value = self._value(text, at)
            number, key = self._places[at]
            if number >= 0:
                nodes[number][key] = value
        for at, room in self._flows:
            number, key = self._places[at]
            text = str(self._cut(lines[at])[2])
            nodes[number][key], _ = read_flow(text, [], line + at, starts, room)
        for number, offsets in self._lists:
            starts[id(nodes[number])] = [line + offset for offset in offsets]
        return nodes[0]

    def _value(self, line: str, at: int) -> object:
        """The value of a line that may differ in nothing else from the one in its place."""
        head, kind, value = self._cut(line)
        if (head, kind) != self._cuts[at][:2]:
            raise ValueError
        return value
