"""Keep one server running for those who share it, and replace it when it is no longer usable.

Runs of tests, commands that ask one server and the coprocess all get their server here, so that the
same faults end its use everywhere.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import time
from functools import partial
from itertools import count

from mcptest.core.coverage import KINDS, offers_in
from mcptest.core.errors import ServerError
from mcptest.core.events import ServerRevision
from mcptest.core.plan import Expectation, Step
from mcptest.core.results import FINDINGS, Fault
from mcptest.core.secrets import redact_all, redactor
from mcptest.core.value_class import Record
from mcptest.engine import faults
from mcptest.engine.server import Server
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.lists import ListPages
from mcptest.protocol.session import NotificationReceived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.core.coverage import CoveredOffer, Kind, OfferKind
    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Finding, LogLine, LogWish, SessionScore
    from mcptest.engine.server import Launcher
    from mcptest.protocol.capture import SessionCapture
    from mcptest.protocol.dialogue import Dialogue
    from mcptest.protocol.session import SessionEvent
    from mcptest.rules.scorer import SessionNames
    from mcptest.transport.http.probe import ProbeClient

    # Params of a page, time limit in seconds → the answer.
    AskTools = Callable[[dict[str, object], float], Any]
    Message = dict[str, Any]

__all__ = [
    "FATAL_FAULTS",
    "MAX_TOOL_PAGES",
    "EndlessError",
    "Inventory",
    "ServerPool",
    "SingleServer",
    "learn_tools",
    "list_pages",
    "read_tools",
]


# After these faults stdin or stdout cannot be used any more, and the server is stopped at once.
_PIPE_FAULTS = frozenset(["line_too_long", "output_budget", "stdin_blocked"])

# After these faults a server is not used again: it is not there, or cannot be trusted.
FATAL_FAULTS = _PIPE_FAULTS | {
    *("exited_during_call", "exited_early", "connect_failed", "session_lost", "early_response")
}

# After this many failures in a row without a passing test no further server is started.
_MAX_FAILURES = 3

# A server that leaves this many calls in a row unanswered is stuck.
_MAX_UNANSWERED = 2


class ServerPool:
    """Keeps one server, and hands it out ready; starts, replaces and stops it as needed."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher = launcher
        self._server: Server | None = None
        self._spec: ServerSpec | None = None
        # How many servers in a row have ended, and how many were stuck.
        self._deaths = 0
        self._stuck = 0
        # How many calls in a row the current one has not answered, and how many too late.
        self._unanswered = 0
        self._late = 0
        # The fault after which no further server is started.
        self._given_up: Fault | None = None
        # Why the last server was replaced: the note for the next user.
        self._replaced = ""
        # The revision without a handshake that the server was found to speak.
        self._stateless = ""
        self.has_started_one = False
        self._own_name = ""
        # The trace context of the current test, if it has one, and the trace of the last one.
        self._traceparent = ""
        self._last_trace = ""
        # By server name, what it offers; and what the current process has listed.
        self.inventories: dict[str, Inventory] = {}
        self._listed: Inventory | None = None
        # The files whose tests the last process has run.
        self.files_run: set[str] = set()
        self.findings: list[Finding] = []
        self.captures: list[SessionCapture] = []
        self.scores: list[tuple[SessionScore, SessionNames]] = []
        # The revisions in which each server was spoken to.
        self.server_revisions: dict[ServerRevision, None] = {}

    # Handing out

    def server_for(self, spec: ServerSpec, step: Step | None) -> tuple[Server, str]:
        """A ready server, and a note if it is not the one from before.

        Given a `step`, a server that has ended since the last step raises `ServerError`.
        """
        if spec is not self._spec and spec != self._spec:
            self._turn_to(spec)
        elif self._server and self._server.has_sent_ahead:
            return self._server, ""
        if self._server and step:
            if self._server.has_ended:
                raise ServerError(self._server.exit_before_read_fault(step.method, step.id))
            if self._server.is_usable and self._server.needs_fresh_process_for(step):
                self.replace(
                    "a late answer to an earlier message could be taken for the answer to this one"
                )
        server, note = self._prepare_server(spec, with_handshake=True)
        server.connection.traceparent = self._traceparent
        return server, note

    def server_for_dialogue(
        self, spec: ServerSpec, dialogue: Dialogue, hello: dict[str, object] | None
    ) -> tuple[Server, str]:
        """`server_for` for a dialogue, which may do the handshake itself.

        If it does not, `hello` has the params for `initialize`.
        """
        if spec is not self._spec and spec != self._spec:
            self._turn_to(spec)
        if self._server and self._server.has_ended:
            raise ServerError(self._server.exit_fault("before the case began", effect="definite"))
        if self._server and dialogue.opens_session and self._server.is_initialised:
            self.retire()
        server, note = self._prepare_server(spec, with_handshake=False)
        if dialogue.needs_session and not server.is_initialised:
            try:
                server.shake_hands(params=hello)
            except ServerError as error:
                raise self._give_up(server, error) from None
            self.has_started_one = True
        # Not for the handshake, which belongs to no test.
        server.connection.traceparent = self._traceparent
        return server, note

    def own_name_of(self, spec: ServerSpec) -> str:
        """What this server calls itself; "" if that is not known, or another one is in use."""
        if spec != self._spec:
            return ""
        return (self._server.own_name if self._server else "") or self._own_name

    @property
    def is_running(self) -> bool:
        return self._server is not None

    @property
    def is_ready(self) -> bool:
        """Whether there is a server that can be asked now."""
        return self._server is not None and self._server.is_usable

    def send_ahead(self, step: Step) -> None:
        """Send the next step to the server that passed the last one, if it can have it."""
        server = self._server
        if server and server.is_usable and not server.needs_fresh_process_for(step):
            self._last_trace = server.connection.trace_id
            server.connection.start_test()
            if self.launcher.traces:
                server.connection.traceparent = self._begin_trace()
            server.send_ahead(step)

    def take_inventory(self, wanted: ServerSpec | None = None) -> None:
        """Find out what the server offers, unless that is known or it cannot be asked.

        With `wanted`, only if it is the server that is running.
        """
        server, spec = self._server, self._spec
        if server is None or spec is None or spec.name in self.inventories:
            return
        if wanted is not None and wanted is not spec and wanted != spec:
            return
        if server.is_usable and server.is_initialised and not server.is_silent:
            self._listed = self._listed or _read_inventory(server)
            if self._listed is not None:
                self.inventories[spec.name] = self._listed

    def start_test(self) -> None:
        """Another test begins, unless its first step has been sent ahead."""
        self._last_trace = ""
        if self._server and self._server.has_sent_ahead:
            return
        if self._server:
            self._server.connection.start_test()
        if self.launcher.traces:
            self._begin_trace()

    def _begin_trace(self) -> str:
        """The trace context of another test."""
        # Sampled, so that the server's telemetry keeps it.
        self._traceparent = f"00-{os.urandom(16).hex()}-{os.urandom(8).hex()}-01"
        return self._traceparent

    def trace_id(self) -> str:
        """The trace of the last request of the test; "" if there is none."""
        server = self._server
        if server is None or server.has_sent_ahead:
            return self._last_trace
        return server.connection.trace_id or self._last_trace

    def stderr_of_test(self) -> str:
        """What the server has written to stderr since the test began."""
        return self._server.connection.stderr_of_test() if self._server else ""

    @property
    def keeps_log(self) -> LogWish:
        return self.launcher.keeps_log

    def log(self) -> tuple[LogLine, ...]:
        """The messages of the current step, if a log is kept."""
        return self._server.connection.log() if self._server else ()

    # What became of it

    def record_answer(self) -> None:
        """The server has answered something, so it has been started."""
        self.has_started_one = True

    def record_pass(self) -> None:
        self._deaths = self._stuck = self._unanswered = 0

    def record_failure(self) -> None:
        """A test got an answer, if not the right one: the server is not stuck."""
        self._stuck = self._unanswered = 0

    def record_fault(self, fault: Fault) -> None:
        """A test ended in this fault: decide whether the server is used again."""
        if self._given_up:
            return
        has_ended = fault.kind == "server_raised" and not self.is_ready
        if fault.kind in FATAL_FAULTS or has_ended:
            self.retire(at_once=fault.kind in _PIPE_FAULTS)
            self._replaced = f"a fresh server was started: the test before ended in {fault.kind}"
        if self._is_stuck(fault):
            self._stuck += 1
            self.replace(f"the last one left {_MAX_UNANSWERED} calls in a row without an answer")
        elif self._server is None or not self._server.is_usable:
            self._deaths += 1
        if max(self._deaths, self._stuck) >= _MAX_FAILURES:
            self._given_up = fault.but(
                message=f"not run: the server failed {_MAX_FAILURES} times in a row, last: "
                + fault.message,
                effect="definite",
            )

    def _is_stuck(self, fault: Fault) -> bool:
        """A call may hang in a server that answers others; one that is stuck answers none."""
        server = self._server
        if server is None or fault.kind != "timeout":
            self._unanswered = 0
            return False
        # A late answer is an answer, too.
        if server.late_answers == self._late:
            self._unanswered += 1
        else:
            self._unanswered, self._late = 0, server.late_answers
        return self._unanswered >= _MAX_UNANSWERED

    # Starting and stopping

    def replace(self, reason: str) -> None:
        """Stop the server; the next user gets a fresh one, with the reason as a note."""
        self.retire()
        self._replaced = self._replaced or f"a fresh server was started: {reason}"

    def retire(self, *, at_once: bool = False) -> None:
        """Stop the server, if there is one, and keep what is known about it."""
        server, self._server = self._server, None
        self._unanswered = self._late = 0
        if server is None:
            return
        self._own_name = server.own_name or self._own_name
        self._last_trace = server.connection.trace_id or self._last_trace
        if server.is_initialised:
            http = server.spec.http
            revision = server.connection.session.revision.version
            # The URL as configured: a port that is chosen differs from start to start.
            url = http.url if http else ""
            self.server_revisions[
                ServerRevision(server=server.spec.name, revision=revision, url=url)
            ] = None
        server.close(at_once=at_once)
        self.findings += server.findings
        if capture := server.capture():
            self.captures.append(capture)
        if scored := server.score():
            self.scores.append(scored)

    def end_file(self) -> None:
        """Stop the server, which may have failed already: the next file has its own."""
        self.retire()
        self.restore_failures((0, 0))
        self._replaced = ""

    @property
    def failures(self) -> tuple[int, int]:
        """How many servers in a row have ended, and how many were stuck."""
        return self._deaths, self._stuck

    def restore_failures(self, earlier: tuple[int, int]) -> None:
        """Count as before: the attempts of one test count once."""
        if max(self.failures) >= _MAX_FAILURES:
            self._given_up = None
        self._deaths, self._stuck = earlier

    def _turn_to(self, spec: ServerSpec) -> None:
        self.retire()
        self._spec, self._given_up, self._replaced = spec, None, ""
        self._own_name = ""
        self._deaths = self._stuck = 0
        self._stateless = ""

    def _prepare_server(self, spec: ServerSpec, *, with_handshake: bool) -> tuple[Server, str]:
        """The running server, or a fresh one with a note why."""
        if self._given_up:
            raise ServerError(self._given_up)
        note = ""
        if self._server and not self._server.is_usable:
            self.retire()
            self._replaced = "the server had ended; a fresh one was started for this test"
        if self._server is None:
            # A server that was found to be stateless is not asked for a handshake again.
            spec = spec.but(protocol_version=self._stateless) if self._stateless else spec
            try:
                server = Server(spec, self.launcher)
            except ServerError as error:
                self._given_up = error.fault
                raise
            self._server, self._listed, self.files_run = server, None, set()
            try:
                server.open(with_handshake=with_handshake)
            except ServerError as error:
                raise self._give_up(server, error) from None
            self._stateless = server.stateless_revision
            self.has_started_one = self.has_started_one or with_handshake
            note, self._replaced = self._replaced, ""
        assert self._server is not None
        # Check rules now, so that it does not count as response time of the server.
        self._server.connection.recording.catch_up()
        return self._server, note

    def _give_up(self, server: Server, error: ServerError) -> ServerError:
        """No session could be opened: do not try again."""
        self.retire()
        fault = error.fault
        if server.answered_when_stdin_closed:
            fault = faults.add_flush_hint(fault, server.spec)
        self._given_up = fault
        return ServerError(self._given_up)


