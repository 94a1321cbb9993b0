"""One running server and the session with it: open, perform steps, close.

A fault that breaks the current step is raised as a `ServerError`; what breaks a rule without
breaking the step becomes a finding.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager
from itertools import count

from mcptest.core.errors import InterruptedRunError, PatternTimeoutError, ServerError
from mcptest.core.plan import Expectation, Step
from mcptest.core.results import Fault
from mcptest.core.strict_json import parse_json
from mcptest.core.text import excerpt, visible
from mcptest.core.value_class import ABSENT, Record
from mcptest.engine import faults
from mcptest.engine.connection import Connection, Waiting
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.revisions import (
    META_SERVER_INFO,
    NEWEST_STATELESS,
    choose_stateless,
    discovery_fault,
    handshake_fault,
    handshake_gaps,
    is_server_failure,
    pinned_fault,
)
from mcptest.transport import IS_WINDOWS
from mcptest.transport.process.child import Guardian, NoGuardian, NoInterrupts
from mcptest.transport.process.signals import CpuLimit
from mcptest.transport.process.stopping import Grace, Stopped, describe_exit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mcptest.core.plan import ServerSpec
    from mcptest.core.results import Effect, LogWish, Mismatch, SessionScore
    from mcptest.engine.connection import Place
    from mcptest.plugins.host import PluginManager
    from mcptest.protocol.capture import SessionCapture
    from mcptest.protocol.session import Message
    from mcptest.rules.scorer import SessionNames
    from mcptest.transport.memory.server import MemoryTarget
    from mcptest.transport.process.signals import Interrupts

    ActiveChecks = Callable[
        [ServerSpec, "Launcher", str], tuple[tuple[Mismatch, ...], tuple[str, ...]]
    ]

__all__ = ["Launcher", "Reply", "Server", "create_launcher", "launching", "make_bare_launcher"]


# How long a server may go on running after its stdout has ended.
_EXIT_AFTER_EOF_S = 0.5

# How soon a server ends that has only waited for the end of its stdin.
_AT_ONCE_S = 0.2

_MAX_NAME_CHARS = 100


class Server:
    """A server under test, from spawn to its end."""

    def __init__(self, spec: ServerSpec, launcher: Launcher) -> None:
        self.launcher = launcher
        self._connect(spec)
        self._is_end_reported = False
        self._silent_since = ""
        # How many late answers there were at the last timeout.
        self._late = 0
        # When the next step's request was sent, if that is under way already.
        self._sent_ahead_at: float | None = None
        # The result of initialize.
        self.handshake: dict[str, Any] = {}
        # For the requests that no test sends, and whether one of them is performed.
        self._new_ids = map("mcptest-{}".format, count(1))
        self._is_asking = False
        # The place of the request whose answer is awaited.
        self._request_place = (0, 0)
        # Why the last answer to `ask` did not complete the request.
        self.unfinished = ""

    def _connect(self, spec: ServerSpec) -> None:
        self.connection = connection = Connection(spec, self.launcher)
        self.spec = spec
        self.is_open = False
        self.stopped: Stopped | None = None
        self.answered_when_stdin_closed = False
        self.findings = connection.findings
        self._session, self._wire = connection.session, connection.wire
        self._inbox = connection.inbox
        self._waiting = Waiting(connection)

    # Opening

    def open(self, *, with_handshake: bool = True) -> None:
        """Wait until the server is ready, and do the handshake unless the tests do it."""
        deadline = time.monotonic() + self.spec.startup_timeout_s
        _await_ready(self, deadline)
        if with_handshake:
            self.shake_hands(deadline)
        self.is_open = True

    def shake_hands(self, deadline: float | None = None, params: Message | None = None) -> None:
        """Open the session, as every client must before anything else."""
        deadline = deadline or time.monotonic() + self.spec.startup_timeout_s
        self.handshake = _open_session(self, deadline, params)

    def restart(self, spec: ServerSpec) -> None:
        """Stop this process and start a fresh one."""
        self.close()
        self._connect(spec)

    def ask_first(self, request: Message, deadline: float) -> Any:
        """The answer to the first request of a session."""
        method, id = request["method"], request["id"]
        self.connection.poll()
        line = self.connection.open_request(encode_line(request), id)
        self._inbox.expect(id)
        self._request_place = self.connection.send(line)
        limit_s = self.spec.startup_timeout_s
        self._waiting.begin(limit_s)
        return self._wait_for_answer(method, id, deadline, limit_s)

    # Steps

    def needs_fresh_process_for(self, step: Step) -> bool:
        """Whether a late answer to an abandoned call could be taken for the answer to this step."""
        if step.id is ABSENT:
            return False
        if self._session.may_be_refused and jsonrpc.is_illegal(parse_json(step.line.decode())):
            return True
        keeps_id = step.keeps_id or not jsonrpc.can_replace_id(step.id)
        return keeps_id and self._session.is_owed(step.id)

    def perform(self, step: Step, timeout_s: float) -> Reply:
        """Send the step's message and wait for everything that it expects."""
        began, self._sent_ahead_at = self._sent_ahead_at, None
        # Only calls are sent ahead.
        is_call = began is not None or _awaits_answer(step)
        # The time starts now, also for a message that was sent ahead.
        waiting = self._waiting
        deadline = waiting.begin(timeout_s, is_timed=step.expectation.is_timed)
        if began is None:
            began = self._begin(step, is_call=is_call)
        answer: Any = ABSENT
        if is_call:
            answer = self._wait_for_answer(step.method, step.id, deadline, timeout_s)
            elapsed_s = waiting.elapsed_s(began)
        else:
            self.wait_until_accepted()
            elapsed_s = time.monotonic() - began
        if not is_call or not self._wire.is_pipe:
            # Read what is on stderr by now, and notice an exit. On pipes, the read that found the
            # answer has read stderr as well.
            self.connection.poll()
        exit_code = None
        if step.expectation.exit_code is not None:
            exit_code = self._wait_for_exit(deadline)
            self._session.abandon(step.id)
        elif not is_call:
            # There is no answer that would show that the server is still there.
            if self.connection.is_lost:
                raise ServerError(self.exit_fault(f"while {visible(step.method)} was handed over"))
            if self._wire.has_closed_stdin:
                raise ServerError(faults.closed_stdin_fault(step.method, self._wire))
        connection = self.connection
        return Reply.made_of(
            {
                "message": answer,
                "elapsed_s": elapsed_s,
                "stderr": connection.stderr_since(connection.stderr_mark),
                "stderr_mark": connection.stderr_mark,
                "size": connection.size,
                "exit_code": exit_code,
                "notifications": tuple(self._inbox.notifications),
                "unfinished": self._session.unfinished(step.id),
            }
        )

    def ask(self, method: str, params: object = ABSENT, timeout_s: float | None = None) -> Any:
        """Send a request that no capture contains; the whole answer, which may be an error."""
        has_seen = self._session.ids.has_seen
        id = next(id for id in self._new_ids if not has_seen(jsonrpc.id_key(id)))
        line = encode_line(jsonrpc.request(id, method, params))
        step = Step(line=line, method=method, expectation=Expectation(), id=id)
        self._is_asking = True
        self.connection.recording.private_ids.add(id)
        try:
            reply = self.perform(step, timeout_s or self.spec.timeout_s)
            self.unfinished = reply.unfinished
            return reply.message
        finally:
            self._is_asking = False

    def send_ahead(self, step: Step) -> None:
        """Send the next step's request while the last result is still being reported.

        The server answers meanwhile. Only requests are sent for which that makes no difference.
        """
        if not _awaits_answer(step) or self._inbox.is_broken or self.connection.recording.is_behind:
            return
        try:
            self._sent_ahead_at = self._begin(step, is_call=True)
        except ServerError as error:
            # The next step raises it.
            self._inbox.break_off(error.fault)
        except InterruptedRunError:
            # The next wait raises it again, after this result has been reported.
            return

    @property
    def has_sent_ahead(self) -> bool:
        """Whether the next step is under way already."""
        return self._sent_ahead_at is not None

    def _begin(self, step: Step, *, is_call: bool) -> float:
        """Send the step's message; when that began."""
        # What has arrived by now belongs to the step before.
        if self._wire.has_news:
            self.connection.poll()
        began = time.monotonic()
        self.connection.start_step()
        if step.id is ABSENT:
            line = self._session.prepare_notification(step.line)
        else:
            line = self.connection.open_request(step.line, step.id, keeps_id=step.keeps_id)
        if is_call:
            self._inbox.expect(step.id)
        self._request_place = self.connection.send(line, is_private=self._is_asking)
        if step.expectation.wants_notifications:
            self._inbox.keep_notifications()
        return began

    def wait_until_accepted(self) -> None:
        """Wait a moment until a message without an answer is read; over HTTP it can be rejected."""
        self._wire.wait_until_read()
        if not self._wire.is_pipe:
            self.connection.poll()
            self.connection.raise_broken()

    def wait_for_stderr(self, deadline: float) -> bool:
        return self._wire.wait_for_stderr(deadline)

    def wait_for_notification(self, deadline: float) -> bool:
        """Wait for another notification; False at the deadline or when none can arrive."""
        before = len(self._inbox.notifications)
        while len(self._inbox.notifications) == before:
            if not self.is_usable or time.monotonic() >= deadline:
                return False
            self.connection.take(self.connection.receive(deadline))
        return True

    def listen(self, deadline: float, is_enough: Callable[[], object]) -> None:
        """Take what arrives until it is enough, the time is up, or nothing more can arrive."""
        self.connection.poll()
        self.connection.start_step()
        while not is_enough() and self.is_usable and time.monotonic() < deadline:
            self.connection.take(self.connection.receive(deadline))

    @property
    def notifications(self) -> tuple[Any, ...]:
        """Those that arrived since the step began, if it looks at them."""
        return tuple(self._inbox.notifications)

    @property
    def capabilities(self) -> object:
        """The capabilities that the server declared."""
        return self._session.capabilities

    @property
    def stateless_revision(self) -> str:
        """The revision of a session without a handshake; "" if it has one."""
        return self._session.revision.version if self._session.revision.is_stateless else ""

    @property
    def own_name(self) -> str:
        """What the server calls itself, in a form that can be shown; "" if it has not said."""
        info = self.handshake.get("serverInfo") or self._session.server_info
        name = info.get("name") if isinstance(info, dict) else None
        return excerpt(name.strip(), _MAX_NAME_CHARS) if isinstance(name, str) else ""

    @property
    def is_initialised(self) -> bool:
        """Whether a handshake, ours or a test's, has been completed."""
        return self._session.state == "operational"

    @property
    def late_answers(self) -> int:
        """How many calls were answered after their timeout."""
        return self.findings.count("late_response")

    @property
    def is_silent(self) -> bool:
        """Whether its last call was never answered."""
        return bool(self._silent_since)

    @property
    def is_usable(self) -> bool:
        return self.is_open and not self.connection.is_lost

    @property
    def has_ended(self) -> bool:
        """Whether it has exited by itself, and no test has reported that."""
        return self.stopped is None and self.connection.is_lost

    def _wait_for_exit(self, deadline: float) -> int | None:
        while not self._wire.has_exited and time.monotonic() < deadline:
            if self._wire.is_closed:
                self._wire.wait_for_exit(deadline, heed_interrupts=True)
            else:
                self.connection.take(self._wire.receive(deadline))
        if not self._wire.has_exited:
            return None
        self._is_end_reported = True
        return self.close().exit_code

    # One call

    def _wait_for_answer(self, method: str, id: object, deadline: float, limit_s: float) -> Any:
        try:
            while self._inbox.answer is ABSENT:
                is_time_left = self._waiting.take(deadline)
                if self._inbox.answer is not ABSENT:
                    break
                if self._wire.is_closed:
                    raise ServerError(
                        self.exit_before_answer_fault(method, id, self._request_place)
                    )
                if not is_time_left:
                    raise ServerError(self.timeout_fault(method, id, limit_s))
        finally:
            self._inbox.stop_expecting()
        if not self._wire.has_read_all:
            self.raise_if_unread(method, id, self._request_place)
        self._silent_since = ""
        return self._inbox.answer

    def raise_if_unread(self, method: str, id: object, place: Place) -> None:
        """Raise if the request that was answered has not been read."""
        if not self._wire.is_pipe:
            return
        begin, end = place
        sent, unsent = self._wire.sent_bytes, self._wire.unsent_bytes
        if unsent > sent - end:
            raise ServerError(
                faults.partly_read_fault(method, id, self._wire, unsent - (sent - end))
            )
        if self._wire.unread_bytes >= sent - begin:
            raise ServerError(faults.unread_request_fault(method, id, self._wire))

    def exit_before_answer_fault(self, method: str, id: object, place: Place) -> Fault:
        """The server has exited, and this call has no answer."""
        wire = self._wire
        if self.is_open and wire.is_pipe and wire.unread_bytes >= wire.sent_bytes - place[0]:
            return self.exit_before_read_fault(method, id)
        return self.exit_fault(
            f"while {faults.describe_call(method, id)} was waiting for its answer"
        )

    def exit_before_read_fault(self, method: str, id: object) -> Fault:
        """The server has exited by itself before it read a call."""
        when = f"before it read {visible(method)}"
        if self._wire.stdout_tail.total:
            when = f"after its last answer, before it read {faults.describe_call(method, id)}"
        return self.exit_fault(when, effect="definite")

    # Faults

    def exit_fault(self, when: str, *, effect: Effect | None = None) -> Fault:
        """The server has exited, or closed its stdout, when it should not."""
        self._wire.wait_for_exit(time.monotonic() + _EXIT_AFTER_EOF_S)
        has_exited, was_open = self._wire.has_exited, self.is_open
        # The test reports it, unless it happened in a request of our own.
        self._is_end_reported = not self._is_asking
        stopped = self.close()
        fault = faults.exit_fault(
            self._wire, when, stopped if has_exited else None, self._inbox.hints, was_open
        )
        return fault.but(effect=effect) if effect else fault

    def timeout_fault(self, method: str, id: object, limit_s: float) -> Fault:
        """A call was not answered in time; it is abandoned and cancelled."""
        hints = self._inbox.hints or faults.describe_other_messages(self._inbox.messages)
        fault = faults.timeout_fault(self._wire, method, id, limit_s, hints)
        if self.late_answers > self._late:
            self._late, self._silent_since = self.late_answers, ""
        fault = faults.add_silence_hint(fault, self._silent_since)
        self._silent_since = self._silent_since or faults.describe_call(method, id)
        self._session.abandon(id)
        if method not in ("initialize", "server/discover"):
            self._cancel(id, "timed out")
        return fault

    def give_up(self, step: Step) -> None:
        """Abandon and cancel the request of this step, which is interrupted."""
        if self.is_usable and step.id is not ABSENT:
            self._inbox.forgive(step.id)
            self._session.abandon(step.id)
            self._cancel(step.id, "interrupted")

    def _cancel(self, id: object, reason: str) -> None:
        id = self._session.wire_id(id)
        if self._session.revision.is_stateless and self._wire.give_up(id):
            # Over HTTP, closing the stream cancels the request.
            return
        params = {"requestId": id, "reason": reason}
        line = encode_line(jsonrpc.notification("notifications/cancelled", params))
        # As private as the request that it cancels.
        self.connection.send(line, is_private=self._is_asking)

    # Ending

    def close(self, *, at_once: bool = False) -> Stopped:
        """Stop the server, once; later calls return how that went."""
        if self.stopped is None:
            self.connection.take_last(self._wire.receive(0.0, heed_interrupts=False))
            self.stopped = self._wire.end(self.launcher.grace, at_once=at_once)
            self.is_open = False
            # What arrives while the server is being stopped breaks no test; it becomes findings.
            late = self.late_answers
            self.connection.take_last(self._wire.last_output)
            # One that is merely slow answers later than at once.
            is_at_once = self.stopped.took_s < _AT_ONCE_S
            self.answered_when_stdin_closed = is_at_once and self.late_answers > late
            if fault := self._inbox.take_fault():
                self.findings.add(fault.kind, fault.message)
            self._session.terminate()
            self.findings.note_ending(self.stopped, self._wire.decoder, self._is_end_reported)
        return self.stopped

    def capture(self) -> SessionCapture | None:
        """The capture of the session, if traffic is kept."""
        return self.connection.recording.capture(self._exit_status, self._ended_by)

    def score(self) -> tuple[SessionScore, SessionNames] | None:
        """The verdicts of the rules on the session; None if they are not checked."""
        return self.connection.recording.score(self._exit_status, self._ended_by)

    @property
    def _ended_by(self) -> str:
        """The step that ended the server, "" if it says nothing about the server."""
        ended_by = self.stopped.ended_by if self.stopped and self._wire.is_pipe else ""
        return "" if ended_by in ("at_once", "closed") else ended_by

    @property
    def _exit_status(self) -> str:
        return describe_exit(self.stopped.exit_code) if self.stopped else ""


