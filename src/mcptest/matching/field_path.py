"""Paths that pull a value out of another: `a.b`, `[0]`, and `*` for every one."""

from __future__ import annotations

import re

from mcptest.core.outcome import ABSENT
from mcptest.core.paths import EVERY
from mcptest.core.suggest import closest
from mcptest.matching.values import a_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    Steps = tuple[str | int, ...]

__all__ = ["parse_field_path", "pull", "why_unmatched"]

_FIELD_STEP = r"\[(?P<index>\d{1,9}|\*)\]|(?:^|\.)(?P<word>[^.\[\]]+)"


def parse_field_path(path: str) -> Steps | None:
    """The steps of a field path; `*` and `[*]` stand for every element or member."""
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = re.compile(_FIELD_STEP).match(path, at)
        if found is None:
            return None
        at = found.end()
        index, word = found["index"], found["word"]
        if "*" in (index, word):
            steps.append(EVERY)
        else:
            steps.append(word if index is None else int(index))
    return tuple(steps) or None


def pull(value: object, steps: Steps) -> tuple[object, str]:
    """What stands at the steps, or ABSENT and where the way ended; "*" gives a list."""
    for at, step in enumerate(steps):
        if step is EVERY:
            inner = _members(value)
            if inner is None:
                return ABSENT, f"there is {a_type(value)} where * wants an array"
            pulled = [pull(element, steps[at + 1 :])[0] for element in inner]
            # An element without the field must not vanish: it stands as null.
            return [None if element is ABSENT else element for element in pulled], ""
        value, why = _step_into(value, step)
        if value is ABSENT:
            return ABSENT, why
    return value, ""


def why_unmatched(value: object, steps: Steps) -> str:
    """Why a path with `*` leads to nothing in what it was pulled out of; "" when it leads to one.

    Such a path gives an empty list, or one of nulls, which only looks like a value.
    """
    if EVERY not in steps:
        return ""
    at = steps.index(EVERY)
    elements = _members(pull(value, steps[:at])[0]) or []
    rest, why = steps[at + 1 :], "there are no elements"
    for element in elements:
        found, missing = pull(element, rest)
        why = missing if found is ABSENT else why_unmatched(element, rest)
        if not why:
            return ""
    return why


def _members(value: object) -> list[object] | None:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else None


def _step_into(value: object, step: str | int) -> tuple[object, str]:
    if isinstance(value, dict) and isinstance(step, str):
        if step in value:
            return value[step], ""
        near = closest(step, value)
        hint = f'; there is "{near}"' if near else ""
        return ABSENT, f'no key "{step}"{hint}'
    if isinstance(value, list) and str(step).isdecimal() and len(str(step)) < 10:
        index = int(step)
        if index < len(value):
            return value[index], ""
        return ABSENT, f"no element {index} among {len(value)}"
    return ABSENT, f'there is {a_type(value)} where "{step}" should be'
