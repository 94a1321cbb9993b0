"""What the exit status of every command means. A contract: codes are never reused."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """The one meaning of each exit status."""

    PASSED = 0
    FAILED = 1
    BAD_INPUT = 2
    NO_SERVER = 3
    OUR_FAULT = 4
    REFUSED = 5
    GATE_MISSED = 6
    NOTHING_SELECTED = 7
    INTERRUPTED = 130
