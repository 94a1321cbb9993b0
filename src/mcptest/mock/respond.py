"""Respond to one message of the client, whether the mock plays a contract or a manifest.

This looks at the envelope: it refuses what is not a message, splits batches, and passes the
rest to a player, which knows the answers.
"""

from __future__ import annotations

from contextlib import nullcontext

from mcptest.core.errors import CheckError, PatternTimeoutError
from mcptest.mock.protocol import BEFORE_HANDSHAKE, params_of
from mcptest.mock.session import Sent, error_answer, problem, redact_line
from mcptest.mock.stateless import has_envelope, respond_stateless
from mcptest.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    find_violations,
    id_key,
    message_kind,
)
from mcptest.protocol.revisions import REVISIONS, STATELESS_REVISIONS, UNSUPPORTED_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from typing import Protocol

    from mcptest.mock.session import Message, MockReport, Session
    from mcptest.protocol.framing import Noise, Overlong
    from mcptest.protocol.jsonrpc import IdKey

    class Player(Protocol):
        """Knows the answers; `methods` are those of the requests that it can answer.

        `about` is the name, the version and the capabilities of the server. `enter` begins a
        session without a handshake. `revision` is the only one that is spoken, "" if the client
        chooses.
        """

        @property
        def revision(self) -> str: ...

        @property
        def methods(self) -> tuple[str, ...]: ...

        @property
        def about(self) -> tuple[str, str, dict[str, object]]: ...

        def input_schema(self, tool: str) -> object: ...

        def start(self) -> Session: ...

        def enter(self, session: Session) -> list[Sent]: ...

        def request(self, session: Session, message: Message) -> list[Sent]: ...

        def notification(self, session: Session, message: Message) -> list[Sent]: ...

        def response(
            self, session: Session, message: Message, violations: Sequence[str]
        ) -> list[Sent]: ...

        def report(self, session: Session) -> MockReport: ...


__all__ = ["respond", "respond_to_noise"]


def respond(
    player: Player,
    session: Session,
    value: object,
    limit: AbstractContextManager[object] | None = None,
    key: IdKey | None = None,
) -> list[Sent]:
    """What to send in response to a JSON value.

    `limit` bounds how long one message may be compared with patterns. `key` is that of a
    subscription which the value may open (default: its id).
    """
    limit = limit or nullcontext()
    if not isinstance(value, list):
        return _respond_to_single(player, session, value, limit, key)
    revision = REVISIONS.get(session.revision)
    if revision is None or not revision.has_batches:
        name = f"revision {session.revision}" if session.revision else "a session without revision"
        return _refuse(session, None, INVALID_REQUEST, f"{name} has no batches", value)
    if not value:
        return _refuse(session, None, INVALID_REQUEST, "this batch is empty", value)
    requested = {id_key(each["id"]) for each in value if message_kind(each) == "request"}
    answers: list[Sent] = []
    others: list[Sent] = []
    for each in value:
        for sent in _respond_to_single(player, session, each, limit):
            id = sent.message.get("id") if isinstance(sent.message, dict) else None
            is_own = sent.is_answer and (id is None or id_key(id) in requested)
            (answers if is_own else others).append(sent)
    if answers:
        together = [each.message for each in answers]
        others.append(Sent(message=together, parts=tuple(answers)))
    return others


def respond_to_noise(session: Session, item: Noise | Overlong) -> list[Sent]:
    """The error for a line that is not JSON."""
    quote = item.raw.decode("utf-8", "backslashreplace")
    limit = getattr(item, "limit", 0)
    reason = f"it is longer than {limit:,} bytes" if limit else item.reason  # type: ignore[union-attr]  # only an overlong line has a limit
    sentence = f"this line is not a message: {reason}"
    return _refuse(session, None, PARSE_ERROR, sentence, redact_line(quote))


def _respond_to_single(
    player: Player,
    session: Session,
    value: object,
    limit: AbstractContextManager[object],
    key: IdKey | None = None,
) -> list[Sent]:
    """Respond to one message; if a pattern takes too long, as if it had not come."""
    before = session.copy()
    try:
        with limit:
            return _dispatch(player, session, value, key)
    except (PatternTimeoutError, CheckError) as error:
        session.restore(before)
        session.blame(value, None, (problem(str(error)),))
        if not isinstance(value, dict) or message_kind(value) != "request":
            return []
        return [error_answer(value["id"], str(value["method"]), INTERNAL_ERROR, str(error))]


def _dispatch(player: Player, session: Session, value: object, key: IdKey | None) -> list[Sent]:
    kind = message_kind(value)
    if not isinstance(value, dict) or kind == "malformed":
        sentence = "a message is an object with a method, a result or an error"
        return _refuse(session, None, INVALID_REQUEST, sentence, value)
    found = list(find_violations(value))
    if kind == "response":
        if session.era == "stateless":
            sentence = f"no answers are asked for in revision {session.revision}"
            return _refuse(session, None, INVALID_REQUEST, sentence, value)
        if "result" not in value and "error" not in value:
            sentence = "a request needs a method"
            return _refuse(session, value["id"], INVALID_REQUEST, sentence, value)
        # An invalid id is found out because nothing was asked with it.
        return player.response(session, value, [text for path, text in found if path != "id"])
    if found:
        return _refuse(session, value.get("id"), INVALID_REQUEST, found[0][1], value)
    if kind == "notification":
        if value["method"] == "notifications/cancelled":
            session.unsubscribe(id_key(params_of(value).get("requestId")))
        return player.notification(session, value)
    return _respond_to_request(player, session, value, key)


def _respond_to_request(
    player: Player, session: Session, value: Message, key: IdKey | None
) -> list[Sent]:
    """Respond to a request; the first one shows whether the client makes a handshake."""
    if session.era == "stateless" or (not session.era and has_envelope(value)):
        return respond_stateless(player, session, value, key)
    if has_envelope(value):
        sentence = "this session began with a handshake, and a stateless request has none"
        return _refuse(session, value["id"], INVALID_REQUEST, sentence, value)
    method = value["method"]
    if method == "initialize" and player.revision in STATELESS_REVISIONS:
        # Clients of both eras try this first, so it is not their mistake.
        sentence = f"the contract is of revision {player.revision}, which has no handshake"
        return [error_answer(value["id"], method, UNSUPPORTED_VERSION, sentence)]
    if method == "initialize":
        declared = params_of(value).get("capabilities")
        session.declared = frozenset(declared if isinstance(declared, dict) else ())
        session.era = "handshake"
    elif session.declared is None and method not in BEFORE_HANDSHAKE:
        sentence = f"{method} came before any handshake, and was answered anyway"
        session.note("handshake", sentence)
    return player.request(session, value)


def _refuse(session: Session, id: object, code: int, sentence: str, value: object) -> list[Sent]:
    session.blame(value, None, (problem(sentence),))
    # An answer can only repeat an id that is a string or a number.
    id = id if isinstance(id, (str, int, float)) and not isinstance(id, bool) else None
    return [error_answer(id, "", code, sentence)]
