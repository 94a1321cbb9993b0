"""Perform the cases of one file that are dialogues, and judge each.

Names that one case binds are known to all cases after it, and messages that a server sends between
two cases belong to the second one.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import takewhile

from mcptest.core.errors import CheckError, InterruptedRunError, PatternTimeoutError, ServerError
from mcptest.core.plan import ServerSpec
from mcptest.core.results import CaseResult, Fault, Mismatch
from mcptest.core.strict_json import dump_json
from mcptest.core.text import shorten, show_json, visible
from mcptest.core.value_class import ABSENT
from mcptest.engine import faults
from mcptest.engine.case import UnsentError
from mcptest.engine.connection import Waiting
from mcptest.engine.judge import (
    MAX_MISMATCHES,
    describes_error,
    judge_reply,
    judge_unexpected_error,
    quote_server_errors,
)
from mcptest.engine.server import Reply
from mcptest.formats.conductor import use_of
from mcptest.matching.case_tags import fill, has_blanks, make_value, pull_bound
from mcptest.matching.compare import source_of
from mcptest.matching.diff import find_idle_checks
from mcptest.protocol import jsonrpc
from mcptest.protocol.framing import encode_line
from mcptest.protocol.session import (
    NotificationReceived,
    RequestReceived,
    ResponseReceived,
    UnexpectedResponse,
)
from mcptest.transport.process.stopping import describe_exit, stop
from mcptest.transport.stdio import StdioTransport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from mcptest.core.coverage import Use
    from mcptest.core.plan import Case
    from mcptest.engine.connection import Place
    from mcptest.engine.pool import ServerPool
    from mcptest.engine.server import Launcher, Server
    from mcptest.protocol.dialogue import Dialogue, Hook, Turn
    from mcptest.protocol.session import Message, SessionEvent

__all__ = ["DialogueInbox", "DialogueRunner", "describe_other_kind"]


class DialogueRunner:
    """Performs the dialogues of one file, one after the other.

    `uses` counts what they use of each server, `values` has the names they bind. `record_use` is
    called with each answer to what they use.
    """

    def __init__(
        self,
        pool: ServerPool,
        folder: str,
        uses: dict[str, dict[Use, int]],
        values: dict[str, object],
        record_use: Callable[[Server, Use, object], None],
    ) -> None:
        self._pool = pool
        self._folder = folder
        self._uses = uses
        self._values = values
        self._record_use = record_use
        # The messages that the last case left over, and the server that sent them.
        self._left_over: tuple[Server, list[_ReceivedMessage]] | None = None

    def perform(self, case: Case, spec: ServerSpec, following: Case | None) -> CaseResult:
        """The verdict on a case; `mcptest.engine.case` handles the exceptions."""
        dialogue = case.dialogue
        assert dialogue is not None, "only called with dialogues"
        if not (dialogue.before or dialogue.after):
            return self._run(case, dialogue, spec, following)
        limit_s = case.timeout_s or spec.timeout_s
        hooks = Hooks(self._pool.launcher, self._folder, limit_s, spec.secrets)
        try:
            fault = hooks.run(dialogue.before) if dialogue.before else None
            if fault:
                raise UnsentError(fault)
            try:
                result = self._run(case, dialogue, spec, following)
            except (ServerError, UnsentError, PatternTimeoutError, CheckError):
                # Clean up what the first hook has set up.
                if dialogue.after:
                    hooks.run(dialogue.after)
                raise
            except InterruptedRunError:
                if dialogue.after:
                    hooks.run(dialogue.after, is_last=True)
                raise
            fault = hooks.run(dialogue.after) if dialogue.after else None
        finally:
            hooks.close()
        if fault and result.status == "passed":
            return result.but(status="error", fault=fault)
        notes = (f"{fault.kind}: {fault.message}",) if fault else ()
        return result.but(notes=(*result.notes, *notes))

    def _run(
        self, case: Case, dialogue: Dialogue, spec: ServerSpec, following: Case | None
    ) -> CaseResult:
        server, note = self.server_for(spec, dialogue)
        began = time.monotonic()
        # Messages left over are for a dialogue that begins with a message of the same server.
        sender, received = self._left_over or (None, [])
        self._left_over = None
        if sender is not server or not _first_turns(dialogue):
            received = []
        # The turns with which the server begins the next case.
        upcoming = following.dialogue if following else None
        next_turns = _first_turns(upcoming) if upcoming and not upcoming.opens_session else ()
        timeout_s = case.timeout_s or spec.timeout_s
        run = _DialogueRun(server, dialogue, self._values, timeout_s, received, next_turns)
        try:
            run.perform()
        finally:
            used = self._uses.setdefault(server.spec.name, {})
            for use in run.uses:
                used[use] = used.get(use, 0) + 1
            if run.has_answers:
                self._pool.record_answer()
        self._left_over = (server, run.left_over)
        for use, answer in run.answered_uses:
            self._record_use(server, use, answer)
        result = CaseResult(
            name=case.name,
            status="failed" if run.mismatches else "passed",
            line=case.line,
            duration_s=time.monotonic() - began,
            notes=((note,) if note else ()) + tuple(run.notes),
        )
        if run.mismatches:
            result = _make_failed(result, run).but(stderr=self._pool.stderr_of_test())
        else:
            self._pool.record_pass()
            log = self._pool.log() if self._pool.keeps_log == "all" else ()
            result = result.but(log=log)
        if run.is_spent:
            self._pool.replace("the case before waited for a message that may still come")
        return result

    def server_for(self, spec: ServerSpec, dialogue: Dialogue) -> tuple[Server, str]:
        """A server in the state that the dialogue needs, and a note if it is a fresh one."""
        try:
            hello = make_value(fill(dialogue.hello, self._values))
        except (KeyError, ValueError):
            # It needs names that are not bound in this run: use the default.
            hello = None
        params = hello if isinstance(hello, dict) else None
        return self._pool.server_for_dialogue(spec, dialogue, params)


def _first_turns(dialogue: Dialogue) -> tuple[Turn, ...]:
    return tuple(takewhile(lambda turn: not turn.is_ours, dialogue.turns))


def _make_failed(result: CaseResult, run: _DialogueRun) -> CaseResult:
    mismatches = tuple(run.mismatches)
    notes = result.notes
    for message in run.actual.values():
        notes += tuple(quote_server_errors(message, mismatches))
    if len(mismatches) >= MAX_MISMATCHES:
        notes += (f"only the first {MAX_MISMATCHES:,} mismatches were looked for",)
    return result.but(
        # The line of the turn that failed, not of the case.
        line=run.line or result.line,
        mismatches=mismatches[:MAX_MISMATCHES],
        sent="\n".join(run.sent),
        expected=run.expected,
        actual=run.actual,
        notes=notes,
    )


_PING_ID = "mcptest-ping"

# How long a request of the server is held back for a later turn.
_HOLD_S = 0.5

# How long to wait for the right answer after one with an unknown id.
_WRONG_ID_PATIENCE_S = 1.0


class _AnswerLostError(Exception):
    """The answer came with another id, or not at all; the mismatch has been recorded."""


class _Request:
    """A request of ours that has no answer yet; `turn` is None if no turn contains it."""

    __slots__ = ("id", "method", "place", "turn", "use")

    def __init__(
        self, id: object, method: str, turn: Turn | None = None, use: Use | None = None
    ) -> None:
        self.id = id
        self.method = method
        self.turn = turn
        self.use = use
        self.place: Place = (0, 0)


class _DialogueRun:
    """One dialogue with one server: send our turns, await the server's, one after the other.

    Mismatches are collected and the dialogue goes on; a message that does not arrive in time ends
    it. `values` are the names bound so far, to which it adds. `carried` are messages that the
    dialogue before has left over; what belongs to the first turns of the next one, `next_turns`,
    is `left_over` in turn.
    """

    def __init__(
        self,
        server: Server,
        dialogue: Dialogue,
        values: dict[str, object],
        timeout_s: float,
        carried: Sequence[_ReceivedMessage],
        next_turns: Sequence[Turn],
    ) -> None:
        self._server = server
        self._connection = server.connection
        self._dialogue = dialogue
        self._next_turns = next_turns
        self._values = values
        self._timeout_s = timeout_s
        self._waiting = Waiting(server.connection)
        turns = (*dialogue.turns, *next_turns)
        methods = frozenset(turn.method for turn in turns if turn.answers is None)
        self._inbox = DialogueInbox(methods, carried)
        self._open: dict[jsonrpc.IdKey, _Request] = {}
        # By the index of a turn, the ids of its requests.
        self._ids: dict[int, list[object]] = {}
        self.mismatches: list[Mismatch] = []
        self.sent: list[str] = []
        self.uses: list[Use] = []
        self.answered_uses: list[tuple[Use, object]] = []
        self.expected: dict[str, object] = {}
        self.actual: dict[str, object] = {}
        # Whether an expected message did not arrive: it could arrive in another case.
        self.is_spent = False
        # The line of the first turn with a mismatch.
        self.line: int | None = None
        self.notes: list[str] = []
        self.has_answers = False
        self.left_over: list[_ReceivedMessage] = []

    def perform(self) -> None:
        """The whole dialogue. ServerError and UnsentError end it at once."""
        connection = self._connection
        # What has arrived by now belongs to the case before.
        connection.wire.drain_stderr()
        connection.start_step()
        connection.inbox.listener = self._inbox.take_event
        # The dialogue itself has the answers to further questions of the server.
        rounds, connection.session.rounds = connection.session.rounds, None
        try:
            self._perform_turns()
        except _AnswerLostError:
            self.is_spent = True
        finally:
            connection.inbox.listener = None
            connection.session.rounds = rounds
            connection.inbox.stop_expecting()
            for request in self._open.values():
                connection.session.abandon(request.id)
        # Answer what is open, except requests that the next case begins with.
        kept = _count_requests(self._next_turns)
        for received in self._inbox.unclaimed:
            if not (kept[received.message["method"]] or kept[""]):
                self._reply(received)
        self.left_over = self._inbox.left_over

    def _perform_turns(self) -> None:
        turns = self._dialogue.turns
        for index, turn in enumerate(turns):
            self._inbox.expect_requests(self._next_server_turns(index))
            if turn.is_ours:
                if (not index or not turns[index - 1].is_ours) and turn.kind != "response":
                    # Messages that arrived earlier do not belong to what follows.
                    self._connection.poll()
                    for received in self._inbox.left_over:
                        self._reply(received)
                    self._inbox.skip()
                self._send(index, turn)
            elif turn.answers is not None:
                self._judge(turn, self._answer_to(self._id_for(turn)))
            elif not self._await_message(index, turn):
                self.is_spent = True
                return
        self._await_rest()
        self._judge_unexpected()

    def _next_server_turns(self, index: int) -> list[Turn]:
        """The turns of the server before our next one; at the end, with those of the next case."""
        turns = self._dialogue.turns
        while index < len(turns) and turns[index].is_ours:
            index += 1
        group = list(takewhile(lambda turn: not turn.is_ours, turns[index:]))
        return group if index + len(group) < len(turns) else [*group, *self._next_turns]

    def _require_values(self, turn: Turn, *, has_begun: bool) -> None:
        """UnsentError if the turn uses a name that no case has bound in this run."""
        missing = [visible(name) for name in turn.needs if name not in self._values]
        if missing:
            names = ", ".join(missing)
            message = f"it needs the value of {names}, which nothing has bound in this run"
            hint = "the case that binds it failed, was skipped or was not selected"
            fault = Fault(kind="missing_capture", message=message, hint=hint)
            raise UnsentError(fault, has_begun=has_begun)

    # Ours

    def _send(self, index: int, turn: Turn) -> None:
        self._require_values(turn, has_begun=bool(self.sent))
        value = make_value(fill(turn.value, self._values))
        bound = pull_bound(turn.binds, value)
        value = fill(value, {}, bound)
        self._values.update(bound)
        revision = self._connection.session.revision
        if isinstance(value, list) and not revision.has_batches:
            message = f"not sent: {turn.key} is a batch, and revision {revision.version} has none"
            hint = "only revision 2025-03-26 has batches; write the messages one by one"
            fault = Fault(kind="no_batches", message=message, hint=hint)
            raise UnsentError(fault, has_begun=bool(self.sent))
        messages: list[Any] = value if isinstance(value, list) else [value]
        lines = [self._open_request(index, message) for message in messages]
        self.sent.append(encode_line(value).decode("utf-8").rstrip("\n"))
        line = b",".join(lines)
        line = b"[" + line + b"]" if isinstance(value, list) else line
        place = self._connection.send(line + b"\n")
        for id in self._ids.get(index, ()):
            self._open[jsonrpc.id_key(id)].place = place
        if not any("method" in message and "id" in message for message in messages):
            self._connection.wire.wait_until_read()

    def _open_request(self, index: int, message: Message) -> bytes:
        """The line to send for a message; a request is remembered as open."""
        line = encode_line(message).rstrip(b"\n")
        session = self._connection.session
        if "method" not in message:
            session.record_reply(message)
            return line
        use = use_of(message)
        if use:
            self.uses.append(use)
        if "id" not in message:
            return session.prepare_notification(line).rstrip(b"\n")
        id, method = message["id"], message["method"]
        key = jsonrpc.id_key(id)
        if key in self._open:
            said = f"not sent: a request with {jsonrpc.describe_id(id)} has no answer yet"
            fault = Fault(kind="unusable_capture", message=said)
            raise UnsentError(fault, has_begun=True)
        self._connection.poll()
        keeps_id = self._dialogue.keeps_ids
        line = self._connection.open_request(line, id, keeps_id=keeps_id)
        method = method if isinstance(method, str) else dump_json(method)
        self._open[key] = _Request(id, method, self._dialogue.turns[index], use)
        self._ids.setdefault(index, []).append(id)
        return line

    # The server's

    def _id_for(self, turn: Turn) -> object:
        """The id that the answer must have: that of the request it answers."""
        assert turn.answers is not None, "only asked of answers"
        ids = self._ids[turn.answers]
        wanted = fill(turn.id, self._values) if set(turn.needs) <= self._values.keys() else None
        is_open = has_blanks(wanted)
        same = [id for id in ids if not is_open and jsonrpc.id_key(id) == jsonrpc.id_key(wanted)]
        waiting = [id for id in ids if jsonrpc.id_key(id) in self._open]
        return (same or waiting or ids)[0]

    def _answer_to(self, id: object) -> Any:
        key = jsonrpc.id_key(id)
        request = self._open[key]
        method = request.method
        deadline = self._waiting.begin(self._timeout_s)
        self._connection.inbox.expect(id)
        while key not in self._inbox.answers:
            if self._inbox.unknown:
                # An answer has another id: the case has failed, so do not wait for long.
                deadline = min(deadline, time.monotonic() + _WRONG_ID_PATIENCE_S)
            if not self._wait_or_reply(
                lambda: self._server.exit_before_answer_fault(method, id, request.place), deadline
            ):
                if self._inbox.unknown:
                    self._judge_unexpected()
                    raise _AnswerLostError
                del self._open[key]
                fault = self._server.timeout_fault(method, id, self._timeout_s)
                arrivals = self._inbox.arrivals()
                hint = f"{fault.hint}; {arrivals}" if fault.hint else arrivals
                raise ServerError(fault.but(hint=hint))
        self._connection.inbox.stop_expecting()
        del self._open[key]
        self._server.raise_if_unread(method, id, request.place)
        self.has_answers = True
        answer = self._inbox.answers.pop(key)
        if request.use:
            self.answered_uses.append((request.use, answer))
        if method == "initialize" and isinstance(answer.get("result"), dict):
            self._connection.session.adopt(answer["result"])
        return answer

    def _await_message(self, index: int, turn: Turn) -> bool:
        """Wait for the next message with the turn's method; False when it does not arrive."""
        deadline = self._waiting.begin(self._timeout_s)
        when = f"while {turn.method or 'a message'} was awaited"
        received = self._inbox.claim(turn.method)
        while received is None:
            if not self._wait(lambda: self._server.exit_fault(when), deadline):
                waited = faults.format_seconds(self._timeout_s)
                wanted = self.expected[turn.key] = source_of(turn.value)
                missed = Mismatch(
                    path=turn.key,
                    expected=wanted,
                    actual=ABSENT,
                    message=f"no {turn.method or 'message'} came within {waited}",
                    hint=self._inbox.arrivals(),
                )
                self._add_mismatches(turn, [missed])
                return False
            received = self._inbox.claim(turn.method)
        # A later turn answers the request itself, or may do so.
        later = self._dialogue.turns[index:]
        replies = [each for each in later if each.is_ours and each.kind == "response"]
        if not any(reply.answers in (index, None) for reply in replies):
            self._reply(received)
        self._judge(turn, received.message)
        return True

    def _wait(self, gone: Callable[[], Fault], deadline: float) -> bool:
        """Wait until something arrives; False at the deadline. `gone` makes its fault."""
        connection = self._connection
        before = connection.inbox.messages
        is_time_left = self._waiting.take(deadline)
        connection.raise_broken()
        if connection.wire.is_closed and connection.inbox.messages == before:
            raise ServerError(gone())
        return is_time_left

    def _wait_or_reply(self, gone: Callable[[], Fault], deadline: float) -> bool:
        """`_wait`, but answer requests that were held back: the server may be waiting for that."""
        held = [received for received in self._inbox.left_over if received.reply]
        pause = min(deadline, time.monotonic() + _HOLD_S) if held else deadline
        if self._wait(gone, pause):
            return True
        for received in held:
            self._reply(received)
        return bool(held) and time.monotonic() < deadline

    def _judge(self, turn: Turn, message: Message) -> None:
        self._require_values(turn, has_begun=True)
        assert turn.expectation is not None, "what the server says is compared"
        bound = pull_bound(turn.binds, message)
        wanted = fill(turn.value, self._values, bound)
        self._values.update(bound)
        self.expected[turn.key], self.actual[turn.key] = source_of(wanted), message
        if "error" in message and describes_error(self.expected[turn.key]):
            self._connection.recording.note_expected_error(self._method_answered_by(turn, message))
        other = describe_other_kind(turn.key, source_of(wanted), message)
        if other:
            self._add_mismatches(turn, [other])
            return
        expectation = turn.expectation.but(response=wanted)
        reply = Reply(message=message, elapsed_s=0.0, stderr="", size=self._connection.size)
        mismatches = judge_reply(self._server, expectation, reply, (None, turn.key))[1]
        if expectation.may_check_nothing and not mismatches:
            self.notes += find_idle_checks(wanted, message)
        self._add_mismatches(turn, mismatches)

    def _method_answered_by(self, turn: Turn, message: Message) -> str:
        """The method of the request that a turn answers; of a batch, that with its id."""
        asked = self._dialogue.turns[turn.answers].value if turn.answers is not None else None
        for each in asked if isinstance(asked, list) else (asked,):
            if isinstance(each, dict) and (each is asked or each.get("id") == message.get("id")):
                return str(each.get("method", ""))
        return ""

    def _add_mismatches(self, turn: Turn, mismatches: Sequence[Mismatch]) -> None:
        if mismatches and self.line is None:
            self.line = turn.line
        self.mismatches += mismatches

    def _reply(self, received: _ReceivedMessage) -> None:
        reply, received.reply = received.reply, None
        if reply:
            self._connection.send(encode_line(reply))

    # The end

    def _await_rest(self) -> None:
        """Await the answers that no turn describes, and check that the server is still there."""
        for request in tuple(self._open.values()):
            turn, answer = request.turn, self._answer_to(request.id)
            assert turn is not None, "the ping is sent later"
            unexpected = judge_unexpected_error(answer, f"answer to {turn.key}: ")
            self._add_mismatches(turn, list(unexpected))
        if self._dialogue.is_strict or all(turn.is_ours for turn in self._dialogue.turns):
            # No answer shows that the server has processed everything.
            line = encode_line(jsonrpc.request(_PING_ID, "ping"))
            ping = self._open[jsonrpc.id_key(_PING_ID)] = _Request(_PING_ID, "ping")
            self._connection.poll()
            ping.place = self._connection.send(self._connection.open_request(line, _PING_ID))
            self._answer_to(_PING_ID)
        self._connection.poll()

    def _judge_unexpected(self) -> None:
        """Add mismatches for answers to ids that were never sent.

        In a strict dialogue, also for everything else that no turn describes.
        """
        open_ids = [self._connection.session.wire_id(each.id) for each in self._open.values()]
        for stray in self._inbox.unknown:
            id, hint = stray.get("id"), ""
            for other in open_ids:
                if str(id) == str(other):
                    hint = f"{jsonrpc.describe_id(other)} was; as ids, a number and a string differ"
                    break
            said = jsonrpc.describe_id(id)
            message = f"the server answered {said}, and no request with that id was sent"
            self._add_surplus(message, stray, hint)
        if not self._dialogue.is_strict:
            return
        for received in self._inbox.unclaimed:
            method = visible(received.message["method"])
            message = f"{method} came, and with _strict only what is written may"
            self._add_surplus(message, received.message)
        for again in self._inbox.repeats:
            said = jsonrpc.describe_id(again.get("id"))
            message = f"{said} was answered a second time, and with _strict once is enough"
            self._add_surplus(message, again)
        for line in self._connection.inbox.noise:
            self._add_surplus(f"{line}; with _strict only what is written may come", ABSENT)

    def _add_surplus(self, message: str, actual: object, hint: str = "") -> None:
        found = Mismatch(path="surplus", expected=ABSENT, actual=actual, message=message, hint=hint)
        self.mismatches.append(found)