# Read the lists of a server: for coverage, and its tools for suites.
#
# For coverage, the lists are read once the tests are done (`take_inventory`). No test asked for
# them, so a fault there fails no test: the coverage of that server stays unknown.


# How long all lists together may take, and how much of them is read.
_PATIENCE_S = 5.0
_MAX_PAGES = 100
_MAX_OFFERS = 20_000


class Inventory(Record):
    """What a server offers. `whole` are the kinds whose lists were read to their ends."""

    offers: tuple[CoveredOffer, ...] = ()
    whole: frozenset[OfferKind] = frozenset()


def _read_inventory(server: Server) -> Inventory | None:
    """Everything the server offers; None when a list does not end, or not in time."""
    offers: dict[tuple[str, str], CoveredOffer] = {}
    whole: set[OfferKind] = set()
    declared = server.capabilities
    deadline = time.monotonic() + _PATIENCE_S
    try:
        for kind in KINDS.values():
            if isinstance(declared, dict) and kind.capability in declared:
                pages = ListPages(kind.method, kind.name, max_pages=_MAX_PAGES)
                for entries in list_pages(server, kind, deadline, pages):
                    offers |= {
                        (kind.unit, each.name): each for each in offers_in(kind.unit, entries)
                    }
                    if len(offers) > _MAX_OFFERS:
                        return None
                whole |= set() if pages.problem else {kind.unit}
    except ServerError as error:
        # What the server did wrong is reported, but not that it did not answer us.
        if error.fault.kind in FINDINGS:
            server.findings.add(error.fault.kind, error.fault.message)
        return None
    except EndlessError:
        return None
    return Inventory(offers=tuple(offers.values()), whole=frozenset(whole))


