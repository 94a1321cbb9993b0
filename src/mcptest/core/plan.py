"""Suites, cases and steps: what every written format compiles to.

A plan is complete before anything is started: requests are the very bytes that
will be sent, expectations are compiled, and every mistake has been reported.
"""

from __future__ import annotations

from mcptest.core.record import ABSENT, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal

    from mcptest.core.coverage import Use
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.protocol.dialogue import Dialogue

    # What may be there that is not written: nothing, keys of objects, items of arrays as well.
    Leniency = Literal["", "objects", "all"]

__all__ = [
    "DEFAULT_MAX_LINE_BYTES",
    "Assertion",
    "Capture",
    "Case",
    "ClientSpec",
    "Expectation",
    "Gates",
    "HttpSpec",
    "Limits",
    "OAuthSpec",
    "Performance",
    "PluginSpec",
    "ServerSpec",
    "Step",
    "Suite",
    "Template",
]

# The longest line that is accepted from a server, unless its limits say otherwise.
DEFAULT_MAX_LINE_BYTES = 64 * 1024 * 1024

DEFAULT_TIMEOUT_S = 30.0

# What gets a server process of its own.
ISOLATIONS = ("run", "file", "test")


class Limits(Record):
    """How much a server may send before it is called broken."""

    max_line_bytes: int = DEFAULT_MAX_LINE_BYTES
    max_messages_per_call: int = 5_000_000
    max_bytes_per_call: int = 4 * 1024 * 1024 * 1024


class ClientSpec(Record):
    """What we say we can do as a client, and the script of our answers to the server.

    `answers` has for each method either one body, used every time, or a list of them, used
    one after the other. A body is `{"result": …}` or `{"error": …}`.
    """

    capabilities: dict[str, object] | None = None
    answers: dict[str, object] | None = None


class PluginSpec(Record):
    """A program that judges values: how it is started, and who says so (`owner`)."""

    name: str
    command: tuple[str, ...]
    cwd: str = ""
    call_timeout_s: float = 5.0
    owner: str = ""


class OAuthSpec(Record):
    """Where a token is fetched, and with which credentials of our own."""

    token_url: str
    client_id: str
    client_secret: str
    scope: str = ""
    resource: str = ""


class HttpSpec(Record):
    """A server on HTTP: where it is, what it is told of us, and whom TLS believes.

    `transport` is the one to speak: Streamable HTTP, the older one of two endpoints ("sse"), or
    whichever of them the server has ("auto").
    """

    url: str
    headers: dict[str, str] | None = None
    oauth: OAuthSpec | None = None
    ca_file: str = ""
    insecure_tls: bool = False
    transport: str = "auto"


class ServerSpec(Record):
    """How to start or reach the server under test, and how long to wait for it.

    With `http` it is spoken to over HTTP; `command`, when there is one, starts it. A pinned
    `spec_version` is the only revision that will do.
    """

    name: str
    command: tuple[str, ...]
    http: HttpSpec | None = None
    spec_version: str = ""
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
    client: ClientSpec = ClientSpec()
    strict_invariants: bool = False
    plugins: tuple[PluginSpec, ...] = ()


class Performance(Record):
    """Bounds on the time between a request and its answer."""

    max_response_s: float | None = None
    min_response_s: float | None = None


class Assertion(Record):
    """One thing that must hold of what came: `check`, compiled, at the end of `steps`.

    `target` is the way there as it was written. `message` are the author's own words for it,
    `weight` is what it counts where not all of them must hold. `is_implied` where nothing was
    written: then the call must come to its end.
    """

    target: str
    steps: tuple[str | int, ...]
    check: object
    message: str = ""
    weight: float = 1.0
    is_implied: bool = False


class Expectation(Record):
    """What must hold after a step. ABSENT and None mean that nothing was asked for.

    `has_regex` says that some regular expression is searched, `has_foreign_check` that something
    is computed which no signal to us can end, `has_remote_check` that another process is asked,
    `may_check_nothing` that `response` can be met by something that is not there. `leniency`
    says what else may be in the answer. Of the assertions so much must hold, by weight, as
    `threshold` says.
    """

    response: object = ABSENT
    stderr: object = ABSENT
    exit_code: int | None = None
    performance: Performance | None = None
    notifications: tuple[object, ...] = ()
    has_regex: bool = False
    has_foreign_check: bool = False
    has_remote_check: bool = False
    may_check_nothing: bool = False
    leniency: Leniency = ""
    assertions: tuple[Assertion, ...] = ()
    threshold: float = 1.0
    max_tokens: int | None = None

    @property
    def is_timed(self) -> bool:
        """Whether it matters how long the answer takes."""
        return self.performance is not None or self._asserts("duration_ms")

    @property
    def wants_notifications(self) -> bool:
        """Whether what the server says on its own is looked at."""
        return bool(self.notifications) or self._asserts("notifications")

    def _asserts(self, what: str) -> bool:
        # Only suites have any, and every step asks.
        return bool(self.assertions) and any(each.steps[0] == what for each in self.assertions)


class Capture(Record):
    """A value to keep from the answer, for later tests of the same file."""

    name: str
    path: str
    steps: tuple[str | int, ...]


class Template(Record):
    """A step that waits for values which earlier tests capture.

    `needs` are their names; `fill` makes the step once they are known, and raises ValueError
    with a sentence when it cannot be made with these values.
    """

    needs: tuple[str, ...]
    fill: Callable[[Mapping[str, object]], Step]


class Step(Record):
    """One message to send, and what must come of it. `id` is ABSENT in a notification.

    `label` names it where a case has several. `tool` is set when the structured output of that
    tool is to be held against its own schema. `at` is the line of the file in which it begins,
    0 where the case's own says it. With `keeps_id` its id goes out as written, even where the
    session has used it before.
    """

    line: bytes
    method: str
    expectation: Expectation
    id: object = ABSENT
    use: Use | None = None
    captures: tuple[Capture, ...] = ()
    template: Template | None = None
    label: str = ""
    tool: str = ""
    at: int = 0
    keeps_id: bool = False


class Case(Record):
    """One named test. `skip` is the reason for leaving it out, None when it is run.

    What it does is its steps, each a request and its answer, or a dialogue, or a `check` of
    the server's conformance. `teardown` follows whatever came of it. With `not_run`, it is one
    that this version cannot run, and `skip` says why. `lane` is set in lanes of a suite that
    are no plain calls. `needs` are mistakes only if it is run: what the environment has not.
    """

    name: str
    line: int
    steps: tuple[Step, ...] = ()
    dialogue: Dialogue | None = None
    timeout_s: float | None = None
    skip: str | None = None
    only: bool = False
    tags: tuple[str, ...] = ()
    retries: int | None = None
    teardown: tuple[Step, ...] = ()
    check: str = ""
    not_run: bool = False
    lane: str = ""
    needs: tuple[Diagnostic, ...] = ()


class Gates(Record):
    """What a suite asks of a whole run: percentages by kind of offer, milliseconds by measure."""

    coverage: dict[str, float] | None = None
    performance: dict[str, float] | None = None


class Suite(Record):
    """One file of cases, or those of it that need one server.

    `server` is set when the file brings its own, `needs` is what the environment has not for it.
    `gates` and `parallel` are of the whole file; `home` is the file that imports it, or itself.
    """

    name: str
    file: str
    format: str
    cases: tuple[Case, ...]
    server: ServerSpec | None = None
    gates: Gates | None = None
    parallel: int | None = None
    home: str = ""
    needs: tuple[Diagnostic, ...] = ()
