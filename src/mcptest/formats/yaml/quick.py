"""Read the YAML that people mostly write, fast and without PyYAML.

`read_quickly` returns a value and the lines of its sequence items, or None. None means "not
sure": it may be a mistake, a feature outside the subset or a doubtful line. `formats.yaml.full`
then reads the text from the start, and is the only reader that reports mistakes. Both readers
return exactly the same values; a differential test compares them.

The subset is read line by line: block mappings and sequences, scalars that fit on one line,
literal and folded blocks, flow collections. Within this module, ValueError means "not sure".
"""

from __future__ import annotations

import re
from itertools import repeat
from json.decoder import scanstring  # type: ignore[attr-defined]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Starts = dict[int, list[int]]
    Found = tuple[object, Starts]
    # column of the first character; of what follows the dash, or -1; key
    Head = tuple[int, int, str | None]
    Cut = tuple[Head, int, object]  # the kind and the value of what follows
    Scalar = None | bool | int | float | str

__all__ = [
    "KNOWN_TAGS",
    "MAX_DEPTH",
    "MAX_DIAGNOSTICS",
    "MAX_DIGITS",
    "MAX_DOCUMENTS",
    "MAX_NODES",
    "MAX_TEXT_BYTES",
    "is_within_limits",
    "read_quickly",
    "resolve_as",
    "resolve_plain",
]


_MAX_QUICK_DEPTH = 64

_ASCII = bytes([10, *range(32, 127)])
# Not printable in YAML, or a line break to one of its versions and not to another.
_DOUBTFUL = "[^\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
_BREAKS = r"\n+"

# After an item that differs from the one before, the next ones mostly differ as well: wait for
# this many lines before comparing again. At least one, or the same line would be read forever.
_PAUSE = 100


