"""Suites, cases and steps: what every written format compiles to.

A plan is complete before anything is started: requests are the bytes that will be sent,
expectations are compiled, and all diagnostics have been reported.
"""

from __future__ import annotations

from mcptest.core.value_class import ABSENT, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal

    from mcptest.core.coverage import Use
    from mcptest.core.diagnostics import Diagnostic
    from mcptest.core.security import ScanWish
    from mcptest.protocol.dialogue import Dialogue

    # What an answer may have beyond the expectation: nothing, keys, or keys and items.
    Leniency = Literal["", "objects", "all"]

__all__ = [
    "ACCEPT_DEFAULTS",
    "AUTH_METHODS",
    "BASIC",
    "DEFAULT_MAX_LINE_BYTES",
    "DEFAULT_TIMEOUT_S",
    "ISOLATE_FILES",
    "ISOLATIONS",
    "POST",
    "PRIVATE_KEY",
    "PUBLIC",
    "START_LIMIT",
    "START_OPTION",
    "Assertion",
    "Case",
    "ClientSpec",
    "Expectation",
    "Gates",
    "HttpSpec",
    "Limits",
    "OAuthSpec",
    "Performance",
    "PluginSpec",
    "SavedValue",
    "ServerSpec",
    "Step",
    "Suite",
    "Template",
]

# The longest line that is accepted from a server by default.
DEFAULT_MAX_LINE_BYTES = 64 * 1024 * 1024

DEFAULT_TIMEOUT_S = 30.0

# What hints say of a slow start and of shared servers, with the options of the command line;
# pytest and the SDK replace them by their own.
START_OPTION = "--start-timeout, or "
START_LIMIT = f'the limit is {START_OPTION}"startupTimeout" in the config'
ISOLATE_FILES = "--isolation file"

# What has a server process of its own.
ISOLATIONS = ("run", "file", "test")


class Limits(Record):
    """How much a server may send before it is a fault."""

    max_line_bytes: int = DEFAULT_MAX_LINE_BYTES
    max_messages_per_call: int = 5_000_000
    max_bytes_per_call: int = 4 * 1024 * 1024 * 1024


# The answer to elicitation that accepts a form with the defaults of its fields.
ACCEPT_DEFAULTS = "accept-defaults"


class ClientSpec(Record):
    """The capabilities of the client, and its answers to requests of the server.

    `answers` has for each method either one body, used every time, or a list of them, used
    one after the other. A body is `{"result": …}`, `{"error": …}` or ACCEPT_DEFAULTS. `name` is
    what the client calls itself.
    """

    name: str = "mcptest"
    capabilities: dict[str, object] | None = None
    answers: dict[str, object] | None = None


class PluginSpec(Record):
    """A plugin: how it is started, and what declares it (`owner`)."""

    name: str
    command: tuple[str, ...]
    cwd: str = ""
    call_timeout_s: float = 5.0
    owner: str = ""


# How a client authenticates to an authorization server.
AUTH_METHODS = BASIC, POST, PRIVATE_KEY = (
    "client_secret_basic",
    "client_secret_post",
    "private_key_jwt",
)
# The client of a login may have no secret.
PUBLIC = "none"


class OAuthSpec(Record):
    """With which credentials a token is fetched, and where.

    Without `token_url`, the server says where. `issuer` is the authorization server that the
    credentials are for, `auth_method` how they are sent; both are found out if they are "".
    """

    client_id: str
    client_secret: str = ""
    private_key: str = ""
    token_url: str = ""
    issuer: str = ""
    auth_method: str = ""
    scope: str = ""
    resource: str = ""


class HttpSpec(Record):
    """A server on HTTP: its URL, the headers to send, and the certificates to trust.

    `transport` is Streamable HTTP, the older one of two endpoints ("sse"), or whichever of them
    the server has ("auto"). With `uses_login`, the tokens of `mcptest login` are sent.
    """

    url: str
    headers: dict[str, str] | None = None
    oauth: OAuthSpec | None = None
    uses_login: bool = False
    ca_file: str = ""
    insecure_tls: bool = False
    transport: str = "auto"


