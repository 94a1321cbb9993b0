"""Speak a dialogue with a server: say what is ours, await what is the server's, turn by turn.

Every wait has a bound. What differs is collected and the dialogue goes on, so that all of it
is told at once; what does not come in time ends it.
"""

from __future__ import annotations

import time
from itertools import takewhile

from mcptest.core import jsonrpc
from mcptest.core.errors import ServerError
from mcptest.core.framing import encode_line
from mcptest.core.outcome import Fault, Mismatch
from mcptest.core.record import ABSENT
from mcptest.core.strict_json import dump_json
from mcptest.formats.conductor_request import use_of
from mcptest.matching.compare import source_of
from mcptest.matching.hints import find_idle_checks
from mcptest.matching.tags import fill, has_blanks, make_value, pull_bound
from mcptest.runner import faults
from mcptest.runner.connection import Waiting
from mcptest.runner.ear import Ear, Heard, asked_in
from mcptest.runner.judging import judge_unread
from mcptest.runner.launcher import Reply
from mcptest.runner.surplus import other_kind, stray_mismatches, strict_mismatches
from mcptest.runner.unsent import UnsentError, missing_values
from mcptest.runner.weighing import weighed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from mcptest.core.coverage import Use
    from mcptest.core.dialogue import Dialogue, Turn
    from mcptest.core.session import Message
    from mcptest.runner.server import Place, Server

    # A request that has been sent: its method and its id.
    Sent = tuple[str, object]

__all__ = ["Talk"]

_PING_ID = "mcptest-ping"

# How long a question of the server is held back for a turn that comes later.
_HOLD_S = 0.5

# How long the right answer may take after one with an id that nobody used.
_STRAY_PATIENCE_S = 1.0


class _StrayedError(Exception):
    """The answer came under another id, or not at all; what is known has been noted."""


