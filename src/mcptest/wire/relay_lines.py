"""One side's bytes as lines: messages, and texts that are none. Pure."""

from __future__ import annotations

from mcptest.core import jsonrpc
from mcptest.core.framing import Frame, LineDecoder, Overlong
from mcptest.core.record import ABSENT
from mcptest.core.strict_json import dump_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.core.framing import Noise

    # A message, or ABSENT and the text of a line that is none; and how much of it is kept.
    Line = tuple[Any, str, int]

__all__ = ["Lines", "is_message"]

_MEMBERS = frozenset(["jsonrpc", "id", "method", "params", "result", "error"])


class Lines:
    """What one side has said. A text of which only the head is kept tells how long it was.

    Where secrets are to be blanked, even that head is left out.
    """

    def __init__(self, max_line_bytes: int, keeps_heads: bool) -> None:
        self._decoder = LineDecoder(max_line_bytes)
        self._keeps_heads = keeps_heads
        self._size = 0
        self._overlong: bytes | None = None

    @property
    def is_open(self) -> bool:
        """Whether a line has begun that has not ended."""
        return self._size > 0

    def feed(self, piece: bytes) -> Iterator[Line]:
        self._size += len(piece)
        for item in self._decoder.feed(piece):
            if isinstance(item, Overlong):
                # How long it is, is known at its end.
                self._overlong = item.raw
            else:
                yield self._line(item)
        if piece.endswith(b"\n"):
            if self._overlong is not None:
                yield ABSENT, self._shown(self._overlong, self._size - 1), len(self._overlong)
            self._overlong = None
            self._size = 0

    def _line(self, item: Frame | Noise) -> Line:
        if isinstance(item, Frame):
            if is_message(item.value):
                return item.value, "", self._size
            return ABSENT, dump_json(item.value), self._size
        return ABSENT, self._shown(item.raw, item.size), len(item.raw)

    def _shown(self, head: bytes, size: int) -> str:
        text = head.decode("utf-8", "backslashreplace")
        if size <= len(head):
            return text.removesuffix("\r")
        # Half a secret at the end of the head would not be recognised.
        return f"{text if self._keeps_heads else ''} … ({size:,} bytes in all)"


def is_message(value: object) -> bool:
    """Whether a line is a JSON-RPC message or a batch, as those who read captures want it."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, dict) and is_message(each) for each in value)
    if not isinstance(value, dict) or jsonrpc.message_kind(value) == "malformed":
        return False
    if not isinstance(value.get("method", ""), str):
        return False
    if "jsonrpc" in value:
        return True
    # The version is forgotten now and then. Without it, what looks like a log entry is one.
    has_sense = "method" in value or ("id" in value and ("result" in value or "error" in value))
    return has_sense and value.keys() <= _MEMBERS
