"""Server-sent events: split the body of an event stream into events, and write events.

Lines end with LF, CR LF or CR alone, and a stream may be cut anywhere, also between the two
bytes of one line end or within a character. The data of an event stays bytes: the reader of
messages checks that it is UTF-8 and JSON, and reports what is not.
"""

from __future__ import annotations

import re

from mcptest.core.plan import DEFAULT_MAX_LINE_BYTES
from mcptest.core.record import Record

__all__ = ["OverlongEvent", "SseDecoder", "SseEvent", "render_event"]


_BOM = b"\xef\xbb\xbf"

# Longer names and ids are cut.
_MAX_FIELD = 4096


class SseEvent(Record):
    """One event. `id` is None if it has none; `name` defaults to "message"."""

    data: bytes
    name: str = "message"
    id: str | None = None


class OverlongEvent(Record):
    """An event over the limit; the rest of the stream is not read."""

    limit: int


class SseDecoder:
    """Turns chunks into events, keeping what is unfinished between calls.

    `last_id` is that of the last complete event, after which a resumed stream begins;
    `retry_s` is how long the server wants a client to wait before it connects again.
    """

    def __init__(self, max_event_bytes: int = DEFAULT_MAX_LINE_BYTES) -> None:
        self._limit = max_event_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._skips_lf = False
        self._is_first = True
        self._is_spent = False
        self._data: list[bytes] = []
        self._name = ""
        self._id: str | None = None
        self.last_id = ""
        self.retry_s: float | None = None

    @property
    def pending_bytes(self) -> int:
        """The size of an event that is not complete."""
        return self._size

    def feed(self, chunk: bytes) -> list[SseEvent | OverlongEvent]:
        """The events that this chunk completes."""
        out: list[SseEvent | OverlongEvent] = []
        if self._is_spent or not chunk:
            return out
        if self._skips_lf:
            self._skips_lf = False
            chunk = chunk.removeprefix(b"\n")
        if not (self._parts or self._data or self._name or self._is_first) and self._id is None:
            # Empty lines between events mean nothing, however many there are.
            chunk = chunk.lstrip(b"\n")
        for line in chunk.splitlines(keepends=True):
            self._parts.append(line)
            # Without the line ends, or it would matter where the stream was cut.
            self._size += len(line.rstrip(b"\r\n"))
            if self._size > self._limit:
                self._start_over()
                self._is_spent = True
                return [*out, OverlongEvent(limit=self._limit)]
            if line.endswith((b"\n", b"\r")):
                self._skips_lf = line.endswith(b"\r")
                self._finish_line(out)
        # Only the end of a chunk can be in the middle of a line end.
        self._skips_lf = self._skips_lf and chunk.endswith(b"\r")
        return out

    def _start_over(self) -> None:
        self._parts, self._data, self._size = [], [], 0
        self._name, self._id = "", None

    def _finish_line(self, out: list[SseEvent | OverlongEvent]) -> None:
        line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts = []
        line = line.rstrip(b"\r\n")
        size = len(line)
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(_BOM)
        if line:
            if not self._take_field(line):
                # Comments are not kept, so endless ones cost no memory.
                self._size -= size
            return
        if self._id is not None:
            self.last_id = self._id
        if self._data:
            data = b"\n".join(self._data)
            out.append(SseEvent(data=data, name=self._name or "message", id=self._id))
        self._start_over()

    def _take_field(self, line: bytes) -> bool:
        """Take a line of an event; True if it is part of its data."""
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            return True
        text = value[:_MAX_FIELD].decode("utf-8", "replace")
        if name == b"event":
            self._name = text
        elif name == b"id" and "\0" not in text:
            self._id = text
        elif name == b"retry" and value.isdigit():
            self.retry_s = int(value[:9]) / 1000
        return False


# A carriage return ends a line, too.
_LINE_END = re.compile(rb"\r\n|\r|\n")


def render_event(data: bytes, id: str = "", event: str = "") -> bytes:
    """The bytes of one event; data of several lines has a field for each."""
    lines = [f"event: {event}".encode()] if event else []
    if id:
        lines.append(f"id: {id}".encode())
    lines += [b"data: " + line for line in _LINE_END.split(data)]
    return b"\n".join(lines) + b"\n\n"
