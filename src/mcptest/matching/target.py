"""Targets of a suite's assertions: `result.content[0].text`, `notifications[*].method`.

A path of dots, `[n]`, `[*]` and quoted keys (`result["a.b"]`), and nothing that is computed.
"""

from __future__ import annotations

import re

from mcptest.core.paths import EVERY
from mcptest.core.strict_json import NotJsonError, parse_json
from mcptest.core.suggest import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Steps = tuple[str | int, ...]

__all__ = ["ROOTS", "parse_target"]

# What there is to look at after a call.
ROOTS = ("result", "error", "notifications", "stderr", "duration_ms")
_SCALAR_ROOTS = frozenset(["stderr", "duration_ms"])

_KEY = r"""(?P<double>"(?:[^"\\]|\\.)*")|'(?P<single>[^']*)'"""
_STEP = re.compile(
    rf"""\[(?P<index>\d{{1,9}}|\*)\] | \[(?:{_KEY})\] | {_KEY.replace("P<", "P<bare_")}
      | (?P<word>[^.\[\]"']+)""",
    re.VERBOSE,
)


def parse_target(text: str, roots: Sequence[str] = ROOTS) -> Steps:
    """The steps of a target; ValueError with a sentence when it is none.

    It is quoted as a whole: where it holds a secret, a part of it would not be known again.
    """
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        has_dot = bool(steps) and text[at] == "."
        at += has_dot
        found = _STEP.match(text, at)
        # A dot stands before every key but the first, and before no bracket.
        if found is None or (steps and has_dot == found[0].startswith("[")):
            where = f"goes wrong at character {at + 1}" if at < len(text) else "ends too soon"
            raise ValueError(f"is no path: {text!r} {where}")
        steps.append(_step(found, text))
        at = found.end()
    _refuse_wrong_root(steps, text, roots)
    return tuple(steps)


def _step(found: re.Match[str], text: str) -> str | int:
    if found["index"]:
        return EVERY if found["index"] == "*" else int(found["index"])
    quoted = found["double"] or found["bare_double"]
    if quoted:
        try:
            return str(parse_json(quoted))
        except NotJsonError:
            where = f"goes wrong in the quotes at character {found.start() + 1}"
            raise ValueError(f"is no path: {text!r} {where}") from None
    if found["word"] is None:
        return found["single"] if found["single"] is not None else found["bare_single"]
    return EVERY if found["word"] == "*" else found["word"]


def _refuse_wrong_root(steps: list[str | int], text: str, roots: Sequence[str]) -> None:
    if not steps:
        raise ValueError(f"is empty; it begins with one of {', '.join(roots)}")
    root = steps[0]
    if root not in roots:
        meant = closest(str(root), roots)
        question = f"; did you mean {meant!r}?" if meant else ""
        raise ValueError(f"is {text!r}; it begins with one of {', '.join(roots)}{question}")
    if root in _SCALAR_ROOTS and len(steps) > 1:
        raise ValueError(f"goes on after {root!r}, which has nothing in it")