class Talk:
    """One dialogue with one server. `values` are the names bound so far; it binds more.

    `next_turns` are those with which the next case begins: what the server says too soon for
    this one may be meant for it, and is `left_over`.
    """

    def __init__(
        self,
        server: Server,
        dialogue: Dialogue,
        values: dict[str, object],
        timeout_s: float,
    ) -> None:
        self._server = server
        self._connection = server.connection
        self._dialogue = dialogue
        self._next_turns: Sequence[Turn] = ()
        self._values = values
        self._timeout_s = timeout_s
        self._waiting = Waiting(server.connection)
        self._ear = Ear(frozenset())
        self._open: dict[jsonrpc.IdKey, Sent] = {}
        self._ids: dict[int, list[object]] = {}
        self._places: dict[jsonrpc.IdKey, Place] = {}
        self.mismatches: list[Mismatch] = []
        self.sent: list[str] = []
        self.uses: list[Use] = []
        self.expected: dict[str, object] = {}
        self.actual: dict[str, object] = {}
        # Whether something that was to come never did: it may come yet, to another case.
        self.is_spent = False
        # The line of the first turn that was not met.
        self.line: int | None = None
        self.notes: list[str] = []
        self.has_answers = False
        self.left_over: list[Heard] = []

    def perform(self, carried: Sequence[Heard] = (), next_turns: Sequence[Turn] = ()) -> None:
        """The whole dialogue. ServerError and UnsentError end it at once."""
        connection = self._connection
        spoken_of = frozenset(
            turn.method for turn in (*self._dialogue.turns, *next_turns) if turn.answers is None
        )
        self._ear = Ear(spoken_of, carried)
        self._next_turns = next_turns
        connection.start_step()
        connection.inbox.listener = self._ear.listen
        # A dialogue says itself what follows when the server wants to know more.
        rounds, connection.session.rounds = connection.session.rounds, None
        try:
            self._perform()
        except _StrayedError:
            self.is_spent = True
        finally:
            connection.inbox.listener = None
            connection.session.rounds = rounds
            connection.inbox.stop_expecting()
            for _, id in self._open.values():
                connection.session.abandon(id)
        self._let_go(next_turns)

    def _perform(self) -> None:
        turns = self._dialogue.turns
        for index, turn in enumerate(turns):
            self._ear.await_asks(self._awaited(index))
            if turn.is_ours:
                if (not index or not turns[index - 1].is_ours) and turn.kind != "response":
                    # What follows is about this, and not about what came before it.
                    self._connection.look_around()
                    self._pass_over()
                self._say(index, turn)
            elif turn.answers is not None:
                self._await_answer(turn)
            elif not self._await_message(index, turn):
                self.is_spent = True
                return
        self._settle()
        self._judge_surplus()

    def _pass_over(self) -> None:
        for heard in self._ear.left_over:
            self._reply(heard)
        self._ear.pass_over()

    def _awaited(self, index: int) -> list[Turn]:
        """What the server is to say before we say something again; at the end of the case, what
        the next one begins with."""
        turns = self._dialogue.turns
        while index < len(turns) and turns[index].is_ours:
            index += 1
        group = list(takewhile(lambda turn: not turn.is_ours, turns[index:]))
        return group if index + len(group) < len(turns) else [*group, *self._next_turns]

    # Ours

    def _say(self, index: int, turn: Turn) -> None:
        missing = [name for name in turn.needs if name not in self._values]
        if missing:
            raise UnsentError(missing_values(missing), has_begun=bool(self.sent))
        value = make_value(fill(turn.value, self._values))
        bound = pull_bound(turn.binds, value)
        value = fill(value, {}, bound)
        self._values.update(bound)
        if isinstance(value, list):
            self._refuse_batch(turn)
        messages: list[Any] = value if isinstance(value, list) else [value]
        lines = [self._open_request(index, message) for message in messages]
        self.sent.append(encode_line(value).decode("utf-8").rstrip("\n"))
        line = b",".join(lines)
        begin = self._connection.wire.sent_bytes
        self._connection.send((b"[" + line + b"]" if isinstance(value, list) else line) + b"\n")
        for id in self._ids.get(index, ()):
            self._places[jsonrpc.id_key(id)] = begin, self._connection.wire.sent_bytes
        if not any("method" in message and "id" in message for message in messages):
            self._connection.wire.wait_until_read()

    def _refuse_batch(self, turn: Turn) -> None:
        revision = self._connection.session.revision
        if not revision.has_batches:
            message = f"not sent: {turn.key} is a batch, and revision {revision.version} has none"
            hint = "only revision 2025-03-26 has batches; write the messages one by one"
            fault = Fault(kind="no_batches", message=message, hint=hint)
            raise UnsentError(fault, has_begun=bool(self.sent))

    def _open_request(self, index: int, message: Message) -> bytes:
        """Remember what is owed for a message of ours; the message as it is sent."""
        line = encode_line(message).rstrip(b"\n")
        session = self._connection.session
        if "method" not in message:
            session.replied(message)
            return line
        use = use_of(message)
        if use:
            self.uses.append(use)
        if "id" not in message:
            return session.notified(line).rstrip(b"\n")
        id, method = message["id"], message["method"]
        key = jsonrpc.id_key(id)
        if key in self._open:
            said = f"not sent: a request with {jsonrpc.describe_id(id)} has no answer yet"
            fault = Fault(kind="unusable_capture", message=said)
            raise UnsentError(fault, has_begun=True)
        self._connection.look_around()
        keeps_id = self._dialogue.keeps_ids
        line = self._connection.open_request(line, id, keeps_id=keeps_id)
        self._open[key] = (method if isinstance(method, str) else dump_json(method), id)
        self._ids.setdefault(index, []).append(id)
        return line

    # The server's

    def _await_answer(self, turn: Turn) -> None:
        id = self._id_for(turn)
        self._judge(turn, self._answer_to(id))

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
        method, _ = self._open[key]
        deadline = time.monotonic() + self._timeout_s
        self._waiting.begin(self._timeout_s)
        self._connection.inbox.expect(id)
        place = self._places[key]
        while key not in self._ear.answers:
            if self._ear.strays:
                # Somebody answers with another id: the case has failed, and is not waited for long.
                deadline = min(deadline, time.monotonic() + _STRAY_PATIENCE_S)
            if not self._wait_or_reply(
                lambda: self._server.gone_unanswered(method, id, place), deadline
            ):
                if self._ear.strays:
                    self._judge_surplus()
                    raise _StrayedError
                del self._open[key]
                raise ServerError(self._overdue(method, id))
        self._connection.inbox.stop_expecting()
        del self._open[key]
        self._server.refuse_unread(method, id, place)
        self.has_answers = True
        answer = self._ear.answers.pop(key)
        if method == "initialize" and isinstance(answer.get("result"), dict):
            self._connection.session.adopt(answer["result"])
        return answer

    def _await_message(self, index: int, turn: Turn) -> bool:
        """Wait for the next message with the turn's method; False when it does not come."""
        deadline = time.monotonic() + self._timeout_s
        self._waiting.begin(self._timeout_s)
        when = f"while {turn.method or 'a message'} was awaited"
        heard = self._ear.claim(turn.method)
        while heard is None:
            if not self._wait(lambda: self._server.gone(when), deadline):
                self._miss(turn)
                return False
            heard = self._ear.claim(turn.method)
        if not self._answers_itself(index):
            self._reply(heard)
        self._judge(turn, heard.message)
        return True

    def _answers_itself(self, index: int) -> bool:
        """Whether a later turn answers the question that this one is, or may do so."""
        later = self._dialogue.turns[index:]
        replies = (turn for turn in later if turn.is_ours and turn.kind == "response")
        return any(turn.answers in (index, None) for turn in replies)

    def _wait(self, gone: Callable[[], Fault], deadline: float) -> bool:
        """Wait until something comes; False at the deadline. `gone` says that the server ended."""
        connection = self._connection
        before = connection.inbox.messages
        is_time_left = self._waiting.take(deadline, connection.receive)
        connection.raise_broken()
        if connection.wire.is_closed and connection.inbox.messages == before:
            raise ServerError(gone())
        return is_time_left

    def _wait_or_reply(self, gone: Callable[[], Fault], deadline: float) -> bool:
        """The same. A question that was held back for later may be what the server waits with."""
        held = [heard for heard in self._ear.left_over if heard.reply]
        pause = min(deadline, time.monotonic() + _HOLD_S) if held else deadline
        if self._wait(gone, pause):
            return True
        for heard in held:
            self._reply(heard)
        return bool(held) and time.monotonic() < deadline

    def _overdue(self, method: str, id: object) -> Fault:
        fault = self._server.overdue(method, id, self._timeout_s)
        arrivals = self._ear.arrivals()
        return fault.but(hint=f"{fault.hint}; {arrivals}" if fault.hint else arrivals)

    def _miss(self, turn: Turn) -> None:
        message = f"no {turn.method or 'message'} came within {faults.seconds(self._timeout_s)}"
        wanted = source_of(turn.value)
        self.expected[turn.key] = wanted
        missed = Mismatch(
            path=turn.key,
            expected=wanted,
            actual=ABSENT,
            message=message,
            hint=self._ear.arrivals(),
        )
        self._note(turn, [missed])

    def _judge(self, turn: Turn, message: Message) -> None:
        missing = [name for name in turn.needs if name not in self._values]
        if missing:
            raise UnsentError(missing_values(missing), has_begun=True)
        assert turn.expectation is not None, "what the server says is compared"
        bound = pull_bound(turn.binds, message)
        wanted = fill(turn.value, self._values, bound)
        self._values.update(bound)
        self.expected[turn.key], self.actual[turn.key] = source_of(wanted), message
        other = other_kind(turn.key, source_of(wanted), message)
        if other:
            self._note(turn, [other])
            return
        expectation = turn.expectation.but(response=wanted)
        reply = Reply(message=message, elapsed_s=0.0, stderr="", size=self._connection.size)
        mismatches = weighed(self._server, expectation, reply, (None, turn.key))[1]
        if expectation.may_check_nothing and not mismatches:
            self.notes += find_idle_checks(wanted, message)
        self._note(turn, mismatches)

    def _note(self, turn: Turn, mismatches: Sequence[Mismatch]) -> None:
        if mismatches and self.line is None:
            self.line = turn.line
        self.mismatches += mismatches

    def _reply(self, heard: Heard) -> None:
        reply, heard.reply = heard.reply, None
        if reply:
            self._connection.send(encode_line(reply))

    # The end

    def _settle(self) -> None:
        """Await what no turn speaks of, and make sure that the server is still there."""
        for key, (_, id) in tuple(self._open.items()):
            answer = self._answer_to(id)
            turn = next(
                self._dialogue.turns[index]
                for index, ids in self._ids.items()
                if key in map(jsonrpc.id_key, ids)
            )
            self._note(turn, list(judge_unread(answer, f"answer to {turn.key}: ")))
        if self._dialogue.is_strict or all(turn.is_ours for turn in self._dialogue.turns):
            # Nothing that came shows that the server took what it was sent, or that it is done.
            line = encode_line(jsonrpc.request(_PING_ID, "ping"))
            self._open[jsonrpc.id_key(_PING_ID)] = ("ping", _PING_ID)
            self._connection.look_around()
            begin = self._connection.wire.sent_bytes
            self._connection.send(self._connection.open_request(line, _PING_ID))
            end = self._connection.wire.sent_bytes
            self._places[jsonrpc.id_key(_PING_ID)] = begin, end
            self._answer_to(_PING_ID)
        self._connection.look_around()

    def _judge_surplus(self) -> None:
        ids = [self._connection.session.wire_id(id) for _, id in self._open.values()]
        self.mismatches += stray_mismatches(self._ear, ids)
        if self._dialogue.is_strict:
            self.mismatches += strict_mismatches(self._ear, self._connection.inbox.noise)

    def _let_go(self, next_turns: Sequence[Turn]) -> None:
        """Give what is still owed, but for what the next case begins with."""
        kept = asked_in(next_turns)
        for heard in self._ear.unclaimed:
            if not (kept[heard.message["method"]] or kept[""]):
                self._reply(heard)
        self.left_over = self._ear.left_over
