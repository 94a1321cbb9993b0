"""Whether a list names anything twice, on one page or over several.

A list is walked from page to page by its cursors, and several walks may be under way. So each
cursor leads back to the walk it belongs to, and a page that is asked for again is no repetition.
"""

from __future__ import annotations

from mcptest.invariants.results import objects_in
from mcptest.invariants.wording import few, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said

    # The cursor of the page that a name was first seen on; None for the first page.
    Walk = dict[str, str | None]

__all__ = ["ListedOnce"]

_MAX_NAMES = 10_000
_MAX_WALKS = 20


class ListedOnce:
    """The watch over one list; `member` is what things in it are told apart by."""

    def __init__(self, member: str) -> None:
        self._member = member
        self._walks: dict[str, Walk] = {}

    def see(self, said: Said, facts: Facts) -> Breaches:
        cursor = said.asked.get("cursor")
        cursor = cursor if isinstance(cursor, str) else None
        walk = self._walk(cursor, said.result.get("nextCursor"))
        # Where each name of this page stands first, and those that stood before.
        places: dict[str, str] = {}
        twice: list[tuple[str, str, str]] = []
        for path, thing in objects_in(said, facts):
            name = thing.get(self._member)
            if not isinstance(name, str):
                continue
            if name in places or walk.get(name, cursor) != cursor:
                twice.append((path, name, places.get(name, "an earlier page")))
            elif len(walk) < _MAX_NAMES:
                walk[name] = cursor
            places.setdefault(name, path)
        return few(map(self._told, twice)) if places else None

    def _told(self, found: tuple[str, str, str]) -> str:
        path, name, where = found
        return f"{path}.{self._member} is {shown(name)}, which {where} has too"

    def end(self, _: Facts) -> Breaches:
        return None

    def _walk(self, cursor: str | None, next_cursor: object) -> Walk:
        walk: Walk = {} if cursor is None else self._walks.get(cursor, {})
        if isinstance(next_cursor, str):
            self._walks.pop(next_cursor, None)
            self._walks[next_cursor] = walk
            if len(self._walks) > _MAX_WALKS:
                del self._walks[next(iter(self._walks))]
        return walk
