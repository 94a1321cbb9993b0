"""Watch the events of one document go by: where its root keys stand, and under which comments.

Events come out as they go in. Comments are no events, but they can only stand between
two of them: a line that begins with `#` after the end of one and before a key is one.
What the keys are called is the builder's business.
"""

from __future__ import annotations

from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["Outline"]


class Outline:
    """The root keys of a document, in written order; lines and columns count from 0."""

    def __init__(self, next_event: Callable[[], Any]) -> None:
        self._next_event = next_event
        # Line and column of each key, and the line from which on comments belong to it.
        self.keys: list[tuple[int, int, int]] = []
        self._depth = 0
        self._has_keys = False
        self._is_key_next = True
        self._free_from = 0  # nothing but comments and blank lines from this line on

    def next_event(self) -> Any:
        event = self._next_event()
        kind = type(event)
        if kind is ScalarEvent or kind is AliasEvent:
            self._note_entry(event)
            self._free_from = _line_after(event) or self._free_from
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            self._note_entry(event)
            if self._depth == 0:
                self._has_keys = kind is MappingStartEvent
            self._depth += 1
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            self._depth -= 1
            self._free_from = _line_after(event) or self._free_from
        elif kind is DocumentStartEvent and event.explicit:
            self._free_from = event.end_mark.line + 1
        return event

    def _note_entry(self, event: Any) -> None:
        if self._depth != 1 or not self._has_keys:
            return
        if self._is_key_next:
            mark = event.start_mark
            self.keys.append((mark.line, mark.column, self._free_from))
        self._is_key_next = not self._is_key_next

    def comments(self, lines: Sequence[str]) -> dict[tuple[int, int], str]:
        """The comments above the keys that have any, by line and column of the key."""
        found = {
            (line, column): _comment(lines[free_from:line])
            for line, column, free_from in self.keys
            if free_from < line
        }
        return {place: text for place, text in found.items() if text is not None}


def _line_after(event: Any) -> int:
    """The first line that has nothing of this event; 0 when it has no text at all."""
    start, end = event.start_mark, event.end_mark
    if (start.line, start.column) == (end.line, end.column):
        # An empty value, or the end of a block: it is anywhere up to the next key.
        return 0
    # A block scalar ends where the next line begins.
    return int(end.line if end.column == 0 else end.line + 1)


def _comment(lines: Sequence[str]) -> str | None:
    """The text of the comment lines among these; None when there are none."""
    found: list[str] = []
    is_after_blank = False
    for written in lines:
        # Other blanks than these are ordinary characters to YAML.
        line = written.strip(" \t")
        if not line.startswith("#"):
            is_after_blank = True
            continue
        if found and is_after_blank:
            found.append("")
        is_after_blank = False
        found.append(line.removeprefix("#").removeprefix(" "))
    return "\n".join(found) if found else None