def _awaits_answer(step: Step) -> bool:
    expectation = step.expectation
    is_about_exit = expectation.exit_code is not None and expectation.response is ABSENT
    return step.id is not ABSENT and not is_about_exit


class Launcher(Record):
    """What every server of a run is started with."""

    guardian: Guardian
    interrupts: Interrupts
    grace: Grace = Grace()
    keeps_traffic: bool = False
    judges: bool = False
    keeps_log: LogWish = ""
    while_waiting: Callable[[], None] | None = None
    # Whether each test sends a trace context with its requests.
    traces: bool = False
    # Gets every notification of every server.
    on_notification: Callable[[Message], None] | None = None
    # An object in this process that is tested instead of a server.
    memory: MemoryTarget | None = None
    # Makes all active conformance checks of a server in a revision ("" for its newest): the
    # mismatches, and notes. Given by a command that has them.
    check_actively: ActiveChecks | None = None


@contextmanager
def launching(
    interrupts: Interrupts, plugins: PluginManager | None, **settings: Any
) -> Iterator[Launcher]:
    """A launcher for servers and plugins; at the end, every process has been stopped."""
    launcher = create_launcher(interrupts, adopts_orphans=True, **settings)
    if plugins:
        plugins.open(launcher.guardian, interrupts)
    try:
        yield launcher
    finally:
        if plugins:
            plugins.close()
        launcher.guardian.dismiss()


