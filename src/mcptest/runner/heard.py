"""Judge the notifications of a step: each one that is wanted must have come, in order. Pure."""

from __future__ import annotations

from mcptest.core.outcome import Mismatch
from mcptest.core.record import ABSENT
from mcptest.core.text import visible
from mcptest.matching.compare import compare, is_met, source_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["judge_notifications"]

_SHOWN_METHODS = 5


def judge_notifications(wanted: Sequence[object], got: Sequence[object]) -> Iterator[Mismatch]:
    """A mismatch for every notification that did not come after those wanted before it."""
    at = 0
    for index, each in enumerate(wanted):
        place = _find(each, got, at)
        if place is None:
            yield _missing(each, index, got, at)
        else:
            at = place + 1


def _find(wanted: object, got: Sequence[object], start: int) -> int | None:
    for place in range(start, len(got)):
        if is_met(wanted, got[place]):
            return place
    return None


def _missing(wanted: object, index: int, got: Sequence[object], start: int) -> Mismatch:
    hint, message = "", f"no such notification came; {_arrived(got)}"
    if _find(wanted, got[:start], 0) is not None:
        message = "no such notification came after the one that is wanted before it"
        hint = "one came sooner; the order counts"
    elif nearest := _nearest(wanted, got[start:]):
        hint = f"one with this method came, but {nearest.path}: {nearest.message}"
    return Mismatch(
        path=f"notifications[{index}]",
        expected=_as_written(wanted),
        actual=ABSENT,
        message=message,
        hint=hint,
    )


def _as_written(wanted: object) -> object:
    """A method alone is read as part of a message, and shown as what it was."""
    source = source_of(wanted)
    inner = source.get("match:partial") if isinstance(source, dict) and len(source) == 1 else None
    return inner["method"] if isinstance(inner, dict) and list(inner) == ["method"] else source


def _nearest(wanted: object, got: Sequence[object]) -> Mismatch | None:
    """The first difference to a notification whose method is right."""
    for each in got:
        differences = list(compare(wanted, each))
        if all(difference.path != "method" for difference in differences):
            return differences[0]
    return None


def _arrived(got: Sequence[object]) -> str:
    if not got:
        return "none came at all"
    methods = [str(each.get("method")) for each in got if isinstance(each, dict)]
    shown = ", ".join(dict.fromkeys(visible(method) for method in methods[:_SHOWN_METHODS]))
    return f"{len(got):,} came: {shown}{', …' if len(methods) > _SHOWN_METHODS else ''}"
