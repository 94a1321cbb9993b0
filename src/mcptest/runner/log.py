"""What was said during one step, kept for those who want to read it. Bounded."""

from __future__ import annotations

import time

from mcptest.core.framing import Frame
from mcptest.core.outcome import LogLine
from mcptest.core.strict_json import dump_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.framing import Noise, Overlong
    from mcptest.core.outcome import Direction

__all__ = ["MessageLog"]

_MAX_LINES = 200
_MAX_CHARS = 4000


class MessageLog:
    """The log of one step, from the moment it began."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._lines: list[LogLine] = []
        self._left_out = 0

    def sent(self, line: bytes) -> None:
        self._add("sent", line.decode("utf-8", "replace").rstrip("\n"))

    def received(self, item: Frame | Noise | Overlong) -> None:
        if isinstance(item, Frame):
            self._add("received", dump_json(item.value))
        else:
            self._add("noise", item.raw.decode("utf-8", "backslashreplace"))

    def with_stderr(self, text: str) -> tuple[LogLine, ...]:
        """The whole log; when each line of stderr was written is not known."""
        for line in text.splitlines():
            self._add("stderr", line)
        if self._left_out:
            note = f"[{self._left_out:,} more lines are not kept]"
            return (*self._lines, self._line("noise", note))
        return tuple(self._lines)

    def _add(self, direction: Direction, text: str) -> None:
        if len(self._lines) >= _MAX_LINES:
            self._left_out += 1
            return
        if len(text) > _MAX_CHARS:
            text = f"{text[:_MAX_CHARS]}… [{len(text) - _MAX_CHARS:,} more characters]"
        self._lines.append(self._line(direction, text))

    def _line(self, direction: Direction, text: str) -> LogLine:
        return LogLine(at_s=time.monotonic() - self._began, direction=direction, text=text)
