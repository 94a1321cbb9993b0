"""Sizes and annotations of resources and of content: whom it is for, how much it matters."""

from __future__ import annotations

import re
from itertools import chain

from mcptest.invariants.content_blocks import blocks_of
from mcptest.invariants.results import LISTED, objects_in
from mcptest.invariants.sentences import gathered, has_kind, member_faults, must_be

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcptest.invariants.facts import Facts
    from mcptest.invariants.rule import Breaches
    from mcptest.invariants.said import Said
    from mcptest.invariants.sentences import Faults

    Members = dict[str, Any]

__all__ = ["annotation_breaches", "is_iso_date"]

_AUDIENCES = ("user", "assistant")
# The revisions that know of lastModified.
_WITH_DATES = frozenset("CDE")

_DAY = r"-?(0[1-9]|1[0-2])(-?(0[1-9]|[12]\d|3[01]))?|-?W[0-5]\d(-?[1-7])?|-?[0-3]\d\d"
_CLOCK = r"([01]\d|2[0-4])(:?[0-5]\d(:?([0-5]\d|60))?)?([.,]\d{1,20})?"
_ISO_DATE = rf"\d{{4}}({_DAY})?([T ]{_CLOCK}(Z|[+-]\d\d(:?\d\d)?)?)?"


def annotation_breaches(said: Said, facts: Facts) -> Breaches:
    """What is wrong with the sizes and annotations of what is listed, or of blocks."""
    holders = objects_in if said.method in LISTED else blocks_of
    has_dates = facts.letters <= _WITH_DATES
    return gathered(
        _holder(path, holder, has_dates=has_dates)
        for path, holder in holders(said, facts)
        if isinstance(holder, dict)
    )


def is_iso_date(text: str) -> bool:
    """Whether a text is a date, or a date and a time, as ISO 8601 writes them."""
    return re.fullmatch(_ISO_DATE, text, re.ASCII | re.IGNORECASE) is not None


def _holder(path: str, holder: Members, *, has_dates: bool) -> Faults:
    has_size = "size" in holder and holder.get("type") in (None, "resource_link")
    if not has_size and "annotations" not in holder:
        return None
    wanted = {"annotations": "an object"} | ({"size": "an integer"} if has_size else {})
    annotations = holder.get("annotations")
    return chain(
        member_faults(holder, path, {}, wanted),
        _annotations(f"{path}.annotations", annotations, has_dates=has_dates)
        if isinstance(annotations, dict)
        else (),
    )


def _annotations(path: str, annotations: Members, *, has_dates: bool) -> Iterator[str]:
    yield from member_faults(annotations, path, {}, {"audience": "an array"})
    audience = annotations.get("audience")
    for index, role in enumerate(audience if isinstance(audience, list) else ()):
        if role not in _AUDIENCES:
            yield must_be(f"{path}.audience[{index}]", "user or assistant", role)
    priority = annotations.get("priority", 0)
    if not has_kind(priority, "a number") or not 0 <= priority <= 1:
        yield must_be(f"{path}.priority", "a number from 0 to 1", priority)
    modified = annotations.get("lastModified", "2000")
    if has_dates and not (isinstance(modified, str) and is_iso_date(modified)):
        yield must_be(f"{path}.lastModified", "an ISO 8601 date", modified)
