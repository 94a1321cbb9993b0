"""The exceptions that mcptest raises on purpose.

* McptestError
  - UsageError             the caller asked for something impossible
  - FormatError            files are invalid; has all diagnostics
  - RefusedError           the request is possible, but not allowed here
  - NothingSelectedError   a glob or a filter matches nothing
  - InterruptedRunError    a signal stopped the run
  - PatternTimeoutError    a pattern took too long to match
  - CheckError             a value could not be judged: a plugin or a schema validator failed
    - EndedError           it ended the process that judged the value
  - ServerError            the server under test could not be used; has a `fault`
  - OwnFaultError          represents a bug of mcptest in reports; never raised

A failed expectation is data (`mcptest.core.results.Mismatch`), not an exception. Any other
exception is a bug of mcptest and reaches the top of the CLI.
"""

from __future__ import annotations

import errno

from mcptest.core.results import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.events import ReportedShard

__all__ = [
    "CheckError",
    "EndedError",
    "FormatError",
    "InterruptedRunError",
    "McptestError",
    "NothingSelectedError",
    "OwnFaultError",
    "PatternTimeoutError",
    "RefusedError",
    "ServerError",
    "UsageError",
    "hint_at_limit",
]


class McptestError(Exception):
    """The root of the tree.

    `shard` is the part of the run that could not be run, for its report; `unwritten` are the
    reports that could not be written.
    """

    shard: ReportedShard | None = None
    unwritten: tuple[UsageError, ...] = ()


class UsageError(McptestError):
    """The command line or a caller asks for something impossible."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help
        if help:
            # Tracebacks show it to callers in Python.
            self.add_note(f"help: {help}")


class FormatError(McptestError):
    """One or more files are invalid."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        count = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
        super().__init__(f"{count} mistake{'s' if count != 1 else ''} in the files given")
        self.diagnostics = tuple(diagnostics)


class RefusedError(McptestError):
    """A policy forbids what was requested."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help


class NothingSelectedError(McptestError):
    """There is nothing to run."""


class InterruptedRunError(McptestError):
    """A signal stopped the run."""


class OwnFaultError(McptestError):
    """Represents an unexpected exception in reports."""


class CheckError(McptestError):
    """A value could not be judged; `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class EndedError(CheckError):
    """Judging a value ended the process that did it; `how` is its exit status."""

    def __init__(self, how: str) -> None:
        message = f"a matcher ended the process that judged the answer: {how}"
        super().__init__(Fault(kind="plugin_failed", message=message))
        self.how = how


class PatternTimeoutError(McptestError):
    """Matching took too long; `pattern` is the cause, if known."""

    def __init__(self, limit_s: float, pattern: str = "") -> None:
        super().__init__(f"the pattern {pattern or 'at hand'} took more than {limit_s:g} s")
        self.limit_s = limit_s
        self.pattern = pattern


class ServerError(McptestError):
    """The server under test could not be used; `fault` says why, with evidence."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


_LIMITS = {
    errno.EMFILE: "raise the limit of open files (ulimit -n), or run less at once",
    errno.ENFILE: "the whole system has no more open files to give; end something else",
    errno.EAGAIN: "raise the limit of processes (ulimit -u), or run less at once",
    errno.ENOMEM: "raise the limit of memory (ulimit -v), or run less at once",
}


def hint_at_limit(error: BaseException) -> str:
    """What to do when a limit of the system is reached; "" for other errors."""
    if isinstance(error, MemoryError):
        return _LIMITS[errno.ENOMEM]
    return _LIMITS.get(error.errno or 0, "") if isinstance(error, OSError) else ""
