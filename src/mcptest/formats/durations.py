"""Lengths of time as files and command lines write them: 500, "500ms", "2.5s", "1m"."""

from __future__ import annotations

import re

__all__ = ["MAX_DURATION_S", "parse_duration"]

_WRITTEN = r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|)\s*"
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 0.001}

MAX_DURATION_S = 24 * 3600.0


def parse_duration(value: object) -> float:
    """Seconds; a bare number means milliseconds. ValueError says what is wrong."""
    if isinstance(value, str):
        found = re.fullmatch(_WRITTEN, value)
        seconds = float(found[1]) * _UNITS_S[found[2]] if found else None
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        # Compared before it is divided: an integer may be too large for that.
        seconds = value / 1000 if value <= MAX_DURATION_S * 1000 else MAX_DURATION_S + 1
    else:
        seconds = None
    if seconds is None:
        raise ValueError('must be a number of milliseconds or a text such as "500ms" or "2s"')
    if not 0 < seconds <= MAX_DURATION_S:
        raise ValueError("must be more than 0 and at most 24 hours")
    return seconds
