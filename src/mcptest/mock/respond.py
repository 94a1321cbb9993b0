"""Respond to one message of the client, whether the mock plays a contract or a manifest.

This looks at the envelope: it refuses what is not a message, splits batches, and passes the
rest to a player, which knows the answers.

A player knows one way of talking, a session in which the server may send messages at any time. For
a client without a handshake that becomes what it can receive: results with the required members,
questions as an `input_required` result, and changes on subscriptions.
"""

from __future__ import annotations

from binascii import crc32
from collections import deque
from contextlib import nullcontext

from mcptest.core.diagnostics import suggest
from mcptest.core.errors import CheckError, PatternTimeoutError
from mcptest.core.strict_json import dump_json
from mcptest.core.text import show_json
from mcptest.core.value_class import ABSENT, Record
from mcptest.mock.session import (
    BEFORE_HANDSHAKE,
    LISTS,
    NEEDED_CAPABILITIES,
    PROGRESS,
    REMOVED,
    Round,
    Sent,
    Subscription,
    body_of,
    discover_result,
    error_answer,
    problem,
    redact_line,
)
from mcptest.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    find_violations,
    id_key,
    message_kind,
    meta_of,
    notification,
    params_of,
    result_response,
)
from mcptest.protocol.revisions import (
    META_CAPABILITIES,
    META_LOG_LEVEL,
    META_SERVER_INFO,
    META_SUBSCRIPTION,
    MISSING_CAPABILITY,
    NEWEST_STATELESS,
    REVISIONS,
    STATELESS_REVISIONS,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Protocol

    from mcptest.mock.session import Message, MockReport, Session
    from mcptest.protocol.framing import Noise, Overlong
    from mcptest.protocol.jsonrpc import IdKey

    class Player(Protocol):
        """Knows the answers; `methods` are those of the requests that it can answer.

        `about` is the name, the version and the capabilities of the server. `skip_handshake`
        begins a session without one. `revision` is the only one that is spoken, "" if the client
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

        def skip_handshake(self, session: Session) -> list[Sent]: ...

        def request(self, session: Session, message: Message) -> list[Sent]: ...

        def notification(self, session: Session, message: Message) -> list[Sent]: ...

        def response(
            self, session: Session, message: Message, violations: Sequence[str]
        ) -> list[Sent]: ...

        def report(self, session: Session) -> MockReport: ...


__all__ = [
    "Rejection",
    "check_envelope",
    "end_subscriptions",
    "has_envelope",
    "rejection_answer",
    "respond",
    "respond_to_noise",
    "unsupported_version",
]


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
        return _refuse_message(session, None, INVALID_REQUEST, f"{name} has no batches", value)
    if not value:
        return _refuse_message(session, None, INVALID_REQUEST, "this batch is empty", value)
    requested = {id_key(each["id"]) for each in value if message_kind(each) == "request"}
    answers: list[Sent] = []
    others: list[Sent] = []
    for each in value:
        for sent in _respond_to_single(player, session, each, limit):
            id = sent.members.get("id")
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
    return _refuse_message(session, None, PARSE_ERROR, sentence, redact_line(quote))


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
        return _refuse_message(session, None, INVALID_REQUEST, sentence, value)
    found = list(find_violations(value))
    if kind == "response":
        if session.era == "stateless":
            sentence = f"no answers are asked for in revision {session.revision}"
            return _refuse_message(session, None, INVALID_REQUEST, sentence, value)
        if "result" not in value and "error" not in value:
            sentence = "a request needs a method"
            return _refuse_message(session, value["id"], INVALID_REQUEST, sentence, value)
        # An invalid id is found out because nothing was asked with it.
        return player.response(session, value, [text for path, text in found if path != "id"])
    if found:
        return _refuse_message(session, value.get("id"), INVALID_REQUEST, found[0][1], value)
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
        return _respond_stateless(player, session, value, key)
    if has_envelope(value):
        sentence = "this session began with a handshake, and a stateless request has none"
        return _refuse_message(session, value["id"], INVALID_REQUEST, sentence, value)
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


def _refuse_message(
    session: Session, id: object, code: int, sentence: str, value: object
) -> list[Sent]:
    session.blame(value, None, (problem(sentence),))
    # An answer can only repeat an id that is a string or a number.
    id = id if isinstance(id, (str, int, float)) and not isinstance(id, bool) else None
    return [error_answer(id, "", code, sentence)]


# The errors of a stateless revision, and the envelope: what each request says about itself in
# `params._meta`


class Rejection(Record):
    """An error that answers a request before it is looked up."""

    code: int
    sentence: str
    data: dict[str, object] | None = None


def rejection_answer(id: object, rejection: Rejection, method: str = "") -> Sent:
    """The error answer to a request with this id."""
    error: Message = {"code": rejection.code, "message": f"mcptest mock: {rejection.sentence}"}
    if rejection.data is not None:
        error["data"] = rejection.data
    return Sent(message={"jsonrpc": "2.0", "id": id, "error": error}, method=method)


# What the `_meta` of every request must have.
_REQUIRED = (VERSION_KEY, META_CAPABILITIES)


def has_envelope(message: Message) -> bool:
    """True if a message is meant to be of a stateless revision."""
    return any(key in meta_of(message) for key in _REQUIRED)


def check_envelope(message: Message) -> Rejection | None:
    """What is missing in the `_meta` of a request, or has the wrong type."""
    meta = meta_of(message)
    missing = [key for key in _REQUIRED if key not in meta]
    if missing:
        sentence = f"params._meta must have {' and '.join(missing)}, as in every request"
        return Rejection(code=INVALID_PARAMS, sentence=f"{sentence} of revision {NEWEST_STATELESS}")
    if not isinstance(meta[VERSION_KEY], str):
        return Rejection(code=INVALID_PARAMS, sentence=f"{VERSION_KEY} must be a string")
    if not isinstance(meta[META_CAPABILITIES], dict):
        return Rejection(code=INVALID_PARAMS, sentence=f"{META_CAPABILITIES} must be an object")
    return None


def unsupported_version(version: object) -> Rejection:
    """The error that names the revisions a client may choose from."""
    requested = version if isinstance(version, str) else ""
    known = ", ".join(STATELESS_REVISIONS)
    return Rejection(
        code=UNSUPPORTED_VERSION,
        sentence=f"revision {requested!r} is not spoken here without a handshake, {known} is",
        data={"supported": list(STATELESS_REVISIONS), "requested": requested},
    )


# Requests of a stateless revision

_LISTEN = "subscriptions/listen"
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_LOG = "notifications/message"
_LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

# Notifications that a server of this revision never sends on behalf of a contract.
_NEVER_SENT = frozenset(
    [
        _ACKNOWLEDGED,
        "notifications/cancelled",
        "notifications/elicitation/complete",
        "notifications/tasks/status",
    ]
)

# Results that say how long they may be cached.
_CACHEABLE = frozenset([*LISTS, "server/discover", "resources/read"])


def _respond_stateless(
    player: Player, session: Session, message: Message, key: IdKey | None = None
) -> list[Sent]:
    """Respond to a request; `key` is that of a subscription it may open (default: its id)."""
    rejection = _check_request(message)
    if rejection:
        return [_reject_stateless(session, message, rejection)]
    meta = meta_of(message)
    capabilities = meta[META_CAPABILITIES]
    session.declared = frozenset(capabilities if isinstance(capabilities, dict) else ())
    session.era, session.revision = "stateless", str(meta[VERSION_KEY])
    if message["method"] == _LISTEN:
        return _subscribe(player, session, message, key or id_key(message["id"]))
    sent = _skip_handshake(player, session, message)
    before = session.copy()
    round = _find_round(session, message)
    if isinstance(round, Rejection):
        return [_reject_stateless(session, message, round)]
    if round is None:
        sent += player.request(session, message)
        return _Reply(player, session, message, message["id"]).finish(before, sent)
    given = params_of(message).get(_RESPONSES)
    answers = given if isinstance(given, dict) else {}
    if not all(isinstance(answers.get(name), dict) for name in round.questions):
        # Ask again.
        return [_add_required(player, _question_result(round, message), message["id"])]
    session.close_round(round.token)
    for name, question in round.questions.items():
        sent += player.response(session, result_response(question["id"], answers[name]), ())
    return _Reply(player, session, message, round.request_id).finish(before, sent)


def _check_request(message: Message) -> Rejection | None:
    method = message["method"]
    if method == "initialize" and not has_envelope(message):
        # The client falls back to a handshake too late.
        return unsupported_version(params_of(message).get("protocolVersion"))
    rejection = check_envelope(message)
    if rejection:
        return rejection
    version = meta_of(message)[VERSION_KEY]
    if version not in STATELESS_REVISIONS:
        return unsupported_version(version)
    if method in REMOVED:
        return Rejection(code=METHOD_NOT_FOUND, sentence=f"revision {version} has no {method}")
    if (level := meta_of(message).get(META_LOG_LEVEL)) is not None and level not in _LOG_LEVELS:
        return Rejection(
            code=INVALID_PARAMS, sentence=f"{META_LOG_LEVEL} cannot be {show_json(level)}"
        )
    return None


def _reject_stateless(session: Session, message: Message, rejection: Rejection) -> Sent:
    if rejection.data is not None:
        # The client may choose another way: not a mistake.
        session.note(str(rejection.code), rejection.sentence)
    else:
        session.blame(message, None, (problem(rejection.sentence),))
    return rejection_answer(message.get("id"), rejection, str(message.get("method", "")))


def _skip_handshake(player: Player, session: Session, message: Message) -> list[Sent]:
    """Let the player begin with the first request that is about the contract."""
    if session.has_begun or message["method"] == "server/discover":
        return []
    session.has_begun = True
    return player.skip_handshake(session)


class _Reply:
    """Turns what a player sends because of one request into what the client can receive.

    `request_id` is the id under which the player knows the request: that of its first round.
    `notifications` are those to send.
    """

    def __init__(
        self, player: Player, session: Session, message: Message, request_id: object
    ) -> None:
        self._player = player
        self._session = session
        self._message = message
        self._request_id = request_id
        self._questions: list[tuple[str, Message]] = []
        self._answer: Sent | None = None
        self.notifications: list[Sent] = []

    def finish(self, before: Session, sent: Iterable[Sent]) -> list[Sent]:
        """Everything to send: what belongs to the request with the answer last, then changes.

        If the client cannot be asked what the player asks, `before` is restored.
        """
        self.add(sent)
        session, message, answer = self._session, self._message, self._answer
        if answer is None:
            rejection = self._check_questions()
            if rejection:
                session.restore(before)
                if rejection.code == INTERNAL_ERROR:
                    session.note("unplayable", rejection.sentence)
                    return [rejection_answer(message["id"], rejection, message["method"])]
                return [_reject_stateless(session, message, rejection)]
            answer = _open_round(session, message, self._request_id, self._questions)
        own = [each for each in self.notifications if each.subscription is ABSENT]
        changes = [each for each in self.notifications if each.subscription is not ABSENT]
        return [*own, _add_required(self._player, answer, message["id"]), *changes]

    def add(self, sent: Iterable[Sent]) -> None:
        """Keep the first answer, the questions, and the notifications that the client wants."""
        waiting = deque(sent)
        while waiting:
            each = waiting.popleft()
            if each.is_answer:
                self._answer = self._answer or each
            elif "id" not in each.members:
                self.notifications += self._convert_notification(each)
            elif each.members["method"] == "ping":
                # Every client would have answered.
                pong = result_response(each.members["id"], {})
                waiting.extend(self._player.response(self._session, pong, ()))
            else:
                self._add_question(each)

    def _is_own(self, sent: Sent) -> bool:
        return sent.request_id is not ABSENT and (
            id_key(sent.request_id) == id_key(self._request_id)
        )

    def _add_question(self, sent: Sent) -> None:
        method = sent.members["method"]
        if method in NEEDED_CAPABILITIES and self._is_own(sent):
            self._questions.append((sent.key, sent.members))
            return
        sentence = f"{method} cannot be asked of a client of revision {self._session.revision}"
        because = "" if method in NEEDED_CAPABILITIES else ", which has no such request"
        self._session.note(f"unasked {method}", f"{sentence}{because}; it was left out")

    def _convert_notification(self, sent: Sent) -> Iterable[Sent]:
        """The notification as the client wants it: not at all, once, or on every subscription."""
        message = sent.members
        method = message["method"]
        if method in _CHANGES:
            return _notify_subscribers(self._session, message)
        if method in _NEVER_SENT:
            return ()
        if method == _LOG:
            return (sent,) if _is_log_wanted(self._message, message) else ()
        if method != PROGRESS:
            return (sent,)
        token = meta_of(self._message).get("progressToken", ABSENT)
        if token is ABSENT or not self._is_own(sent):
            return ()
        params = {**params_of(message), "progressToken": token}
        return (sent.but(message=message | {"params": params}),)

    def _check_questions(self) -> Rejection | None:
        """Why the client cannot be asked, if it cannot."""
        if not self._questions:
            revision = self._session.revision
            sentence = f"this case cannot be played to a client of revision {revision}"
            return Rejection(code=INTERNAL_ERROR, sentence=sentence)
        needed = [NEEDED_CAPABILITIES[each["method"]] for _, each in self._questions]
        declared = self._session.declared or ()
        missing: dict[str, object] = {name: {} for name in needed if name not in declared}
        if not missing:
            return None
        sentence = f"this needs a client that declares {' and '.join(missing)}"
        data: dict[str, object] = {"requiredCapabilities": missing}
        return Rejection(code=MISSING_CAPABILITY, sentence=sentence, data=data)


def _is_log_wanted(request: Message, log: Message) -> bool:
    """True if the request asks for log messages of this level; without one, for none."""
    wanted, level = meta_of(request).get(META_LOG_LEVEL), params_of(log).get("level")
    if wanted not in _LOG_LEVELS:
        return False
    return level not in _LOG_LEVELS or _LOG_LEVELS.index(level) >= _LOG_LEVELS.index(wanted)


def _add_required(player: Player, sent: Sent, id: object) -> Sent:
    """The answer with this id, and with what every result of this revision must have."""
    message = sent.members
    result = message.get("result")
    if isinstance(result, dict):
        name, version, capabilities = player.about
        if sent.method == "server/discover":
            result = discover_result(name, version, capabilities) | result
        result = {"resultType": "complete"} | result
        if sent.method in _CACHEABLE and result["resultType"] == "complete":
            result = {"ttlMs": 0, "cacheScope": "private"} | result
        meta = result.get("_meta", {})
        if isinstance(meta, dict):
            info = {"name": name, "version": version}
            result = result | {"_meta": {META_SERVER_INFO: info} | meta}
        message = message | {"result": result}
    return sent.but(message=message | {"id": id})


# Rounds: questions as the result of a request, which is then repeated with the answers

_RESPONSES = "inputResponses"
_STATE = "requestState"


def _open_round(
    session: Session, message: Message, request_id: object, questions: list[tuple[str, Message]]
) -> Sent:
    """Remember the questions; return the `input_required` result that asks them."""
    by_key: dict[str, Message] = {}
    for key, each in questions:
        by_key[f"{key}-{len(by_key)}" if key in by_key else key] = each
    method, body = message["method"], _plain_body(message)
    number = session.ids_made + 1
    # A check against mistakes, not a secret: another token is never accepted by accident.
    seal = crc32(f"{number} {method} {dump_json(body)}".encode("utf-8", "replace"))
    token = f"mock-{number}-{seal:08x}{crc32(b'%d' % seal):08x}"
    round = Round(token=token, request_id=request_id, method=method, body=body, questions=by_key)
    session.open_round(round)
    return _question_result(round, message)


def _question_result(round: Round, message: Message) -> Sent:
    questions = {
        key: {name: each[name] for name in ("method", "params") if name in each}
        for key, each in round.questions.items()
    }
    result = {"resultType": "input_required", "inputRequests": questions, _STATE: round.token}
    return Sent(message=result_response(message["id"], result), method=message["method"])


def _plain_body(message: Message) -> object:
    """The body of a request without what belongs to its round."""
    params = params_of(message)
    own = {key: value for key, value in params.items() if key not in (_RESPONSES, _STATE)}
    return body_of(message | {"params": own})


def _find_round(session: Session, message: Message) -> Round | Rejection | None:
    """The round that a request continues; a rejection if it is not the same request."""
    token = params_of(message).get(_STATE)
    round = next((each for each in session.rounds if each.token == token), None)
    if round is None:
        return None
    if (round.method, round.body) != (message["method"], _plain_body(message)):
        sentence = f"{_STATE} belongs to another request: a retry repeats its method and params"
        return Rejection(code=INVALID_PARAMS, sentence=sentence)
    if not isinstance(params_of(message).get(_RESPONSES, {}), dict):
        return Rejection(code=INVALID_PARAMS, sentence=f"params.{_RESPONSES} must be an object")
    return round


# Subscriptions

_URIS = "resourceSubscriptions"

# What a subscription may ask for, and the capability that offers it.
_LIST_CHANGES = {
    "toolsListChanged": "tools",
    "promptsListChanged": "prompts",
    "resourcesListChanged": "resources",
}

# Notifications that are only sent on a subscription, and how it asks for them.
_CHANGES = {
    **{f"notifications/{family}/list_changed": wish for wish, family in _LIST_CHANGES.items()},
    "notifications/resources/updated": _URIS,
}

_MAX_SUBSCRIPTIONS = 100


def _subscribe(player: Player, session: Session, message: Message, key: IdKey) -> list[Sent]:
    """Open a subscription, acknowledge it, and play the case for it if there is one."""
    wanted = _wanted_changes(session, message, player.about[2])
    if isinstance(wanted, Rejection):
        return [_reject_stateless(session, message, wanted)]
    session.unsubscribe(key)
    session.subscriptions.append(Subscription(key=key, id=message["id"], wanted=wanted))
    params = {"notifications": wanted, "_meta": {META_SUBSCRIPTION: message["id"]}}
    acknowledgement = Sent(message=notification(_ACKNOWLEDGED, params), subscription=key)
    wishes = params_of(message)["notifications"]
    known = (*_LIST_CHANGES, _URIS)
    unknown = [wish for wish in wishes if wish not in known] if isinstance(wishes, dict) else []
    if unknown:
        question = suggest(unknown[0], known)
        sentence = f"no subscription has {unknown[0]}{question}"
        session.blame(message, None, (problem(sentence, "params.notifications"),))
    sent = _skip_handshake(player, session, message)
    if _LISTEN in player.methods:
        # The case is exercised, but its answer is not sent: the subscription stays open.
        sent += [each for each in player.request(session, message) if not each.is_answer]
    reply = _Reply(player, session, message, message["id"])
    reply.add(sent)
    return [acknowledgement, *reply.notifications]


def end_subscriptions(player: Player, session: Session) -> list[Sent]:
    """The results of the requests to listen, when the server ends before the client."""
    ended, session.subscriptions = session.subscriptions, []
    answers = []
    for each in ended:
        result = {"_meta": {META_SUBSCRIPTION: each.id}}
        sent = Sent(message=result_response(each.id, result), method=_LISTEN)
        answers.append(_add_required(player, sent, each.id))
    return answers


def _wanted_changes(
    session: Session, message: Message, capabilities: Mapping[str, object]
) -> dict[str, object] | Rejection:
    """What a subscription asks for and the server offers."""

    def offers(family: str, word: str) -> bool:
        offered = capabilities.get(family)
        return isinstance(offered, dict) and offered.get(word) is True

    lists = [wish for wish, family in _LIST_CHANGES.items() if offers(family, "listChanged")]
    if not lists and not offers("resources", "subscribe"):
        sentence = f"{_LISTEN} is not offered: nothing here declares listChanged or subscribe"
        return Rejection(code=METHOD_NOT_FOUND, sentence=sentence)
    wishes = params_of(message).get("notifications")
    uris = wishes.get(_URIS, []) if isinstance(wishes, dict) else None
    if not isinstance(wishes, dict) or not isinstance(uris, list):
        example = '{"toolsListChanged": true}'
        sentence = f"params.notifications must be an object, for example {example}"
        return Rejection(code=INVALID_PARAMS, sentence=sentence)
    if len(session.subscriptions) >= _MAX_SUBSCRIPTIONS:
        sentence = f"there are {_MAX_SUBSCRIPTIONS} subscriptions"
        return Rejection(code=INTERNAL_ERROR, sentence=sentence)
    wanted: dict[str, object] = {wish: True for wish in lists if wishes.get(wish) is True}
    if uris and offers("resources", "subscribe"):
        wanted[_URIS] = [uri for uri in uris if isinstance(uri, str)]
    return wanted


def _notify_subscribers(session: Session, change: Message) -> Iterator[Sent]:
    """The change for every subscription that asks for it, each with its own id."""
    params = params_of(change)
    meta, uri = meta_of(change), params.get("uri")
    for each in session.subscriptions:
        wanted = each.wanted.get(_CHANGES[change["method"]])
        if isinstance(wanted, list):
            # A subscription to a folder includes what is in it.
            wanted = isinstance(uri, str) and any(
                uri == other or uri.startswith(other.rstrip("/") + "/") for other in wanted
            )
        if wanted:
            marked = {**params, "_meta": {**meta, META_SUBSCRIPTION: each.id}}
            yield Sent(message=change | {"params": marked}, subscription=each.key)
