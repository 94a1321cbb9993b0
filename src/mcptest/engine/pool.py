"""Keep one server running for those who share it, and replace it when it is no longer usable.

Runs of tests, commands that ask one server and the coprocess all get their server here, so that the
same faults end its use everywhere.
"""

from __future__ import annotations

from mcptest.core.errors import ServerError
from mcptest.core.events import ServerRevision
from mcptest.core.results import Fault
from mcptest.engine import faults
from mcptest.engine.lists import take_inventory
from mcptest.engine.server import Server
from mcptest.protocol.revisions import STATELESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.core.coverage import CoveredOffer
    from mcptest.core.plan import ServerSpec, Step
    from mcptest.core.results import Finding, LogLine, LogWish, SessionScore
    from mcptest.engine.server import Launcher
    from mcptest.protocol.capture import SessionCapture
    from mcptest.protocol.dialogue import Dialogue
    from mcptest.rules.judge import Member

__all__ = ["FATAL_FAULTS", "ServerPool"]

# After these faults stdin or stdout cannot be used any more, and the server is stopped at once.
_PIPE_FAULTS = frozenset(["line_too_long", "output_budget", "stdin_blocked"])

# After these faults a server is not used again: it is not there, or cannot be trusted.
FATAL_FAULTS = _PIPE_FAULTS | {
    *("exited_during_call", "exited_early", "connect_failed", "session_lost", "early_response")
}

_ENDED = "the server had ended; a fresh one was started for this test"

# After this many failures in a row without a passing test no further server is started.
_MAX_FAILURES = 3

# A server that leaves this many calls in a row unanswered is stuck.
_MAX_UNANSWERED = 2


class ServerPool:
    """Hands out a server that is ready; starts, replaces and stops it as needed."""

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
        self._is_stateless = False
        self.has_started_one = False
        # By server name, what it offers.
        self.inventories: dict[str, tuple[CoveredOffer, ...]] = {}
        self.findings: list[Finding] = []
        self.captures: list[SessionCapture] = []
        self.scores: list[tuple[SessionScore, Member]] = []
        # The revisions in which each server was spoken to.
        self.server_revisions: dict[ServerRevision, None] = {}

    # Handing out

    def server_for(self, spec: ServerSpec, step: Step | None) -> tuple[Server, str]:
        """A ready server, and a note if it is not the one from before.

        Given a `step`, a server that has ended since the last one raises `ServerError`.
        """
        if spec is not self._spec and spec != self._spec:
            self._turn_to(spec)
        elif self._server and self._server.has_begun:
            return self._server, ""
        note, server = "", self._server
        if server:
            if step and server.has_ended:
                raise ServerError(server.exit_before_read_fault(step.method, step.id))
            if not server.is_usable:
                note = _ENDED
            elif step and server.needs_fresh_process_for(step):
                note = (
                    "a fresh server was started: a late answer to an earlier message could be "
                    "taken for the answer to this one"
                )
        return self._ready(spec, note, with_handshake=True)

    def server_for_dialogue(
        self, spec: ServerSpec, dialogue: Dialogue, hello: dict[str, object] | None
    ) -> tuple[Server, str]:
        """The same for a dialogue, which may do the handshake itself.

        If it does not, `hello` has the params for `initialize`.
        """
        if spec is not self._spec and spec != self._spec:
            self._turn_to(spec)
        if self._server and self._server.has_ended:
            raise ServerError(self._server.exit_fault("before the case began", effect="definite"))
        if self._server and dialogue.opens_session and self._server.is_initialised:
            self.retire()
        note = _ENDED if self._server and not self._server.is_usable else ""
        server, note = self._ready(spec, note, with_handshake=False)
        if dialogue.needs_session and not server.is_initialised:
            try:
                server.shake_hands(params=hello)
            except ServerError as error:
                raise self._give_up(server, error) from None
            self.has_started_one = True
        return server, note

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
            offers = take_inventory(server)
            if offers is not None:
                self.inventories[spec.name] = offers

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
        is_silent = server.late_answers == self._late
        self._unanswered, self._late = (self._unanswered + 1) * is_silent, server.late_answers
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

    def _turn_to(self, spec: ServerSpec) -> None:
        self.retire()
        self._spec, self._given_up, self._replaced = spec, None, ""
        self._deaths = self._stuck = 0
        self._is_stateless = False

    def _ready(self, spec: ServerSpec, note: str, *, with_handshake: bool) -> tuple[Server, str]:
        if self._given_up:
            raise ServerError(self._given_up)
        if self._server is None or note:
            self.retire()
            self._start(spec, with_handshake=with_handshake)
            note, self._replaced = note or self._replaced, ""
        assert self._server is not None
        # Judged now, not while an answer is awaited: that time is the server's.
        self._server.connection.catch_up()
        return self._server, note

    def _start(self, spec: ServerSpec, *, with_handshake: bool) -> None:
        # A server that was found to be stateless is not asked for a handshake again.
        spec = spec.but(protocol_version=STATELESS) if self._is_stateless else spec
        try:
            server = Server(spec, self.launcher)
        except ServerError as error:
            self._given_up = error.fault
            raise
        self._server = server
        try:
            server.open(with_handshake=with_handshake)
        except ServerError as error:
            raise self._give_up(server, error) from None
        self._is_stateless = server.is_stateless
        self.has_started_one = self.has_started_one or with_handshake

    def _give_up(self, server: Server, error: ServerError) -> ServerError:
        """No session could be opened: do not try again."""
        self.retire()
        fault = error.fault
        self._given_up = faults.add_flush_hint(fault) if server.answered_while_stopping else fault
        return ServerError(self._given_up)
