"""Which known word did the author mean?"""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MAX_CHARS", "MAX_KNOWN", "closest", "edit_distance", "shortened"]


# Names may come from a server, many of them and long: a longer one is nobody's slip of a
# finger, and whoever has more of them is not helped by the nearest.
MAX_KNOWN = 1_000
MAX_CHARS = 64


def edit_distance(left: str, right: str, limit: int | None = None) -> int:
    """How many letters must be added, dropped, changed or swapped with a neighbour.

    Whatever is farther than `limit` is `limit + 1`, and found out much sooner.
    """
    limit = max(len(left), len(right)) if limit is None else limit
    far = limit + 1
    if abs(len(left) - len(right)) > limit:
        return far
    before: list[int] = []
    row = [min(j, far) for j in range(len(right) + 1)]
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [far] * (len(right) + 1)
        row[0] = min(i, far)
        # Cells farther from the diagonal than the limit are beyond it.
        for j in range(max(1, i - limit), min(len(right), i + limit) + 1):
            b = right[j - 1]
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b), far)
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                best = min(best, older[j - 2] + 1)
            row[j] = best
        # The next row may still come from this one, or by a swap from the one before it.
        if min(row) > limit and min(before) >= limit:
            return far
    return row[-1]


def closest(word: str, known: Iterable[str], within: int = 2) -> str:
    """The known word nearest to `word`, or "" when none is near enough.

    Case is forgiven; short words must be nearer than long ones.
    """
    if len(word) > MAX_CHARS:
        return ""
    folded = word.casefold()
    limit = min(within, max(1, len(word) // 3))
    near = (name for name in islice(known, MAX_KNOWN) if len(name) <= MAX_CHARS)
    scored = [(edit_distance(folded, name.casefold(), limit), name) for name in near]
    distance, best = min(scored, default=(limit + 1, ""))
    return best if distance <= limit else ""


# What is shorter begins too many words to be short for one.
_BEGINNING = 3


def shortened(word: str, known: Iterable[str]) -> str:
    """The one known word that `word` is short for, or that is short for it; "" for several.

    `args` is short for `arguments`, and `max_duration` for `max_duration_ms`.
    """
    if not _BEGINNING <= len(word) <= MAX_CHARS:
        return ""
    folded = word.casefold()
    found = [name for name in islice(known, MAX_KNOWN) if _is_short_for(folded, name.casefold())]
    return found[0] if len(found) == 1 else ""


def _is_short_for(one: str, other: str) -> bool:
    """Whether both begin alike, and one has only letters of the other, in their order."""
    if one[:_BEGINNING] != other[:_BEGINNING] or max(len(one), len(other)) > MAX_CHARS:
        return False
    short, long = sorted((one, other), key=len)
    rest = iter(long)
    return all(letter in rest for letter in short)
