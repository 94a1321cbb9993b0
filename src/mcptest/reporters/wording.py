"""The small words of a report: durations, and text a CI system must not obey.

Values go in, text comes out. Nothing here knows a test, an event or a stream.
"""

from __future__ import annotations

__all__ = ["defused", "defused_markers", "render_duration"]


def render_duration(seconds: float) -> str:
    """`<1 ms`, `12 ms`, `1.2 s`, `1 m 03 s`, `1 h 02 m`."""
    if seconds < 0.001:
        return "<1 ms"
    # Rounded before the unit is chosen, so that 999.9 ms is not "1000 ms".
    if round(seconds * 1000) < 1000:
        return f"{round(seconds * 1000)} ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} m"


# GitHub takes `::` after any indentation and `##[` anywhere in a line for a command;
# Azure does so with `##vso[`, TeamCity with `##teamcity[`. Indenting is not enough.
_MARKERS = ("##[", "##vso[", "##teamcity[")


def defused(text: str) -> str:
    """`text` in which no line can be taken for a command to a CI system."""
    text = defused_markers(text)
    if "::" in text:
        text = "\n".join(map(_defused_start, text.split("\n")))
    return text


def defused_markers(text: str) -> str:
    """`text` without the markers that work anywhere in a line.

    The escape is one that JSON knows: inside a JSON string it changes no value.
    """
    if "##" in text:
        for marker in _MARKERS:
            text = text.replace(marker, f"#\\u0023{marker[2:]}")
    return text


def _defused_start(line: str) -> str:
    bare = line.lstrip()
    if not bare.startswith("::"):
        return line
    return f"{line[: len(line) - len(bare)]}\\u003a{bare[1:]}"
