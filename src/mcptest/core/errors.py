"""Every exception this package raises on purpose.

* McptestError
  - UsageError             the caller asked for something impossible
  - FormatError            files cannot be understood; carries every diagnostic
  - RefusedError           what is asked for is possible, and not allowed here
  - NothingSelectedError   a glob or a filter that matches nothing
  - InterruptedRunError    a signal asked us to stop
  - PatternTimeoutError    a pattern took too long to match
  - CheckError             a value could not be judged: a plugin or a schema validator failed
    - EndedError           it ended the process that was to judge it
  - ServerError            the server under test could not be driven; has a `kind`
  - OwnFaultError          what a report says of a fault of ours; never raised

A failed expectation is not here: it is data (`mcptest.core.results.Mismatch`).
Anything else that is raised is a fault of ours and reaches the top of the CLI.
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
    """The root of the tree: a broken world, never a failed expectation.

    `shard` is the part of the run that could not be run, for its report; `unwritten` are the
    reports that could not say so.
    """

    shard: ReportedShard | None = None
    unwritten: tuple[UsageError, ...] = ()


class UsageError(McptestError):
    """The command line, or a call of ours, asks for something impossible."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help


class FormatError(McptestError):
    """One or more files cannot be understood."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        count = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
        super().__init__(f"{count} mistake{'s' if count != 1 else ''} in the files given")
        self.diagnostics = tuple(diagnostics)


class RefusedError(McptestError):
    """What is asked for could be done, and a policy forbids it here."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help


class NothingSelectedError(McptestError):
    """Nothing to run: an empty run is never a success."""


class InterruptedRunError(McptestError):
    """A signal asked the run to stop."""


class OwnFaultError(McptestError):
    """Stands in reports for an exception that nobody meant to raise."""


class CheckError(McptestError):
    """Whether a value is right cannot be said: who was to judge it failed; `fault` says how."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class EndedError(CheckError):
    """The same where judging it ended the process that did it; `how` says with what status."""

    def __init__(self, how: str) -> None:
        message = f"a matcher ended the process that judged the answer: {how}"
        super().__init__(Fault(kind="plugin_failed", message=message))
        self.how = how


class PatternTimeoutError(McptestError):
    """Matching took longer than anybody should wait; `pattern` is the culprit, if known."""

    def __init__(self, limit_s: float, pattern: str = "") -> None:
        super().__init__(f"the pattern {pattern or 'at hand'} took more than {limit_s:g} s")
        self.limit_s = limit_s
        self.pattern = pattern


class ServerError(McptestError):
    """The server under test could not be driven; `fault` says how and shows the evidence."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


# Errors that say that the system gives no more: open files, processes or memory.


_LIMITS = {
    errno.EMFILE: "raise the limit of open files (ulimit -n), or run less at once",
    errno.ENFILE: "the whole system has no more open files to give; end something else",
    errno.EAGAIN: "raise the limit of processes (ulimit -u), or run less at once",
    errno.ENOMEM: "raise the limit of memory (ulimit -v), or run less at once",
}


def hint_at_limit(error: BaseException) -> str:
    """What to do when the system gives no more files, processes or memory; "" for other errors."""
    if isinstance(error, MemoryError):
        return _LIMITS[errno.ENOMEM]
    return _LIMITS.get(error.errno or 0, "") if isinstance(error, OSError) else ""
