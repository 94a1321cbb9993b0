"""Tests that share what they capture, as steps of one entry.

In a Conductor file a value is known to all tests below the one that captures it; in a suite only
inside of one entry. So everything from the test that captures to the last one that uses it
becomes one entry, in the same order.
"""

from __future__ import annotations

from mcptest.migrate.remarks import Remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.migrate.drafts import Draft

    Mapping = dict[str, object]

__all__ = ["grouped"]

_PER_STEP = "a step of an entry has none of its own"


def grouped(drafts: Sequence[Draft]) -> tuple[list[Draft], list[Remark]]:
    """The tests, those that share values joined, and what was left behind on the way."""
    usable, remarks = _with_known_values(drafts)
    found: list[Draft] = []
    waiting = list(usable)
    while waiting:
        count = _span(waiting)
        members, waiting = waiting[:count], waiting[count:]
        if count == 1:
            found += members
            continue
        outside = [each for each in members if "skip" in each.marks]
        inside = [each for each in members if "skip" not in each.marks]
        found += outside
        joined, losses = _joined(inside)
        found.append(joined)
        remarks += losses
    return found, remarks


def _with_known_values(drafts: Sequence[Draft]) -> tuple[list[Draft], list[Remark]]:
    """The tests that need nothing which nobody who is left captures."""
    known: set[str] = set()
    usable: list[Draft] = []
    remarks: list[Remark] = []
    for draft in drafts:
        missing = [name for name in draft.needs if name not in known]
        if missing:
            reason = f"it uses {missing[0]}, and the test that captures it is left behind"
            remarks.append(_remark(draft, reason))
        elif "skip" in draft.marks and draft.needs:
            reason = f"it is skipped, and stands among tests that share {draft.needs[0]}"
            remarks.append(_remark(draft, reason))
        else:
            usable.append(draft)
            known |= set(draft.captures) if "skip" not in draft.marks else set()
    return usable, remarks


def _span(drafts: list[Draft]) -> int:
    """How many tests belong together, from the first one on."""
    end, index = 1, 0
    while index < end:
        names = set(drafts[index].captures) if "skip" not in drafts[index].marks else set()
        uses = [at for at, draft in enumerate(drafts) if names & set(draft.needs)]
        end = max([end, *(at + 1 for at in uses if at > index)])
        index += 1
    return end


def _joined(drafts: list[Draft]) -> tuple[Draft, list[Remark]]:
    first = drafts[0]
    shared = {
        key: value
        for key, value in first.marks.items()
        if all(draft.marks.get(key) == value for draft in drafts) and key != "retries"
    }
    losses = [
        _remark(draft, f"{key}: {_PER_STEP}")
        for draft in drafts
        for key in draft.marks
        if key not in shared
    ]
    steps = tuple({"name": draft.name, **step} for draft in drafts for step in draft.steps)
    count = len(drafts) - 1
    more = f"and {count} more that build" if count > 1 else "and one more that builds"
    joined = first.but(name=f"{first.name} ({more} on it)", steps=steps, marks=shared)
    return joined, losses


def _remark(draft: Draft, reason: str) -> Remark:
    return Remark(file=draft.file, line=draft.line, what=draft.name, reason=reason)
