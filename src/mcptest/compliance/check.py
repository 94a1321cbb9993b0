"""What an active check is, and what it can find.

A check sends something to the server and judges what comes back. It is one entry in the table of
its family in `mcptest.compliance.checks`, under its id and its name:
`"BASE-18 method-not-found": Check(…)`. Its function gets the connection (`Peer`) and the run
(`Run`), and returns an `Outcome`. The connection records what it sent and received, so that a check
need not collect its evidence.
"""

from __future__ import annotations

from mcptest.core.value_class import Record
from mcptest.rules.rule import Requirement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from mcptest.compliance.raw_connection import Peer
    from mcptest.compliance.run import Offer, Run
    from mcptest.core.compliance import Level

    # When a check runs; see `Check.phase`.
    Phase = Literal["launch", "start", "session", "own", "malformed", "end"]
    Found = Literal["passed", "violated", "not_applicable", "could_not_run"]
    Probe = Callable[[Peer, Run], "Outcome"]

__all__ = [
    "PASSED",
    "PHASES",
    "Check",
    "Outcome",
    "UndecidedError",
    "could_not_run",
    "not_applicable",
    "violated",
]

PHASES: tuple[Phase, ...] = ("launch", "start", "session", "own", "malformed", "end")


class Outcome(Record):
    """What a check found. `level` is another level than that of the check, "" for the same.

    `sent` and `received` replace the evidence that the connection has recorded. `is_shared` marks
    a deviation that all SDKs have, `needs` is the missing hint or option without which it could not
    run.
    """

    found: Found
    message: str = ""
    level: Level | Literal[""] = ""
    sent: tuple[str, ...] | None = None
    received: tuple[str, ...] | None = None
    is_shared: bool = False
    needs: str = ""

    def with_evidence(self, source: Peer | Offer) -> Outcome:
        """The outcome with what was sent and received there as its evidence."""
        return self.but(sent=tuple(source.sent), received=tuple(source.received))


class UndecidedError(Exception):
    """Ends a check that has no verdict; `outcome` says why."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


PASSED = Outcome(found="passed")


def violated(message: str, *, level: Level | Literal[""] = "") -> Outcome:
    """The server broke the rule; `message` is one sentence about what it did."""
    return Outcome(found="violated", message=message, level=level)


def not_applicable(reason: str) -> Outcome:
    """The server, revision or transport has nothing that the check is about."""
    return Outcome(found="not_applicable", message=reason)


def could_not_run(reason: str, *, needs: str = "") -> Outcome:
    """The check applies, and could not be made: nothing is known.

    `needs` is the hint or the option that the user can give so that it can; without one it counts
    as not passed.
    """
    return Outcome(found="could_not_run", message=reason, needs=needs)


class Check(Requirement):
    """One active check.

    It applies to one `transport` ("stdio" or "http") or both. `hint` is the key of the hints file
    without which it cannot run; if `server_lacks` returns what the server does not have, no hint is
    asked for. `is_shared` marks a deviation that all SDKs have. `explains` are checks and rules
    that notice the same mistake: if this one is violated, they report nothing.

    `phase` is when it runs: at the "launch" of a fresh connection, on which nothing was sent, at
    its "start" before a session is opened, in the open "session" that most checks share, during it
    on connections of its "own", which it opens with `Run.connect`, with "malformed" messages
    after all others, or at the "end" of the connection, which the check closes itself.
    """

    run: Probe
    phase: Phase = "session"
    transport: Literal["", "stdio", "http"] = ""
    hint: str = ""
    server_lacks: Callable[[Peer], str] | None = None
    is_shared: bool = False
    explains: tuple[str, ...] = ()

    def reason_if_unfit(self, version: str, transport: str) -> str:
        """Why the check does not apply to this revision and transport; "" if it does."""
        if self.transport and self.transport != transport:
            return f"it is about {'stdio' if self.transport == 'stdio' else 'HTTP'}"
        return "" if self.applies(version, version) else f"revision {version} has no such rule"
