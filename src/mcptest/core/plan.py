"""Suites, cases and steps: what every written format compiles to.

A plan is complete before anything is started: requests are the very bytes that
will be sent, expectations are compiled, and every mistake has been reported.
"""

from __future__ import annotations

from mcptest.core.framing import DEFAULT_MAX_LINE_BYTES
from mcptest.core.outcome import ABSENT
from mcptest.core.record import Record

__all__ = ["Case", "Expectation", "Limits", "Performance", "ServerSpec", "Step", "Suite"]

DEFAULT_TIMEOUT_S = 30.0

# What gets a server process of its own.
ISOLATIONS = ("run", "file", "test")


class Limits(Record):
    """How much a server may send before it is called broken."""

    max_line_bytes: int = DEFAULT_MAX_LINE_BYTES
    max_messages_per_call: int = 5_000_000
    max_bytes_per_call: int = 4 * 1024 * 1024 * 1024


class ServerSpec(Record):
    """How to start the server under test, and how long to wait for it."""

    name: str
    command: tuple[str, ...]
    cwd: str = ""
    env: dict[str, str] | None = None
    inherit_env: bool = True
    startup_timeout_s: float = 5.0
    ready_pattern: str = ""
    timeout_s: float = DEFAULT_TIMEOUT_S
    protocol_version: str = ""
    isolation: str = "run"
    limits: Limits = Limits()
    secrets: tuple[str, ...] = ()


class Performance(Record):
    """Bounds on the time between a request and its answer."""

    max_response_s: float | None = None
    min_response_s: float | None = None


class Expectation(Record):
    """What must hold after a step. ABSENT and None mean that nothing was asked for.

    `has_regex` says that some regular expression is searched, `may_check_nothing` that `response`
    can be met by something that is not there.
    """

    response: object = ABSENT
    stderr: object = ABSENT
    exit_code: int | None = None
    performance: Performance | None = None
    has_regex: bool = False
    may_check_nothing: bool = False


class Step(Record):
    """One message to send, and what must come of it. `id` is ABSENT in a notification."""

    line: bytes
    method: str
    expectation: Expectation
    id: object = ABSENT


class Case(Record):
    """One named test. `skip` is the reason for leaving it out, None when it is run."""

    name: str
    line: int
    steps: tuple[Step, ...]
    timeout_s: float | None = None
    skip: str | None = None


class Suite(Record):
    """One file of cases. `server` is set when the file brings its own."""

    name: str
    file: str
    format: str
    cases: tuple[Case, ...]
    server: ServerSpec | None = None
