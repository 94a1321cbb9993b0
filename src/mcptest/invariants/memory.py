"""What a rule remembers of a session: the latest so many things, however long it lasts."""

from __future__ import annotations

from collections import OrderedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

__all__ = ["Latest"]

_MAX_KEPT = 10_000


class Latest:
    """Values by key. When there are too many the oldest go, and `has_forgotten` says so."""

    __slots__ = ("_kept", "_limit", "has_forgotten")

    def __init__(self, limit: int = _MAX_KEPT) -> None:
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._limit = limit
        self.has_forgotten = False

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept

    def get(self, key: Hashable) -> Any:
        """What was noted under the key, None when nothing was."""
        return self._kept.get(key)

    def note(self, key: Hashable, value: object = True) -> None:
        """Remember this as the latest of all."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self._limit:
            self._kept.popitem(last=False)
            self.has_forgotten = True

    def drop(self, key: Hashable) -> None:
        self._kept.pop(key, None)
