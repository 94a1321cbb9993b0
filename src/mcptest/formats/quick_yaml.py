"""Read the YAML that people mostly write, fast and without PyYAML.

Text goes in; a value and the lines of its sequence items come out, or None. None
means "not sure" and nothing more: a mistake, a feature outside the subset and a
doubtful line all look the same here. `mcptest.formats.full_yaml` then reads the text
from the start and is the only one that reports anything. What is returned is exactly
what the full reader returns; a differential test holds the two together.

The subset is read line by line: block mappings and sequences, scalars that fit on
one line, literal and folded blocks, flow collections. `mcptest.formats.quick_lines` cuts
up the lines. Where the items of a long list repeat each other, `quick_items` reads them.
"""

from __future__ import annotations

import re

from mcptest.formats.limits import MAX_NODES, is_within_limits
from mcptest.formats.quick_flow import read_flow
from mcptest.formats.quick_items import may_repeat, read_alike
from mcptest.formats.quick_lines import EMPTY, FLOW, SKIP, Cutter, is_comment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Starts = dict[int, list[int]]
    Found = tuple[object, Starts]

__all__ = ["read_quickly"]

MAX_DEPTH = 64

_ASCII = bytes([10, *range(32, 127)])
# Not printable in YAML, or a line break to one of its versions and not to another.
_DOUBTFUL = "[^\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
_BREAKS = r"\n+"

# Where one item is not like the one before, the next ones seldom are. It is this many lines
# before they are compared again; with none, the same line would be for ever.
_PAUSE = 100


def read_quickly(text: str) -> Found | None:
    """The value of `text` and the lines of its sequence items, or None when not sure."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if _is_doubtful(text):
        return None
    lines = text.split("\n")
    is_ended = not lines[-1]
    if is_ended:
        del lines[-1]
    start = _first_line(lines)
    if start == len(lines):
        return None, {}
    try:
        value, starts = _read_lines(lines, start, is_ended)
    except ValueError:
        return None
    if _may_be_large(text, len(lines)) and not is_within_limits(value):
        return None
    return value, starts


def _may_be_large(text: str, lines: int) -> bool:
    """Whether it could have too many nodes: counting characters is cheaper than nodes."""
    # A line opens two collections at most, around one key and one value.
    return 4 * lines + 2 * sum(map(text.count, ",[{")) > MAX_NODES


def _is_doubtful(text: str) -> bool:
    if text.isascii():
        return bool(text.encode("ascii").translate(None, _ASCII))
    # Compiled on first use: a class of this size takes longer than reading a small file.
    return re.search(_DOUBTFUL, text) is not None


def _first_line(lines: list[str]) -> int:
    """Where the content starts: after blank lines, comments and one `---`."""
    is_marked = False
    for index, line in enumerate(lines):
        if is_comment(line):
            continue
        if is_marked or line.rstrip(" ") != "---":
            return index
        is_marked = True
    return len(lines)


# The hot loop, in one piece: each call per line would cost a tenth of its time.
def _read_lines(lines: list[str], index: int, is_ended: bool) -> Found:  # noqa: C901
    cutter = Cutter()
    known = cutter.known
    root: dict[int, object] = {0: None}
    starts: Starts = {}
    node: Any = root  # the innermost open collection; `indent` is the column of its entries
    indent = -1
    slot: Any = 0  # the entry of `node` that the next line may still give a value
    outer: list[tuple[int, Any]] = []
    quiet = 0  # up to this line no item is compared with the one before
    while index < len(lines):
        line, index = lines[index], index + 1
        (column, inner, key), kind, value = known.get(line) or cutter.cut(line)
        if kind == SKIP:
            continue
        if column > indent or (column == indent and _is_for_slot(slot, inner, node)):
            if slot is None or len(outer) == MAX_DEPTH:
                raise ValueError
            outer.append((indent, node))
            indent, node = column, _open_child(node, slot, inner, starts, index)
        else:
            while column < indent:
                indent, node = outer.pop()
            if inner < 0 and outer and type(node) is list:
                # A sequence may stand in the same column as the key it belongs to.
                indent, node = outer.pop()
            if indent != column or (type(node) is list) != (inner >= 0):
                raise ValueError
        if inner >= 0:
            first_lines = starts[id(node)]
            if key is not None:
                if index > quiet and may_repeat(first_lines, index, len(outer)):
                    index = read_alike(node, lines, index - 1, starts, MAX_DEPTH - len(outer) - 1)
                    quiet = index + _PAUSE
                    continue
                outer.append((indent, node))
                node.append({})
                indent, node = inner, node[-1]
            first_lines.append(index)
        if kind >= FLOW:
            begun = (kind, str(value), indent, MAX_DEPTH - len(outer))
            value, index = _read_on(begun, lines, index, is_ended, starts)
        if key is None:
            node.append(value)
        elif key in node:
            raise ValueError
        else:
            node[key] = value
        slot = None if kind != EMPTY else -1 if key is None else key
    return root[0], starts


def _is_for_slot(slot: object, inner: int, node: object) -> bool:
    """Whether a line in the column of a key may belong to it: only a dash may."""
    return slot is not None and inner >= 0 and type(node) is dict


def _open_child(node: Any, slot: Any, inner: int, starts: Starts, line: int) -> Any:
    child: Any = {}
    if inner >= 0:
        child = []
        starts[id(child)] = []
    node[slot] = child
    if type(node) is list:
        # The item starts here, not where its dash stood alone.
        starts[id(node)][-1] = line
    return child


def _read_on(
    begun: tuple[int, str, int, int], lines: list[str], index: int, is_ended: bool, starts: Starts
) -> tuple[object, int]:
    """A value that goes on in the next lines, and the index of the line after it.

    Begun are its kind, its first line, the column of its parent and the levels left.
    """
    kind, head, indent, room = begun
    if kind == FLOW:
        return read_flow(head, lines, index, starts, room)
    body, end = _block_lines(lines, index, indent)
    if not body or (end == len(lines) and not is_ended):
        raise ValueError
    text = "\n".join(body)
    if head[0] == ">":
        if any(line.startswith(" ") for line in body):
            raise ValueError
        tail = text[len(text.rstrip("\n")) :]
        text = re.sub(_BREAKS, _fold, text.rstrip("\n")) + tail
    if not head.endswith("+"):
        text = text.rstrip("\n")
    return (text if head.endswith("-") else text + "\n"), end


def _fold(breaks: re.Match[str]) -> str:
    return breaks[0][1:] or " "


def _block_lines(lines: list[str], index: int, indent: int) -> tuple[list[str], int]:
    """The lines of a literal or folded block without their indentation; none if in doubt."""
    first = lines[index] if index < len(lines) else ""
    width = len(first) - len(first.lstrip(" "))
    if not first.strip(" ") or width <= indent:
        return [], index
    body = []
    while index < len(lines):
        line = lines[index]
        if not line.strip(" "):
            if len(line) > width:
                return [], index
            line = ""
        elif line[:width].strip(" "):
            break
        body.append(line[width:])
        index += 1
    return body, index