class EndlessError(Exception):
    """A list that does not end in time."""


def list_pages(
    server: Server, kind: Kind, deadline: float, pages: ListPages | None = None
) -> Iterator[list[object]]:
    """The entries of each page of a list; none if the server does not know the method."""
    pages = pages or ListPages(kind.method, kind.name, max_pages=_MAX_PAGES)
    while (params := pages.next_params(left_s := deadline - time.monotonic())) is not None:
        yield pages.add(server.ask(kind.method, params, left_s))
    if pages.problem and pages.problem.kind in ("circle", "endless", "timeout"):
        raise EndlessError


# The list of tools, read for a test: it is part of the session, of captures and of what rules see.

MAX_TOOL_PAGES = 100

# The limit where no test asked for the list.
_MAX_LEARNED_PAGES = 20

_KIND = KINDS["tools"]

# A list may be read again, and each request of a session needs an id of its own.
_numbers = count(1)


class ToolList(Record):
    """The tools that were read; `gap` says why there may be more, "" when there are not."""

    entries: tuple[dict[str, Any], ...] = ()
    gap: str = ""


def read_tools(server: Server) -> ToolList:
    """Every tool that the server lists; not asked for if the server does not declare tools."""
    if not _declares_tools(server.capabilities):
        return ToolList(gap=f"the server does not declare {_KIND.capability}")
    entries: list[dict[str, Any]] = []

    def ask(params: dict[str, object], limit_s: float) -> Any:
        id = f"mcptest-tools-{next(_numbers)}"
        line = encode_line(jsonrpc.request(id, _KIND.method, params))
        step = Step(line=line, method=_KIND.method, expectation=Expectation(), id=id)
        return server.perform(step, limit_s).message

    try:
        gap = _read_pages(ask, entries, _PATIENCE_S, MAX_TOOL_PAGES)
    except ServerError as error:
        gap = error.fault.message
        kind = error.fault.kind if server.is_usable else "unclean_end"
        if kind in FINDINGS:
            server.findings.add(kind, gap)
    return ToolList(entries=tuple(entries), gap=gap)


