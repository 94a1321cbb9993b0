"""One message of the client, and what comes of it, whatever the mock is made of.

The envelope is looked at here: what is no message is refused, batches are taken apart, and
the rest goes to a player, which knows what to say.
"""

from __future__ import annotations

from mcptest.core.jsonrpc import INTERNAL_ERROR, breaches, id_key, message_kind
from mcptest.core.outcome import Mismatch
from mcptest.core.record import ABSENT
from mcptest.core.revisions import REVISIONS
from mcptest.mock.eras import STATELESS, has_envelope, params_of
from mcptest.mock.implied import BEFORE_HANDSHAKE
from mcptest.mock.refusal import INVALID_REQUEST, PARSE_ERROR, refusal
from mcptest.mock.secret_values import hidden_line
from mcptest.mock.state import Sent
from mcptest.mock.stateless import stateless_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from mcptest.core.errors import McptestError
    from mcptest.core.framing import Noise, Overlong
    from mcptest.core.jsonrpc import IdKey
    from mcptest.mock.report import MockReport
    from mcptest.mock.state import Message, State

    Outcome = tuple[State, tuple[Sent, ...]]

    class Player(Protocol):
        """Knows what to say; `methods` are those of the requests that it can answer.

        `about` are the name, the version and the capabilities of the server. A client that
        makes no handshake is let in by `enter`.
        """

        @property
        def methods(self) -> tuple[str, ...]: ...

        @property
        def about(self) -> tuple[str, str, dict[str, object]]: ...

        def input_schema(self, tool: str) -> object: ...

        def start(self) -> State: ...

        def enter(self, state: State) -> Outcome: ...

        def request(self, state: State, message: Message) -> Outcome: ...

        def notification(self, state: State, message: Message) -> Outcome: ...

        def response(self, state: State, message: Message, breaches: Sequence[str]) -> Outcome: ...

        def report(self, state: State) -> MockReport: ...


__all__ = ["give_up", "respond", "respond_to_noise"]


def respond(player: Player, state: State, value: object, key: IdKey | None = None) -> Outcome:
    """The session after a JSON value, and what is to be sent.

    `key` is that of a subscription which the value may open; by default, it is made of its id.
    """
    if isinstance(value, list):
        return _batch(player, state, value)
    return _single(player, state, value, key)


def respond_to_noise(state: State, item: Noise | Overlong) -> Outcome:
    """The session after a line that is not JSON."""
    quote = item.raw.decode("utf-8", "backslashreplace")
    limit = getattr(item, "limit", 0)
    reason = f"it is longer than {limit:,} bytes" if limit else item.reason  # type: ignore[union-attr]  # only an overlong line has a limit
    sentence = f"this line is not a message: {reason}"
    return _refused(state, None, PARSE_ERROR, sentence, hidden_line(quote))


def give_up(state: State, value: object, error: McptestError) -> Outcome:
    """The session after a message that could not be judged: a pattern took too long."""
    state = state.blame(value, None, (_difference(str(error)),))
    messages: list[Any] = value if isinstance(value, list) else [value]
    asking = [each for each in messages if message_kind(each) == "request"]
    return state, tuple(
        refusal(each["id"], str(each["method"]), INTERNAL_ERROR, str(error)) for each in asking
    )


def _single(player: Player, state: State, value: object, key: IdKey | None = None) -> Outcome:
    kind = message_kind(value)
    if not isinstance(value, dict) or kind == "malformed":
        sentence = "a message is an object with a method, a result or an error"
        return _refused(state, None, INVALID_REQUEST, sentence, value)
    found = list(breaches(value))
    if kind == "response":
        if state.era == "stateless":
            sentence = f"no answers are asked for in revision {STATELESS}"
            return _refused(state, None, INVALID_REQUEST, sentence, value)
        if "result" not in value and "error" not in value:
            sentence = "a request needs a method"
            return _refused(state, value["id"], INVALID_REQUEST, sentence, value)
        # Whatever is wrong with an id, it is none that was asked with.
        broken = [sentence for path, sentence in found if path != "id"]
        return player.response(state, value, broken)
    if found:
        return _refused(state, value.get("id"), INVALID_REQUEST, found[0][1], value)
    if kind == "request":
        return _requested(player, state, value, key)
    if state.listens and value["method"] == "notifications/cancelled":
        state = state.stop_listening(id_key(params_of(value).get("requestId")))
    return player.notification(state, value)


def _requested(player: Player, state: State, value: Message, key: IdKey | None) -> Outcome:
    """The session after a request; the first of them shows of which era the client is."""
    if state.era == "stateless" or (not state.era and has_envelope(value)):
        return stateless_request(player, state, value, key)
    if has_envelope(value):
        sentence = f"this session began with a handshake, and a request of {STATELESS} has none"
        return _refused(state, value["id"], INVALID_REQUEST, sentence, value)
    return player.request(_greeted(state, value), value)


def _greeted(state: State, message: Message) -> State:
    """The session that knows whether there was a handshake, and what the client said in it."""
    method = message["method"]
    if method == "initialize":
        params = message.get("params")
        declared = params.get("capabilities") if isinstance(params, dict) else None
        names = frozenset(declared if isinstance(declared, dict) else ())
        return state.but(declared=names, era="handshake")
    if state.declared is not None or method in BEFORE_HANDSHAKE:
        return state
    sentence = f"{method} came before any handshake, and was answered all the same"
    return state.note("handshake", sentence)


def _batch(player: Player, state: State, values: list[Any]) -> Outcome:
    revision = REVISIONS.get(state.revision)
    if revision is None or not revision.has_batches:
        spoken = f"revision {state.revision}" if state.revision else "a session without revision"
        return _refused(state, None, INVALID_REQUEST, f"{spoken} has no batches", values)
    if not values:
        return _refused(state, None, INVALID_REQUEST, "this batch is empty", values)
    asked = {id_key(each["id"]) for each in values if message_kind(each) == "request"}
    answers: list[Sent] = []
    others: list[Sent] = []
    for value in values:
        state, sent = _single(player, state, value)
        for each in sent:
            (answers if _is_among(each, asked) else others).append(each)
    together = Sent(message=[each.message for each in answers], parts=tuple(answers))
    return state, (*others, *((together,) if answers else ()))


def _is_among(sent: Sent, asked: set[Any]) -> bool:
    """Whether this is an answer to one of a batch, or to what in it was no message."""
    id = sent.message.get("id") if isinstance(sent.message, dict) else None
    return sent.is_answer and (id is None or id_key(id) in asked)


def _refused(state: State, id: object, code: int, sentence: str, value: object) -> Outcome:
    state = state.blame(value, None, (_difference(sentence),))
    # No answer has another id than a text, a number or null.
    id = id if isinstance(id, (str, int, float)) and not isinstance(id, bool) else None
    return state, (refusal(id, "", code, sentence),)


def _difference(sentence: str) -> Mismatch:
    return Mismatch(path="", expected=ABSENT, actual=ABSENT, message=sentence)
