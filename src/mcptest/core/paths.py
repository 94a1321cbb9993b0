"""How a place inside a JSON value is written: `result.tools[0].name`.

While comparing, a path is a chain of pairs, innermost step last:
``((None, "result"), "tools")``. Going one level down costs one tuple, and the
text is made only for the few paths that are reported.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Step = str | int
    Trail = tuple["Trail | None", Step] | None

__all__ = ["EVERY", "parse_path", "render_path", "render_trail", "steps_of", "trail_of"]


class _Every(str):
    """The step to every element at once, which no key can be mistaken for."""

    __slots__ = ()


EVERY = _Every("*")


def render_trail(trail: Trail) -> str:
    """The text of a chain of steps."""
    return render_path(steps_of(trail))


def steps_of(trail: Trail) -> tuple[Step, ...]:
    """The steps of a chain, outermost first."""
    steps: list[Step] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    return tuple(reversed(steps))


def trail_of(steps: Iterable[Step]) -> Trail:
    trail: Trail = None
    for step in steps:
        trail = (trail, step)
    return trail


def render_path(steps: Iterable[Step]) -> str:
    """The text of a path. Keys that are not plain words are written `["like this"]`."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step is EVERY:
            text += "[*]"
        elif re.fullmatch(_PLAIN_WORD, step):
            text += f".{step}" if text else step
        else:
            escaped = step.replace("\\", "\\\\").replace('"', '\\"')
            text += f'["{escaped}"]'
    return text


# Strings, compiled by `re` on first use: a run without failures needs neither.
_PLAIN_WORD = r"[^\W\d][\w$#-]*"
_STEP = (
    r"""(?x)\[(?P<index>\d+)\] | \["(?P<quoted>(?:[^"\\]|\\.)*)"\] | (?:^|\.)(?P<word>[^.\[\]]+)"""
)


def parse_path(text: str) -> tuple[Step, ...] | None:
    """The steps of a path as `render_path` writes it, or None when it is not one place."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        match = re.compile(_STEP).match(text, at)
        if match is None:
            return None
        at = match.end()
        if match["index"] is not None:
            steps.append(int(match["index"]))
        elif match["quoted"] is not None:
            steps.append(re.sub(r"\\(.)", r"\1", match["quoted"], flags=re.DOTALL))
        else:
            steps.append(match["word"])
    return tuple(steps)
