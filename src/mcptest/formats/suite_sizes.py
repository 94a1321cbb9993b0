"""How much `${name}` may put into a suite: known before it is put there, so nothing is built.

Like an alias of YAML, a name costs a few letters and stands for a value of any size, which may
hold other names. A dozen lines of them would fill the memory.
"""

from __future__ import annotations

from mcptest.core.record import Record
from mcptest.formats.limits import MAX_DEPTH, MAX_NODES, MAX_TEXT_BYTES
from mcptest.formats.templates import references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Steps = tuple[str | int, ...]

__all__ = ["CAPTURED", "ONE_VALUE", "WHOLE_FILE", "Size", "TooLargeError", "size_put_in"]


class Size(Record):
    """How much text there is in a value, how many keys and values, and how deep they go."""

    text: int = 0
    nodes: int = 0
    depth: int = 0

    def plus(self, other: Size) -> Size:
        return Size(
            text=self.text + other.text,
            nodes=self.nodes + other.nodes,
            depth=max(self.depth, other.depth),
        )

    def excess(self, most: Size) -> str:
        """What there is too much of, in words; "" when it is within these limits."""
        if self.text > most.text:
            return f"has more than {most.text:,} characters"
        if self.nodes > most.nodes:
            return f"has more than {most.nodes:,} keys and values"
        return f"is more than {most.depth} levels deep" if self.depth > most.depth else ""


# What may be put into one value of a file, into all values of a suite together, and, when it
# comes from a server, into one value of a step.
ONE_VALUE = Size(text=1 << 20, nodes=100_000, depth=MAX_DEPTH)
WHOLE_FILE = Size(text=MAX_TEXT_BYTES, nodes=MAX_NODES, depth=MAX_DEPTH)
CAPTURED = WHOLE_FILE

_NOTHING = Size()


class TooLargeError(ValueError):
    """A value that would grow beyond the limit. `steps` lead to the name that is too much.

    `is_of_all` says that it is too much only together with what was put in before.
    """

    def __init__(self, name: str, excess: str, steps: Steps, *, is_of_all: bool) -> None:
        self.name = name
        self.excess = excess
        super().__init__(self.about("all that is put in" if is_of_all else "it"))
        self.steps = steps
        self.is_of_all = is_of_all

    def about(self, what: str) -> str:
        """The sentence, about the value that would be too large."""
        return f"with ${{{self.name}}} in its place, {what} {self.excess}"


def size_put_in(
    value: object, values: Mapping[str, object], most: Size, before: Size = _NOTHING
) -> Size:
    """How much the names in a value stand for, all in all, after what was put in `before`.

    TooLargeError as soon as it is more than `most`. What is written out does not count.
    """
    total = before
    known: dict[str, Size] = {}
    for name, steps in references(value):
        if name not in known:
            known[name] = _size_of(values[name], most)
        size = known[name]
        total = total.plus(size.but(depth=len(steps) + size.depth))
        excess = total.excess(most)
        if excess:
            raise TooLargeError(name, excess, steps, is_of_all=bool(before.nodes))
    return total


def _size_of(value: object, most: Size) -> Size:
    """The size of a value; when it is beyond the limit, only that it is."""
    text = nodes = depth = 0
    level = [value]
    while level and depth <= most.depth and nodes <= most.nodes and text <= most.text:
        depth += 1
        nodes += len(level)
        below: list[object] = []
        for node in level:
            if isinstance(node, str):
                text += len(node)
            elif isinstance(node, dict):
                nodes += len(node)
                text += sum(map(len, node))
                below += node.values()
            elif isinstance(node, list):
                below += node
            if len(below) > most.nodes:
                break
        level = below
    # What has nothing in it goes no level deeper.
    return Size(text=text, nodes=nodes + len(level), depth=depth - 1)