def create_launcher(
    interrupts: Interrupts, *, adopts_orphans: bool, judges: bool = True, **settings: Any
) -> Launcher:
    """A launcher with a guardian of its own; `settings` are fields of `Launcher`.

    A second signal kills every server. On Windows no server is started.
    """
    if IS_WINDOWS:
        return make_bare_launcher(interrupts, judges=judges, **settings)
    guardian = Guardian(adopts_orphans=adopts_orphans)
    interrupts.on_second = guardian.kill_all
    return Launcher(guardian=guardian, interrupts=interrupts, judges=judges, **settings)


def make_bare_launcher(interrupts: object = None, **settings: Any) -> Launcher:
    """A launcher for work that starts no process which could be left behind."""
    return Launcher(
        guardian=NoGuardian(),  # type: ignore[arg-type]  # same interface
        interrupts=interrupts or NoInterrupts(),  # type: ignore[arg-type]  # same interface
        **settings,
    )


class Reply(Record):
    """The outcome of a step: the answer (ABSENT when none was awaited), its time, stderr.

    `unfinished` says why the answer does not complete the call, "" when it does.
    """

    message: Any
    elapsed_s: float
    stderr: str
    stderr_mark: int = 0
    size: int = 0
    exit_code: int | None = None
    notifications: tuple[Any, ...] = ()
    unfinished: str = ""


