"""The small words of a report: durations, and text a CI system must not obey.

Values go in, text comes out. Nothing here knows a test, an event or a stream.
"""

from __future__ import annotations

__all__ = ["render_duration"]


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
