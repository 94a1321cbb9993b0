"""The progress line: what is running, rewritten in place.

Times and names go in, text for a terminal comes out. Only carriage returns and spaces move the
cursor. The caller reads the clock.
"""

from __future__ import annotations

__all__ = ["Progress"]

# A short run needs no progress line, and it must not flash.
FIRST_AFTER_S = 0.2
REDRAW_EVERY_S = 0.1


class Progress:
    """The wanted and the drawn content of the line, and when it may change."""

    def __init__(self, *, width: int, total: int, now: float) -> None:
        # The last column stays empty: some terminals wrap when it is filled.
        self._cells = max(width - 1, 1)
        self._total = total
        self._due = now + FIRST_AFTER_S
        self._wanted: tuple[str, str, str] | None = None
        self._drawn = 0

    def show(self, number: int, suite: str, case: str) -> None:
        """Set the running case; `draw` writes it. Both names must be safe to print."""
        digits = len(str(self._total))
        self._wanted = f"  [{number:>{digits}}/{self._total}] ", suite, case

    def announce(self, text: str) -> None:
        """Set what is done before the first case begins."""
        self._wanted = "  ", "", text

    def draw(self, now: float) -> str:
        """What to write to update the line; "" if it is too early."""
        if not self._wanted or now < self._due:
            return ""
        self._due = now + REDRAW_EVERY_S
        line, cells = _line(*self._wanted, self._cells)
        self._wanted = None
        text = self.erase() + line
        self._drawn = cells
        return text

    def clear(self) -> str:
        """What to write before anything else is printed."""
        self._wanted = None
        return self.erase()

    def erase(self) -> str:
        text = f"\r{' ' * self._drawn}\r" if self._drawn else ""
        self._drawn = 0
        return text


_BETWEEN = " › "


def _line(head: str, suite: str, case: str, limit: int) -> tuple[str, int]:
    """The line cut to `limit` cells, and the cells it takes.

    The name of the suite is cut first, since it changes less often, but keeps a third of the room.
    """
    room = limit - _cells(head)
    where = f"{suite}{_BETWEEN}" if suite else ""
    left = max(room - _cells(case), room // 3)
    if _cells(where) > left:
        name, _ = _fitted(suite, left - _cells(f"…{_BETWEEN}"))
        where = f"{name.rstrip()}…{_BETWEEN}" if name else ""
    return _fitted(f"{head}{where}{case}", limit)


def _cells(text: str) -> int:
    return sum(1 if char.isascii() else 2 for char in text)


def _fitted(text: str, limit: int) -> tuple[str, int]:
    """`text` cut to `limit` cells, and the cells it takes.

    Every character outside ASCII counts as two: too many is harmless, too few wraps the line,
    and a wrapped line cannot be erased.
    """
    cells = 0
    for position, char in enumerate(text):
        cells += 1 if char.isascii() else 2
        if cells > limit:
            return text[:position], limit
    return text, cells
