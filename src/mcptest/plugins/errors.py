"""How a plugin can fail its host. An `error` answer is not here: it is an answer.

* HostError
  - SpawnFailed       the program cannot be started
  - PluginCrashed     it ended, or closed its stdout, before it answered
  - Timeout           it did not answer in time; it is left running
  - InvalidJson       it wrote a line that is no JSON; it is left running
  - InvalidResponse   it wrote JSON that is no answer to the call; it is left running
"""

from __future__ import annotations

from mcptest.core.errors import McptestError
from mcptest.core.text import visible

__all__ = [
    "HostError",
    "InvalidJson",
    "InvalidResponse",
    "PluginCrashed",
    "SpawnFailed",
    "Timeout",
]

_MAX_QUOTED = 200

# The names are those of the protocol's own document, which knows no suffix.


class HostError(McptestError):
    """A call that brought no answer; `hint` says what to do about it, where that is known."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class SpawnFailed(HostError):  # see above
    """The program is missing, may not be run, or refuses to start."""


class PluginCrashed(HostError):  # see above
    """The program ended before it answered. Every later call ends like this one."""

    def __init__(self, message: str, hint: str = "", stderr: str = "") -> None:
        super().__init__(message, hint)
        self.stderr = stderr


class Timeout(HostError):  # see above
    """No answer in time. The program is left running: the next call may be luckier."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message, "a call should take less than 50 ms; stdout must be flushed")
        self.seconds = seconds


class _BadLine(HostError):
    """A line that is no answer; `line` is it, as it came."""

    def __init__(self, reason: str, line: str) -> None:
        cut = line if len(line) <= _MAX_QUOTED else f"{line[:_MAX_QUOTED]}…"
        super().__init__(f"{reason}: {visible(cut)}")
        self.reason = reason
        self.line = line


class InvalidJson(_BadLine):
    """A line that is no JSON."""


class InvalidResponse(_BadLine):
    """A line of JSON that is no answer to the call."""