# Opening a session: with a handshake, unless a stateless revision is demanded. If a server
# rejects the handshake, a fresh process is asked whether it is stateless.


def _await_ready(server: Server, deadline: float) -> None:
    """Wait until the server accepts messages."""
    connection = server.connection
    connection.start_step(is_handshake=True)
    if server.spec.ready_pattern:
        _wait_for_pattern(server, deadline)
    fault = connection.wire.open(deadline)
    if fault:
        raise ServerError(faults.with_evidence(fault, connection.wire))
    if connection.wire.has_exited and not connection.wire.is_pipe:
        raise ServerError(server.exit_fault("before it listened at the address of the URL"))
    if connection.wire.foreign_listener:
        message = (
            "what listens at the URL is not a process that the command is known to have started"
        )
        server.findings.add("foreign_listener", message, quote=connection.wire.foreign_listener)
    http = server.spec.http
    if http and http.insecure_tls:
        message = "the certificate of the server was not checked, as its settings ask"
        server.findings.add("tls_unverified", message)


# How long the pattern may compute on one piece of stderr.
_LIMIT = CpuLimit(2.0)

# How far a match may reach back into earlier pieces.
_CARRY_CHARS = 4096


def _wait_for_pattern(server: Server, deadline: float) -> None:
    """Search stderr for the pattern of a server that is ready, each piece once."""
    wire, connection = server.connection.wire, server.connection
    source = server.spec.ready_pattern
    pattern = re.compile(source)
    seen, text = 0, ""
    while True:
        fresh, _ = wire.stderr.since(seen)
        seen = wire.stderr.total
        text = text[-_CARRY_CHARS:] + fresh.decode("utf-8", "replace")
        try:
            with _LIMIT:
                if pattern.search(text):
                    return
        except PatternTimeoutError as error:
            culprit = PatternTimeoutError(error.limit_s, source)
            raise ServerError(faults.slow_pattern_fault(culprit)) from None
        # Stdout is read as well, to notice a server that exits or writes nonsense.
        connection.take(wire.receive(min(deadline, time.monotonic() + 0.05)))
        connection.raise_broken()
        if wire.is_closed:
            raise ServerError(server.exit_fault("while it was awaited to be ready"))
        if time.monotonic() >= deadline:
            raise ServerError(faults.not_ready_fault(server.spec, wire))


