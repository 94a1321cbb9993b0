"""Play a request of the stateless era: checked by itself, and answered by itself.

A player knows one way of talking, with a session in which the server may ask and tell at any
time. Here that becomes what a client without handshake can hear: stamped results, questions as
`input_required`, changes for those who listen.
"""

from __future__ import annotations

from collections import deque

from mcptest.core.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND, id_key, result_response
from mcptest.core.outcome import Mismatch
from mcptest.core.record import ABSENT
from mcptest.mock.eras import (
    CLIENT_CAPABILITIES,
    REMOVED,
    STATELESS,
    Fault,
    envelope_fault,
    has_envelope,
    meta_of,
    params_of,
    unsupported,
    version_fault,
)
from mcptest.mock.listening import (
    ACKNOWLEDGED,
    CHANGES,
    LISTEN,
    begin_listening,
    told_of,
    unknown_wish,
)
from mcptest.mock.playing import NEEDED
from mcptest.mock.rounds import answers_in, ask_by_result, ask_once_more, find_round, undeclared
from mcptest.mock.stamping import is_log_wanted, stamped
from mcptest.mock.state import Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcptest.core.jsonrpc import IdKey
    from mcptest.mock.respond import Player
    from mcptest.mock.state import Message, State

    Outcome = tuple[State, tuple[Sent, ...]]

__all__ = ["fault_answer", "stateless_request"]

_PROGRESS = "notifications/progress"
_LOG = "notifications/message"

# Told by no server of this era.
_GONE = frozenset(
    [
        ACKNOWLEDGED,
        "notifications/cancelled",
        "notifications/elicitation/complete",
        "notifications/tasks/status",
    ]
)


def stateless_request(
    player: Player, state: State, message: Message, key: IdKey | None = None
) -> Outcome:
    """The session after a request, and what is sent; `key` is that of a subscription it opens."""
    fault = _fault(message)
    if fault:
        return _refused(state, message, fault)
    capabilities = meta_of(message)[CLIENT_CAPABILITIES]
    declared = frozenset(capabilities if isinstance(capabilities, dict) else ())
    state = state.but(era="stateless", revision=STATELESS, declared=declared)
    if message["method"] == LISTEN:
        return _listened(player, state, message, key or id_key(message["id"]))
    state, opening = _entered(player, state, message)
    round = find_round(state, message)
    if isinstance(round, Fault):
        return _refused(state, message, round)
    if round is None:
        after, sent = player.request(state, message)
        return _Reply(player, state, message, message["id"]).finished(after, (*opening, *sent))
    again = ask_once_more(round, message)
    if again:
        return state, (stamped(player, again, message["id"]),)
    after, heard = state.close_round(round.token), list(opening)
    for answer in answers_in(round, message):
        after, more = player.response(after, answer, ())
        heard += more
    return _Reply(player, state, message, round.owed).finished(after, heard)


def _entered(player: Player, state: State, message: Message) -> Outcome:
    """The session that the player knows of; what it is told before it can listen is lost."""
    if state.is_entered or message["method"] == "server/discover":
        return state, ()
    return player.enter(state.but(is_entered=True))


def _fault(message: Message) -> Fault | None:
    if message["method"] == "initialize" and not has_envelope(message):
        # A client that falls back too late is told what it may speak.
        return unsupported(params_of(message).get("protocolVersion"))
    fault = envelope_fault(message) or version_fault(message)
    if fault is None and message["method"] in REMOVED:
        sentence = f"revision {STATELESS} has no {message['method']}"
        return Fault(code=METHOD_NOT_FOUND, sentence=sentence)
    return fault


def _refused(state: State, message: Message, fault: Fault) -> Outcome:
    answer = fault_answer(message.get("id"), fault, str(message.get("method", "")))
    if fault.data is not None:
        # An offer to choose from, and not a mistake.
        return state.note(str(fault.code), fault.sentence), (answer,)
    found = Mismatch(path="", expected=ABSENT, actual=ABSENT, message=fault.sentence)
    return state.blame(message, None, (found,)), (answer,)


def fault_answer(id: object, fault: Fault, method: str = "") -> Sent:
    """The error that tells of a fault."""
    error: Message = {"code": fault.code, "message": f"mcptest mock: {fault.sentence}"}
    if fault.data is not None:
        error["data"] = fault.data
    return Sent(message={"jsonrpc": "2.0", "id": id, "error": error}, method=method)