def learn_tools(server: Server, deadline: float) -> None:
    """List the tools: over HTTP, their schemas decide which headers later calls have.

    The list is part of opening the session, and shares its deadline.
    """
    if _declares_tools(server.capabilities):
        # A test that needs the tools runs into the same fault and reports it.
        with contextlib.suppress(ServerError):
            ask = partial(server.ask, _KIND.method)
            _read_pages(ask, [], deadline - time.monotonic(), _MAX_LEARNED_PAGES)


def _declares_tools(capabilities: object) -> bool:
    return isinstance(capabilities, dict) and _KIND.capability in capabilities


def _read_pages(
    ask: AskTools, entries: list[dict[str, Any]], patience_s: float, max_pages: int
) -> str:
    """Add the entries of all pages; why some are missing, "" when none are."""
    deadline = time.monotonic() + patience_s
    pages = ListPages(_KIND.method, _KIND.name, limit_s=patience_s, max_pages=max_pages)
    while (params := pages.next_params(left_s := deadline - time.monotonic())) is not None:
        entries += [each for each in pages.add(ask(params, left_s)) if isinstance(each, dict)]
    return pages.problem.message if pages.problem else ""


# One server for a command that asks it something; everything returned is free of secrets.


_OWN_ID = r' \(id "mcptest-\d+"\)'


# The shortest wait for an answer.
_LEAST_S = 0.001