def _open_session(server: Server, deadline: float, params: Message | None) -> dict[str, Any]:
    """The result of the handshake; `params` replace those of initialize."""
    session, wire = server.connection.session, server.connection.wire
    if session.revision.is_stateless:
        return _discover(server, deadline)
    answer = server.ask_first(session.initialize(params), deadline)
    fault = handshake_fault(answer)
    if fault and "error" in answer and not server.spec.spec_version:
        # Try a fresh process without a handshake; if that fails, raise the refusal.
        refusal = faults.with_evidence(fault, wire)
        try:
            found = _restart_stateless(server, NEWEST_STATELESS)
        except ServerError as error:
            hint = f"and asked without a handshake: {error.fault.message}"
            raise ServerError(refusal.but(hint=hint)) from None
        if is_server_failure(refusal):
            message = f"{refusal.message}; the stateless era was used instead"
            server.findings.add("protocol_violation", message)
        return found
    fault = fault or pinned_fault(server.spec.spec_version, answer["result"])
    if fault:
        raise ServerError(faults.with_evidence(fault, wire))
    result: dict[str, Any] = answer["result"]
    gaps = server.connection.recording.gaps = tuple(handshake_gaps(result))
    for gap in gaps:
        server.findings.add("protocol_violation", f"in the answer to initialize, {gap}")
    server.connection.send(encode_line(session.accept(result)))
    server.wait_until_accepted()
    return result


