"""Failures that have one cause are told once: which one a failure is the same as.

Results go in, the label of the first one like it comes out. What a label looks like is for the
report to say.
"""

from __future__ import annotations

from mcptest.core.text import show_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.outcome import CaseResult, Mismatch

__all__ = ["Folding"]

# What a cause is looked up by; whatever is longer is compared whole.
_KEY_MISMATCHES = 20
_KEY_CHARS = 200


class Folding:
    """Remembers the first failure of each cause."""

    def __init__(self) -> None:
        self._seen: dict[object, list[tuple[tuple[Mismatch, ...], str]]] = {}

    def first_like(self, result: CaseResult, label: str) -> str | None:
        """The label of the first failure with the cause of this one; None when it is the first."""
        cause = _cause(result)
        if cause is None:
            return None
        alike = self._seen.setdefault(cause, [])
        for mismatches, first in alike:
            if mismatches == result.mismatches:
                return first
        alike.append((result.mismatches, label))
        return None


def _cause(result: CaseResult) -> object:
    """What may make two failures the same; None when nothing does.

    A dead server fails every test, and a renamed member every test that looks at it. A fault
    with mismatches beside it is a case of its own.
    """
    if result.status not in ("failed", "error"):
        return None
    if result.fault is not None:
        return None if result.mismatches else (result.fault.kind, result.fault.message)
    # Python takes 1, 1.0 and True for equal; their texts are not.
    return tuple(map(_key, result.mismatches[:_KEY_MISMATCHES])) or None


def _key(mismatch: Mismatch) -> tuple[str, ...]:
    sides = (show_json(side, _KEY_CHARS) for side in (mismatch.expected, mismatch.actual))
    return (mismatch.path, mismatch.message, *sides)
