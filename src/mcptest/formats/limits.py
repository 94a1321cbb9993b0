"""How large a document may be, the same for every reader.

Without limits ten lines of nested aliases fill the memory, and a deep file overflows
the stack of whoever walks its value.
"""

from __future__ import annotations

__all__ = [
    "MAX_DEPTH",
    "MAX_DIAGNOSTICS",
    "MAX_DOCUMENTS",
    "MAX_NODES",
    "MAX_TEXT_BYTES",
    "is_within_limits",
]

MAX_TEXT_BYTES = 64 * 1024 * 1024
MAX_NODES = 1_000_000  # keys and values, each alias counted as what it stands for
MAX_DEPTH = 200
# Of a stream. A case with one message each way has 17 nodes and more, so whoever writes real ones
# meets the other limit first; but an empty document takes as much time as a hundred nodes.
MAX_DOCUMENTS = 60_000

# More mistakes in one file are only counted.
MAX_DIAGNOSTICS = 100


def is_within_limits(value: object) -> bool:
    """Whether a value without aliases keeps the limits on nodes and depth."""
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
