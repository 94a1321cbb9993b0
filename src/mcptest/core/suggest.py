"""Which known word did the author mean?"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["closest", "edit_distance"]


def edit_distance(left: str, right: str) -> int:
    """How many letters must be added, dropped, changed or swapped with a neighbour."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                best = min(best, older[j - 2] + 1)
            row.append(best)
    return row[-1]


def closest(word: str, known: Iterable[str], within: int = 2) -> str:
    """The known word nearest to `word`, or "" when none is near enough.

    Case is forgiven; short words must be nearer than long ones.
    """
    folded = word.casefold()
    limit = min(within, max(1, len(word) // 3))
    # Names may come from a server, and be very long: those cannot be near anyway.
    near = (name for name in known if abs(len(name.casefold()) - len(folded)) <= limit)
    scored = [(edit_distance(folded, name.casefold()), name) for name in near]
    distance, best = min(scored, default=(limit + 1, ""))
    return best if distance <= limit else ""
