"""Keep one server running for the cases that share it, and replace it when it is spent."""

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
    from mcptest.rules.composition import Member

__all__ = ["Keeper"]

_ENDED = "the server had ended; a fresh one was started for this test"

# After so many deaths in a row without a passing test the server is given up.
_MAX_DEATHS = 3

# A server that leaves so many calls in a row without an answer is taken for stuck.
_MAX_UNANSWERED = 2


class Keeper:
    """Gives out a server that is ready; starts, replaces and stops it as needed."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher = launcher
        self._server: Server | None = None
        self._spec: ServerSpec | None = None
        self._deaths = 0
        # How many servers in a row were stuck, how many calls in a row the one at hand has not
        # answered, and how many it has answered too late.
        self._stuck = 0
        self._unanswered = 0
        self._late = 0
        self._given_up: Fault | None = None
        self._replaced = ""
        self._is_stateless = False
        self.has_started_one = False
        # What each server, by its name, was found to offer.
        self.inventories: dict[str, tuple[CoveredOffer, ...]] = {}
        self.findings: list[Finding] = []
        self.captures: list[SessionCapture] = []
        self.scores: list[tuple[SessionScore, Member]] = []
        # In which revisions each server was spoken to.
        self.server_revisions: dict[ServerRevision, None] = {}

    def server_for(self, spec: ServerSpec, step: Step | None) -> tuple[Server, str]:
        """A ready server, and a note when it is not the one from before."""
        if spec is not self._spec and spec != self._spec:
            self._turn_to(spec)
        elif self._server and self._server.has_begun:
            return self._server, ""
        if step and self._server and self._server.has_ended:
            raise ServerError(self._server.gone_unasked(step.method, step.id))
        return self._ready(spec, self._reason_to_replace(step), with_handshake=True)

    def server_for_dialogue(
        self, spec: ServerSpec, dialogue: Dialogue, hello: dict[str, object] | None
    ) -> tuple[Server, str]:
        """The same for a dialogue, which may do the handshake itself.

        Where we do it, `hello` are the params with which the file does.
        """
        if spec is not self._spec and spec != self._spec:
            self._turn_to(spec)
        if self._server and self._server.has_ended:
            raise ServerError(self._server.gone("before the case began", effect="definite"))
        if self._server and dialogue.opens_session and self._server.is_initialised:
            self.retire()
        note = _ENDED if self._server and not self._server.is_usable else ""
        ready, note = self._ready(spec, note, with_handshake=False)
        if dialogue.needs_session and not ready.is_initialised:
            self._open(ready, hello)
        return ready, note

    def _open(self, server: Server, hello: dict[str, object] | None) -> None:
        try:
            server.shake_hands(params=hello)
        except ServerError as error:
            raise self._refused(server, error) from None
        self.has_started_one = True

    def _turn_to(self, spec: ServerSpec) -> None:
        self.retire()
        self._spec, self._deaths, self._given_up, self._replaced = spec, 0, None, ""
        self._stuck = 0
        self._is_stateless = False

    def _ready(self, spec: ServerSpec, note: str, *, with_handshake: bool) -> tuple[Server, str]:
        if self._given_up:
            raise ServerError(self._given_up)
        if self._server is None or note:
            self.retire()
            self._start(spec, with_handshake=with_handshake)
            note, self._replaced = note or self._replaced, ""
        assert self._server is not None
        # Now, and not when the answer is waited for: that is the server's time.
        self._server.connection.catch_up()
        return self._server, note

    @property
    def is_running(self) -> bool:
        return self._server is not None

    @property
    def is_ready(self) -> bool:
        """Whether there is a server that can be asked now."""
        return self._server is not None and self._server.is_usable

    def replace(self, reason: str) -> None:
        """What comes next gets a fresh server, and is told the reason."""
        self.retire()
        self._replaced = self._replaced or f"a fresh server was started: {reason}"

    def send_ahead(self, step: Step) -> None:
        """Send the next step to the server that the last one passed on, if it can have it."""
        server = self._server
        if server and server.is_usable and not server.needs_fresh_process_for(step):
            server.send_ahead(step)

    def take_inventory(self, wanted: ServerSpec | None = None) -> None:
        """Find out what the server offers, unless that is known or it cannot be asked.

        Whoever wants one server is not given what another one offers.
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
        """What was said during the step at hand, when a log is kept."""
        return self._server.connection.log() if self._server else ()

    def _reason_to_replace(self, step: Step | None) -> str:
        server = self._server
        if server is None:
            return ""
        if not server.is_usable:
            return _ENDED
        if step and server.needs_fresh_process_for(step):
            return (
                "a fresh server was started: a late answer to an earlier message could be taken "
                "for the answer to this one"
            )
        return ""

    def _start(self, spec: ServerSpec, *, with_handshake: bool) -> None:
        try:
            server = Server(self._known(spec), self.launcher)
        except ServerError as error:
            self._given_up = error.fault
            raise
        self._server = server
        try:
            server.open(with_handshake=with_handshake)
        except ServerError as error:
            raise self._refused(server, error) from None
        self._is_stateless = server.is_stateless
        self.has_started_one = self.has_started_one or with_handshake

    def _known(self, spec: ServerSpec) -> ServerSpec:
        """The server with the era in which it was found to speak, so that it is asked once."""
        return spec.but(protocol_version=STATELESS) if self._is_stateless else spec

    def _refused(self, server: Server, error: ServerError) -> ServerError:
        """That no session could be opened; nobody tries again."""
        self.retire()
        fault = error.fault
        self._given_up = faults.unflushed(fault) if server.answered_at_the_end else fault
        return ServerError(self._given_up)

    def answered(self) -> None:
        """The server has answered something: it has been started, whatever comes."""
        self.has_started_one = True

    def passed(self) -> None:
        self._deaths = self._stuck = self._unanswered = 0

    def failed(self) -> None:
        """A test got an answer, if not the right one: the server is not stuck."""
        self._stuck = self._unanswered = 0

    def broke(self, fault: Fault) -> None:
        """A test ended in this fault: a server that cannot be trusted is not used again."""
        if self._given_up:
            return
        has_ended = fault.kind == "server_raised" and not self.is_ready
        if fault.kind in _SPENT or has_ended:
            self.retire(at_once=fault.kind in _DEAF)
            self._replaced = f"a fresh server was started: the test before ended in {fault.kind}"
        if self._is_stuck(fault):
            self._stuck += 1
            self.replace(f"the last one left {_MAX_UNANSWERED} calls in a row without an answer")
        elif self._server is None or not self._server.is_usable:
            self._deaths += 1
        if max(self._deaths, self._stuck) >= _MAX_DEATHS:
            self._given_up = fault.but(
                message=f"not run: the server failed {_MAX_DEATHS} times in a row, last: "
                + fault.message,
                effect="definite",
            )

    def _is_stuck(self, fault: Fault) -> bool:
        """One call may hang in a server that answers others; who is stuck answers none."""
        server = self._server
        if server is None or fault.kind != "timeout":
            self._unanswered = 0
            return False
        # Who answers too late answers all the same.
        is_silent = server.late_answers == self._late
        self._unanswered, self._late = (self._unanswered + 1) * is_silent, server.late_answers
        return self._unanswered >= _MAX_UNANSWERED

    def retire(self, *, at_once: bool = False) -> None:
        """Stop the server, if there is one, and keep what is known about it."""
        server, self._server = self._server, None
        self._unanswered = self._late = 0
        if server is None:
            return
        if server.is_initialised:
            self.server_revisions[_spoken_to(server)] = None
        server.close(at_once=at_once)
        self.findings += server.findings
        if capture := server.capture():
            self.captures.append(capture)
        scored = server.score()
        if scored:
            self.scores.append(scored)


def _spoken_to(server: Server) -> ServerRevision:
    http = server.spec.http
    # As it was given: where the port is chosen, that of each start is another one.
    revision = server.connection.session.revision.version
    return ServerRevision(server=server.spec.name, revision=revision, url=http.url if http else "")


# What a server is not used after: its stdout or stdin cannot be trusted any more.
_DEAF = frozenset(["line_too_long", "output_budget", "stdin_blocked"])
_SPENT = _DEAF | {
    *("exited_during_call", "exited_early", "connect_failed", "session_lost", "early_response")
}