def read_quickly(text: str) -> Found | None:
    """Return the value of `text` and the lines of its sequence items, or None when not sure."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if text.isascii():
        if text.encode("ascii").translate(None, _ASCII):
            return None
    # Compiled only if it is used: that takes longer than reading a small file.
    elif re.search(_DOUBTFUL, text):
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
    # A line opens two collections at most, around one key and one value. Counting characters is
    # cheaper than counting nodes.
    most_nodes = 4 * len(lines) + 2 * sum(map(text.count, ",[{"))
    if most_nodes > MAX_NODES and not is_within_limits(value):
        return None
    return value, starts


def _first_line(lines: list[str]) -> int:
    """Return the index of the first content, after blank lines, comments and one `---`."""
    is_marked = False
    for index, line in enumerate(lines):
        if _is_comment(line):
            continue
        if is_marked or line.rstrip(" ") != "---":
            return index
        is_marked = True
    return len(lines)


# The hot loop is one function: every further call per line would cost a tenth of its time.
def _read_lines(lines: list[str], index: int, is_ended: bool) -> Found:
    cutter = _Cutter()
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
        # In the column of a key, only a line with a dash may belong to it.
        if column > indent or (
            column == indent and slot is not None and inner >= 0 and type(node) is dict
        ):
            if slot is None or len(outer) == _MAX_QUICK_DEPTH:
                raise ValueError
            child: Any = {}
            if inner >= 0:
                child = []
                starts[id(child)] = []
            node[slot] = child
            if type(node) is list:
                # The item starts here, not at the line with only its dash.
                starts[id(node)][-1] = index
            outer.append((indent, node))
            indent, node = column, child
        else:
            while column < indent:
                indent, node = outer.pop()
            if inner < 0 and outer and type(node) is list:
                # A sequence may be in the same column as the key it belongs to.
                indent, node = outer.pop()
            if indent != column or (type(node) is list) != (inner >= 0):
                raise ValueError
        if inner >= 0:
            first_lines = starts[id(node)]
            if key is not None:
                if index > quiet and may_repeat(first_lines, index, len(outer)):
                    index = _read_similar(
                        node, lines, index - 1, starts, _MAX_QUICK_DEPTH - len(outer) - 1
                    )
                    quiet = index + _PAUSE
                    continue
                outer.append((indent, node))
                node.append({})
                indent, node = inner, node[-1]
            first_lines.append(index)
        if kind >= _FLOW:
            begun = (kind, str(value), indent, _MAX_QUICK_DEPTH - len(outer))
            value, index = _read_on(begun, lines, index, is_ended, starts)
        if key is None:
            node.append(value)
        elif key in node:
            raise ValueError
        else:
            node[key] = value
        slot = None if kind != EMPTY else -1 if key is None else key
    return root[0], starts


def _read_on(
    begun: tuple[int, str, int, int], lines: list[str], index: int, is_ended: bool, starts: Starts
) -> tuple[object, int]:
    """Return a value of several lines, and the index of the line after it.

    `begun` has its kind, its first line, the column of its parent and the levels left.
    """
    kind, head, indent, room = begun
    if kind == _FLOW:
        return _read_flow(head, lines, index, starts, room)
    body, end = _block_lines(lines, index, indent)
    if not body or (end == len(lines) and not is_ended):
        raise ValueError
    text = "\n".join(body)
    if head[0] == ">":
        if any(line.startswith(" ") for line in body):
            raise ValueError
        tail = text[len(text.rstrip("\n")) :]
        text = re.sub(_BREAKS, lambda breaks: breaks[0][1:] or " ", text.rstrip("\n")) + tail
    if not head.endswith("+"):
        text = text.rstrip("\n")
    return (text if head.endswith("-") else text + "\n"), end


def _block_lines(lines: list[str], index: int, indent: int) -> tuple[list[str], int]:
    """Return the lines of a block scalar without their indentation, or none if not sure."""
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


# Similar items
#
# A long suite repeats the same lines with other values. Once an item has been read line by line,
# each following item whose lines begin like those of the first is a copy of it with other values.
# Many such items are read together, line position by line position, which takes less than half
# the time (33 ms instead of 79 ms for 5,000 tests).
#
# An item that differs in more than its values, or is doubtful, is left to be read line by line.

# Only lists near the root are long, and preparing a template pays off after a few items.
_OUTER_LEVELS = 2
_MIN_ITEMS = 4
# The most items to read together: all of their lines are read before one is known to differ.
_MAX_ITEMS = 128
_BLOCK_HEADERS = ("|", ">", "|-", ">-", "|+", ">+")


def may_repeat(first_lines: list[int], line: int, level: int) -> bool:
    """True if an item that starts at `line` follows two of the same length."""
    if level > _OUTER_LEVELS or len(first_lines) < 2:
        return False
    return line - first_lines[-1] == first_lines[-1] - first_lines[-2]


def _read_similar(items: list[Any], lines: list[str], at: int, starts: Starts, room: int) -> int:
    """Append the items from line `at` on that are similar to the last of `items`.

    Returns the index of the first line that was not read, where another item starts.
    `room` is how deep the values of an item may nest.
    """
    first_lines = starts[id(items)]
    before = lines[first_lines[-1] - 1 : at]
    size = len(before)
    dash = lines[at][: lines[at].index("-") + 2]
    wanted = _MIN_ITEMS
    if _items_ended(lines, at, size, wanted, dash) < wanted or type(items[-1]) is not dict:
        return at
    try:
        _check_similar(before, lines[at : at + size])
        template = _ItemTemplate(items[-1], before, first_lines[-1], starts, room)
    except ValueError:
        return at
    while True:
        found = template.fill(lines, at, _items_ended(lines, at, size, wanted, dash), starts)
        items += found
        end = at + size * len(found)
        first_lines += range(at + 1, end + 1, size)
        # Free the memory of lines that have been read.
        lines[at:end] = [""] * (end - at)
        at = end
        if len(found) < wanted:
            return at
        wanted = min(2 * wanted, _MAX_ITEMS)


def _items_ended(lines: list[str], at: int, size: int, wanted: int, dash: str) -> int:
    """Count the complete items of `size` lines from line `at` on, at most `wanted`.

    An item is complete where the next one starts.
    """
    count = 0
    for line in lines[at + size : at + wanted * size + 1 : size]:
        if not line.startswith(dash):
            break
        count += 1
    return count


def _check_similar(lines: list[str], others: list[str]) -> None:
    """Raise ValueError if a template would be of no use, before making one."""
    for line, other in zip(lines, others, strict=True):
        if line == other:
            is_similar = not line.endswith(_BLOCK_HEADERS)
        else:
            is_similar = _before_value(line) == _before_value(other)
            is_similar = is_similar or (_is_comment(line) and _is_comment(other))
        if not is_similar:
            raise ValueError


def _before_value(line: str) -> str:
    for mark in (": ", "- "):
        if mark in line:
            return line.partition(mark)[0]
    return line


class _ItemTemplate:
    """The lines of an item, and where their values go."""

    def __init__(self, item: Any, lines: list[str], line: int, starts: Starts, room: int) -> None:
        self._lines = lines
        self._cutter = _Cutter()
        self._cuts = [self._cut(line) for line in lines]
        self._openings = [self._opening(*both) for both in zip(lines, self._cuts, strict=True)]
        # The collections of the item, from the outermost on, and which holds which.
        self._nodes: list[Any] = []
        self._links: list[tuple[int, Any, int]] = []
        # By line, the entry that gets its value: the number of its collection, and its key.
        self._places: dict[int, tuple[int, Any]] = {}
        # By line, how deep a flow collection may nest.
        self._flows: dict[int, int] = {}
        self._learn(item, 0, room)
        self._lists = [
            (number, [start - line for start in starts[id(node)]])
            for number, node in enumerate(self._nodes)
            if type(node) is list
        ]

    def _cut(self, line: str) -> Cut:
        cut = self._cutter.known.get(line) or self._cutter.cut(line)
        if cut[1] == _BLOCK:
            raise ValueError
        return cut

    def _opening(self, line: str, cut: Cut) -> str:
        """Return what precedes the double-quoted string that ends a line, "" if none does."""
        head, kind, value = cut
        # The last quote may be part of a comment; cutting a changed line shows it.
        try:
            is_text = self._cut(line[:-1] + '."') == (head, kind, f"{value}.")
        except ValueError:
            return ""
        return line[: line.rfind('"', 0, -1) + 1] if is_text else ""

    def _learn(self, node: Any, at: int, room: int) -> int:
        """Learn the lines of a collection from line `at` on; return the line after it."""
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
            if kind == _FLOW:
                _read_flow(str(text), [], 0, {}, room)
                self._flows[at] = room
            at += 1
        return at

    def fill(self, lines: list[str], at: int, count: int, starts: Starts) -> list[Any]:
        """Return `count` items from line `at` on, or those before the first doubtful one."""
        size = len(self._lines)
        texts: dict[str, str] = {}
        entries: list[tuple[int, Any, list[Any]]] = []
        for place, line in enumerate(self._lines):
            others = lines[at + place : at + count * size : size]
            if place in self._flows:
                values, room = [], self._flows[place]
                try:
                    for index, other in enumerate(others):
                        text = str(self._value(other, place))
                        after = at + index * size + place + 1
                        values.append(_read_flow(text, [], after, starts, room)[0])
                except ValueError:
                    pass
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
            # Values of a doubtful item and of those after it are surplus.
            for node, value in zip(nodes[number], values, strict=False):
                node[key] = value
        for number, offsets in self._lists:
            columns = (range(at + 1 + offset, len(lines) + 1, size) for offset in offsets)
            first_lines = map(list, zip(*columns, strict=False))
            starts.update(zip(map(id, nodes[number]), first_lines, strict=False))
        return nodes[0]

    def _values(self, lines: list[str], place: int, texts: dict[str, str]) -> list[Any]:
        """Return the values of lines in one position, up to the first doubtful one."""
        values: list[Any] = _read_quoted(lines, self._openings[place])
        if values:
            # Many are repeated, like an id in its answer: keep one of each.
            return [*map(texts.setdefault, values, values)]
        try:
            for line in lines:
                values.append(self._value(line, place))
        except ValueError:
            pass
        return values

    def _value(self, line: str, at: int) -> object:
        """Return the value of a line that differs from its template in nothing else."""
        head, kind, value = self._cut(line)
        if (head, kind) != self._cuts[at][:2]:
            raise ValueError
        return value


def _read_quoted(lines: list[str], opening: str) -> list[str]:
    """Return the strings of lines `opening STRING "`, or none if a line is anything else."""
    whole = "\n".join(lines)
    if not (opening and whole.startswith(opening) and whole[-1] == '"') or "\\" in whole:
        return []
    texts = whole[len(opening) : -1].split(f'"\n{opening}')
    # One more quote would end a string before its line does.
    is_sure = whole.count('"') == len(lines) * (opening.count('"') + 1)
    return texts if is_sure and len(texts) == len(lines) else []


# One line: its column, its dash, its key, and its value or the kind of value that begins there.

# What a line has: a whole value, nothing yet, `{` or `[`, `|` or `>`, only a comment.
VALUE, EMPTY, _FLOW, _BLOCK, SKIP = range(5)

_HEAD = re.compile(
    r"""
    (?P<indent>\ *)
    (?P<dash>-(?:\ +|$))?
    (?:
        (?: (?P<plain>[\w$/][\w$/.@+()-]*+(?:[ :][\w$/.@+()-]++)*+)
          | (?P<quoted>"[^"\\]+"|'[^']+')
        ):(?:\ +|$)
    )?
    """,
    re.VERBOSE,
)
_COMMENT: Cut = (0, -1, None), SKIP, None
_NOT_PLAIN = frozenset("!&*?|>%@`\"'#{}[],:")
# Compiled by `re` on first use: most files need none of them, and start-up counts.
_SINGLE_QUOTED = r"'((?:[^']|'')*+)'"
_BLOCK_HEADER = r"([|>][+-]?) *(?: #.*)?"

# Lines that are repeated appear early; caching more would only cost memory.
_REMEMBERED = 2000


def _is_comment(line: str) -> bool:
    """True if a line is blank or only a comment."""
    return line.lstrip(" ")[:1] in "#"


class _Cutter:
    """Cuts the lines of one text, with a cache.

    Some lines are repeated as a whole (`jsonrpc: "2.0"`), many more up to their value.
    """

    def __init__(self) -> None:
        self.known: dict[str, Cut] = {"": _COMMENT}
        self._heads: dict[str, Head] = {}  # by what precedes the first `: `

    def cut(self, line: str) -> Cut:
        """Return the parts of a line that is not in the cache."""
        start, colon, rest = line.partition(": ")
        head = self._heads.get(start) if colon else None
        if head is None:
            match = _HEAD.match(line)
            assert match is not None, "every part of the pattern may be empty"
            indent, dash, plain, quoted = match.groups()
            key = plain or (quoted and quoted[1:-1])
            if not (key or dash) and _is_comment(line):
                return _COMMENT
            if not (key or dash) or (key and len(key) > _MAX_KEY):
                raise ValueError
            column = len(indent)
            head = column, column + len(dash) if dash else -1, key
            rest = line[match.end() :]
            # No plain key has a `: ` in it, so the first one is the one after it.
            if plain and colon and len(self._heads) < _REMEMBERED:
                self._heads[start] = head
        # Most values are quoted, without escapes, and the end of their line.
        if rest[:1] == '"' and rest.find('"', 1) == len(rest) - 1 and "\\" not in rest:
            cut: Cut = head, VALUE, rest[1:-1]
        else:
            kind, value = _cut_value(rest.lstrip(" "))
            cut = head, kind, value
        if len(self.known) < _REMEMBERED:
            self.known[line] = cut
        return cut


def _cut_value(rest: str) -> tuple[int, object]:
    """Return the kind and the value of what follows the key or the dash."""
    first = rest[:1]
    if first in "#":
        return EMPTY, None
    if first in "{[":
        return _FLOW, rest
    if first in "|>":
        return _BLOCK, _sure(re.fullmatch(_BLOCK_HEADER, rest))[1]
    if first == '"':
        value, end = unescape(rest)
    elif first == "'":
        match = _sure(re.match(_SINGLE_QUOTED, rest))
        value, end = match[1].replace("''", "'"), match.end()
    else:
        text = rest.partition(" #")[0].rstrip(" ")
        is_dash = first == "-" and rest[1:2] in " "
        if is_dash or first in _NOT_PLAIN or ": " in text or text[-1] == ":":
            raise ValueError
        return VALUE, resolve_plain(text)
    if not _is_nothing_more(rest, end):
        raise ValueError
    return VALUE, value


def _sure(match: re.Match[str] | None) -> re.Match[str]:
    if match is None:
        raise ValueError
    return match


# Flow collections, `[…]` and `{…}`
#
# Scalars must fit on one line, keys must be scalars with their colon on the same line, every key
# needs a value. Anything else is left to the full reader.

_MAX_KEY = 1000  # libyaml takes no more than 1,024 characters as a key

# Compiled by `re` on first use: many files have no such collection, and start-up counts.
_TOKEN = r"""(?x)\ *(?:
    (?P<mark>[\[\]{},])
  | (?:
        "(?P<double>[^"\\]*)"
      | (?P<plain>(?:[\w$/~(]|[-+.](?=\w))[^,\[\]{}:\#"'?\\&*!|>%@`]*+)
      | (?P<other>"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+')
    )(?P<colon>\ *:)?
)"""

# What must come next: an item (or the end), a value, a comma (or the end).
_ITEM, _VALUE, _COMMA = range(3)


def _read_flow(
    text: str, lines: list[str], after: int, starts: dict[int, list[int]], room: int
) -> tuple[object, int]:
    """Return the collection that starts `text`, and the index of the line after it.

    `after` is the index of the line after `text`; `starts` gets the lines of the items;
    `room` is how deep it may nest.
    """
    if text == "{}" and room > 0:  # by far the most frequent one
        return {}, after
    flow = _Flow(starts, room)
    while (at := flow.read_line(text, after)) is None:
        if after >= len(lines):
            raise ValueError
        # Padded, so that a comment at the start of a line has its space before it.
        text = " " + lines[after]
        after += 1
    if not _is_nothing_more(text, at):
        raise ValueError
    return flow.root, after


class _Flow:
    """A collection while it is being read."""

    def __init__(self, starts: dict[int, list[int]], room: int) -> None:
        self.root: Any = None
        self._starts = starts
        self._room = room
        self._open: list[tuple[Any, str]] = []
        self._node: Any = None
        self._key = ""
        self._next = _VALUE
        self._token = re.compile(_TOKEN).match

    def read_line(self, text: str, line: int) -> int | None:
        """Return where the collection ends in `text`, or None if it continues."""
        at = 0
        while match := self._token(text, at):
            start, at = at, match.end()
            mark, double, plain, other, colon = match.groups()
            if mark:
                if self._punctuation(mark, line):
                    return at
            elif colon:
                # `{a:1}` is the one word "a:1", while `{"a":1}` is an entry.
                is_word = plain and text[at : at + 1] not in ("", " ")
                if is_word or at - start > _MAX_KEY:
                    raise ValueError
                key = _text_of(double, plain, other)
                if type(self._node) is not dict or self._next != _ITEM or key in self._node:
                    raise ValueError
                self._key, self._next = key, _VALUE
            elif plain:
                self._add(resolve_plain(plain.rstrip(" ")), line)
            else:
                self._add(_text_of(double, plain, other), line)
        if not _is_nothing_more(text, at):
            raise ValueError
        return None

    def _punctuation(self, mark: str, line: int) -> bool:
        """Process a mark; return True if it ends the whole collection."""
        if mark == ",":
            if self._next != _COMMA:
                raise ValueError
            self._next = _ITEM
        elif mark in "[{":
            child: Any = [] if mark == "[" else {}
            if self._node is None:
                self.root = child
            else:
                self._add(child, line)
            self._open.append((self._node, self._key))
            if len(self._open) > self._room:
                raise ValueError
            if mark == "[":
                self._starts[id(child)] = []
            self._node, self._next = child, _ITEM
        else:
            kind = list if mark == "]" else dict
            if type(self._node) is not kind or self._next not in (_ITEM, _COMMA):
                raise ValueError
            self._node, self._key = self._open.pop()
            self._next = _COMMA
        return not self._open

    def _add(self, value: object, line: int) -> None:
        if type(self._node) is dict and self._next == _VALUE:
            self._node[self._key] = value
        elif type(self._node) is list and self._next == _ITEM:
            self._node.append(value)
            self._starts[id(self._node)].append(line)
        else:
            raise ValueError
        self._next = _COMMA


def _text_of(double: str | None, plain: str | None, other: str | None) -> str:
    """Return the string of a scalar: double-quoted without escapes, plain, or other."""
    if double is not None:
        return double
    if plain is not None:
        return plain.rstrip(" ")
    other = str(other)
    return unescape(other)[0] if other[0] == '"' else other[1:-1].replace("''", "'")


def unescape(text: str) -> tuple[str, int]:
    """Return the quoted string that starts `text`, and where it ends.

    JSON's escapes mean the same in YAML, except for surrogates; YAML has more of them.
    """
    if "\\ud" in text or "\\uD" in text:
        raise ValueError
    value, end = scanstring(text, 1)
    return str(value), int(end)


def _is_nothing_more(text: str, at: int) -> bool:
    """True if only spaces or a comment follow."""
    rest = text[at:].lstrip(" ")
    return not rest or (rest[0] == "#" and text[at] == " ")


# Scalars: the core schema of YAML 1.2
#
# `yes`, `no`, `on`, dates, `1:30` and `1_000` are strings, as in YAML 1.2. For numbers that JSON
# cannot carry, the message of the ValueError says why.

# Python itself refuses to print or parse longer ones (4,300 digits by default).
MAX_DIGITS = 4300

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# Compiled by `re` on first use: most files need few of them, and start-up counts.
_DECIMAL = r"[-+]?[0-9]+"
_OCTAL = r"0o[0-7]+"
_HEXADECIMAL = r"0x[0-9a-fA-F]+"
_FLOAT = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_NOT_FINITE = r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
_NUMBER_STARTS = frozenset("-+.0123456789")


def resolve_plain(text: str) -> Scalar:
    """Return the value of an unquoted scalar; ValueError if JSON cannot carry it."""
    if text[:1] in _NUMBER_STARTS and text:
        # Most numbers are short and plain, and need no pattern to be compiled.
        if len(text) < 10 and text.isdecimal() and text.isascii():
            return int(text)
        if (number := _int_of(text)) is not None:
            return number
        if (real := _float_of(text)) is not None:
            return real
        return text
    return _WORDS.get(text, text)


def _int_of(text: str) -> int | None:
    if re.fullmatch(_DECIMAL, text):
        if len(text.lstrip("+-")) > MAX_DIGITS:
            raise ValueError(_too_long(text))
        return int(text)
    for pattern, base in ((_OCTAL, 8), (_HEXADECIMAL, 16)):
        if re.fullmatch(pattern, text):
            value = int(text[2:], base)
            # 16 ** 3225 is below 10 ** 4300: only long texts need the exact comparison.
            if len(text) > MAX_DIGITS * 3 // 4 and value >= 10**MAX_DIGITS:
                raise ValueError(_too_long(text))
            return value
    return None


def _float_of(text: str) -> float | None:
    if re.fullmatch(_NOT_FINITE, text):
        raise ValueError(f"{text} is not a number that JSON can carry")
    if not re.fullmatch(_FLOAT, text):
        return None
    if len(text) > MAX_DIGITS:
        raise ValueError(_too_long(text))
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is too large for a JSON number")
    return value


def _too_long(text: str) -> str:
    return f"the number {text[:12]}… has more than {MAX_DIGITS:,} digits"


def _as_int(text: str) -> int:
    value = _int_of(text)
    if value is None:
        raise ValueError(f'"{text[:40]}" is not an integer')
    return value


def _as_float(text: str) -> float:
    value = _float_of(text)
    if value is None:
        raise ValueError(f'"{text[:40]}" is not a number')
    return value


def _as_bool(text: str) -> bool:
    value = _WORDS.get(text)
    if value is None:
        raise ValueError(f'"{text[:40]}" is neither true nor false')
    return value


def _as_null(text: str) -> None:
    if _WORDS.get(text, text) is not None:
        raise ValueError(f'"{text[:40]}" is not null')


KNOWN_TAGS: dict[str, Callable[[str], Scalar]] = {
    "str": str,
    "int": _as_int,
    "float": _as_float,
    "bool": _as_bool,
    "null": _as_null,
}


def resolve_as(kind: str, text: str) -> Scalar:
    """Return the value of a scalar tagged `!!kind`; ValueError if it is not of that kind."""
    return KNOWN_TAGS[kind](text)


# Limits of every reader
#
# Without them, ten lines of nested aliases fill the memory, and a deep file overflows the stack
# of the code that walks its value.

MAX_TEXT_BYTES = 64 * 1024 * 1024
MAX_NODES = 1_000_000  # keys and values, each alias counted as its value
MAX_DEPTH = 200
# Of a stream. Real cases have at least 17 nodes and reach the other limit first, but an empty
# document takes as much time as a hundred nodes.
MAX_DOCUMENTS = 60_000

# Further mistakes in a file are only counted.
MAX_DIAGNOSTICS = 100


def is_within_limits(value: object) -> bool:
    """True if a value without aliases is within the limits on nodes and depth."""
    level = [value]
    nodes = 0
    for _ in range(MAX_DEPTH + 1):
        nodes += len(level)
        below: list[object] = []
        is_last = True
        for node in level:
            if isinstance(node, dict):
                nodes += len(node)
                below += node.values()
                is_last = False
            elif isinstance(node, list):
                below += node
                is_last = False
        if is_last or nodes > MAX_NODES:
            return nodes <= MAX_NODES
        level = below
    return False