def _listened(player: Player, state: State, message: Message, key: IdKey) -> Outcome:
    found = begin_listening(state, message, key, player.about[2])
    if isinstance(found, Fault):
        return _refused(state, message, found)
    state, acknowledged = found
    odd = unknown_wish(message)
    if odd:
        wrong = Mismatch(path="params.notifications", expected=ABSENT, actual=ABSENT, message=odd)
        state = state.blame(message, None, (wrong,))
    state, sent = _entered(player, state, message)
    if LISTEN in player.methods:
        # A case about it has come to pass, and tells of changes; the subscription stays open.
        state, more = player.request(state, message)
        sent = (*sent, *(each for each in more if not each.is_answer))
    state, changes = _Reply(player, state, message, message["id"]).told(state, sent)
    return state, (acknowledged, *changes)


class _Reply:
    """What becomes of the messages of a player upon one request.

    `owed` is the id under which the player knows the request: that of the first of its rounds.
    """

    def __init__(self, player: Player, before: State, message: Message, owed: object) -> None:
        self._player = player
        self._before = before
        self._message = message
        self._owed = id_key(owed)
        self._owed_id = owed
        self._questions: list[tuple[str, Message]] = []
        self._answer: Sent | None = None

    def finished(self, state: State, sent: Iterable[Sent]) -> Outcome:
        """The session and all that is sent, the answer last of what belongs to the request."""
        state, told = self.told(state, sent)
        answer = self._answer
        if answer is None:
            state, answer = self._asked(state)
            if "error" in _members(answer):
                return state, (answer,)
        changes = [each for each in told if each.listen is not ABSENT]
        own = [each for each in told if each.listen is ABSENT]
        return state, (*own, stamped(self._player, answer, self._message["id"]), *changes)

    def told(self, state: State, sent: Iterable[Sent]) -> Outcome:
        """What is told beside the answer; the answer and the questions are kept aside."""
        waiting = deque(sent)
        told: list[Sent] = []
        while waiting:
            each = waiting.popleft()
            message = _members(each)
            if each.is_answer:
                self._answer = self._answer or each
            elif "id" in message:
                state, more = self._hear_question(state, each, message)
                waiting.extend(more)
            else:
                told += self._notified(state, each, message)
        return state, tuple(told)

    def _hear_question(self, state: State, sent: Sent, message: Message) -> Outcome:
        method = message["method"]
        if method == "ping":
            # Every client would have answered that.
            return self._player.response(state, result_response(message["id"], {}), ())
        is_owed = sent.owed is not ABSENT and id_key(sent.owed) == self._owed
        if is_owed and method in NEEDED:
            self._questions.append((sent.key, message))
            return state, ()
        sentence = f"{method} cannot be asked of a client of revision {STATELESS}"
        because = "" if method in NEEDED else ", which has no such request"
        return state.note(f"unasked {method}", f"{sentence}{because}; it was left out"), ()

    def _notified(self, state: State, sent: Sent, message: Message) -> Iterable[Sent]:
        method = message["method"]
        if method in CHANGES:
            return told_of(state, message)
        if method in _GONE or (method == _LOG and not is_log_wanted(self._message, message)):
            return ()
        if method != _PROGRESS:
            return (sent,)
        token = meta_of(self._message).get("progressToken", ABSENT)
        is_owed = sent.owed is not ABSENT and id_key(sent.owed) == self._owed
        if token is ABSENT or not is_owed:
            return ()
        params = {**params_of(message), "progressToken": token}
        return (sent.but(message=message | {"params": params}),)

    def _asked(self, state: State) -> tuple[State, Sent]:
        """The answer to a request that the player does not answer yet."""
        message = self._message
        if not self._questions:
            sentence = f"this case cannot be played to a client of revision {STATELESS}"
            state = self._before.note("unplayable", sentence)
            fault = Fault(code=INTERNAL_ERROR, sentence=sentence)
            return state, fault_answer(message["id"], fault, message["method"])
        fault_or_none = undeclared(state, self._questions)
        if fault_or_none:
            after, (answer,) = _refused(self._before, message, fault_or_none)
            return after, answer
        return ask_by_result(state, message, self._owed_id, self._questions)


def _members(sent: Sent) -> Message:
    assert isinstance(sent.message, dict)
    return sent.message