class ServerSpec(Record):
    """How to start or reach the server under test, and how long to wait for it.

    With `http` it is reached over HTTP, and `command`, if any, starts it. `spec_version` is the
    only revision to use, `protocol_version` the one to offer in a handshake. Unless it `is_named`,
    the name is that of its program or its address, and reports use what the server calls itself.
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
    # Whether a test fails that passes only because a name it calls does not exist.
    is_strict: bool = False
    plugins: tuple[PluginSpec, ...] = ()
    is_named: bool = True
    # Whether a suite describes it, whose keys are spelt otherwise than those of a config.
    is_of_suite: bool = False

    @property
    def start_limit(self) -> str:
        """The end of a hint about a server that is not ready in time."""
        in_suite = f'the limit is {START_OPTION}"startup_timeout" in the suite'
        return in_suite if self.is_of_suite else START_LIMIT

    @property
    def line_limit(self) -> str:
        """The end of a hint about a line that is too long."""
        key = (
            '"max_line_bytes" in the suite' if self.is_of_suite else '"maxLineBytes" in the config'
        )
        return f"{key} is the limit"


class Performance(Record):
    """Bounds on the time between a request and its answer."""

    max_response_s: float | None = None
    min_response_s: float | None = None


class Assertion(Record):
    """One assertion: the compiled `check` of the value at `steps`.

    `target` is the path as written, `message` the author's own explanation, `weight` its share
    if not all assertions must hold. `is_implied` marks the one that is added if nothing is
    written: the call must be complete.
    """

    target: str
    steps: tuple[str | int, ...]
    check: object
    message: str = ""
    weight: float = 1.0
    is_implied: bool = False


class Expectation(Record):
    """What must hold after a step. ABSENT and None mean that nothing is expected.

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
        """True if the response time matters."""
        return self.performance is not None or (
            bool(self.assertions) and self._asserts("duration_ms")
        )

    @property
    def wants_notifications(self) -> bool:
        """True if notifications of the server matter."""
        return bool(self.notifications) or (
            bool(self.assertions) and self._asserts("notifications")
        )

    def _asserts(self, what: str) -> bool:
        return any(each.steps[0] == what for each in self.assertions)


class SavedValue(Record):
    """A value of the answer that is saved for later tests of the same file."""

    name: str
    path: str
    steps: tuple[str | int, ...]


class Template(Record):
    """A step that uses values saved by earlier tests.

    `needs` are their names; `fill` makes the step of the values, or raises ValueError with a
    sentence.
    """

    needs: tuple[str, ...]
    fill: Callable[[Mapping[str, object]], Step]


class Step(Record):
    """One message to send, and its expectation. `id` is ABSENT in a notification.

    `label` names it if a case has several. `tool` is set if the structured output of that tool is
    checked against its schema. `at` is its line in the file, 0 for that of the case. With
    `keeps_id` the id is sent as written, even if the session has used it before.
    """

    line: bytes
    method: str
    expectation: Expectation
    id: object = ABSENT
    use: Use | None = None
    captures: tuple[SavedValue, ...] = ()
    template: Template | None = None
    label: str = ""
    tool: str = ""
    at: int = 0
    keeps_id: bool = False


class Case(Record):
    """One named test. `skip` is the reason for skipping it, None if it is run.

    It has steps, each a request and its answer, or a dialogue, or a `check` of the server's
    conformance. `teardown` is run whatever the result. With `not_run`, this version cannot run
    it, and `skip` says why. With `is_unlisted`, it calls a tool or prompt that the server does not
    list, on purpose. `lane` is set in lanes of a suite other than plain calls. `needs` are
    diagnostics only if the case is selected: unset variables. `scan` is set in the lane
    `security`. `row` is the place of its row, `FILE:LINE`, if it is one of several tests that
    `each` makes of one.
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
    is_unlisted: bool = False
    lane: str = ""
    needs: tuple[Diagnostic, ...] = ()
    scan: ScanWish | None = None
    row: str = ""


class Gates(Record):
    """The gates of a suite: percentages by kind of offer, milliseconds by measure."""

    coverage: dict[str, float] | None = None
    performance: dict[str, float] | None = None


class Suite(Record):
    """One file of cases, or those of its cases that use one server.

    `server` is set if the file declares its own, `needs` are the diagnostics about variables that
    it needs and that are unset. `gates` and `parallel` belong to the whole file; `home` is the
    suite file (`mcptest.yaml`) that it is in or that imports it, "" outside of suite files.
    `protocol_version` is the revision of its messages, if the file says it. `row_files` are the
    files of rows that its tests were made of.
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
    protocol_version: str = ""
    row_files: tuple[str, ...] = ()
