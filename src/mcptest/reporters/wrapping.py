"""Sentences that are too long for a terminal, broken between words instead of inside of them."""

from __future__ import annotations

import re

__all__ = ["width_of", "wrapped", "wrapped_text"]

# Compiled where they are used: most runs have nothing to wrap, and this would be a tenth of one.
_COLOUR = r"\x1b\[[0-9;]*m"
# The source line of a diagnostic, and what points into it: these stand below each other.
_EXCERPT = r" *[0-9]* \|( |$)"
# Chinese, Japanese, Korean, emoji: what a terminal gives two columns to.
_WIDE = (
    "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
    "\U0001f300-\U0001faff\U00020000-\U0003fffd]"
)
_HANG = 2


def wrapped(line: str, columns: int) -> list[str]:
    """The line, in as many as it takes; all but the first stand further in.

    A word that is longer than a line is left to the terminal. One that does not know how wide
    it is says 0.
    """
    if columns < 1 or width_of(line) <= columns:
        return [line]
    indent = len(line) - len(line.lstrip(" "))
    hang = " " * (indent + _HANG)
    lines, room = [""], columns
    for word in re.findall(r" *[^ ]+", line):
        if width_of(word) > room and lines != [""]:
            lines.append(hang + word.lstrip(" "))
        else:
            lines[-1] += word
        room = columns - width_of(lines[-1])
    return lines


def wrapped_text(text: str, columns: int) -> str:
    """The same for a text of many lines; excerpts of files stay as they are."""
    lines = []
    for line in text.split("\n"):
        lines += [line] if re.match(_EXCERPT, line) else wrapped(line, columns)
    return "\n".join(lines)


def width_of(text: str) -> int:
    """How many columns a text takes; colours take none, and wide characters two."""
    plain = re.sub(_COLOUR, "", text)
    return len(plain) if plain.isascii() else len(plain) + len(re.findall(_WIDE, plain))