_SHOWN_METHODS = 5

# How many messages, and answers with unknown ids, are kept.
_MAX_RECEIVED = 100_000
_MAX_UNKNOWN = 100


class _ReceivedMessage:
    """A request or notification of the server, with the reply that is still to be sent."""

    __slots__ = ("is_claimed", "message", "reply")

    def __init__(self, message: Message, reply: Message | None = None) -> None:
        self.message = message
        self.reply = reply
        self.is_claimed = False


def _count_requests(turns: Iterable[Turn]) -> Counter[str]:
    """How often each method is requested by the server in these turns."""
    return Counter(turn.method for turn in turns if not turn.is_ours and turn.kind == "request")


class DialogueInbox:
    """Sorts what a server sends during one dialogue. Pure.

    Answers are kept by id; requests and notifications in order, in which the dialogue claims them.
    `wanted` are the methods that occur in it. A request that a turn expects is answered by the
    dialogue, every other one by the client's script.
    """

    def __init__(self, wanted: frozenset[str], carried: Sequence[_ReceivedMessage] = ()) -> None:
        self.answers: dict[jsonrpc.IdKey, Any] = {}
        self.unknown: list[Message] = []
        self.repeats: list[Message] = []
        self.received = list(carried)
        self._expected_requests: Counter[str] = Counter()
        self._wanted = wanted
        self._next = 0
        self._dropped = 0

    def take_event(self, event: SessionEvent) -> bool:
        """Keep what concerns the dialogue; False if the event needs further processing."""
        if isinstance(event, ResponseReceived):
            self.answers[jsonrpc.id_key(event.id)] = event.message
            return True
        if isinstance(event, NotificationReceived):
            self._keep(_ReceivedMessage(event.message))
            return True
        if isinstance(event, RequestReceived):
            method = event.message["method"]
            # A method given by a pattern is "" in the turns.
            awaited = next(
                (name for name in (method, "") if self._expected_requests[name] > 0), None
            )
            self._keep(_ReceivedMessage(event.message, None if awaited is None else event.reply))
            if awaited is not None:
                self._expected_requests[awaited] -= 1
            return awaited is not None
        if isinstance(event, UnexpectedResponse):
            kept = {"unknown_id": self.unknown, "duplicate_response": self.repeats}.get(event.kind)
            if kept is not None and len(kept) < _MAX_UNKNOWN:
                kept.append(event.message)
        return False

    def expect_requests(self, turns: Iterable[Turn]) -> None:
        """Expect the requests in these turns from now on, and no others."""
        held = Counter(each.message["method"] for each in self.left_over if each.reply)
        self._expected_requests = _count_requests(turns) - held

    def skip(self) -> None:
        """Do not let messages that have arrived so far be claimed any more."""
        self._next = len(self.received)

    def _keep(self, received: _ReceivedMessage) -> None:
        is_wanted = received.message["method"] in self._wanted or "" in self._wanted
        if len(self.received) < _MAX_RECEIVED or is_wanted:
            self.received.append(received)
        else:
            self._dropped += 1

    def claim(self, method: str) -> _ReceivedMessage | None:
        """The next message with this method (any with ""); None if it has not arrived yet."""
        for at in range(self._next, len(self.received)):
            received = self.received[at]
            if method in ("", received.message["method"]):
                received.is_claimed = True
                self._next = at + 1
                return received
        return None

    @property
    def unclaimed(self) -> list[_ReceivedMessage]:
        """The messages that no turn describes."""
        return [each for each in self.received if not each.is_claimed]

    @property
    def left_over(self) -> list[_ReceivedMessage]:
        """The messages after the last one that was claimed."""
        return self.received[self._next :]

    def arrivals(self) -> str:
        """A sentence about the messages that were not claimed."""
        ids = [visible(jsonrpc.describe_id(each.get("id"))) for each in self.answers.values()]
        parts = [f"answers to {_join_shortened(ids)}"] if ids else []
        methods = Counter(visible(each.message["method"]) for each in self.unclaimed)
        if methods:
            named = [
                name if count == 1 else f"{name} ({count:,})" for name, count in methods.items()
            ]
            parts.append(_join_shortened(named))
        if self._dropped:
            parts.append(f"{self._dropped:,} more")
        return f"what did arrive: {' and '.join(parts)}" if parts else "nothing else arrived"