def _restart_stateless(
    server: Server, version: str, *, is_last_try: bool = False
) -> dict[str, Any]:
    """Open a session of this revision with a fresh process."""
    server.restart(server.spec.but(protocol_version=version))
    deadline = time.monotonic() + server.spec.startup_timeout_s
    _await_ready(server, deadline)
    found = _discover(server, deadline, is_last_try=is_last_try)
    server.is_open = True
    return found


def _discover(server: Server, deadline: float, *, is_last_try: bool = False) -> dict[str, Any]:
    # Only stateless servers ask for more in their answers.
    from mcptest.protocol.session import InputRounds  # noqa: PLC0415

    session = server.connection.session
    session.rounds = InputRounds(session.script, f"-{os.urandom(4).hex()}")
    offered, request = session.revision.version, session.discover()
    try:
        answer = server.ask_first(request, deadline)
        if "error" in answer and choose_stateless(answer, offered) == offered:
            message = f"the server refused {offered} and listed it as supported"
            server.findings.add("protocol_violation", f"{message}; server/discover was sent again")
            answer = server.ask_first(request, deadline)
    except ServerError as error:
        raise ServerError(_correct_hint(server, error.fault)) from None
    chosen = "" if server.spec.spec_version else choose_stateless(answer, offered)
    if chosen not in ("", offered) and "error" in answer and not is_last_try:
        return _restart_stateless(server, chosen, is_last_try=True)
    fault = discovery_fault(answer, chosen or offered)
    if fault:
        raise ServerError(
            faults.with_evidence(_correct_hint(server, fault), server.connection.wire)
        )
    result: dict[str, Any] = answer["result"]
    session.accept_discovery(result, chosen or offered)
    if not server.connection.wire.is_pipe:
        # Headers of later calls depend on the schemas of the tools.
        from mcptest.engine.pool import learn_tools  # noqa: PLC0415

        learn_tools(server, deadline)
    # In the form of an answer to initialize.
    meta = result.get("_meta")
    info = meta.get(META_SERVER_INFO) if isinstance(meta, dict) else None
    return {"protocolVersion": session.revision.version, "serverInfo": info or {}} | result


def _correct_hint(server: Server, fault: Fault) -> Fault:
    """The fault with a hint that names the setting that was used."""
    if server.spec.spec_version:
        return fault
    key = '"protocol_version" (in a config "protocolVersion")'
    return fault.but(hint=fault.hint.replace("--spec-version", key))
