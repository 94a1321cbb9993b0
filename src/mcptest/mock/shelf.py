"""A mapping that never changes, and of which a changed copy is cheap however much it holds.

A session is a value, and every message makes a new one. Copying a dict of all names that were
ever bound would make each message slower than the one before.
"""

from __future__ import annotations

from mcptest.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

__all__ = ["Shelf"]

_DRAWERS = 256


class Shelf(Record):
    """Keys and values in small drawers; a copy shares all of them but one."""

    drawers: tuple[dict[Hashable, Any], ...] = ({},) * _DRAWERS

    def get(self, key: Hashable, default: object = None) -> Any:
        return self.drawers[hash(key) % _DRAWERS].get(key, default)

    def put(self, key: Hashable, value: object) -> Shelf:
        """The shelf with this value under the key."""
        at = hash(key) % _DRAWERS
        return self._with(at, self.drawers[at] | {key: value})

    def drop(self, key: Hashable) -> Shelf:
        """The shelf without the key, which need not be there."""
        at = hash(key) % _DRAWERS
        drawer = self.drawers[at]
        if key not in drawer:
            return self
        return self._with(at, {each: value for each, value in drawer.items() if each != key})

    def _with(self, at: int, drawer: dict[Hashable, Any]) -> Shelf:
        return Shelf(drawers=(*self.drawers[:at], drawer, *self.drawers[at + 1 :]))
