"""Cut a line of YAML into its parts, for the quick YAML reader.

A line goes in; its column, its dash, its key and its value, or what kind of value begins
there, come out. ValueError is doubt of any kind. What a line means among the others is
the business of `mcptest.formats.quick_yaml`.
"""

from __future__ import annotations

import re

from mcptest.formats.quick_flow import MAX_KEY, is_nothing_more, unescape
from mcptest.formats.scalars import resolve_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    # column of the first character; of what follows the dash, or -1; key
    Head = tuple[int, int, str | None]
    Cut = tuple[Head, int, object]  # the kind and the value of what follows

__all__ = ["BLOCK", "EMPTY", "FLOW", "SKIP", "VALUE", "Cutter", "is_comment"]

# What a line brings: a whole value, nothing yet, `{` or `[`, `|` or `>`, only a comment.
VALUE, EMPTY, FLOW, BLOCK, SKIP = range(5)

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

# What comes again comes early; remembering everything else would only cost memory.
_REMEMBERED = 2000


def is_comment(line: str) -> bool:
    """Whether a line is blank or only a comment."""
    return line.lstrip(" ")[:1] in "#"


class Cutter:
    """Cuts the lines of one text, and remembers them.

    Some lines come again as a whole (`jsonrpc: "2.0"`), many more up to their value.
    """

    def __init__(self) -> None:
        self.known: dict[str, Cut] = {"": _COMMENT}
        self._heads: dict[str, Head] = {}  # by what stands before the first `: `

    def cut(self, line: str) -> Cut:
        """The parts of a line that is not known yet."""
        start, colon, rest = line.partition(": ")
        head = self._heads.get(start) if colon else None
        if head is None:
            match = _HEAD.match(line)
            assert match is not None, "every part of the pattern may be empty"
            indent, dash, plain, quoted = match.groups()
            key = plain or (quoted and quoted[1:-1])
            if not (key or dash) and is_comment(line):
                return _COMMENT
            if not (key or dash) or (key and len(key) > MAX_KEY):
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
    """What follows the key or the dash."""
    first = rest[:1]
    if first in "#":
        return EMPTY, None
    if first in "{[":
        return FLOW, rest
    if first in "|>":
        return BLOCK, _sure(re.fullmatch(_BLOCK_HEADER, rest))[1]
    if first == '"':
        value, end = unescape(rest)
    elif first == "'":
        match = _sure(re.match(_SINGLE_QUOTED, rest))
        value, end = match[1].replace("''", "'"), match.end()
    else:
        return VALUE, _plain(rest)
    if not is_nothing_more(rest, end):
        raise ValueError
    return VALUE, value


def _plain(rest: str) -> object:
    text = rest.partition(" #")[0].rstrip(" ")
    is_dash = rest[0] == "-" and rest[1:2] in " "
    if is_dash or rest[0] in _NOT_PLAIN or ": " in text or text[-1] == ":":
        raise ValueError
    return resolve_plain(text)


def _sure(match: re.Match[str] | None) -> re.Match[str]:
    if match is None:
        raise ValueError
    return match
