"""How a request is refused: the codes of JSON-RPC, two of our own, and what goes with them."""

from __future__ import annotations

from mcptest.core.record import ABSENT
from mcptest.core.text import shorten, visible

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "UPSTREAM_ERROR",
    "UPSTREAM_GONE",
    "RefusedError",
    "quoted",
]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UPSTREAM_ERROR = -32000
UPSTREAM_GONE = -32001

_MAX_QUOTED_CHARS = 100


class RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: int, message: str, data: object = ABSENT, id: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.id = id


def quoted(text: str) -> str:
    """A word of the other side, as it stands in a sentence of ours, however long it is."""
    return f'"{visible(shorten(text, _MAX_QUOTED_CHARS))}"'