class SingleServer:
    """A session with one server.

    `after_waiting` is called after each wait for the server, to remove a progress line.
    """

    def __init__(
        self, spec: ServerSpec, launcher: Launcher, after_waiting: Callable[[], None]
    ) -> None:
        self.spec = spec
        # No answer is awaited after this moment (of the monotonic clock).
        self.deadline = math.inf
        self._pool = ServerPool(launcher)
        self._after_waiting = after_waiting
        self._server: Server | None = None
        self._redact = redactor(spec.secrets)
        self._handshake: Message = {}
        # Whether the server uses the revision without a handshake.
        self.stateless_revision = ""
        # What earlier processes of the server wrote to stderr.
        self._earlier_stderr = ""
        # Gets every notification of the server, without secrets.
        self.on_notification: Callable[[Message], None] | None = None

    def open(self) -> None:
        """Start the server and shake hands; ServerError when that is impossible."""
        try:
            server, _ = self._pool.server_for(self.spec, None)
        finally:
            self._after_waiting()
        self._server = server
        if self.on_notification:
            server.connection.inbox.listener = self._listen
        self._handshake = self.redact(server.handshake)
        self.stateless_revision = server.stateless_revision

    def _listen(self, event: SessionEvent) -> bool:
        if isinstance(event, NotificationReceived) and self.on_notification:
            self.on_notification(self.redact(event.message))
        return False

    def probe_client(self) -> ProbeClient | None:
        """Sends single requests to the same server over HTTP; None if it is not on HTTP."""
        # Sockets, which most commands do not need.
        from mcptest.transport.http.probe import ProbeClient  # noqa: PLC0415
        from mcptest.transport.http.transport import HttpTransport  # noqa: PLC0415

        wire = self._server.connection.wire if self._server else None
        if not isinstance(wire, HttpTransport):
            return None
        return ProbeClient(wire.http, wire.interrupts, wire.process)

    def credential_headers(self) -> dict[str, str]:
        """The headers of the user that requests over HTTP carry now, with the current token."""
        wire = self._server.connection.wire if self._server else None
        credentials = getattr(wire, "credentials", None)
        return dict(credentials.headers()) if credentials else {}

    @property
    def sends_param_headers(self) -> bool:
        """Whether headers repeat arguments of tools: over HTTP, without a handshake."""
        return self.spec.http is not None and bool(self.stateless_revision)

    @property
    def capabilities(self) -> Message:
        """The capabilities that the server declared in the handshake."""
        found = self._handshake.get("capabilities")
        return found if isinstance(found, dict) else {}

    @property
    def server_info(self) -> Message:
        """The server's name and version, as far as it declared them."""
        found = self._handshake.get("serverInfo")
        return found if isinstance(found, dict) else {}

    @property
    def protocol_version(self) -> str:
        return str(self._handshake.get("protocolVersion", ""))

    @property
    def instructions(self) -> str:
        """The instructions that the server gives to its clients."""
        found = self._handshake.get("instructions")
        return found if isinstance(found, str) else ""

    def ask(self, method: str, params: dict[str, object]) -> Message:
        """The whole answer to a request; ServerError when there is none."""
        assert self._server is not None, "the server has not been opened"
        left_s = max(_LEAST_S, self.deadline - time.monotonic())
        try:
            answer: Message = self._server.ask(method, params, min(self.spec.timeout_s, left_s))
        finally:
            self._after_waiting()
        cleaned: Message = self.redact(answer)
        return cleaned

    @property
    def unfinished(self) -> str:
        """Why the last answer did not complete the request; "" when it did."""
        return self.redact(self._server.unfinished) if self._server else ""

    def attempt(self, method: str, params: dict[str, object]) -> Message | str:
        """The whole answer, or a sentence that says why there is none.

        Starts a fresh server if the last one has ended or left a request unanswered.
        """
        try:
            if self._server is None or not self._server.is_usable:
                self.close()
                self.open()
            return self.ask(method, params)
        except ServerError as error:
            # It may be stuck, or answer late.
            self.close()
            # The ids of our own requests mean nothing to the user.
            message = re.sub(_OWN_ID, "", self.redact(error.fault.message))
            return f"{error.fault.kind}: {message}"

    def redact(self, value: Any) -> Any:
        """The value without the secrets that the server was given."""
        return redact_all(value, self._redact)

    @property
    def stderr(self) -> str:
        """What the server has written to stderr, as far as it was kept."""
        current = self._server.connection.stderr_since(0) if self._server else ""
        text: str = self.redact(self._earlier_stderr + current)
        return text

    def close(self) -> None:
        """Stop the server, if it runs."""
        server, self._server = self._server, None
        self._pool.retire()
        if server:
            self._earlier_stderr += server.connection.stderr_since(0)