def _join_shortened(names: Sequence[str]) -> str:
    shown = ", ".join(shorten(name, 60) for name in names[:_SHOWN_METHODS])
    return f"{shown}, …" if len(names) > _SHOWN_METHODS else shown


# How long the last hook of an interrupted run may take.
_LAST_S = 3.0


class Hooks:
    """The commands before and after one case; `close` ends what they left running.

    A hook is a process like a server: in its own group, known to the guardian, limited in time,
    with the environment of the run.
    """

    def __init__(
        self, launcher: Launcher, cwd: str, limit_s: float, secrets: tuple[str, ...] = ()
    ) -> None:
        self._launcher = launcher
        self._cwd = cwd
        self._limit_s = limit_s
        self._secrets = secrets
        self._started: list[StdioTransport] = []

    def run(self, hook: Hook, *, is_last: bool = False) -> Fault | None:
        """Run a hook to its end; what went wrong, if anything did.

        One that `is_last` is run although the run was interrupted, and has less time.
        """
        limit_s = min(self._limit_s, _LAST_S) if is_last else self._limit_s
        spec = ServerSpec(name=hook.key, command=hook.command, cwd=self._cwd, secrets=self._secrets)
        try:
            process = StdioTransport(spec, self._launcher.guardian, self._launcher.interrupts)
        except ServerError as error:
            return error.fault.but(kind="hook_failed", message=f"{hook.key}: {error.fault.message}")
        self._started.append(process)
        process.close_stdin()
        deadline = time.monotonic() + limit_s
        what = f"{hook.key} ({visible(hook.command[0])})"
        if not process.wait_for_exit(deadline, heed_interrupts=not is_last):
            limit = faults.format_seconds(limit_s)
            fault = Fault(
                kind="hook_failed",
                message=f"{what} did not end within {limit}",
                hint="what must keep running has to go to the background; it ends with the case",
            )
            return faults.with_evidence(fault, process)
        code = process.peek_exit_code()
        if code == 0:
            return None
        how = describe_exit(code)
        fault = Fault(kind="hook_failed", message=f"{what} failed: {how}")
        return faults.with_evidence(fault, process, how, code)

    def close(self) -> None:
        """End what the hooks left running."""
        for process in reversed(self._started):
            stop(process, self._launcher.grace, at_once=True)
        self._started = []


def describe_other_kind(key: str, wanted: Any, message: Message) -> Mismatch | None:
    """The mismatch of a result where an error is expected, or the other way round."""
    words = {"result": "a result", "error": "an error"}
    for member, other in (("result", "error"), ("error", "result")):
        if member in wanted and member not in message and other in message:
            return Mismatch(
                path=f"{key}.{member}",
                expected=wanted[member],
                actual=ABSENT,
                message=f"the server answered with {words[other]} instead of {words[member]}",
                hint=f"the {other} is {show_json(message[other])}",
            )
    return None
